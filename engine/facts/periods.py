"""Stretches of days, and the tables and word lists of `assets/facts`."""

from __future__ import annotations

import calendar
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any, Literal

from dateutil.relativedelta import relativedelta

from engine.config import ASSETS
from engine.types.documents import Span


@cache
def table(name: str) -> dict[str, Any]:
    """All of ``assets/facts/{name}.toml``."""
    return tomllib.loads((ASSETS / "facts" / f"{name}.toml").read_text(encoding="utf-8"))


def word_lists(name: str) -> dict[str, frozenset[str]]:
    """The lists of words of a table, by their names."""
    return {key: word_set(words) for key, words in table(name).items() if isinstance(words, str)}


def word_set(words: str) -> frozenset[str]:
    """The words of a line of words."""
    return frozenset(words.split())


MONTHS = {
    name: number
    for number in range(1, 13)
    for name in (calendar.month_name[number].lower(), calendar.month_abbr[number].lower())
} | {"sept": 9}
_NAMES = "monday mon, tuesday tues tue, wednesday wed, thursday thurs thur thu, friday fri"
_NAMES += ", saturday sat, sunday sun"
WEEKDAYS = {name: n for n, names in enumerate(_NAMES.split(", ")) for name in names.split()}
"""Weekdays as ``date.weekday`` counts them: Monday is 0."""
FULL_WEEKDAYS = tuple(name for name in WEEKDAYS if name.endswith("day"))


def day_of(year: int, month: int, day_of_month: int) -> date | None:
    """Return the date, None when there is no such day."""
    try:
        return date(year, month, day_of_month)
    except ValueError:
        return None


def week_of(year: int, number: int) -> date | None:
    """Return the Monday of an ISO week, None when there is no such week, or far from now."""
    try:
        return date.fromisocalendar(year, number, 1) if year <= LATEST.year else None
    except ValueError:
        return None


def full_year(two_digits: int) -> int:
    """Return the year that two digits mean by POSIX: 1969 to 2068."""
    return two_digits + (2000 if two_digits < 69 else 1900)


def month_of(name: str) -> int:
    """Return 1 to 12 for the name of a month or its abbreviation."""
    return MONTHS[name.lower().rstrip(".")]


def weekday_of(name: str) -> int:
    """Return 0 (Monday) to 6 for the name of a weekday or its abbreviation."""
    return WEEKDAYS[name.lower().rstrip(".")]


def month_days(year: int, month: int) -> tuple[date, date]:
    """Return the first and the last day of a month."""
    return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])


Grain = Literal["day", "week", "month", "quarter", "year", "range"]
EARLIEST, LATEST = date(1000, 1, 1), date(2200, 12, 31)
"""What a text means by a date lies between these; arithmetic beyond them has misread it."""
WORKING_DAYS = 5
SATURDAY = 5


@dataclass(frozen=True, slots=True)
class Period:
    """The days from ``low`` to ``high``, both included."""

    low: date
    high: date
    grain: Grain = "day"  # what was named; "range" for a stretch that is no unit of the calendar
    certainty: float = 1.0  # 0 to 1: a factor for readings that not everybody shares

    @property
    def plausible(self) -> bool:
        """Whether a text can mean these days."""
        return EARLIEST <= self.low <= self.high <= LATEST


def one_day(that: date) -> Period:
    """Return the period of a single day."""
    return Period(that, that)


