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
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NoReturn

from engine.config import ASSETS
from engine.errors import BadInputError, UnknownNameError
from engine.types.lenses import Aspect, Lens

LENS_FILE_BYTES = 1_000_000  # its fields: engine.lenses.definitions

MOST_ASPECTS = 8
"""As many colours as can be told apart."""
FEWEST_EXAMPLES = 2
LONGEST = {
    "key": 32,
    "name": 40,
    "letter": 1,
    "things": 40,
    "generic": 300,
    "definition": 600,
    "instruction": 300,
    "examples": 600,
    "phrases": 80,
    "paraphrases": 300,
}
"""Characters that a text of each field may have."""
MOST_TEXTS = 60
"""Examples, phrases or paraphrases that one aspect may have."""
_KEY = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED = frozenset({"any", "document"})
"""Stand for "no aspect" in the ids of queries, and for the map of whole documents
(:data:`engine.types.maps.WHOLE_DOCUMENT`)."""


def read_lens(path: Path | str) -> Lens:
    """The lens in a JSON or TOML file (told apart by the ending)."""
    path = Path(path)
    try:
        if path.stat().st_size > LENS_FILE_BYTES:
            _refuse(path.name, "the file is too long for a lens", "Name a file of a lens.")
        text = path.read_text(encoding="utf-8-sig")
        data = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
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
    fields = _Fields(data, where, {"key", "name", "things", "generic", "allows_none", "aspects"})
    name = fields.text("name")
    things = fields.text("things", "documents")
    given = fields.data.get("aspects")
    if not isinstance(given, list) or not given:
        _refuse(where, "the lens has no aspects", "Give it at least one, with a definition.")
    if len(given) > MOST_ASPECTS:
        _refuse(
            where, f"the lens has {len(given)} aspects", f"Use {MOST_ASPECTS} or fewer: merge some."
        )
    aspects: list[Aspect] = []
    for number, entry in enumerate(given, start=1):
        aspects.append(_aspect(entry, f"{where}, aspect {number}", things, aspects))
    return Lens(
        key=fields.text("key", slug(name) or "own"),
        name=name,
        aspects=tuple(aspects),
        things=things,
        generic=fields.text("generic", f"Find similar {things}."),
        allows_none=fields.flag("allows_none"),
    )


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
    return re.sub("[^a-z0-9]+", "_", plain).strip("_0123456789")[: LONGEST["key"]].strip("_")


def _aspect(entry: Any, where: str, things: str, before: list[Aspect]) -> Aspect:
    known = {"key", "name", "letter", "definition", "instruction"}
    fields = _Fields(entry, where, known | {"examples", "phrases", "paraphrases"})
    name = fields.text("name")
    if name.casefold() in {a.name.casefold() for a in before}:
        _refuse(where, f"the name '{name}' is there twice", "Give every aspect its own name.")
    fields.where = f"{where} ({name})"
    definition = fields.text("definition")
    examples = fields.texts("examples")
    if len(examples) < FEWEST_EXAMPLES:
        _refuse(
            fields.where,
            "only one example is given" if examples else "no example is given",
            f"Give at least {FEWEST_EXAMPLES} sentences that serve this aspect.",
        )
    return Aspect(
        key=_key(fields, name, {a.key for a in before}),
        name=name,
        letter=_letter(fields, name, {a.letter for a in before}),
        definition=definition,
        instruction=fields.text(
            "instruction", f"{things[0].upper()}{things[1:]} that are alike in {name}."
        ),
        examples=examples,
        phrases=fields.texts("phrases") or _name_phrases(name),
        paraphrases=fields.texts("paraphrases"),
    )


def _key(fields: _Fields, name: str, taken: set[str]) -> str:
    given = fields.text("key", "")
    if given and (not _KEY.fullmatch(given) or given in taken | _RESERVED):
        _refuse(
            fields.where,
            f"the key '{given}' cannot be used",
            "Use lower-case letters, digits and _, each key once, and not 'any' or "
            "'document'; or leave it out.",
        )
    stem = given or slug(name) or "aspect"
    free = (stem, *(f"{stem[:28]}{n}" for n in range(2, MOST_ASPECTS + 3)))
    return next(key for key in free if key not in taken | _RESERVED)


