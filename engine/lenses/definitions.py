"""Lens files: a lens as JSON or TOML, read with care and written to start from.

Only names, definitions and two examples per aspect are needed; the rest is derived::

    name = "Patient letters"
    things = "letters"

    [[aspects]]
    name = "Complaint"
    definition = "Sentences that say what hurts, since when, and how much."
    examples = ["My knee has been swollen for a week.", "At night the cough gets worse."]
"""

from __future__ import annotations

import json
import re
import string
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StringConstraints,
    ValidationError,
)

from engine.config import ASSETS
from engine.errors import BadInputError, UnknownNameError
from engine.text import counted
from engine.types.lenses import Aspect, Lens

MOST_ASPECTS = 8
"""As many colours as can be told apart."""
FEWEST_EXAMPLES = 2
MOST_KEY = 32
_RESERVED = frozenset({"any", "document"})
"""Stand for "no aspect" in the ids of queries, and for the map of whole documents
(:data:`engine.types.maps.WHOLE_DOCUMENT`)."""
_PRINTABLE = r"^\P{C}*$"
_ON_ONE_LINE = BeforeValidator(
    lambda text: " ".join(text.split()) if isinstance(text, str) else text
)
Short = Annotated[str, StringConstraints(max_length=40, pattern=_PRINTABLE), _ON_ONE_LINE]
Long = Annotated[str, StringConstraints(max_length=600, pattern=_PRINTABLE), _ON_ONE_LINE]
Key = Annotated[str, StringConstraints(pattern=r"^([a-z][a-z0-9_]{0,31})?$"), _ON_ONE_LINE]
Longs = Annotated[
    list[Long],
    Field(max_length=60),
    AfterValidator(lambda texts: [text for text in dict.fromkeys(texts) if text]),
]
"""Different texts, none empty."""


