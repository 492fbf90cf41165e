"""Documents, as read and as stored, and the facts that they state or imply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.bibliographic import web_address
from engine.text import escaped_address, plain

Span = tuple[int, int]  # Character offsets `[start, end)` into a document's text as stored


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """One document as a reader yields it, before indexing."""

    doc_id: str
    title: str
    text: str
    where: str  # file and row it came from, for error messages
    sentences: tuple[Span, ...] | None = None  # given spans; None to split the text
    roles: tuple[str | None, ...] | None = None  # aspect key per given sentence; None: no role
    year: int | None = None
    authors: tuple[str, ...] = ()
    url: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)  # further fields; JSON scalars


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
    address = web_address(url or "")
    link = f"<{escaped_address(address)}>" if address else plain(url or "")
    return f"{plain(title)}{year}.{people} {link}".rstrip()


FactKind = Literal["date", "amount", "place"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A typed, normalised value, its words, and how it was got; values of equal kind and unit are
    the same where ``[low, high]`` overlap."""

    kind: FactKind
    low: float  # first and last value: ordinals of days; amounts in `unit`; 0 of a place
    high: float
    # "day"; ISO 4217 currency, base unit or "" of a bare number; ISO 3166 code of a place
    unit: str
    text: str  # the value for people: "27 February 2024", "1,950 USD", "Île-de-France, France"
    span: Span  # the words that state it or that it follows from
    derivation: str = ""  # how it follows, for people; "" for what is stated
    anchor: Span | None = None  # the words it was resolved against, where they stand in the text
    about: tuple[str, ...] = ()  # words of what it belongs to, most telling first
    implied: bool = False  # False for what is stated in so many words
    confidence: float = 1.0  # 0 to 1: how often facts got in this way are right
    recurrence: str = ""  # RFC 5545 rule of what recurs from `low` to `high`
    generated: bool = False  # a language model said so


@dataclass(frozen=True, slots=True)
class FactMatch:
    """A fact that a query asks for, the document's fact that answers it best, 0 to 1 how well."""

    asked: Fact
    found: Fact
    score: float