def containing(unit: str, that: date) -> Period:
    """Return the day, (ISO) week, weekend, month, quarter, year or decade that ``that`` is in."""
    if unit == "week":
        monday = that - timedelta(days=that.weekday())
        return Period(monday, monday + timedelta(days=6), "week")
    if unit == "weekend":
        saturday = that + timedelta(days=SATURDAY - that.weekday())
        return Period(saturday, saturday + timedelta(days=1), "range")
    if unit == "month":
        return whole_month(that.year, that.month)
    if unit == "quarter":
        return quarter(that.year, (that.month + 2) // 3)
    if unit == "year":
        return years(that.year, that.year, "year")
    if unit == "decade":
        first = that.year // 10 * 10
        return years(first, first + 9)
    return one_day(that)


def years(first: int, last: int, grain: Grain = "range") -> Period:
    """Return the days of years, both included."""
    return Period(date(first, 1, 1), date(last, 12, 31), grain)


def whole_month(year: int, month: int, certainty: float = 1.0) -> Period:
    """Return the days of a month."""
    return Period(*month_days(year, month), "month", certainty)


def quarter(year: int, number: int, months: int = 3) -> Period:
    """Return the ``number``-th stretch of ``months`` months of a year, counted from 1."""
    first = (number - 1) * months + 1
    low = date(year, first, 1)
    return Period(
        low, month_days(year, first + months - 1)[1], "quarter" if months == 3 else "range"
    )


def season(name: str, year: int) -> Period:
    """Return the meteorological season of the northern half of the earth; winter ends in it."""
    first = {"winter": -1, "spring": 3, "summer": 6, "autumn": 9, "fall": 9}[name]
    low = date(year - 1, 12, 1) if first < 0 else date(year, first, 1)
    return Period(low, low + relativedelta(months=3, days=-1), "range", certainty=0.8)


_DAYS_OF = {"day": 1, "night": 1, "week": 7, "weekend": 7, "fortnight": 14}
_MONTHS_OF = {"month": 1, "quarter": 3, "year": 12, "decade": 120}


def shifted(that: date, unit: str, count: int) -> Period | None:
    """Return what is ``count`` units from ``that``; None beyond the calendar. Days and weeks lead
    to a day; longer units to the month, quarter, year ... that is meant, for "two months ago" does
    not name a day."""
    try:
        if unit == "workday":
            period = one_day(_working_day(that, count))
        elif unit in _DAYS_OF:
            day = that + timedelta(days=_DAYS_OF[unit] * count)
            period = containing(unit, day) if unit == "weekend" else one_day(day)
        else:
            period = containing(unit, that + relativedelta(months=_MONTHS_OF[unit] * count))
    except (ValueError, OverflowError):
        return None
    return period if period.plausible else None


def _working_day(that: date, count: int) -> date:
    """Return the day that is ``count`` days from Monday to Friday away; holidays are unknown."""
    if abs(count) > 2000:
        raise OverflowError
    step = timedelta(days=1 if count > 0 else -1)
    while count:
        that += step
        if that.weekday() < WORKING_DAYS:
            count -= step.days
    return that


def weekday_near(anchor: date, weekday: int, direction: int) -> date:
    """Return the last such weekday before the anchor (-1) or the first one after it (+1)."""
    if direction < 0:
        return anchor - timedelta(days=(anchor.weekday() - weekday - 1) % 7 + 1)
    return anchor + timedelta(days=(weekday - anchor.weekday() - 1) % 7 + 1)


def in_words(period: Period) -> str:
    """Return the period as people write it.

    >>> in_words(containing("month", date(2024, 2, 29)))
    'February 2024'
    """
    low, high = period.low, period.high
    if low == high:
        return f"{low.day} {calendar.month_name[low.month]} {low.year}"
    if (low, high) == (date(low.year, 1, 1), date(low.year, 12, 31)):
        return str(low.year)
    if (low, high) == month_days(low.year, low.month):
        return f"{calendar.month_name[low.month]} {low.year}"
    if high == date.max:
        return f"from {in_words(one_day(low))} on"
    return f"{in_words(one_day(low))} to {in_words(one_day(high))}"


Kind = Literal["stated", "partial", "weekday", "deictic", "anaphoric", "offset"]


@dataclass(frozen=True, slots=True)
class Anchor:
    """What an expression is resolved against."""

    low: date  # low, high, grain: its days
    high: date
    span: Span | None  # where it stands in the text; None for the document's date
    words: str  # it for people: "a message of 29 February 2024"
    grain: Grain = "day"
    moment: datetime | None = None  # the time of day as well, where it is known
    kind: Literal["message", "document", "text"] = "message"  # who gives it
    tense: int = 0  # that of the words to be resolved: -1 past, 1 future, 0 unknown


@dataclass(frozen=True, slots=True)
class Candidate:
    """An expression of time."""

    span: Span  # where
    # "stated" stands for itself; "partial" lacks its year and takes the nearest from any anchor;
    # "weekday" and "deictic" count from the time of writing, "anaphoric" from the date last told;
    # "offset" from the date or event that follows it
    kind: Kind
    # from an anchor to the days that are meant, None when it does not tell
    resolve: Callable[[Anchor], Period | None]
    confidence: float = 1.0  # 0 to 1
    tail: int = 0  # for an offset, where the words of that date or event begin
    days: Period | None = None  # of what is stated


def stated(span: Span, period: Period, confidence: float = 1.0) -> Candidate:
    """Return the candidate for days that are given in full."""
    return Candidate(span, "stated", lambda _: period, confidence, days=period)


def stated_days(span: Span, low: date, high: date, confidence: float = 1.0) -> Candidate:
    """Return the candidate for a day, or for a stretch of days."""
    return stated(span, Period(low, high, "day" if low == high else "range"), confidence)


class Candidates:
    """Candidates in order of their place, looked up by it."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self.all = sorted(candidates, key=lambda c: (c.span[0], -c.span[1], c.kind))
        self._starts = [candidate.span[0] for candidate in self.all]

    def beginning(self, low: int, high: int) -> list[Candidate]:
        """Return those that begin at ``low`` or later, and before ``high``."""
        return self.all[bisect_left(self._starts, low) : bisect_left(self._starts, high)]

    def covering(self, position: int, earliest: int) -> Candidate | None:
        """Return the longest that begins after ``earliest`` and goes on beyond ``position``."""
        near = [c for c in self.beginning(earliest + 1, position + 5) if c.span[1] > position]
        return max(near, key=lambda c: c.span[1], default=None)
