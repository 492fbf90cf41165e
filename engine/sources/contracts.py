"""What every service has, what a page of one is, and single values of what services send."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from xml.etree.ElementTree import Element, ParseError

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from engine.bibliographic import without_markup
from engine.config import Settings
from engine.errors import BadInputError
from engine.sources.http import Address, Client, TransientError
from engine.types.corpora import ServiceInfo, ServiceQuery
from engine.types.limits import SERVICE_IDS

Row = dict[str, Any]
"""A document as :mod:`engine.ingest` reads it: ``doc_id``, ``title``, ``text`` (the abstract, "" if
there is none), ``year``, ``authors``, ``url``; everything else is metadata."""
FIELDS = ("doc_id", "title", "text", "year", "authors", "url")
START = ""  # The cursor of the first page
_UNSEEN = re.compile("[\x00-\x1f\x7f\u200b-\u200f\ufeff]+")
"""Control characters, and those without width that come along when ids are copied from pages."""

MOST_NUMBER = 999_999_999  # Years and counts are below


@dataclass(frozen=True, slots=True)
class Page:
    """One page of results."""

    rows: Sequence[Row]  # documents, in the service's order; some may have been on a page before
    cursor: str | None  # of the next page; None after the last
    # documents of the query in all, as the service says; None where it does not
    total: int | None = None
    missing: Sequence[str] = ()  # ids that were asked for on this page and that do not exist
    skipped: int = 0  # entries that are no papers, such as attachments
    # of the library that was asked, by which it can be asked for changes; "" for none
    version: str = ""


class Service(Protocol):
    """A service that documents can be retrieved from."""

    @property
    def info(self) -> ServiceInfo: ...

    def address(self, query: ServiceQuery, settings: Settings, /) -> Address:
        """Where it is asked, and how often that may be."""
        ...

    def read(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Search words and ids of a query as people type it; one is empty but for Zotero."""
        ...

    def page(self, client: Client, query: ServiceQuery, cursor: str) -> Page:
        """One page; its cursor is :data:`START`, or what the page before has."""
        ...


def batch(ids: Sequence[str], cursor: str, size: int) -> tuple[list[str], str | None]:
    """The ids of a page where a service is asked by ids, and the cursor of the next page.

    >>> batch(["a", "b", "c"], "", 2), batch(["a", "b", "c"], "2", 2)
    ((['a', 'b'], '2'), (['c'], None))
    """
    at = int(cursor or 0)
    end = at + size
    return list(ids[at:end]), str(end) if end < len(ids) else None


def listed(value: Any) -> list[Mapping[str, Any]]:
    """The JSON objects of a list; nothing for what is no list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


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
    """Words and ids of a query: ids when all of it is ids, between commas, blanks or lines."""
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
