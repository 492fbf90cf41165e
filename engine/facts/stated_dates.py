"""Dates, months, quarters, seasons, years and spans of years that a text states in full.

One reading per notation. Digits of every script are read (``\\d`` and ``int`` know them). What is
impossible (31 February) or can be read in two ways (03/04/05) is not a date, unless the text's
other dates settle it.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from dateutil.easter import easter

from engine.facts.periods import (
    FULL_WEEKDAYS,
    MONTHS,
    WEEKDAYS,
    Anchor,
    Candidate,
    Period,
    containing,
    day_of,
    full_year,
    month_days,
    month_of,
    one_day,
    quarter,
    season,
    stated,
    stated_days,
    table,
    week_of,
    weekday_of,
    word_lists,
    years,
)
from engine.types.documents import Span


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


def find_days(text: str) -> tuple[Candidate, ...]:
    """Find the dates of days (and of ranges within a month) that ``text`` states.

    In order of their place, never overlapping; those without a year are "partial".

    >>> [day.days.low for day in find_days("Paid 13/04/2005, shipped 05/05/05 and 03/04/05.")]
    [datetime.date(2005, 4, 13), datetime.date(2005, 5, 5), datetime.date(2005, 4, 3)]
    """
    days: list[Candidate] = []
    if any(map(str.isdigit, text)):
        days.extend(_numbered(text))
        days.extend(_worded(text))
    return tuple(sorted(days, key=lambda day: day.span))


def _numbered(text: str) -> Iterator[Candidate]:
    numeric = []
    for figures in FIGURES.finditer(text):
        if NO_DATE_BEFORE.search(text, max(0, figures.start() - 10), figures.start()):
            continue
        match = ISO.match(text, figures.start())
        if match and (day := _iso(match)):
            yield day
        elif match := NUMERIC.match(text, figures.start()):
            before = WEEKDAY_BEFORE.search(text, max(0, match.start() - 12), match.start())
            numeric.append((match, before))
    if "T" in text:
        yield from filter(None, map(_iso, ISO_COMPACT.finditer(text)))
    if "W" in text:
        for match in ISO_WEEK.finditer(text):
            monday = week_of(int(match["y"]), int(match["w"]))
            low = monday and monday + timedelta(days=int(match["d"] or 1) - 1)
            if low:
                yield stated_days(match.span(), low, low if match["d"] else low + timedelta(days=6))
    if "年" in text or "년" in text:
        for match in EAST_ASIAN.finditer(text):
            if match["d"] and (day := _iso(match)):
                yield day
            elif not match["d"] and day_of(int(match["y"]), int(match["m"]), 1):
                yield stated_days(match.span(), *month_days(int(match["y"]), int(match["m"])))
    if numeric:
        yield from _numeric(numeric)


def _iso(match: re.Match[str]) -> Candidate | None:
    that = day_of(int(match["y"]), int(match["m"]), int(match["d"]))
    return stated_days(match.span(), that, that) if that and that.year >= 1000 else None


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
    possible = {order: parts for order, parts in orders.items() if parts[0] >= 1000}
    readings = {order: that for order, parts in possible.items() if (that := day_of(*parts))}
    agreeing = {order: that for order, that in readings.items() if that.weekday() == weekday}
    return agreeing or readings


def _numeric(figures: list[tuple[re.Match[str], re.Match[str] | None]]) -> Iterator[Candidate]:
    """Read dates in figures; those that have one reading settle the order for the others."""
    read = []
    for match, before in figures:
        weekday = weekday_of(before["weekday"]) if before else None
        read.append((match, before, _readings(match, weekday)))
    certain = {next(iter(orders)) for *_, orders in read if len(orders) == 1}
    for match, before, orders in read:
        days, confidence = set(orders.values()), 0.97
        if len(days) > 1 and len(certain) == 1:
            days, confidence = {orders[order] for order in certain if order in orders}, 0.9
        if len(days) == 1:
            that = days.pop()
            span = (before.start() if before else match.start(), match.end())
            yield stated_days(span, that, that, confidence)


def _worded(text: str) -> Iterator[Candidate]:
    end = 0
    for month in MONTH_WORD.finditer(text):
        if month.start() < end:
            continue
        reach = max(end, month.start() - LONGEST_WORDED), month.end() + LONGEST_WORDED
        match = WORDED.search(text, *reach)
        if match and match.start() <= month.start():
            end = match.end()
            if not ANCIENT.match(text, end):
                yield from _read_words(text, match)


def _read_words(text: str, match: re.Match[str]) -> Iterator[Candidate]:
    """Yield a day, a stretch of days, or two days that are joined by "and"."""
    name = match["m1"] or match["m2"]
    year, short = match["y1"] or match["y2"], match["s1"] or match["s2"]
    if name[0].islower() and name.lower() in AMBIGUOUS_MONTHS and not year:
        return
    first, link, last = ("d1", "l1", "d2") if match["d1"] else ("d3", "l2", "d4")
    number = int(year) if year else full_year(int(short)) if short else 2024  # a leap year
    days = [int(d.rstrip("sthndr")) for d in (match[first], match[last] or match[first])]
    low, high = (day_of(number, month_of(name), day) for day in days)
    if low is None or high is None or high < low or number < 1000:
        return
    weekday = weekday_of(match["weekday"]) if match["weekday"] else None
    begin, end = match.span()
    parts = [((begin, end), low, high, weekday)]
    if "and" in (match[link] or "") and not BETWEEN.search(text, max(0, begin - 14), begin):
        one, other = (begin, match.start(link)), (match.start(last), end)
        parts = [(one, low, low, weekday), (other, high, high, None)]
    for span, one_low, one_high, named in parts:
        if year or short:
            agrees = weekday is None or low.weekday() == weekday
            yield stated_days(span, one_low, one_high, 1.0 if agrees else 0.6)
        else:
            yield _yearless(span, one_low.month, one_low.day, one_high.day, named)


AMBIGUOUS_MONTHS = frozenset({"may", "march", "mar", "dec", "jan", "jun", "sep", "oct"})
"""Names of months that are other words or abbreviations when they are not capitalised."""


ORDER = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
PARTS = ("early", "mid", "late")
PART = r"(?:\b(?P<part>[Ee]arly|[Mm]id|[Ll]ate)[\s-])?"
MONTH_YEAR = re.compile(
    rf"{PART}\b(?:(?P<first>{MONTH})(?:\s?[-–—/]\s?|\s(?:to|and|until|till|through)\s))?"
    rf"(?P<month>{MONTH})(?:,?\s(?:of\s)?(?P<year>{YEAR})|\s?['’](?P<short>\d\d)\b)"
)
DAY_BEFORE = re.compile(r"\d(?:st|nd|rd|th)?(?:\sof)?[\s-]$")
QUARTER = re.compile(
    rf"\b(?P<kind>[QH])(?P<n>[1-4])[\s/-]{{1,2}}(?P<y>{YEAR})|{ON}(?P<y2>\d{{4}})[\s/-]?(?P<kind2>[QH])"
    rf"(?P<n2>[1-4])\b|\b(?P<word>first|second|third|fourth|1st|2nd|3rd|4th)\s(?P<unit>quarter|half)\s"
    rf"of\s(?P<y3>{YEAR})",
    re.IGNORECASE,
)
SEASON = re.compile(
    rf"\b(?P<name>spring|summer|autumn|fall|winter),?\s(?:of\s)?(?P<y>{YEAR})(?:[-/–](?P<end>\d\d)\b)?",
    re.IGNORECASE,
)
WEEK = re.compile(
    rf"\b(?:(?:calendar\s)?week|CW|KW)\s?(?P<w>\d\d?)(?:\sof\s|,?\s|/)(?P<y>{YEAR})", re.IGNORECASE
)
YEARS = re.compile(
    rf"{ON}(?P<a>(?:1[5-9]|20)\d\d)(?P<to>\s?[-–—]\s?|\s(?:to|and|until|till|through)\s)"
    rf"(?P<b>(?:1[5-9]|20)\d\d|(?<=[–—-])\d\d){OFF}(?!\s{BEFORE_CHRIST})"
)
YEARS_BEFORE = re.compile(
    r"(?:^|[(,;:]\s?|\b(?:in|from|of|during|for|the|between|over|years|period|covers|covering)\s)$",
    re.IGNORECASE,
)
YEAR_AFTER = re.compile(
    rf"(?:\b(?:in|since|during|by|until|till|before|after|from|of|around|circa|year|for|through"
    rf"|throughout|late|early|mid|and|or|to)[\s-])(?P<y>{YEAR})(?![-/–]\d)"
    r"(?=\s*(?:$|[.,;:!?)\]\n–—\"”'’])|\s(?:(?-i:[A-Z])|(?:the|an?|and|or|but|we|it|he|she|they|is|was|were"
    r"|are|has|had|have|when|with|to|for|in|on|at|by|as|from|who|which|that|this|these|those|there"
    r"|only|after|before|because|due|alone|onwards?|until|through|under|over|among|while|its|his|her"
    r"|their|our|my|did|does|do|than|of|about|against|between|if|i|you|not|by|she|where|followed"
    r"|using|showed?|led)\b))",
    re.IGNORECASE,
)
YEAR_CITED = re.compile(r"\((?:[^()\d=<>≤≥%]{0,60}[,\s])?(?P<y>(?:1[5-9]|20)\d\d)[a-h]?\)")
YEAR_OF = re.compile(
    rf"\b(?:[Tt]he|[Hh]is|[Hh]er|[Ii]ts|[Tt]heir|[Oo]ur|[Aa])\s(?P<y>{YEAR})\s(?:[A-Za-z]+\s)?"
    rf"(?:{'|'.join(sorted(word_lists('time')['dated']))}|World Cup)\b"
)
"""A year that dates what it stands before; "the 2016 model" is a name."""
DECADE = re.compile(
    rf"{ON}(?:(?P<part>early|mid|late)[\s-])?(?P<y>(?:1[5-9]|20)\d0)['’]?s\b", re.IGNORECASE
)
CENTURY = re.compile(r"\b(?P<n>1\d|20|21)(?:st|th)[\s-]century\b(?!\sBCE?\b)", re.IGNORECASE)
FESTIVALS: dict[str, tuple[int, int]] = table("time")["festivals"]
EASTER: dict[str, int] = table("time")["easter"]
FESTIVAL = re.compile(
    rf"\b(?P<name>{'|'.join([*FESTIVALS, *EASTER]).replace(chr(39), '[’' + chr(39) + ']')})\b"
    rf"(?:,?\s(?:of\s|in\s)?(?P<y>{YEAR}))?",
    re.IGNORECASE,
)


def find_stated(text: str, days: Sequence[Candidate], words: frozenset[str]) -> Iterator[Candidate]:
    """Yield what ``text`` states with its year, and days that lack only that."""
    yield from days
    yield from _festivals(text)
    if not _has_year(text, days):
        return
    if not words.isdisjoint(MONTHS):
        yield from _months(text)
    yield from _quarters(text)
    yield from _years(text)


YEAR_FIGURES = re.compile(r"(?<!\d)\d{4}(?!\d{2})|['’]\d\d\b|\d\dth")


def _has_year(text: str, days: Sequence[Candidate]) -> bool:
    """Return whether ``text`` has figures that may be a year (or century) outside ``days``."""
    places = iter(days)
    place = next(places, None)
    for match in YEAR_FIGURES.finditer(text):
        while place and place.span[1] <= match.start():
            place = next(places, None)
        if place is None or match.start() < place.span[0] or not place.days:
            return True
    return False


def nearest_year(month: int, day: int, anchor: date, tense: int) -> tuple[date, float] | None:
    """Return the day in the year that is meant, with the certainty of that."""
    around = (anchor.year - 1, anchor.year, anchor.year + 1)
    days = [that for year in around if (that := day_of(year, month, day))]
    days.sort(key=lambda that: abs(that - anchor))
    if not days:
        return None
    distance = abs(days[0] - anchor).days
    if distance <= 75:
        return days[0], 1.0
    if tense:
        return next((d for d in days if (d - anchor).days * tense >= 0), days[0]), 0.95
    return days[0], 0.9 if distance <= 120 else 0.7


def _yearless(
    span: Span, month: int, day: int, last: int, weekday: int | None = None, sure: float = 0.93
) -> Candidate:
    """Return the candidate for days without a year, and the weekday of the first if it is named."""

    def nearest(anchor: Anchor) -> Period | None:
        if weekday is not None:
            years = (anchor.low.year + shift for shift in (0, -1, 1, -2, 2))
            days = (day_of(year, month, day) for year in years)
            return next((one_day(d) for d in days if d and d.weekday() == weekday), None)
        near = nearest_year(month, day, anchor.low, anchor.tense)
        high = near and day_of(near[0].year, month, last)
        if near is None or high is None:
            return None
        return Period(near[0], high, "day" if high == near[0] else "range", near[1])

    return Candidate(span, "partial", nearest, sure)


def _festivals(text: str) -> Iterator[Candidate]:
    for match in FESTIVAL.finditer(text):
        name = match["name"].lower().replace("’", "'")
        if match["y"]:
            yield stated(match.span(), one_day(_festival(name, int(match["y"]))))
        elif name not in EASTER:
            month, day = FESTIVALS[name]
            yield _yearless(match.span(), month, day, day, sure=0.85)


def _festival(name: str, year: int) -> date:
    if name in FESTIVALS:
        return date(year, *FESTIVALS[name])
    return easter(year) + timedelta(days=EASTER[name])


def _months(text: str) -> Iterator[Candidate]:
    for match in MONTH_YEAR.finditer(text):
        if DAY_BEFORE.search(text, max(0, match.start() - 8), match.start()):
            continue
        year = int(match["year"]) if match["year"] else full_year(int(match["short"]))
        low, high = month_days(year, month_of(match["month"]))
        if match["first"]:
            first = month_of(match["first"])
            low = date(year - (first > low.month), first, 1)
            yield stated(match.span(), Period(low, high, "range"))
        elif match["part"]:
            number = PARTS.index(match["part"].lower())
            low = low.replace(day=10 * number + 1)
            high = high if number == 2 else low + timedelta(days=9)
            yield stated(match.span(), Period(low, high, "range"), 0.85)
        else:
            yield stated(match.span(), Period(low, high, "month"))


def _quarters(text: str) -> Iterator[Candidate]:
    for match in QUARTER.finditer(text):
        year = int(match["y"] or match["y2"] or match["y3"])
        kind = (match["kind"] or match["kind2"] or match["unit"])[0].lower()
        number = int(match["n"] or match["n2"] or 0) or ORDER[match["word"].lower()]
        if year >= 1000 and number <= (4 if kind == "q" else 2):
            yield stated(match.span(), quarter(year, number, 3 if kind == "q" else 6))
    for match in SEASON.finditer(text):
        name, year = match["name"].lower(), int(match["y"])
        if name != "winter":
            if not match["end"]:
                yield stated(match.span(), season(name, year), 0.85)
        elif match["end"] and int(match["end"]) == (year + 1) % 100:
            yield stated(match.span(), season(name, year + 1), 0.85)
    for match in WEEK.finditer(text):
        if monday := week_of(int(match["y"]), int(match["w"])):
            yield stated(match.span(), containing("week", monday), 0.95)


def _years(text: str) -> Iterator[Candidate]:
    for pattern, confidence in ((YEAR_AFTER, 0.95), (YEAR_CITED, 0.9), (YEAR_OF, 0.85)):
        for match in pattern.finditer(text):
            year = int(match["y"])
            if 1000 <= year <= 2100:
                yield _in_part(text, match.span("y"), year, confidence)
    for match in YEARS.finditer(text):
        first = int(match["a"])
        last = int(match["b"]) if len(match["b"]) == 4 else first // 100 * 100 + int(match["b"])
        plain = match["to"].strip() in ("-", "and", "to")
        if first < last <= first + 200 and not (
            (plain and not YEARS_BEFORE.search(text, max(0, match.start() - 12), match.start()))
            or NO_DATE_BEFORE.search(text, max(0, match.start() - 10), match.start())
        ):
            yield stated(match.span(), years(first, last), 0.92)
    for match in DECADE.finditer(text):
        part = (match["part"] or "").lower()
        first, last = {"early": (0, 3), "mid": (4, 6), "late": (7, 9)}.get(part, (0, 9))
        yield stated(match.span(), years(int(match["y"]) + first, int(match["y"]) + last), 0.9)
    for match in CENTURY.finditer(text):
        last = int(match["n"]) * 100
        yield stated(match.span(), years(last - 99, last), 0.9)


PART_BEFORE = re.compile(r"\b(early|mid|late)[\s-]$", re.IGNORECASE)


def _in_part(text: str, span: Span, year: int, confidence: float) -> Candidate:
    """Return the year, or the third of it that "early", "mid" or "late" names before it."""
    part = PART_BEFORE.search(text, max(0, span[0] - 6), span[0])
    if part is None:
        return stated(span, containing("year", date(year, 1, 1)), confidence)
    third = quarter(year, PARTS.index(part[1].lower()) + 1, months=4)
    return stated((part.start(), span[1]), third, 0.8)
