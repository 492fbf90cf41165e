"""Documents, as read and as stored, and the facts that they state or imply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.text import link, plain, web_address

Span = tuple[int, int]  # Character offsets `[start, end)` into a document's text as stored


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """One document as a reader yields it, before indexing."""

    doc_id: str
    title: str
    text: str
    where: str  # file and row it came from, for error messages
    # given sentence splits, or None: then the text is split
    sentences: tuple[Span, ...] | None = None
    # one aspect key (or None: no role in the lens) per given sentence, or None
    roles: tuple[str | None, ...] | None = None
    year: int | None = None
    authors: tuple[str, ...] = ()
    url: str | None = None
    # further fields; scalars only, JSON-serialisable
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a document: its span, words, and role probabilities over the lens."""

    span: Span
    text: str
    roles: tuple[float, ...]

    @property
    def role(self) -> int | None:
        """Index of the likeliest aspect, None when no aspect has any probability."""
        if not self.roles or max(self.roles) <= 0.0:
            return None
        return max(range(len(self.roles)), key=self.roles.__getitem__)


@dataclass(frozen=True, slots=True)
class Document:
    """A document as stored."""

    doc_id: str
    title: str
    text: str
    sentences: tuple[Sentence, ...]
    year: int | None = None
    authors: tuple[str, ...] = ()
    url: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


def paper_link(document: Document) -> str | None:
    """The web address of the paper that a document stands for; None where it has none.

    Its `url` comes first, then the metadata fields `doi`, `url`, `link` and `href` (any case).

    >>> paper_link(Document("a", "", "", (), metadata={"DOI": "doi:10.18653/v1/N18-3011"}))
    'https://doi.org/10.18653/v1/N18-3011'
    """
    named = {name.casefold(): value for name, value in document.metadata.items()}
    found = (document.url, *(named.get(name) for name in ("doi", "url", "link", "href")))
    return next(filter(None, (web_address(text) for text in found if isinstance(text, str))), None)


def reference(document: Document, url: str | None) -> str:
    """Title, year, authors and address of a document, on one line."""
    title = document.title or document.text[:80] or document.doc_id
    year = f" ({document.year})" if document.year else ""
    people = f" {plain(', '.join(document.authors))}." if document.authors else ""
    return f"{plain(title)}{year}.{people}{f' {link(url)}' if url else ''}"


FactKind = Literal["date", "amount", "place"]


@dataclass(frozen=True, slots=True)
class Fact:
    """One typed, normalised value, the words it comes from, and how it was got. Two facts are about
    the same value when kind and unit are equal and ``[low, high]`` overlap."""

    kind: FactKind
    # low, high: the first and last value, both included. A date: proleptic ordinals of days
    # (`date.toordinal`), so that a month or a year is a range. An amount: in `unit`. A place: 0.
    low: float
    high: float
    # a date: "day". An amount: an ISO 4217 currency ("USD"), a base unit ("kg", "m", "s",
    # "percent") or "" for a bare number. A place: an ISO 3166 code, of a country ("FR") or of a
    # region in it ("FR-IDF").
    unit: str
    text: str  # the value for people: "27 February 2024", "1,950 USD", "Île-de-France, France"
    span: Span  # the words that state it or that it follows from
    # how it follows, for people: "'two days ago' in a message of 29 February 2024"; "" for what is
    # stated in so many words
    derivation: str = ""
    anchor: Span | None = None  # the words it was resolved against, where they stand in the text
    # the words of what it belongs to (item, model, person, event), as they stand in the text, the
    # most telling first; () when that is not known
    about: tuple[str, ...] = ()
    implied: bool = False  # False for what is stated in so many words
    confidence: float = 1.0  # 0 to 1: how often facts got in this way are right
    # an RFC 5545 rule (`FREQ=WEEKLY;BYDAY=MO`) for what recurs from `low` on; then `high` is the
    # last day on which it can, and only the rule's days are meant
    recurrence: str = ""
    generated: bool = False  # a language model said so


@dataclass(frozen=True, slots=True)
class FactMatch:
    """A fact that a query asks for, the document's fact that answers it best, 0 to 1 how well."""

    asked: Fact
    found: Fact
    score: float
