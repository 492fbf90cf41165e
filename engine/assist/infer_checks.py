"""From what a model claims to facts: its quote must stand in the text, its value must be one.

A value is held to the same tables as what the rules find: codes of the gazetteer, units and
currencies of the unit tables, days of the calendar.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from engine.assist.infer_prompts import Claim
from engine.facts.gazetteer import gazetteer
from engine.facts.periods import Period, in_words, month_days
from engine.facts.units import find_quantities, format_amount, round_in
from engine.llm.texts import find_quote
from engine.types.documents import Span
from engine.types.facts import Fact, FactKind

CONFIDENCE = 0.7
"""In whatever a model says, below what the rules read off the words."""
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")
Value = tuple[float, float, str, str]
"""low, high, unit and words of a :class:`Fact`."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What is left of a document's claims.

    Attributes:
        unquoted: claims whose quote does not stand in the text.
        unusable: claims whose value is none: an unknown code or unit, no day of the calendar.
        known: claims that say what the rules found, or what another claim says.
    """

    facts: tuple[Fact, ...]
    unquoted: int = 0
    unusable: int = 0
    known: int = 0


def checked(
    claims: Iterable[Claim],
    text: str,
    rules: Sequence[Fact],
    kinds: Sequence[FactKind],
    model: str,
) -> Checked:
    """The claims that hold as facts, in reading order.

    Args:
        rules: what was found in ``text`` without a model.
        kinds: what was asked for; a claim of another kind is unusable.
        model: who says so.
    """
    found: list[Fact] = []
    unquoted = unusable = known = 0
    for claim in claims:
        value = value_of(claim) if claim.kind in kinds else None
        span = quoted(text, claim.quote)
        if value is None:
            unusable += 1
        elif span is None:
            unquoted += 1
        elif any(_says(fact, claim.kind, value) for fact in (*rules, *found)):
            known += 1
        else:
            found.append(_fact(claim.kind, value, text, span, model))
    ordered = tuple(sorted(found, key=lambda fact: fact.span))
    return Checked(ordered, unquoted, unusable, known)


def _fact(kind: FactKind, value: Value, text: str, span: Span, model: str) -> Fact:
    low, high, unit, words = value
    quote = " ".join(text[slice(*span)].split())
    return Fact(
        kind=kind,
        low=low,
        high=high,
        unit=unit,
        text=words,
        span=span,
        derivation=f"'{quote}', as {model} reads it",
        implied=True,
        confidence=CONFIDENCE,
        generated=True,
    )


def quoted(text: str, quote: str) -> Span | None:
    """Where the quote stands in the text; a short one ("Uluru") must stand there to the letter.

    >>> quoted("A week at Uluru.", "Uluru"), quoted("A week at Uluru.", "the rock")
    ((10, 15), None)
    """
    if span := find_quote(text, quote):
        return span
    words = quote.strip(" .,;:'\"“”‘’")
    exact = re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) if len(words) > 2 else None
    return exact.span() if exact else None


def _says(fact: Fact, kind: FactKind, value: Value) -> bool:
    low, high, unit, _ = value
    if fact.kind != kind:
        return False
    if kind == "place":
        return fact.unit == unit or fact.unit.startswith(f"{unit}-")
    return fact.unit == unit and (fact.low, fact.high) == (low, high)


def value_of(claim: Claim) -> Value | None:
    """The value in normal form; None when it is none."""
    readers = {"place": _place, "amount": _amount, "date": _date}
    return readers[claim.kind](claim.value.strip())


def _place(value: str) -> Value | None:
    book, code = gazetteer(), value.upper()
    country = book.countries.get(code[:2])
    if country is None:
        return None
    if len(code) == 2:
        return 0.0, 0.0, code, country
    region = book.regions.get(code)
    return None if region is None else (0.0, 0.0, code, f"{region}, {country}")


def _amount(value: str) -> Value | None:
    found = find_quantities(value)
    if len(found) != 1 or found[0].span != (0, len(value)):
        return None
    unit = found[0].unit
    low, high = round_in(found[0].low, unit), round_in(found[0].high, unit)
    return low, high, unit, format_amount(low, high, unit)


def _date(value: str) -> Value | None:
    parts = [_period(part.strip()) for part in value.split("/")]
    first, last = parts[0], parts[-1]
    if len(parts) > 2 or first is None or last is None:
        return None
    period = Period(first[0], last[1])
    if not period.plausible:
        return None
    low, high = period.low.toordinal(), period.high.toordinal()
    return float(low), float(high), "day", in_words(period)


def _period(value: str) -> tuple[date, date] | None:
    match = _DATE.fullmatch(value)
    if match is None:
        return None
    year, month, day = (int(part) if part else 0 for part in match.groups())
    try:
        if match[3]:
            return date(year, month, day), date(year, month, day)
        if match[2]:
            return month_days(date(year, month, 1).year, month)
        return date(year, 1, 1), date(year, 12, 31)
    except ValueError:
        return None
