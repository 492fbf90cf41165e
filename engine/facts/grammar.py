"""The pieces that expressions of time are made of, for patterns over lower-cased text."""

from __future__ import annotations

import calendar
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache, partial
from typing import Literal

from dateutil.relativedelta import relativedelta

from engine.facts import dates
from engine.facts.dates import month_days
from engine.facts.numbers import parse_number
from engine.types.documents import Span

Grain = Literal["day", "week", "month", "quarter", "year", "range"]
EARLIEST, LATEST = date(1000, 1, 1), date(2200, 12, 31)
"""What a text means by a date lies between these; arithmetic beyond them has misread it."""
WORKING_DAYS = 5
SATURDAY = 5


@dataclass(frozen=True, slots=True)
class Period:
    """The days from ``low`` to ``high``, both included.

    Attributes:
        grain: what was named; "range" for a stretch that is no unit of the calendar.
        certainty: 0 to 1: a factor for readings that not everybody shares.
    """

    low: date
    high: date
    grain: Grain = "day"
    certainty: float = 1.0

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
        return Period(*month_days(that.year, that.month), "month")
    if unit == "quarter":
        return quarter(that.year, (that.month + 2) // 3)
    if unit == "year":
        return Period(date(that.year, 1, 1), date(that.year, 12, 31), "year")
    if unit == "decade":
        first = that.year // 10 * 10
        return Period(date(first, 1, 1), date(first + 9, 12, 31), "range")
    return one_day(that)


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


def shifted(that: date, unit: str, count: int) -> Period | None:
    """Return what is ``count`` units from ``that``; None beyond the calendar.

    Days and weeks lead to a day; longer units to the month, quarter, year ... that is meant, for
    "two months ago" does not name a day.
    """
    try:
        if unit in ("day", "night"):
            return _plausible(one_day(that + timedelta(days=count)))
        if unit in ("week", "fortnight"):
            days = 7 if unit == "week" else 14
            return _plausible(one_day(that + timedelta(days=days * count)))
        if unit == "weekend":
            return _plausible(containing(unit, that + timedelta(weeks=count)))
        if unit == "workday":
            return _plausible(one_day(_working_day(that, count)))
        months = {"month": 1, "quarter": 3, "year": 12, "decade": 120}[unit]
        return _plausible(containing(unit, that + relativedelta(months=months * count)))
    except (ValueError, OverflowError):
        return None


def _plausible(period: Period) -> Period | None:
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
    """What an expression is resolved against.

    Attributes:
        low, high, grain: its days.
        span: where it stands in the text; None for the document's date.
        words: it for people: "a message of 29 February 2024".
        moment: the time of day as well, where it is known.
        kind: who gives it.
        tense: that of the words to be resolved: -1 past, 1 future, 0 unknown.
    """

    low: date
    high: date
    span: Span | None
    words: str
    grain: Grain = "day"
    moment: datetime | None = None
    kind: Literal["message", "document", "text"] = "message"
    tense: int = 0


@dataclass(frozen=True, slots=True)
class Candidate:
    """An expression of time.

    Attributes:
        span: where.
        kind: "stated" stands for itself; "partial" lacks its year and takes the nearest from any
            anchor; "weekday" and "deictic" count from the time of writing, "anaphoric" from the
            date last told; "offset" from the date or event that follows it.
        resolve: from an anchor to the days that are meant, None when it does not tell.
        confidence: 0 to 1.
        tail: for an offset, where the words of that date or event begin.
    """

    span: Span
    kind: Kind
    resolve: Callable[[Anchor], Period | None]
    confidence: float = 1.0
    tail: int = 0


def stated(span: Span, period: Period, confidence: float = 1.0) -> Candidate:
    """Return the candidate for days that are given in full."""
    return Candidate(span, "stated", lambda _: period, confidence)


class Found:
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


FUTURE = re.compile(
    r"\b(?:will|shall|won't|won’t|going to|gonna|due|deadline|please|let's|let’s|should|must|can"
    r"|can't|can’t|could you|would you|expires?|starts?|begins?|ends?|leaves?|(?:re)?opens?|closes?"
    r"|returns?|meets?|arrives?|runs?|takes? place|lasts?|see you|(?:is|are|be|'s|’s) (?:\w+ly )?"
    r"(?:scheduled|planned|set|expected|booked|due|away|off|back|\w+ing)|plans?|hope|hopes|intends?|upcoming|tomorrow)\b"
    r"|['’]ll\b"
)
PAST = re.compile(
    r"\b(?:was|were|wasn't|weren't|had|did|didn't|didn’t|haven't|haven’t|hasn't|been|came|went|got"
    r"|saw|took|said|told|sent|made|found|gave|bought|lost|won|broke|began|ran|fell|held|kept"
    r"|sold|paid|spoke|wrote|ate|drank|drove|flew|slept|met|left|felt|knew|thought|became|began"
    r"|caught|chose|built|brought|taught|sat|stood|woke|wore|rose|grew|led|spent|swam|sang|sank"
    r"|struck|heard|understood|forgot|threw|drew|hid|rode|shook|shot|slid|stuck|swore|tore"
    r"|(?!need\b|feed\b|speed\b|seed\b|indeed\b|exceed\b|proceed\b|succeed\b|bed\b|red\b|shed\b"
    r"|embed\b|hundred\b|wed\b|ted\b|fred\b|interested\b|supposed\b|scheduled\b|planned\b)[a-z]+ed)\b"
)
PASSIVE = re.compile(
    r"\b(?:is|are|be|being|am) (?:\w+ly )?[a-z]+(?:ed|id|pt|ent|wn|en|ld|ght|lt)\b"
)
"""The present passive: its participle is no past."""
COPULA = re.compile(r"(?:\b(?:is|are)|['’]s|\bam)(?:\s(?:not|only|on|this|the|for|from|by))*\s*$")
CLAUSE_END = re.compile(r"[.;!?:\n](?=\s|$)|$")
CLAUSE_START = re.compile(r"[.;!?:\n](?=\s)")


def tense_at(lowered: str, span: Span) -> int:
    """Return the tense around an expression: -1 past, 1 future, 0 when no word tells.

    Of the words that tell in its clause the nearest decides, those before it first.
    """
    reach = lowered[max(0, span[0] - 160) : span[0]]
    before = reach[max((m.end() for m in CLAUSE_START.finditer(reach)), default=0) :]
    stop = CLAUSE_END.search(lowered, span[1], min(len(lowered), span[1] + 160))
    after = lowered[span[1] : stop.start() if stop else span[1] + 160]
    if COPULA.search(before):
        return 1
    for piece, end in ((before, -1), (after, 0)):
        marks = [(m.span(), 1) for m in FUTURE.finditer(piece)]
        covered = [place for place, _ in marks] + [m.span() for m in PASSIVE.finditer(piece)]
        marks += [
            (m.span(), -1)
            for m in PAST.finditer(piece)
            if not any(low <= m.start() < high for low, high in covered)
        ]
        if marks:
            return sorted(marks)[end][1]
    return 0


_ONES = "(?:one|two|three|four|five|six|seven|eight|nine)"
_TEENS = "(?:ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen)"
_TENS = f"(?:(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ]{_ONES})?)"
_WORD = f"(?:{_TENS}|{_TEENS}|{_ONES})"
COUNT = (
    rf"(?P<count>\d{{1,4}}|(?:a )?couple(?: of)?|(?:a |half a )?dozen"
    rf"|(?:a|{_ONES}) hundred(?:(?: and)? {_WORD})?|{_WORD}|an?)"
)
UNIT = (
    r"(?P<unit>(?:working|business|week) ?day|day|night|week|fortnight|weekend|month|quarter|year"
    r"|decade)s?\b"
)
WEEKDAY = r"(?P<weekday>" + "|".join(sorted(dates.WEEKDAYS, key=len, reverse=True)) + r")\b(?!-)\.?"
MONTH = r"(?P<month>" + "|".join(sorted(dates.MONTHS, key=len, reverse=True)) + r")\b"
HOURS = r"(?:morning|afternoon|evening|night|noon|lunchtime|midnight)"
AT = rf"(?: {HOURS})?\b"

VAGUE_BEFORE = re.compile(
    r"(?:\b(?:than|about|around|roughly|nearly|almost|over|under|some|every|each|approximately|least"
    r"|most|half|point|the|any|no|per|many|version|within)\s|[-–./,:]|[$€£#]\s?|\d"
    rf"|(?:\b{_WORD.replace(' ', chr(92) + 's')}|\d)(?:\s(?:or|to)\s|\s?[-–]\s?))$"
)
"""Words before a count that make it a part of another number, or a guess."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to speak of time.

    Attributes:
        pattern: over lower-cased text; every blank stands for any white space.
        keys: words of which one is in every match, so that most texts skip most patterns.
        kind: see :class:`Candidate`.
        confidence: 0 to 1.
        resolve: from the match and the anchor.
    """

    pattern: re.Pattern[str]
    keys: frozenset[str]
    kind: Kind
    confidence: float
    resolve: Callable[[re.Match[str], Anchor], Period | None]


RULES: list[Rule] = []
Reading = Callable[[re.Match[str], Anchor], Period | None]


def rule(pattern: str, keys: str, kind: Kind, confidence: float) -> Callable[[Reading], Reading]:
    """Add the decorated function to :data:`RULES` as the way to resolve ``pattern``."""
    compiled = re.compile(pattern.replace(" ", r"\s"))

    def add(resolve: Reading) -> Reading:
        RULES.append(Rule(compiled, frozenset(keys.split()), kind, confidence, resolve))
        return resolve

    return add


def count_of(match: re.Match[str]) -> int | None:
    """Return the whole number, 0 or more, of a match's ``count``; None when it is vague."""
    words = re.sub(r"\s+", " ", match["count"])
    if words in ("a", "an"):
        return 1
    if "couple" in words:
        return 2
    value = parse_number(re.sub("^a ", "one ", words))
    return int(value) if value is not None and value == int(value) else None


def unit_of(match: re.Match[str]) -> str:
    """Return the ``unit`` of a match as :func:`periods.shifted` knows it."""
    unit = match["unit"]
    return "workday" if unit.startswith(("working", "business", "week ", "weekday")) else unit


def is_name(text: str, match: re.Match[str]) -> bool:
    """Return whether a weekday or month of a match is not spelt like one, or part of a name."""
    groups = match.re.groupindex
    group = "weekday" if "weekday" in groups and match["weekday"] else "month"
    if group not in groups or not match[group]:
        return False
    start, end = match.span(group)
    capital = text[start].isupper()
    if not capital and text[start:end] not in FULL_NAMES:
        return True
    return NAME_BEFORE.search(text, max(0, start - 14), start) is not None or (
        NAME_AFTER.match(text, end) is not None
    )


FULL_NAMES = frozenset(dates.FULL_WEEKDAYS) | {
    name for name in dates.MONTHS if len(name) > 4 and name not in dates.AMBIGUOUS_MONTHS
}
NAME_BEFORE = re.compile(
    r"\b(?:Black|Good|Ash|Cyber|Easter|Palm|Fat|Bloody|Super|Holy|Shrove|Maundy|Whit|Giving|Casual"
    r"|Ruby|Wednesday)\s$"
)
NAME_AFTER = re.compile(r"\.\w|['’]s\s[A-Z]|\s(?:Times|Group|Night Live|Review|Club|Street)\b")


@dataclass(frozen=True, slots=True)
class Tokens:
    """The words and numbers of a lower-cased text, and where they begin."""

    words: tuple[str, ...]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, lowered: str) -> Tokens:
        """Return those of ``lowered``."""
        found = [(match[0], match.start()) for match in TOKEN.finditer(lowered)]
        return cls(tuple(word for word, _ in found), tuple(start for _, start in found))


