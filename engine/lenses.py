"""The lenses that ship with SeedLens, and their JSON form."""

from __future__ import annotations

import json
from dataclasses import asdict

from engine.errors import UnknownNameError
from engine.types import Aspect, Lens

RESEARCH = Lens(
    key="research",
    name="Research abstracts",
    aspects=(
        Aspect(
            key="background",
            name="Background",
            letter="B",
            definition="Sentences that say what problem is studied, why it matters, and what "
            "the authors set out to find or build.",
            instruction="Papers that study a similar problem or pursue a similar goal.",
        ),
        Aspect(
            key="method",
            name="Method",
            letter="M",
            definition="Sentences that say how the work was done: the model, procedure, data, "
            "design or resource.",
            instruction="Papers that use a similar method or procedure.",
        ),
        Aspect(
            key="result",
            name="Result",
            letter="R",
            definition="Sentences that say what came out: findings, comparisons, figures and "
            "conclusions.",
            instruction="Papers that report a similar finding or conclusion.",
        ),
    ),
)

SHIPPED = (RESEARCH,)
"""All lenses that come with SeedLens."""


def find_aspect(lens: Lens, key: str) -> Aspect:
    """The aspect of ``lens`` named ``key`` (case-insensitive), or UnknownNameError."""
    for aspect in lens.aspects:
        if aspect.key == key.lower():
            return aspect
    known = ", ".join(a.key for a in lens.aspects)
    raise UnknownNameError(
        f"There is no aspect '{key}' in the lens '{lens.name}'.", f"Use {known}."
    )


def lens_to_json(lens: Lens) -> str:
    return json.dumps(asdict(lens), ensure_ascii=False, sort_keys=True)


def lens_from_json(text: str) -> Lens:
    """Read what :func:`lens_to_json` wrote."""
    data = json.loads(text)
    return Lens(data["key"], data["name"], tuple(Aspect(**aspect) for aspect in data["aspects"]))
