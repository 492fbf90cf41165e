"""Lens files: a lens as JSON or TOML.

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
from collections.abc import Mapping, Sequence
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
from engine.types.comparisons import Variant
from engine.types.lenses import Aspect, Lens

MOST_ASPECTS = 8  # As many colours as can be told apart
MOST_KEY = 32
_RESERVED = frozenset({"any", "document"})
"""Stand for "no aspect" in the ids of queries, and for the map of whole documents
(:data:`engine.types.maps.WHOLE_DOCUMENT`)."""
_PRINTABLE = r"^\P{C}*$"
_ON_ONE_LINE = BeforeValidator(
    lambda text: " ".join(text.split()) if isinstance(text, str) else text
)


def _different(texts: list[str]) -> list[str]:
    """The texts that are not empty, each once."""
    return [text for text in dict.fromkeys(texts) if text]


Short = Annotated[str, StringConstraints(max_length=40, pattern=_PRINTABLE), _ON_ONE_LINE]
Name = Annotated[
    str, StringConstraints(min_length=1, max_length=40, pattern=_PRINTABLE), _ON_ONE_LINE
]
Long = Annotated[str, StringConstraints(max_length=600, pattern=_PRINTABLE), _ON_ONE_LINE]
Filled = Annotated[
    str, StringConstraints(min_length=1, max_length=600, pattern=_PRINTABLE), _ON_ONE_LINE
]
Key = Annotated[str, StringConstraints(pattern=r"^([a-z][a-z0-9_]{0,31})?$"), _ON_ONE_LINE]
Longs = Annotated[list[Long], Field(max_length=60), AfterValidator(_different)]


class _AspectFields(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: Name
    definition: Filled
    examples: Longs
    key: Key = ""
    letter: Short = ""
    instruction: Long = ""
    phrases: Longs = []
    paraphrases: Longs = []


class _LensFields(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: Name
    aspects: list[_AspectFields] = Field(min_length=1, max_length=MOST_ASPECTS)
    key: Short = ""
    things: Short = ""
    generic: Long = ""
    allows_none: StrictBool = False


def read_lens(path: Path | str) -> Lens:
    """The lens in a JSON or TOML file, by its ending."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        data = (
            json.loads(text, object_hook=lambda o: {k: v for k, v in o.items() if v is not None})
            if path.suffix.lower() == ".json"
            else tomllib.loads(text)
        )
    except OSError as error:
        raise BadInputError(
            f"{path} cannot be read: {error.strerror or error}.",
            "Name a shipped lens (seedlens lens list), or a lens file that is there.",
        ) from error
    except ValueError as error:
        raise BadInputError(
            f"{path.name} is not a lens file: {error}.",
            "Start from an example: seedlens lens show posts > my-lens.toml",
        ) from error
    return lens_from_fields(data, path.name)


def lens_from_fields(data: Any, where: str) -> Lens:
    """Check fields of a lens, as JSON or TOML give them, and derive what was left out; messages of
    errors begin with ``where``."""
    try:
        fields = _LensFields.model_validate(data)
    except ValidationError as error:
        raise _unusable(error, data, where) from error
    things = fields.things or "documents"
    aspects: list[Aspect] = []
    for number, entry in enumerate(fields.aspects, start=1):
        at = f"{where}, aspect {number} ({entry.name})"
        aspects.append(_aspect(entry, at, things, aspects))
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
    "string_too_short": "it is empty",
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
    return "\n".join([_toml(data), *("[[aspects]]\n" + _toml(aspect) for aspect in aspects)])


def slug(name: str) -> str:
    """A name as a key: lower-case ASCII letters, digits and ``_``; empty when none is left.

    >>> slug("Dose & Schedule"), slug("Größe"), slug("剂量")
    ('dose_schedule', 'grosse', '')
    """
    plain = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    return re.sub("[^a-z0-9]+", "_", plain).strip("_0123456789")[:MOST_KEY].strip("_")


def _aspect(entry: _AspectFields, where: str, things: str, before: list[Aspect]) -> Aspect:
    name, letter = entry.name, entry.letter.upper()
    keys, letters = {a.key for a in before} | _RESERVED, {a.letter for a in before}
    problem = remedy = ""
    if name.casefold() in {a.name.casefold() for a in before}:
        problem, remedy = "the name is there twice", "Give every aspect its own name."
    elif entry.key in keys:
        problem = f"the key '{entry.key}' cannot be used"
        remedy = "Use each key once, and not 'any' or 'document'; or leave it out."
    elif letter in letters or len(letter) > 1:
        problem, remedy = (
            f"the letter '{letter}' cannot be used",
            "Give each aspect its own letter.",
        )
    elif len(entry.examples) < 2:
        problem = "give at least 2 sentences that serve this aspect"
        remedy = "See: seedlens lens show posts"
    if problem:
        raise BadInputError(f"{where}: {problem}.", remedy)
    stem = entry.key or slug(name) or "aspect"
    free = (stem, *(f"{stem[:28]}{n}" for n in range(2, MOST_ASPECTS + 3)))
    # Upper case may turn one letter into two (ß): only those that stay one are marks.
    marks = [c.upper() for c in name if c.isalnum() and len(c.upper()) == 1]
    words = [word for word in re.findall(r"\w+", name.lower()) if len(word) > 3]
    alike = f"{things[0].upper()}{things[1:]} that are alike in {name}."
    return Aspect(
        key=next(key for key in free if key not in keys),
        name=name,
        letter=letter or next(c for c in (*marks, *string.ascii_uppercase) if c not in letters),
        definition=entry.definition,
        instruction=entry.instruction or alike,
        examples=tuple(entry.examples),
        phrases=tuple(entry.phrases or dict.fromkeys([name.lower(), *words])),
        paraphrases=tuple(entry.paraphrases),
    )


