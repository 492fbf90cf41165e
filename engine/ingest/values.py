"""Single values of a row as SeedLens stores them: clean text, ids, years, people, roles."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from engine.types.lenses import Lens

Scalar = str | int | float | bool

# One character for one character, so that spans into the text stay true. Newline and tab stay;
# a carriage return becomes a space as well, but is too common to be worth a warning.
_TO_SPACE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_YEAR = re.compile(r"(?<!\d)([12]\d{3})(?!\d)")
_COMPACT_DATE = re.compile(r"([12]\d{3})\d{4}\Z")
_DOI = re.compile(r"(?:doi:\s*)?(10\.\d{4,9}/\S+)\Z", re.IGNORECASE)
_AND = re.compile(r"\s+and\s+")

_NO_ROLE = ("other", "none", "")
_SYNONYMS = {"objective": "background", "o": "background", "methods": "method", "results": "result"}
"""Labels of published data sets, for lenses that have the aspect."""

_SENTENCES = {
    "controls": "{n} documents held control characters; each was replaced by a space.",
    "surrogates": "{n} documents held broken characters (lone surrogates); each became U+FFFD.",
    "stand_in": "{n} documents have no text of their own; their title stands in for it.",
    "years": "{n} documents have a year that could not be read; they have none now.",
    "links": "{n} documents have a link that is not a web address; it was left out.",
    "roles": "{n} documents have sentence roles that name no aspect; those are not used.",
    "duplicates": "{n} documents came more than once with the same content; kept once.",
}


class Notes:
    """What was corrected while reading, counted in documents."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(self, kinds: set[str]) -> None:
        """Count one document for every kind in ``kinds`` (keys of the sentences below)."""
        self.counts.update(kinds)

    def sentences(self) -> tuple[str, ...]:
        """One plain sentence with its number per kind that occurred."""
        told = (self.counts[kind] for kind in _SENTENCES)
        lines = [(n, words.format(n=n)) for n, words in zip(told, _SENTENCES.values(), strict=True)]
        return tuple(_singular(words) if n == 1 else words for n, words in lines if n)


def _singular(words: str) -> str:
    return (
        words.replace("1 documents have", "1 document has")
        .replace("1 documents", "1 document")
        .replace("their title", "its title")
        .replace("they have none now", "it has none now")
    )


def clean(text: str, found: set[str]) -> str:
    """Text of the same length without control characters and lone surrogates.

    Args:
        found: receives ``controls`` and ``surrogates`` when there were any.
    """
    if _TO_SPACE.search(text):
        if _CONTROLS.search(text):
            found.add("controls")
        text = _TO_SPACE.sub(" ", text)
    if _SURROGATES.search(text):
        found.add("surrogates")
        text = _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)
    return text


def one_line(text: str, found: set[str]) -> str:
    """Clean text in one line, ends trimmed: titles, names, ids."""
    return clean(text, found).replace("\n", " ").replace("\t", " ").strip()


def missing(value: Any) -> bool:
    """None and NaN (how Parquet and pandas write "no value")."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def doc_id(value: Any, found: set[str]) -> str | None:
    """An id as text (``7``, ``7.0`` and ``"7"`` alike), None when the value cannot be one."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # pandas turns whole-number columns with gaps into floats
    if isinstance(value, bool) or not isinstance(value, str | int | UUID):
        return None
    return one_line(str(value), found)


def year(value: Any) -> int | None:
    """The four-digit year in a number, date or text (1000 to 2999); None when there is none."""
    if isinstance(value, date):
        return value.year
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    match = _YEAR.search(text) or _COMPACT_DATE.match(text)
    return int(match.group(1)) if match else None


def authors(value: Any, found: set[str]) -> tuple[str, ...]:
    """Names in order, "First Last", from a list of names or ``{"name": ...}``, or one string."""
    if isinstance(value, str):
        parsed = as_list(value)
        value = parsed if parsed is not None else _AND.split(value.replace(";", " and "))
    if not isinstance(value, list | tuple):
        return ()
    named = (item.get("name") if isinstance(item, Mapping) else item for item in value)
    names = (one_line(name, found) for name in named if isinstance(name, str))
    return tuple(_first_last(" ".join(name.split())) for name in names if name)


def _first_last(name: str) -> str:
    last, comma, first = name.partition(",")
    turned = comma and first.strip() and last.strip() and "," not in first
    return f"{first.strip()} {last.strip()}" if turned else name


def url(value: Any, found: set[str]) -> str | None:
    """A web address (a DOI becomes one); anything else is noted as ``links`` and left out."""
    text = one_line(value, found) if isinstance(value, str) else ""
    if not text:
        return None
    doi = _DOI.match(text)
    if doi:
        return f"https://doi.org/{doi.group(1)}"
    if text.lower().startswith(("http://", "https://")):
        return text
    found.add("links")  # javascript: and the like must never reach a page
    return None


Labels = Mapping[str, str | None]
"""Label of a sentence in a source -> key of an aspect; None: known, and no aspect."""


def role_labels(lens: Lens) -> Labels:
    """The labels that a lens knows: keys, names and letters of its aspects, any case."""
    keys = {aspect.key for aspect in lens.aspects}
    labels: dict[str, str | None] = dict.fromkeys(_NO_ROLE)
    labels |= {label: key for label, key in _SYNONYMS.items() if key in keys}
    for name in ("letter", "name", "key"):  # the latter wins when two aspects claim a label
        labels |= {getattr(aspect, name).lower(): aspect.key for aspect in lens.aspects}
    return labels


def role(value: Any, found: set[str], labels: Labels) -> str | None:
    """The aspect key of a label (``method_label``, ``M``, ``Methods`` ...), None for the rest."""
    if missing(value):
        return None
    label = str(value).strip().lower().removesuffix("_label")
    if label not in labels:
        found.add("roles")
    return labels.get(label)


def as_list(value: Any) -> list[Any] | None:
    """A list as it is, or the one that a text holds as JSON (in CSV cells); else None."""
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            return None
        return parsed if isinstance(parsed, list) else None
    return None


def scalar(value: Any, found: set[str]) -> Scalar | None:
    """A value that JSON can hold, None for lists, objects, bytes and empty values."""
    if isinstance(value, str):
        return clean(value, found).strip() or None
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return float(value) if value.is_finite() else None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else None
