"""What a collection is to be: checked, as JSON, and as digests that tell when it has changed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from typing import Any

from engine.annotate.pool import check_pool
from engine.annotate.project_settings import check_project, printable
from engine.errors import BadInputError
from engine.lenses.definitions import find_aspect
from engine.types.annotating import PoolRequest, Project
from engine.types.builds import BuildLens
from engine.types.lenses import Lens

LONGEST_ATTRIBUTE = 1000
LONGEST_GUIDANCE = 10_000
MOST_EXAMPLES = 20
LONGEST_LABEL = 200
"""Characters of a label, and of a cluster's name."""
LONGEST_QUERY = 1000


def check_lens(lens: BuildLens, aspects: Lens) -> BuildLens:
    """The lens with its texts cleaned up.

    Args:
        aspects: the corpus's lens.

    Raises:
        BadInputError: its name, texts or numbers cannot be used.
        UnknownNameError: no such aspect or system.
    """
    if not lens.name:
        raise BadInputError("The collection has no name.", "Use letters, digits, - and _.")
    check_project(Project(lens.corpus, lens.name))
    attribute = printable(lens.attribute).strip()
    if not attribute:
        raise BadInputError(
            "The lens has no attribute.", "Say what documents show without saying so."
        )
    _check_length("The attribute", attribute, LONGEST_ATTRIBUTE)
    guidance = printable(lens.guidance).strip()
    _check_length("The guidance", guidance, LONGEST_GUIDANCE)
    if lens.aspect:
        find_aspect(aspects, lens.aspect)
    _check_numbers(lens)
    systems = tuple(dict.fromkeys(lens.systems))
    check_pool(PoolRequest(systems, lens.depth))
    return replace(
        lens,
        attribute=attribute,
        guidance=guidance,
        examples=_checked_examples(lens.examples),
        aspect=lens.aspect.lower(),
        systems=systems,
    )


def _checked_examples(examples: tuple[str, ...]) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(text for e in examples if (text := one_line(e))))
    if len(found) > MOST_EXAMPLES:
        raise BadInputError(f"There are {len(found)} examples.", f"Give at most {MOST_EXAMPLES}.")
    for text in found:
        _check_length("An example", text, LONGEST_LABEL)
    return found


def _check_numbers(lens: BuildLens) -> None:
    if lens.limit is not None and lens.limit < 1:
        raise BadInputError(f"The limit is {lens.limit} documents.", "Read at least 1.")
    if not 0.0 < lens.distance <= 1.0:
        raise BadInputError(
            f"The distance is {lens.distance}.", "Give a number above 0, at most 1."
        )
    if not 1 <= lens.smallest <= lens.largest:
        raise BadInputError(
            f"Clusters are to have {lens.smallest} to {lens.largest} documents.",
            "Give at least 1, and the smaller number first.",
        )
    if not 0.0 <= lens.overlap <= 1.0:
        raise BadInputError(f"The overlap is {lens.overlap}.", "Give a number from 0 to 1.")


def _check_length(what: str, text: str, most: int) -> None:
    if len(text) > most:
        raise BadInputError(f"{what} has {len(text):,} characters.", f"Use at most {most:,}.")


def one_line(text: str) -> str:
    """A text of strangers on one line, without what cannot be seen.

    >>> one_line(" a  <b>label</b>\\x00 \\n of two lines ")
    'a <b>label</b> of two lines'
    """
    return " ".join(printable(text).split())


def check_line(text: str, what: str, most: int) -> str:
    """What a person wrote, on one line; BadInputError when it is too long."""
    line = one_line(text)
    _check_length(what, line, most)
    return line


def lens_to_json(lens: BuildLens) -> str:
    """As the ledger keeps it."""
    return json.dumps(asdict(lens))


def lens_from_json(text: str) -> BuildLens:
    """What :func:`lens_to_json` wrote."""
    data: dict[str, Any] = json.loads(text)
    lists = {key: tuple(value) for key, value in data.items() if isinstance(value, list)}
    return BuildLens(**{**data, **lists})


def digest(*parts: Any) -> str:
    """16 hex digits that stand for these values.

    >>> digest("a", 1) == digest("a", 1), digest("a", 1) == digest("a", 2)
    (True, False)
    """
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def label_recipe(lens: BuildLens, aspects: Lens) -> str:
    """A digest of what decides a label, the document aside."""
    defined = {aspect.key: aspect.definition for aspect in aspects.aspects}
    aspect = (lens.aspect, defined.get(lens.aspect, ""))
    return digest(lens.attribute, lens.guidance, lens.examples, *aspect)