def _toml(fields: Mapping[str, Any]) -> str:
    """Printable JSON strings and lists are those of TOML; what is empty or false is left out."""
    lines = []
    for name, value in fields.items():
        if value:
            indent = None if isinstance(value, str | bool) else 2
            lines.append(f"{name} = {json.dumps(value, ensure_ascii=False, indent=indent)}\n")
    return "".join(lines)


RESEARCH, CONVERSATIONS, POSTS = SHIPPED = tuple(
    read_lens(ASSETS / "lenses" / f"{key}.toml") for key in ("research", "conversations", "posts")
)
"""All lenses that come with SeedLens."""


def choose_lens(choice: str) -> Lens:
    """A shipped lens by its key, whose case does not matter, or the lens in the file of a path."""
    path = Path(choice).expanduser()
    if path.suffix.lower() in (".json", ".toml") or len(path.parts) > 1:
        return own_lens(read_lens(path))
    shipped = {lens.key: lens for lens in SHIPPED}
    if (key := choice.strip().lower()) not in shipped:
        remedy = f"Use {', '.join(shipped)}, or the path of a lens file of your own."
        raise UnknownNameError(f"There is no lens '{choice}'.", remedy)
    return shipped[key]


def own_lens(lens: Lens) -> Lens:
    """``lens`` under a key that no shipped lens has, unless it equals that one: an edited lens is
    another one, without the classifier of roles of the shipped one."""
    shipped = next((s for s in SHIPPED if s.key == lens.key), None)
    if shipped is None or replace(shipped, allows_none=lens.allows_none) == lens:
        return lens
    return replace(lens, key=f"own_{lens.key}")


def find_aspect(lens: Lens, key: str) -> Aspect:
    """The aspect of ``lens`` named ``key``; case does not matter."""
    for aspect in lens.aspects:
        if aspect.key == key.lower():
            return aspect
    known = ", ".join(a.key for a in lens.aspects)
    raise UnknownNameError(
        f"There is no aspect '{key}' in the lens '{lens.name}'.", f"Use {known}."
    )


def lens_to_json(lens: Lens) -> str:
    """One line of JSON, keys sorted; ``allows_none`` only where it is true, as in earlier
    versions."""
    fields = asdict(lens)
    if not lens.allows_none:
        del fields["allows_none"]
    return json.dumps(fields, ensure_ascii=False, sort_keys=True)


def lens_from_json(text: str) -> Lens:
    """Read what :func:`lens_to_json` wrote; what earlier versions lack (examples, phrases ...)
    comes from the shipped lens of its key."""
    data = json.loads(text)
    shipped = next((asdict(lens) for lens in SHIPPED if lens.key == data["key"]), {"aspects": ()})
    known = {aspect["key"]: aspect for aspect in shipped["aspects"]}
    aspects = [{**known.get(aspect["key"], {}), **aspect} for aspect in data["aspects"]]
    rest = {name: shipped[name] for name in ("things", "generic") if name in shipped}
    fields = {name: data[name] for name in Lens.__dataclass_fields__ if name in data}
    return Lens.from_fields({**rest, **fields, "aspects": aspects})


# -- wordings of an instruction -------------------------------------------------------------------

SETS = ("base", "generic", "definition", "paraphrases", "subset")
"""Wordings that are compared by default, after Maheshwari et al. (CHIIR 2026, section 4.2): a short
aspect-specific one (base), one without an aspect (generic), the aspect's definition, all its
paraphrases, and the base wording with the seed cut to the aspect's sentences (subset)."""
REVERSE = "reverse"  # A wording that rules the aspect out, after Zhou et al. (ICLR 2025).
ALL_SETS = (*SETS, REVERSE)  # What `--variants` may name


def built_in_variants(
    lens: Lens, aspect: str, system: str, steer: float, sets: Sequence[str] = SETS
) -> tuple[Variant, ...]:
    """The built-in wordings for one aspect of a lens."""
    named = find_aspect(lens, aspect)
    words = {
        "base": {"base": named.instruction},
        "generic": {"generic": lens.generic},
        "definition": {"definition": named.definition},
        "paraphrases": {
            f"paraphrase-{i}": text for i, text in enumerate(named.paraphrases, start=1)
        },
        "subset": {"subset": named.instruction},
        REVERSE: {REVERSE: f"{lens.generic.rstrip('. ')} but not the same {named.name.lower()}."},
    }
    return tuple(
        Variant(name, text, system, steer, subset=name == "subset")
        for chosen in check_sets(sets)
        for name, text in words[chosen].items()
    )


def check_sets(sets: Sequence[str]) -> list[str]:
    """The sets, each once and in order; UnknownNameError for one that does not exist."""
    unknown = [name for name in sets if name not in ALL_SETS]
    if unknown or not sets:
        message = (
            f"There is no set of variants '{unknown[0]}'." if unknown else "No variant is named."
        )
        raise UnknownNameError(message, f"Use {', '.join(ALL_SETS)}.")
    return list(dict.fromkeys(sets))


def check_variants(variants: Sequence[Variant]) -> None:
    """Raise BadInputError for variants that cannot be compared."""
    if not variants:
        raise BadInputError("There is no variant to rank by.", "Add at least one wording.")
    names = [variant.name for variant in variants]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadInputError(f"Two variants are called '{twice}'.", "Give each its own name.")