TOKEN = re.compile(r"[^\W_]+")
REACH = 6
"""Words that an expression may have before its key: "one hundred and five working days before"."""


def find_relative(text: str, lowered: str, tokens: Tokens) -> Iterator[Candidate]:
    """Yield what the rules find; they are tried only where one of their keys stands.

    Args:
        lowered: ``text`` in lower case, of the same length.
        tokens: those of ``lowered``.
    """
    by_key = _rules_by_key()
    taken: dict[int, int] = {}
    for index, word in enumerate(tokens.words):
        for number in by_key.get(word, ()):
            entry, key = RULES[number], tokens.starts[index]
            if taken.get(number, 0) > key:
                continue
            for start in tokens.starts[max(0, index - REACH) : index + 1]:
                match = entry.pattern.match(lowered, start)
                if match and match.end() > key and _fits(text, lowered, match):
                    taken[number] = match.end()
                    yield _candidate(entry, match)
                    break


@lru_cache(maxsize=1)
def _rules_by_key() -> dict[str, list[int]]:
    by_key: dict[str, list[int]] = {}
    for number, entry in enumerate(RULES):
        for key in entry.keys:
            by_key.setdefault(key, []).append(number)
    return by_key


def _fits(text: str, lowered: str, match: re.Match[str]) -> bool:
    if "count" in match.re.groupindex and match["count"]:
        start = match.start("count")
        if VAGUE_BEFORE.search(lowered, max(0, start - 16), start):
            return False
    return not is_name(text, match)


def _candidate(entry: Rule, match: re.Match[str]) -> Candidate:
    resolve = partial(entry.resolve, match)
    if entry.kind == "offset":  # what follows the way is not a part of it
        span = match.start(), match.start("way") - 1
        return Candidate(span, entry.kind, resolve, entry.confidence, tail=match.end())
    return Candidate(match.span(), entry.kind, resolve, entry.confidence)
