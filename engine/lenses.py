"""The lenses that ship with SeedLens, lenses of one's own, and the JSON form of both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from engine.config import ASSETS
from engine.errors import UnknownNameError
from engine.lens_files import read_lens
from engine.types import Aspect, Lens

RESEARCH, CONVERSATIONS, POSTS = SHIPPED = tuple(
    read_lens(ASSETS / "lenses" / f"{key}.toml") for key in ("research", "conversations", "posts")
)
"""All lenses that come with SeedLens; their words stand in ``assets/lenses``."""


def find_lens(key: str) -> Lens:
    """The shipped lens named ``key`` (case-insensitive), or UnknownNameError."""
    for lens in SHIPPED:
        if lens.key == key.strip().lower():
            return lens
    known = ", ".join(lens.key for lens in SHIPPED)
    raise UnknownNameError(
        f"There is no lens '{key}'.", f"Use {known}, or the path of a lens file of your own."
    )


def choose_lens(choice: str) -> Lens:
    """A shipped lens by its key, else the lens in the file of that path.

    Raises:
        UnknownNameError: neither a lens nor a file is called so.
        BadInputError: the file holds no lens.
    """
    path = Path(choice).expanduser()
    is_file = path.suffix.lower() in (".json", ".toml") or len(path.parts) > 1
    return own_lens(read_lens(path)) if is_file else find_lens(choice)


def own_lens(lens: Lens) -> Lens:
    """``lens`` under a key that no shipped lens has, or the shipped lens that it equals.

    A shipped lens that was printed and edited is another lens: what SeedLens knows of the
    shipped one (its classifier of roles, say) does not hold for it.
    """
    shipped = next((s for s in SHIPPED if s.key == lens.key), None)
    if shipped is None or shipped == lens:
        return lens
    return replace(lens, key=f"own_{lens.key}")


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
    """One line of JSON, keys sorted."""
    return json.dumps(asdict(lens), ensure_ascii=False, sort_keys=True)


def lens_from_json(text: str) -> Lens:
    """Read what :func:`lens_to_json` wrote, in this version or an earlier one."""
    return lens_from_dict(json.loads(text))


def lens_from_dict(data: Mapping[str, Any]) -> Lens:
    """The lens that ``asdict`` took apart.

    What an older form lacks (examples, phrases ...) comes from the shipped lens of its key.
    """
    shipped = next((lens for lens in SHIPPED if lens.key == data["key"]), None)
    known = {} if shipped is None else {a.key: asdict(a) for a in shipped.aspects}
    aspects = tuple(_aspect({**known.get(a["key"], {}), **a}) for a in data["aspects"])
    rest = {"things": shipped.things, "generic": shipped.generic} if shipped else {}
    rest |= {name: data[name] for name in ("things", "generic") if name in data}
    return Lens(data["key"], data["name"], aspects, **rest)


def _aspect(fields: Mapping[str, Any]) -> Aspect:
    values: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in fields.items()}
    return Aspect(**values)
