"""What a document states or implies: dates, amounts, places, in one normal form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.types.documents import Span

FactKind = Literal["date", "amount", "place"]


@dataclass(frozen=True, slots=True)
class Fact:
    """One typed, normalised value, the words it comes from, and how it was got.

    Two facts are about the same value when kind and unit are equal and ``[low, high]`` overlap.
    """

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
