"""Calendar words, and dates that a text states in full: one reading per notation.

Digits of every script are read (``\\d`` and ``int`` know them). What is impossible (31 February)
or can be read in two ways (03/04/05) is not a date, unless the text's other dates settle it.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta

from engine.types.documents import Span

MONTHS = {
    name: number
    for number in range(1, 13)
    for name in (calendar.month_name[number].lower(), calendar.month_abbr[number].lower())
} | {"sept": 9}
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday mon", "tuesday tues tue", "wednesday wed", "thursday thurs thur thu",
            "friday fri", "saturday sat", "sunday sun",
        )
    )
    for name in names.split()
}  # fmt: skip
"""Weekdays as ``date.weekday`` counts them: Monday is 0."""
FULL_WEEKDAYS = tuple(name for name in WEEKDAYS if name.endswith("day"))


def _any_of(words: list[str] | tuple[str, ...]) -> str:
    """Alternatives of a pattern, the longest first, in capitals or not."""
    return "|".join(
        f"[{word[0].upper()}{word[0]}]{word[1:]}|{word.upper()}"
        for word in sorted(words, key=len, reverse=True)
    )


def _spelled(names: tuple[str, ...], full: tuple[str, ...]) -> str:
    """Pattern of names in full, and of their abbreviations with or without a full stop."""
    short = tuple(name for name in names if name not in full)
    return rf"(?:(?:{_any_of(full)})\b|(?:{_any_of(short)})\b\.?)"


FULL_MONTHS = tuple(name.lower() for name in calendar.month_name[1:])
MONTH = _spelled(tuple(MONTHS), FULL_MONTHS)
WEEKDAY = _spelled(tuple(WEEKDAYS), FULL_WEEKDAYS)
FULL_WEEKDAY = rf"(?:{_any_of(FULL_WEEKDAYS)})\b"
DAY = r"\d{1,2}(?:st|nd|rd|th)?"
BEFORE_CHRIST = r"(?:BCE?\b|B\.\s?C\.)"
YEAR = rf"(?:1\d{{3}}|20\d\d|[٠-٩۰-۹०-९０-９]{{4}})(?!\d|[.,]\d|\w|\s{BEFORE_CHRIST})"
DASH = r"\s?[-–—]\s?"
TO = rf"(?:{DASH}|\s(?:to|and|until|till|through|thru)\s)"
ON = r"(?<![\w./:,$€£#+-])"  # where a number may begin that is not part of another
OFF = r"(?![\w/-]|[.,:]\d)"  # where it may end

WORDED = re.compile(
    rf"(?:\b(?P<weekday>{WEEKDAY}),?\s(?:the\s)?)?(?:"
    rf"{ON}(?P<d1>{DAY})(?:(?P<l1>{TO})(?P<d2>{DAY}))?(?:\sday)?(?:\s|-|/)(?:of\s)?(?P<m1>{MONTH})"
    rf"(?:(?:,?\s|-|/)(?:of\s)?(?P<y1>{YEAR})|\s?['’](?P<s1>\d\d)\b)?"
    rf"|\b(?P<m2>{MONTH})(?:\s|-)(?:the\s)?(?P<d3>{DAY})(?!\d|:\d)(?:(?P<l2>{TO})(?P<d4>{DAY})(?![\d:]))?"
    rf"(?:(?:,\s?|\s|-)(?:of\s)?(?P<y2>{YEAR})|,?\s['’](?P<s2>\d\d)\b)?"
    r")(?![\w])"
)
"""A day and a month in words, in either order; the year may lack; two days are a range."""

FIGURES = re.compile(r"\d{1,4}([-/.])\d\d?\1\d{1,4}(?!\d)")
"""What may be a date in figures; most texts have none, so that little is looked at closely."""
ISO = re.compile(
    rf"{ON}(?P<y>\d{{4}})(?P<sep>[-/.])(?P<m>\d\d?)(?P=sep)(?P<d>\d\d?)(?![\d/-]|\.\d)"
)
ISO_COMPACT = re.compile(rf"{ON}(?P<y>(?:19|20)\d\d)(?P<m>\d\d)(?P<d>\d\d)(?=T\d{{4}})")
ISO_WEEK = re.compile(rf"{ON}(?P<y>\d{{4}})-?W(?P<w>\d\d)(?:-?(?P<d>[1-7]))?{OFF}")
EAST_ASIAN = re.compile(
    r"(?P<y>\d{4})\s?[年년]\s?(?P<m>\d\d?)\s?[月월](?:\s?(?P<d>\d\d?)\s?[日일号])?"
)
NUMERIC = re.compile(
    rf"{ON}(?P<a>\d\d?)(?P<sep>[-/.])(?P<b>\d\d?)(?P=sep)(?P<c>\d{{4}}|\d\d)(?![\w/-]|\.\d)"
)
CLOCK_AFTER = re.compile(r",?\s\d\d?:\d\d")
WEEKDAY_BEFORE = re.compile(rf"\b(?P<weekday>{WEEKDAY}),?\s$")
BETWEEN = re.compile(r"\b[Bb]etween\s(?:the\s)?$")
MONTH_WORD = re.compile(rf"(?<![^\W\d_]){MONTH}")
ANCIENT = re.compile(rf",?\s(?:\d{{1,4}}\s?)?{BEFORE_CHRIST}")
LONGEST_WORDED = 45
"""Characters of a date in words before its month: "Wednesday, the 27th to the 29th day of"."""
NO_DATE_BEFORE = re.compile(
    r"(?:\b(?:version|ver|release|build|v|rev|section|sect|ip|isbn|issn|tel|phone|fax|no|nr)"
    r"\.?:?\s?|[$€£#+]\s?)$",
    re.IGNORECASE,
)
"""What makes of the digits behind it a version, a price or a telephone number."""


@dataclass(frozen=True, slots=True)
class Stated:
    """A date as a text states it.

    Attributes:
        span: where.
        low, high: the first and last day; None where the year lacks.
        month, day, last_day: what is known of a date without a year; 0 where it is not.
        weekday: 0 (Monday) to 6 when one is named, else None.
        confidence: 0 to 1.
    """

    span: Span
    low: date | None = None
    high: date | None = None
    month: int = 0
    day: int = 0
    last_day: int = 0
    weekday: int | None = None
    confidence: float = 1.0


def day(year: int, month: int, day_of_month: int) -> date | None:
    """Return the date, None when there is no such day."""
    try:
        return date(year, month, day_of_month)
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


def find_days(text: str) -> tuple[Stated, ...]:
    """Find the dates of days (and of ranges within a month) that ``text`` states.

    Returns:
        in order of their place, never overlapping; those without a year have ``low`` None.

    >>> [found.low for found in find_days("Paid 13/04/2005, shipped 05/05/05 and 03/04/05.")]
    [datetime.date(2005, 4, 13), datetime.date(2005, 5, 5), datetime.date(2005, 4, 3)]
    """
    found: list[Stated] = []
    if any(map(str.isdigit, text)):
        found.extend(_numbered(text))
        found.extend(_worded(text))
    return tuple(sorted(found, key=lambda stated: stated.span))


def _numbered(text: str) -> Iterator[Stated]:
    numeric = []
    for figures in FIGURES.finditer(text):
        if _is_something_else(text, figures.start()):
            continue
        match = ISO.match(text, figures.start())
        if match and (stated := _iso(match)):
            yield stated
        elif match := NUMERIC.match(text, figures.start()):
            before = WEEKDAY_BEFORE.search(text, max(0, match.start() - 12), match.start())
            numeric.append((match, before))
    if "T" in text:
        yield from filter(None, map(_iso, ISO_COMPACT.finditer(text)))
    if "W" in text:
        yield from _iso_weeks(text)
    if "年" in text or "년" in text:
        yield from _east_asian(text)
    if numeric:
        yield from _numeric(numeric)


def _iso(match: re.Match[str]) -> Stated | None:
    that = day(int(match["y"]), int(match["m"]), int(match["d"]))
    return Stated(match.span(), that, that) if that and that.year >= 1000 else None


def _iso_weeks(text: str) -> Iterator[Stated]:
    for match in ISO_WEEK.finditer(text):
        try:
            low = date.fromisocalendar(int(match["y"]), int(match["w"]), int(match["d"] or 1))
        except ValueError:
            continue
        yield Stated(match.span(), low, low if match["d"] else low + timedelta(days=6))


def _east_asian(text: str) -> Iterator[Stated]:
    for match in EAST_ASIAN.finditer(text):
        year, month = int(match["y"]), int(match["m"])
        if match["d"] and (that := day(year, month, int(match["d"]))):
            yield Stated(match.span(), that, that)
        elif not match["d"] and day(year, month, 1):
            yield Stated(match.span(), *month_days(year, month))


def _is_something_else(text: str, start: int) -> bool:
    return NO_DATE_BEFORE.search(text, max(0, start - 10), start) is not None


def _readings(match: re.Match[str], weekday: int | None) -> dict[str, date]:
    """Return the possible days by order ("dmy", "mdy", "ymd") of a date in figures."""
    first, second, last = (int(match[name]) for name in "abc")
    short = len(match["c"]) == 2
    year = full_year(last) if short else last
    orders = {"dmy": (year, second, first)}
    if match["sep"] != ".":  # with full stops the day comes first wherever they are used
        orders["mdy"] = (year, first, second)
        if short and match["sep"] == "-":
            orders["ymd"] = (full_year(first), second, last)
    elif short and not CLOCK_AFTER.match(match.string, match.end()):
        return {}  # 1.2.24 is a version as often as a date
    days = {order: day(*parts) for order, parts in orders.items() if parts[0] >= 1000}
    readings = {order: that for order, that in days.items() if that}
    agreeing = {order: that for order, that in readings.items() if that.weekday() == weekday}
    return agreeing or readings


def _numeric(found: list[tuple[re.Match[str], re.Match[str] | None]]) -> Iterator[Stated]:
    """Read dates in figures; those that have one reading settle the order for the others."""
    weekdays = [weekday_of(before["weekday"]) if before else None for _, before in found]
    readings = [
        _readings(match, weekday) for (match, _), weekday in zip(found, weekdays, strict=True)
    ]
    certain = {next(iter(orders)) for orders in readings if len(orders) == 1}
    for (match, before), weekday, orders in zip(found, weekdays, readings, strict=True):
        days, confidence = set(orders.values()), 0.97
        if len(days) > 1 and len(certain) == 1:
            days, confidence = {orders[order] for order in certain if order in orders}, 0.9
        if len(days) == 1:
            that = days.pop()
            span = (before.start() if before else match.start(), match.end())
            yield Stated(span, that, that, weekday=weekday, confidence=confidence)


def _worded(text: str) -> Iterator[Stated]:
    end = 0
    for month in MONTH_WORD.finditer(text):
        if month.start() < end:
            continue
        reach = max(end, month.start() - LONGEST_WORDED), month.end() + LONGEST_WORDED
        match = WORDED.search(text, *reach)
        if match and match.start() <= month.start():
            end = match.end()
            if not ANCIENT.match(text, end) and (stated := _read_words(match)):
                yield from _apart(text, match, stated)


def _apart(text: str, match: re.Match[str], both: Stated) -> Iterator[Stated]:
    """Yield a stretch of days as it is, and two days joined by "and" as two."""
    link, last = ("l1", "d2") if match["d1"] else ("l2", "d4")
    if "and" not in (match[link] or "") or BETWEEN.search(
        text, max(0, match.start() - 14), match.start()
    ):
        yield both
        return
    first, second = (both.span[0], match.start(link)), (match.start(last), both.span[1])
    yield replace(both, span=first, high=both.low, last_day=both.day)
    yield replace(both, span=second, low=both.high, day=both.last_day, weekday=None)


def _read_words(match: re.Match[str]) -> Stated | None:
    name = match["m1"] or match["m2"]
    year, short = match["y1"] or match["y2"], match["s1"] or match["s2"]
    if name[0].islower() and name.lower() in AMBIGUOUS_MONTHS and not year:
        return None
    first = match["d1"] or match["d3"]
    month, low_day = month_of(name), _number(first)
    high_day = _number(match["d2"] or match["d4"] or first)
    weekday = weekday_of(match["weekday"]) if match["weekday"] else None
    number = int(year) if year else full_year(int(short)) if short else 2024  # a leap year
    low, high = day(number, month, low_day), day(number, month, high_day)
    if low is None or high is None or high < low or number < 1000:
        return None
    if year or short:
        agrees = weekday is None or low.weekday() == weekday
        return Stated(match.span(), low, high, weekday=weekday, confidence=1.0 if agrees else 0.6)
    return Stated(match.span(), month=month, day=low_day, last_day=high_day, weekday=weekday)


AMBIGUOUS_MONTHS = frozenset({"may", "march", "mar", "dec", "jan", "jun", "sep", "oct"})
"""Names of months that are other words or abbreviations when they are not capitalised."""


def _number(words: str) -> int:
    return int(words.rstrip("sthndr"))