class _AspectFields(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: Short
    definition: Long
    examples: Longs
    key: Key = ""
    letter: Short = ""
    instruction: Long = ""
    phrases: Longs = []
    paraphrases: Longs = []


class _LensFields(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: Short
    aspects: list[_AspectFields] = Field(min_length=1, max_length=MOST_ASPECTS)
    key: Short = ""
    things: Short = ""
    generic: Long = ""
    allows_none: StrictBool = False


def _filled(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of an object of JSON that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def read_lens(path: Path | str) -> Lens:
    """The lens in a JSON or TOML file (told apart by the ending)."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        is_json = path.suffix.lower() == ".json"
        data = json.loads(text, object_hook=_filled) if is_json else tomllib.loads(text)
    except OSError as error:
        raise BadInputError(
            f"{path} cannot be read: {error.strerror or error}.",
            "Name a shipped lens (seedlens lens list), or a lens file that is there.",
        ) from error
    except (ValueError, RecursionError) as error:
        raise BadInputError(
            f"{path.name} is not a lens file: {error}.",
            "Start from an example: seedlens lens show posts > my-lens.toml",
        ) from error
    return lens_from_fields(data, path.name)


def lens_from_fields(data: Any, where: str) -> Lens:
    """Check the fields of a lens and derive what was left out.

    Args:
        data: as JSON or TOML give it: ``{"name": ..., "aspects": [...]}``.
        where: what error messages begin with.
    """
    try:
        fields = _LensFields.model_validate(data)
    except ValidationError as error:
        raise _unusable(error, data, where) from error
    if not fields.name:
        raise BadInputError(f"{where}: the name is empty.", "Fill it in.")
    things = fields.things or "documents"
    aspects: list[Aspect] = []
    for number, entry in enumerate(fields.aspects, start=1):
        aspects.append(_aspect(entry, f"{where}, aspect {number}", things, aspects))
    return Lens(
        key=fields.key or slug(fields.name) or "own",
        name=fields.name,
        aspects=tuple(aspects),
        things=things,
        generic=fields.generic or f"Find similar {things}.",
        allows_none=fields.allows_none,
    )


_PROBLEMS = {
    "missing": "it is missing",
    "extra_forbidden": "there is no such field",
    "model_type": "an object with fields is needed here",
    "bool_type": "write true or false, without quotes",
    "string_pattern_mismatch": "it has characters that cannot be used",
}
"""Kind of a pydantic error -> clearer words for it."""


def _unusable(error: ValidationError, data: Any, where: str) -> BadInputError:
    """The first problem of the fields, with its place."""
    first = error.errors(include_url=False)[0]
    place = list(first["loc"])
    if place[:1] == ["aspects"] and len(place) > 1:
        entry = data["aspects"][place[1]]
        name = entry.get("name") if isinstance(entry, Mapping) else ""
        where += f", aspect {int(place[1]) + 1}" + (f" ({name})" if name else "")
        place = place[2:]
    field = f"{place[0]}: " if place else ""
    problem = _PROBLEMS.get(first["type"], first["msg"][0].lower() + first["msg"][1:])
    return BadInputError(f"{where}: {field}{problem}.", "See: seedlens lens show posts")


def lens_to_toml(lens: Lens) -> str:
    """The file that :func:`read_lens` reads this lens from."""
    data = asdict(lens)
    aspects = data.pop("aspects")
    blocks = [_toml(data), *("[[aspects]]\n" + _toml(aspect) for aspect in aspects)]
    return "\n".join(blocks)


def slug(name: str) -> str:
    """A name as a key: lower-case ASCII letters, digits and ``_``; empty when none is left.

    >>> slug("Dose & Schedule"), slug("Größe"), slug("剂量")
    ('dose_schedule', 'grosse', '')
    """
    plain = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    return re.sub("[^a-z0-9]+", "_", plain).strip("_0123456789")[:MOST_KEY].strip("_")


def _aspect(entry: _AspectFields, where: str, things: str, before: list[Aspect]) -> Aspect:
    name = entry.name
    for field in ("name", "definition"):
        if not getattr(entry, field):
            raise BadInputError(f"{where}: the {field} is empty.", "Fill it in.")
    where = f"{where} ({name})"
    if name.casefold() in {a.name.casefold() for a in before}:
        raise BadInputError(f"{where}: the name is there twice.", "Give every aspect its own name.")
    if len(entry.examples) < FEWEST_EXAMPLES:
        raise BadInputError(
            f"{where}: {counted(len(entry.examples), 'example is', 'examples are')} given.",
            f"Give at least {FEWEST_EXAMPLES} sentences that serve this aspect.",
        )
    alike = f"{things[0].upper()}{things[1:]} that are alike in {name}."
    return Aspect(
        key=_key(entry.key, name, where, {a.key for a in before}),
        name=name,
        letter=_letter(entry.letter.upper(), name, where, {a.letter for a in before}),
        definition=entry.definition,
        instruction=entry.instruction or alike,
        examples=tuple(entry.examples),
        phrases=tuple(entry.phrases) or _name_phrases(name),
        paraphrases=tuple(entry.paraphrases),
    )


def _key(given: str, name: str, where: str, taken: set[str]) -> str:
    if given in taken | _RESERVED:
        raise BadInputError(
            f"{where}: the key '{given}' cannot be used.",
            "Use each key once, and not 'any' or 'document'; or leave it out.",
        )
    stem = given or slug(name) or "aspect"
    free = (stem, *(f"{stem[:28]}{n}" for n in range(2, MOST_ASPECTS + 3)))
    return next(key for key in free if key not in taken | _RESERVED)


def _letter(given: str, name: str, where: str, taken: set[str]) -> str:
    if given in taken or len(given) > 1:
        raise BadInputError(
            f"{where}: the letter '{given}' cannot be used.", "Give each aspect its own letter."
        )
    # Upper case may turn one letter into two (ß): only those that stay one are marks.
    wanted = [c.upper() for c in name if c.isalnum() and len(c.upper()) == 1]
    free = (letter for letter in (*wanted, *string.ascii_uppercase) if letter not in taken)
    return given or next(free)


def _name_phrases(name: str) -> tuple[str, ...]:
    words = [w for w in re.findall(r"\w+", name.lower()) if len(w) > 3]
    return tuple(dict.fromkeys([name.lower(), *words]))


def _toml(fields: Mapping[str, Any]) -> str:
    # Printable JSON strings are TOML basic strings.
    def text(value: str) -> str:
        return json.dumps(value, ensure_ascii=False)

    lines = []
    for name, value in fields.items():
        if isinstance(value, str):
            lines.append(f"{name} = {text(value)}\n")
        elif value is True:
            lines.append(f"{name} = true\n")
        elif value:
            lines.append(f"{name} = [\n" + "".join(f"  {text(v)},\n" for v in value) + "]\n")
    return "".join(lines)


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
    """A shipped lens by its key, else the lens in the file of that path."""
    path = Path(choice).expanduser()
    is_file = path.suffix.lower() in (".json", ".toml") or len(path.parts) > 1
    return own_lens(read_lens(path)) if is_file else find_lens(choice)


def own_lens(lens: Lens) -> Lens:
    """``lens`` under a key that no shipped lens has, or the shipped lens that it equals.

    A shipped lens that was printed and edited is another lens: what SeedLens knows of the
    shipped one (its classifier of roles, say) does not hold for it.
    """
    shipped = next((s for s in SHIPPED if s.key == lens.key), None)
    # Whether a sentence may have no aspect changes nothing of what is known of the aspects.
    if shipped is None or replace(shipped, allows_none=lens.allows_none) == lens:
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
    """One line of JSON, keys sorted; ``allows_none`` only where it is true, as in lenses of
    earlier versions."""
    fields = asdict(lens)
    if not lens.allows_none:
        del fields["allows_none"]
    return json.dumps(fields, ensure_ascii=False, sort_keys=True)


def lens_from_json(text: str) -> Lens:
    """Read what :func:`lens_to_json` wrote, in this version or an earlier one.

    What an older form lacks (examples, phrases ...) comes from the shipped lens of its key.
    """
    data = json.loads(text)
    shipped = next((asdict(lens) for lens in SHIPPED if lens.key == data["key"]), {})
    known = {a["key"]: a for a in shipped.get("aspects", ())}
    rest: dict[str, Any] = {
        name: shipped[name] for name in ("things", "generic") if name in shipped
    }
    aspects = [{**known.get(a["key"], {}), **a} for a in data["aspects"]]
    fields = {name: data[name] for name in Lens.__dataclass_fields__ if name in data}
    return Lens.from_fields({**rest, **fields, "aspects": aspects})