def _letter(fields: _Fields, name: str, taken: set[str]) -> str:
    given = fields.text("letter", "").upper()
    if given and (given in taken or len(given) > 1):
        _refuse(
            fields.where, f"the letter '{given}' cannot be used", "Give each aspect its own letter."
        )
    # Upper case may turn one letter into two (ß): only those that stay one are marks.
    wanted = [c.upper() for c in given or name if c.isalnum() and len(c.upper()) == 1]
    every = [*wanted, *string.ascii_uppercase]
    return given or next(letter for letter in every if letter not in taken)


def _name_phrases(name: str) -> tuple[str, ...]:
    words = [w for w in re.findall(r"\w+", name.lower()) if len(w) > 3]
    return tuple(dict.fromkeys([name.lower(), *words]))


class _Fields:
    """The fields of one table of the file; every complaint names it."""

    def __init__(self, data: Any, where: str, known: set[str]) -> None:
        if not isinstance(data, Mapping):
            _refuse(where, "an object with fields is needed here", "See: seedlens lens show posts")
        unknown = sorted(str(name) for name in data if name not in known)
        if unknown:
            _refuse(where, f"there is no field '{unknown[0]}'", f"Use {', '.join(sorted(known))}.")
        self.data, self.where = data, where

    def text(self, name: str, default: str | None = None) -> str:
        """One text, in one line; without a default it may not be empty."""
        value = self.data.get(name, default)
        if value is None or (isinstance(value, str) and not value.strip() and not default):
            if default is not None:
                return default
            _refuse(self.where, f"the {name} is empty", "Fill it in.")
        return self._checked(name, value) or default or ""

    def flag(self, name: str) -> bool:
        """True or false; false where it is left out."""
        value = self.data.get(name, False)
        if not isinstance(value, bool):
            _refuse(self.where, f"{name} is {value!r}"[:80], "Write true or false, without quotes.")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, each once, empty ones left out."""
        value = self.data.get(name, ())
        if not isinstance(value, Iterable) or isinstance(value, str | Mapping):
            _refuse(self.where, f"{name} is not a list", "Write it as a list of texts.")
        texts = dict.fromkeys(self._checked(name, item) for item in value)
        if len(texts) > MOST_TEXTS:
            _refuse(self.where, f"{len(texts)} {name} are given", f"Keep the best {MOST_TEXTS}.")
        return tuple(text for text in texts if text)

    def _checked(self, name: str, value: Any) -> str:
        if not isinstance(value, str):
            _refuse(self.where, f"{name} is {value!r}"[:80], "Write it as text, in quotes.")
        text = " ".join(value.split())
        if len(text) > LONGEST[name] or not text.isprintable():
            what = f"has {len(text)} characters" if text.isprintable() else "has control characters"
            _refuse(self.where, f"{name} {what}", f"Use at most {LONGEST[name]} printable ones.")
        return text


def _refuse(where: str, what: str, remedy: str) -> NoReturn:
    raise BadInputError(f"{where}: {what}.", remedy)


def _toml(fields: Mapping[str, Any]) -> str:
    # Printable JSON strings are TOML basic strings; _checked lets nothing else into a lens.
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
    """One line of JSON, keys sorted; ``allows_none`` only where it is so: what was written by
    lenses of before stays the same."""
    fields = asdict(lens)
    if not lens.allows_none:
        del fields["allows_none"]
    return json.dumps(fields, ensure_ascii=False, sort_keys=True)


def lens_from_json(text: str) -> Lens:
    """Read what :func:`lens_to_json` wrote, in this version or an earlier one.

    What an older form lacks (examples, phrases ...) comes from the shipped lens of its key.
    """
    data = json.loads(text)
    shipped = next((lens for lens in SHIPPED if lens.key == data["key"]), None)
    known = {} if shipped is None else {a.key: asdict(a) for a in shipped.aspects}
    aspects = [{**known.get(a["key"], {}), **a} for a in data["aspects"]]
    rest = {"things": shipped.things, "generic": shipped.generic} if shipped else {}
    names = ("key", "name", "things", "generic", "allows_none")
    return Lens.from_fields(
        {**rest, **{n: data[n] for n in names if n in data}, "aspects": aspects}
    )
