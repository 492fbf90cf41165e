"""Dates, months, quarters, seasons, years and spans of years that a text states."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import partial

from dateutil.easter import easter

from engine.facts import dates
from engine.facts.dates import (
    BEFORE_CHRIST,
    MONTH,
    NO_DATE_BEFORE,
    OFF,
    ON,
    YEAR,
    month_days,
    month_of,
)
from engine.facts.grammar import (
    Anchor,
    Candidate,
    Grain,
    Period,
    containing,
    one_day,
    quarter,
    season,
    stated,
)

ORDER = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
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
    rf"\b(?:[Tt]he|[Hh]is|[Hh]er|[Ii]ts|[Tt]heir|[Oo]ur|[Aa])\s(?P<y>{YEAR})\s(?:[A-Za-z]+\s)?(?:season"
    r"|elections?|referendum|championships?|conference|congress|symposium|workshop|summit|festival"
    r"|census|survey|study|report|paper|article|book|film|movie|album|novel|budget|crisis|war|coup"
    r"|earthquake|tsunami|flood|floods|fire|eruption|hurricane|pandemic|outbreak|epidemic|strike"
    r"|revolution|uprising|treaty|agreement|act|law|ruling|reform|Olympics|Games|World Cup|tour"
    r"|exhibition|campaign|expedition|harvest|vintage|drought|recession|attacks?|protests?)\b"
)
"""A year that dates what it stands before; "the 2016 model" is a name."""
DECADE = re.compile(
    rf"{ON}(?:(?P<part>early|mid|late)[\s-])?(?P<y>(?:1[5-9]|20)\d0)['’]?s\b", re.IGNORECASE
)
CENTURY = re.compile(r"\b(?P<n>1\d|20|21)(?:st|th)[\s-]century\b(?!\sBCE?\b)", re.IGNORECASE)
FESTIVALS = {
    "new year's eve": (12, 31), "new year's day": (1, 1), "valentine's day": (2, 14),
    "halloween": (10, 31), "christmas eve": (12, 24), "christmas day": (12, 25),
    "boxing day": (12, 26),
}  # fmt: skip
EASTER = {"good friday": -2, "easter sunday": 0, "easter monday": 1}
FESTIVAL = re.compile(
    rf"\b(?P<name>{'|'.join([*FESTIVALS, *EASTER]).replace(chr(39), '[’' + chr(39) + ']')})\b"
    rf"(?:,?\s(?:of\s|in\s)?(?P<y>{YEAR}))?",
    re.IGNORECASE,
)


def find_stated(
    text: str, days: Sequence[dates.Stated], words: frozenset[str]
) -> Iterator[Candidate]:
    """Yield what ``text`` states with its year, and days that lack only that.

    Args:
        days: by :func:`dates.find_days`.
        words: those of the text in lower case; they tell which patterns have a chance.
    """
    for found in days:
        if found.low and found.high:
            grain: Grain = "day" if found.low == found.high else "range"
            yield stated(found.span, Period(found.low, found.high, grain), found.confidence)
        else:
            yield Candidate(found.span, "partial", partial(_nearest_day, found), 0.93)
    if not words.isdisjoint(FESTIVE):
        yield from _festivals(text)
    if not _has_year(text, days):
        return
    if not words.isdisjoint(dates.MONTHS):
        yield from _months(text)
    yield from _quarters(text)
    yield from _years(text)


FESTIVE = frozenset(
    ("eve", "new", "valentine", "halloween", "christmas", "boxing", "good", "easter")
)
YEAR_FIGURES = re.compile(r"(?<!\d)\d{4}(?!\d{2})|['’]\d\d\b|\d\dth")


def _has_year(text: str, days: Sequence[dates.Stated]) -> bool:
    """Return whether ``text`` has figures that may be a year (or century) outside ``days``."""
    places = iter(days)
    place = next(places, None)
    for match in YEAR_FIGURES.finditer(text):
        while place and place.span[1] <= match.start():
            place = next(places, None)
        if place is None or match.start() < place.span[0] or not place.low:
            return True
    return False


def nearest_year(month: int, day: int, anchor: date, tense: int) -> tuple[date, float] | None:
    """Return the day in the year that is meant, with the certainty of that."""
    days = [
        that
        for year in (anchor.year - 1, anchor.year, anchor.year + 1)
        if (that := dates.day(year, month, day))
    ]
    if not days:
        return None
    near = min(days, key=lambda that: abs(that - anchor))
    distance = abs(near - anchor).days
    if distance <= 75:
        return near, 1.0
    if tense:
        days = [that for that in days if (that - anchor).days * tense >= 0] or days
        return min(days, key=lambda that: abs(that - anchor)), 0.95
    return near, 0.9 if distance <= 120 else 0.7


def _nearest_day(found: dates.Stated, anchor: Anchor) -> Period | None:
    if found.weekday is not None:
        for shift in (0, -1, 1, -2, 2):
            low = dates.day(anchor.low.year + shift, found.month, found.day)
            if low and low.weekday() == found.weekday:
                return one_day(low)
        return None
    near = nearest_year(found.month, found.day, anchor.low, anchor.tense)
    if near is None:
        return None
    high = dates.day(near[0].year, found.month, found.last_day)
    if high is None:
        return None
    return Period(near[0], high, "day" if high == near[0] else "range", near[1])


def _festivals(text: str) -> Iterator[Candidate]:
    for match in FESTIVAL.finditer(text):
        name = match["name"].lower().replace("’", "'")
        if match["y"]:
            yield stated(match.span(), one_day(_festival(name, int(match["y"]))))
        elif name not in EASTER:
            found = dates.Stated(match.span(), None, None, *FESTIVALS[name], FESTIVALS[name][1])
            yield Candidate(match.span(), "partial", partial(_nearest_day, found), 0.85)


def _festival(name: str, year: int) -> date:
    if name in FESTIVALS:
        return date(year, *FESTIVALS[name])
    return easter(year) + timedelta(days=EASTER[name])


def _months(text: str) -> Iterator[Candidate]:
    for match in MONTH_YEAR.finditer(text):
        if DAY_BEFORE.search(text, max(0, match.start() - 8), match.start()):
            continue
        year = int(match["year"]) if match["year"] else dates.full_year(int(match["short"]))
        low, high = month_days(year, month_of(match["month"]))
        if match["first"]:
            first = month_of(match["first"])
            low = date(year - (first > low.month), first, 1)
            yield stated(match.span(), Period(low, high, "range"))
        elif match["part"]:
            yield stated(match.span(), _part(match["part"].lower(), low, high), 0.85)
        else:
            yield stated(match.span(), Period(low, high, "month"))


def _part(part: str, low: date, high: date) -> Period:
    """Return the third of a month that is "early", "mid" or "late"; of a year, four months."""
    if (high - low).days > 31:
        return quarter(low.year, {"early": 1, "mid": 2, "late": 3}[part], months=4)
    if part == "early":
        return Period(low, low.replace(day=10), "range")
    if part == "mid":
        return Period(low.replace(day=11), low.replace(day=20), "range")
    return Period(low.replace(day=21), high, "range")


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
        try:
            low = date.fromisocalendar(int(match["y"]), int(match["w"]), 1)
        except ValueError:
            continue
        yield stated(match.span(), containing("week", low), 0.95)


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
            period = Period(date(first, 1, 1), date(last, 12, 31), "range")
            yield stated(match.span(), period, 0.92)
    for match in DECADE.finditer(text):
        low = date(int(match["y"]), 1, 1)
        if match["part"]:
            first, last = {"early": (0, 3), "mid": (4, 6), "late": (7, 9)}[match["part"].lower()]
            period = Period(date(low.year + first, 1, 1), date(low.year + last, 12, 31), "range")
        else:
            period = containing("decade", low)
        yield stated(match.span(), period, 0.9)
    for match in CENTURY.finditer(text):
        last = int(match["n"]) * 100
        period = Period(date(last - 99, 1, 1), date(last, 12, 31), "range")
        yield stated(match.span(), period, 0.9)


PART_BEFORE = re.compile(r"\b(early|mid|late)[\s-]$", re.IGNORECASE)


def _in_part(text: str, span: tuple[int, int], year: int, confidence: float) -> Candidate:
    """Return the year, or the part of it that "early", "mid" or "late" names before it."""
    whole = containing("year", date(year, 1, 1))
    part = PART_BEFORE.search(text, max(0, span[0] - 6), span[0])
    if part is None:
        return stated(span, whole, confidence)
    return stated((part.start(), span[1]), _part(part[1].lower(), whole.low, whole.high), 0.8)
