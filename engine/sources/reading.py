"""Single values of what services send, whatever they send, and ids that people type."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from engine.bibliographic import without_markup
from engine.errors import BadInputError
from engine.sources.http import TransientError
from engine.types.limits import SERVICE_IDS

_UNSEEN = re.compile("[\x00-\x1f\x7f\u200b-\u200f\ufeff]+")
"""Control characters, and those without width that come along when ids are copied from pages."""

MOST_NUMBER = 999_999_999
"""Years and counts are below; longer ones take time to be written, and stand on pages."""


def words(value: Any) -> str:
    """A text on one line, without HTML; "" for what is no text.

    >>> words(" Deep  <i>learning</i> "), words(None)
    ('Deep learning', '')
    """
    if not isinstance(value, str):
        return ""
    return " ".join(str(without_markup(value, set())).split())


def number(value: Any) -> int | None:
    """A year or another whole number, None for what is none."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and abs(value) <= MOST_NUMBER else None


def digits(text: str) -> int | None:
    """The whole number that a text is, None for what is none, or is beyond ``MOST_NUMBER``."""
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def people(names: Iterable[Any]) -> list[str]:
    """Names that are there."""
    return [name for name in map(words, names) if name]


def total_of(answer: Mapping[str, Any], key: str) -> int | None:
    """How many there are in all, as a service says; None where it says nothing that can be."""
    total = number(answer.get(key))
    return total if total is not None and total >= 0 else None


def has_list(key: str) -> Callable[[Any], bool]:
    """Whether an answer is an object with a list under ``key``."""
    return lambda value: isinstance(value, Mapping) and isinstance(value.get(key), list)


def split_ids(text: str, read: Callable[[str], str | None]) -> tuple[str, tuple[str, ...]]:
    """Words and ids of a query: ids when all of it is ids, between commas, blanks or lines.

    Args:
        read: an id as the service has it; None for what is none.
    """
    text = _UNSEEN.sub(" ", text).strip()
    parts = [part for part in re.split(r"[,;\s]+", text) if part]
    if not parts:
        raise BadInputError("Nothing is asked for.", "Give search words, or ids between commas.")
    ids = [read(part) for part in parts]
    wrong = [part for part, id_ in zip(parts, ids, strict=True) if id_ is None]
    if wrong:
        if len(wrong) * 2 < len(parts):
            more = f", and {len(wrong) - 1:,} more" if len(wrong) > 1 else ""
            raise BadInputError(
                f"{wrong[0][:80]!r} is no id{more}; the other {len(parts) - len(wrong):,} are.",
                "Correct it, or ask for words alone.",
            )
        return text, ()
    found = tuple(dict.fromkeys(id_ for id_ in ids if id_))
    if len(found) > SERVICE_IDS:
        raise BadInputError(
            f"{len(found):,} ids are more than the {SERVICE_IDS:,} allowed.",
            "Import them in several parts, under one name.",
        )
    return "", found


def parsed(text: str, name: str) -> Element:
    """The root of an XML document from outside; a TransientError where it is none."""
    try:
        root: Element = ElementTree.fromstring(text, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError, RecursionError):
        root = Element("")
    if not root.tag:
        raise TransientError(f"{name} answered with something that is no XML.")
    return root
