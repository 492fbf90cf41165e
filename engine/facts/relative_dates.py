"""Expressions of time that count from another day: "two days ago", "the Monday after".

A rule is a pattern over lower-cased text and the days that it means, seen from an anchor.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial

from engine.facts.numbers import TEENS, TENS, UNITS, parse_number
from engine.facts.periods import (
    FULL_WEEKDAYS,
    MONTHS,
    WEEKDAYS,
    Anchor,
    Candidate,
    Grain,
    Kind,
    Period,
    containing,
    day_of,
    month_of,
    one_day,
    season,
    shifted,
    table,
    weekday_near,
    weekday_of,
    whole_month,
)
from engine.facts.stated_dates import AMBIGUOUS_MONTHS, nearest_year

_ONES = f"(?:{'|'.join(UNITS[1:])})"
_WORD = f"(?:(?:(?:{'|'.join(TENS)})(?:[- ]{_ONES})?)|{'|'.join(TEENS)}|{_ONES})"
COUNT = (
    rf"(?P<count>\d{{1,4}}|(?:a )?couple(?: of)?|(?:a |half a )?dozen"
    rf"|(?:a|{_ONES}) hundred(?:(?: and)? {_WORD})?|{_WORD}|an?)"
)
UNIT = (
    r"(?P<unit>(?:working|business|week) ?day|day|night|week|fortnight|weekend|month|quarter|year"
    r"|decade)s?\b"
)
WEEKDAY = r"(?P<weekday>" + "|".join(sorted(WEEKDAYS, key=len, reverse=True)) + r")\b(?!-)\.?"
MONTH = r"(?P<month>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b"
HOURS = r"(?:morning|afternoon|evening|night|noon|lunchtime|midnight)"
AT = rf"(?: {HOURS})?\b"

VAGUE_BEFORE = re.compile(
    r"(?:\b(?:than|about|around|roughly|nearly|almost|over|under|some|every|each|approximately|least"
    r"|most|half|point|the|any|no|per|many|version|within)\s|[-–./,:]|[$€£#]\s?|\d"
    rf"|(?:\b{_WORD.replace(' ', chr(92) + 's')}|\d)(?:\s(?:or|to)\s|\s?[-–]\s?))$"
)
"""Words before a count that make it a part of another number, or a guess."""

Resolve = Callable[[re.Match[str], Anchor], Period | None]


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One way to speak of time."""

    pattern: re.Pattern[str]  # over lower-cased text; every blank stands for any white space
    kind: Kind  # see `Candidate`
    confidence: float  # 0 to 1
    resolve: Resolve  # from the match and the anchor


RULES: defaultdict[str, list[Rule]] = defaultdict(list)
"""By keys, words of which one is in every match: most texts skip most patterns."""


def rule(
    pattern: str, keys: str, confidence: float, kind: Kind = "deictic"
) -> Callable[[Resolve], Resolve]:
    """Make a rule of the function that resolves ``pattern``."""
    compiled = re.compile(pattern.replace(" ", r"\s"))

    def add(resolve: Resolve) -> Resolve:
        made = Rule(compiled, kind, confidence, resolve)
        for key in dict.fromkeys(keys.split()):
            RULES[key].append(made)
        return resolve

    return add


def count_of(match: re.Match[str]) -> int | None:
    """Return the whole number, 0 or more, of a match's ``count``; None when it is vague."""
    words = " ".join(match["count"].split())
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


FULL_NAMES = frozenset(FULL_WEEKDAYS) | {
    name for name in MONTHS if len(name) > 4 and name not in AMBIGUOUS_MONTHS
}
NAME_BEFORE = re.compile(
    r"\b(?:Black|Good|Ash|Cyber|Easter|Palm|Fat|Bloody|Super|Holy|Shrove|Maundy|Whit|Giving|Casual"
    r"|Ruby|Wednesday)\s$"
)
NAME_AFTER = re.compile(r"\.\w|['’]s\s[A-Z]|\s(?:Times|Group|Night Live|Review|Club|Street)\b")


STOP = (
    r"(?= *(?:$|[.,;:!?)\]\n–—\"”]"
    r"| (?:and|but|or|so|when|because|since|while|we|i|he|she|they|it)\b))"
)
UNIT_WORDS = (
    "day days night nights week weeks fortnight fortnights month months quarter quarters year years"
    " decade decades weekend weekends weekdays workdays"
)
DAYS = {"yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1}
"""Days that a count may start from."""
STEPS = {"last": -1, "this": 0, "next": 1}


@rule(rf"\b{COUNT} {UNIT} (?:ago\b|back{STOP})(?: (?P<day>{'|'.join(DAYS)})\b)?", "ago back", 0.97)
def _ago(match: re.Match[str], anchor: Anchor) -> Period | None:
    """Count back, from the day named behind if there is one: "a month ago yesterday"."""
    count, unit = count_of(match), unit_of(match)
    if count is None:
        return None
    if not match["day"]:
        return shifted(anchor.low, unit, -count)
    that = anchor.low + timedelta(days=DAYS[match["day"]])
    period = shifted(that, unit, -count)
    return period and (same_day(that, period) if unit in ("month", "year") else period)


@rule(rf"\b{COUNT} {UNIT} (?P<day>{'|'.join(DAYS)})\b", " ".join(DAYS), 0.9)
def _from_day(match: re.Match[str], anchor: Anchor) -> Period | None:
    """Count on from a day to come: "a week tomorrow"; "a week yesterday" tells no direction."""
    count, unit = count_of(match), unit_of(match)
    if not count or match["day"] == "yesterday" or unit not in ("week", "fortnight"):
        return None
    return shifted(anchor.low + timedelta(days=DAYS[match["day"]]), unit, count)


def same_day(that: date, period: Period) -> Period | None:
    """Return the day of a month or year that has the number (and month) of ``that``."""
    month = that.month if period.grain == "year" else period.low.month
    named = day_of(period.low.year, month, that.day)
    return one_day(named) if named else None


@rule(rf"\b{COUNT} (?P<unit>hour|minute)s? ago\b", "ago", 0.93)
def _hours_ago(match: re.Match[str], anchor: Anchor) -> Period | None:
    count = count_of(match)
    if not count or anchor.moment is None:
        return None
    hours = count if match["unit"] == "hour" else count / 60
    return one_day((anchor.moment - timedelta(hours=hours)).date())


@rule(rf"\b{COUNT} weeks? ago (?:on )?{WEEKDAY}", "ago", 0.8)
def _weekday_ago(match: re.Match[str], anchor: Anchor) -> Period | None:
    count = count_of(match)
    return shifted(in_week(anchor, match["weekday"]), "week", -count) if count else None


def in_week(anchor: Anchor, weekday: str, weeks: int = 0) -> date:
    """Return the day of that name in the week that is ``weeks`` from the anchor's."""
    monday = containing("week", anchor.low).low
    return monday + timedelta(days=7 * weeks + weekday_of(weekday))


@rule(
    rf"\b(?:(?P<future>in) )?{COUNT} {UNIT}(?:(?:['’]s?)? time\b| from (?:now|today)\b| hence\b)",
    "time now today hence",
    0.95,
)
def _from_now(match: re.Match[str], anchor: Anchor) -> Period | None:
    if match[0].endswith("time") and not match["future"]:
        return None
    count = count_of(match)
    return shifted(anchor.low, unit_of(match), count) if count else None


@rule(rf"\bin {COUNT} {UNIT}{STOP}", UNIT_WORDS, 0.85)
def _in(match: re.Match[str], anchor: Anchor) -> Period | None:
    """Only with a future around it: "built in ten days" tells how long it took."""
    count = count_of(match)
    return shifted(anchor.low, unit_of(match), count) if count and anchor.tense > 0 else None


@rule(
    rf"\b(?:a (?P<unit>week|fortnight) (?:on|from) {WEEKDAY}{AT}"
    rf"|(?:on )?(?P<day>{'|'.join(FULL_WEEKDAYS)}) week\b)",
    "week fortnight",
    0.9,
)
def _week_on(match: re.Match[str], anchor: Anchor) -> Period | None:
    """A week after the next such day: "a week on Monday", "Monday week"."""
    that = weekday_near(anchor.low, weekday_of(match["weekday"] or match["day"]), 1)
    return shifted(that, match["unit"] or "week", 1)


FORWARD = ("after", "following", "next", "later", "from", "since", "thereafter")
LONG_UNITS: tuple[Grain, ...] = ("month", "quarter", "year")
LONGEST_VISIT = timedelta(days=31)
"""A stretch up to this long has a day before it and a day after it that people speak of."""


def from_edge(anchor: Anchor, unit: str, count: int) -> Period | None:
    """Return what is ``count`` units after the anchor's end, or before its beginning. None when the
    anchor is coarser than the unit: no day follows a year."""
    coarse = anchor.high - anchor.low > LONGEST_VISIT or anchor.grain in LONG_UNITS
    ranks = {"month": 1, "quarter": 2, "year": 3, "decade": 4}
    if coarse and ranks.get(unit, 0) < ranks.get(anchor.grain, 3):
        return None
    return shifted(anchor.high if count > 0 else anchor.low, unit, count)


def beside(anchor: Anchor, unit: str, step: int) -> Period | None:
    """Return the unit of the calendar before (-1) or after (+1) the anchor; a day for its parts."""
    if unit not in ("week", "weekend", "month", "quarter", "year"):
        return from_edge(anchor, "day", step)
    period = from_edge(anchor, unit, step)
    return period and containing(unit, period.low)


def weekday_beside(anchor: Anchor, name: str, step: int) -> Period | None:
    """Return the last such weekday before the anchor (-1) or the first one after it (+1)."""
    if from_edge(anchor, "day", step) is None:
        return None
    day = anchor.high if step > 0 else anchor.low
    return one_day(weekday_near(day, weekday_of(name), step))


@rule(
    rf"\b(?:the (?P<way>following|next|previous|preceding) "
    rf"(?P<unit>day|week|weekend|month|quarter|year|{HOURS})|(?P<bare>next|following) day)\b"
    r"(?! (?:of|to)\b)",
    "following next previous preceding",
    0.93,
    "anaphoric",
)
def _following(match: re.Match[str], anchor: Anchor) -> Period | None:
    if match["bare"]:
        return from_edge(anchor, "day", 1) if anchor.kind == "text" else None
    step = 1 if match["way"] in FORWARD else -1
    if anchor.kind != "text" and step > 0:
        return None
    return beside(anchor, match["unit"], step)


@rule(
    rf"\bthe (?P<way>following|next|previous|preceding) (?:{WEEKDAY}|{MONTH})",
    "following next previous preceding",
    0.9,
    "anaphoric",
)
def _following_named(match: re.Match[str], anchor: Anchor) -> Period | None:
    step = 1 if match["way"] in FORWARD else -1
    if match["weekday"]:
        return weekday_beside(anchor, match["weekday"], step)
    year = anchor.high.year if step > 0 else anchor.low.year
    periods = (whole_month(one, month_of(match["month"])) for one in (year, year + step))
    if step > 0:
        return next((period for period in periods if period.low > anchor.high), None)
    return next((period for period in periods if period.high < anchor.low), None)


AFTERWARDS = (
    r"(?P<way>later|earlier|afterwards?|thereafter|beforehand|previously|prior(?! to\b)"
    r"|(?:after|before) (?:that|this|then)(?= *(?:$|[.,;:!?)\n–—])"
    r"| (?:it|he|she|they|we|i|you|the|an?|his|her|their|our|my|and|but|in|at|on|to|when|there)\b)"
    r"|(?:after|before)(?= *(?:$|[.,;:!?)\n])))"
)


@rule(
    rf"\b{COUNT} {UNIT} (?:{AFTERWARDS})",
    "later earlier afterward afterwards thereafter beforehand previously prior after before",
    0.93,
    "anaphoric",
)
def _counted(match: re.Match[str], anchor: Anchor) -> Period | None:
    count = count_of(match)
    way = match["way"].split()[0]
    if not count or anchor.kind != "text":
        return None
    back = way in ("earlier", "before", "beforehand", "previously", "prior")
    return from_edge(anchor, unit_of(match), -count if back else count)


@rule(
    rf"\bthe (?:very )?(?P<unit>day|week|weekend|month|year|{HOURS}) (?P<way>before|after)"
    r"(?= *(?:$|[.,;:!?)\n–—]| (?:and|but)\b)| (?:that|this)(?= *(?:$|[.,;:!?)])))",
    "before after",
    0.9,
    "anaphoric",
)
def _the_day_before(match: re.Match[str], anchor: Anchor) -> Period | None:
    if anchor.kind != "text":
        return None
    return beside(anchor, match["unit"], 1 if match["way"] == "after" else -1)


@rule(
    rf"(?:\b{COUNT} {UNIT}|\b(?:on )?the (?:very )?(?P<named>day|week|weekend|month|year"
    rf"|{HOURS}|eve|{'|'.join(FULL_WEEKDAYS)}))"
    r" (?P<way>before|after|prior to|following|from|of) (?:on )?",
    "before after prior following from eve",
    0.92,
    "offset",
)
def _offset(match: re.Match[str], anchor: Anchor) -> Period | None:
    """Count from the date or the event that the words behind the match name."""
    way, named = match["way"].split()[0], match["named"]
    if (way in ("of", "from")) != (named == "eve") and way != "from":
        return None
    step = -1 if way in ("before", "prior", "of") else 1
    if named is None:
        count = count_of(match)
        return from_edge(anchor, unit_of(match), step * count) if count else None
    beside_it = weekday_beside if named in WEEKDAYS else beside
    return beside_it(anchor, named, step) if way != "from" else None


_OWNED = "my your his her its our their the at every each a very"
NOT_MINE = "".join(rf"(?<!\b{word} )" for word in _OWNED.split()) + "(?<!['’]s )"


NAMED_DAYS: dict[str, int] = table("time")["named_days"]
_NAMED = "|".join(sorted((name.removeprefix("the ") for name in NAMED_DAYS), key=len, reverse=True))


@rule(rf"\b(?:the )?(?P<name>{_NAMED}){AT}", "yesterday today tonight tomorrow last this", 0.95)
def _named_day(match: re.Match[str], anchor: Anchor) -> Period:
    name = " ".join(match["name"].split())
    days = NAMED_DAYS.get(name, NAMED_DAYS.get(f"the {name}", 0))
    certainty = 0.7 if name == "today" else 1.0  # as often "nowadays"
    that = anchor.low + timedelta(days=days)
    return Period(that, that, certainty=certainty)


@rule(
    rf"{NOT_MINE}\b(?P<which>last|next|this(?: past| coming)?|past|coming) "
    r"(?P<unit>week|weekend|month|quarter|year|decade)\b(?! (?:of|before|after)\b)",
    UNIT_WORDS,
    0.93,
)
def _unit(match: re.Match[str], anchor: Anchor) -> Period | None:
    steps = {"last": -1, "past": -1, "next": 1, "coming": 1}
    return whole(anchor, match["unit"], steps.get(match["which"].split()[-1], 0))


def whole(anchor: Anchor, unit: str, step: int) -> Period | None:
    """Return the unit of the calendar that is ``step`` units from the one around the anchor."""
    start = containing("week", anchor.low).low if unit in ("week", "weekend") else anchor.low
    period = shifted(start, unit, step)
    return period and containing(unit, period.low)


@rule(
    r"\bthe (?P<unit>week|weekend|month|year) (?P<way>before last|after next)\b", "last next", 0.95
)
def _second_unit(match: re.Match[str], anchor: Anchor) -> Period | None:
    return whole(anchor, match["unit"], -2 if "last" in match["way"] else 2)


@rule(r"\b(?P<way>earlier|later) (?P<unit>this) (?P<what>week|month|year)\b", "earlier later", 0.9)
def _rest(match: re.Match[str], anchor: Anchor) -> Period:
    whole = containing(match["what"], anchor.low)
    if match["way"] == "earlier":
        return Period(whole.low, anchor.low, "range")
    return Period(anchor.low, whole.high, "range")


@rule(
    r"\b(?:(?:in|over|during|for|within|throughout) )?(?:the|these) (?P<way>past|last|next|coming) "
    rf"(?:(?:{COUNT}) )?{UNIT}(?! (?:of|before|after|that|when)\b)",
    "past last next coming",
    0.8,
)
def _rolling(match: re.Match[str], anchor: Anchor) -> Period | None:
    """A stretch that ends or begins at the anchor: "the past two weeks"."""
    plain = re.match(r"(?:the|these)\s", match[0])
    count = count_of(match) if match["count"] else 1
    if not count or (plain and match["way"] != "past" and not match["count"]):
        return None  # "the next day" counts from another day
    step = -count if match["way"] in ("past", "last") else count
    unit = unit_of(match)
    start = shifted(anchor.low, unit, step)
    if start and unit in ("month", "year", "quarter", "decade"):
        start = same_day(anchor.low, start) or one_day(start.low)
    if not start:
        return None
    return Period(min(start.low, anchor.low), max(start.low, anchor.low), "range")


@rule(
    rf"{NOT_MINE}\b(?P<which>last|next|this(?: past| coming)?|past|coming) {WEEKDAY}{AT}",
    " ".join(WEEKDAYS),
    0.95,
)
def _which_weekday(match: re.Match[str], anchor: Anchor) -> Period | None:
    which = " ".join(match["which"].split())
    wanted = weekday_of(match["weekday"])
    today = anchor.low
    if which in ("last", "past", "this past"):
        that = weekday_near(today, wanted, -1)
        same_week = that >= in_week(anchor, "monday")
        return Period(that, that, certainty=0.85 if which == "last" and same_week else 1.0)
    if which == "next":  # that of the week after this one, for most; some mean the one to come
        that = in_week(anchor, match["weekday"], 1)
        return Period(that, that, certainty=0.7 if wanted > today.weekday() else 1.0)
    that = in_week(anchor, match["weekday"])
    if which == "this" and (that >= today or anchor.tense < 0):
        return one_day(that)
    return one_day(weekday_near(today, wanted, 1))


@rule(
    rf"\b(?:on )?{WEEKDAY}{AT} (?:(?:of |in )?(?P<which>last|next|this) week\b)"
    rf"|\b(?P<also>last|next|this) week(?:['’]s| on) (?P<day>{'|'.join(FULL_WEEKDAYS)})\b",
    "week",
    0.93,
)
def _weekday_of_week(match: re.Match[str], anchor: Anchor) -> Period:
    weeks = STEPS[match["which"] or match["also"]]
    return one_day(in_week(anchor, match["weekday"] or match["day"], weeks))


_MONTHS = "(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + ")"
_OTHERS = "the last next every each other one a first second any most some previous coming"
BARE = "".join(rf"(?<!\b{word} )" for word in _OTHERS.split())

NO_DATE = (
    rf"(?!,? (?:the )?(?:\d\d?(?:st|nd|rd|th)?(?: of)?[ -]{_MONTHS}|{_MONTHS}\.? \d|\d\d?[/.-]\d))"
)


@rule(
    rf"{BARE}\b(?:(?P<prep>on|by|until|till|since|before|after|from|to|come|for) )?{BARE}"
    rf"{WEEKDAY}{NO_DATE}{AT}",
    " ".join(WEEKDAYS),
    0.9,
    "weekday",
)
def _weekday(match: re.Match[str], anchor: Anchor) -> Period | None:
    """The nearest such day on the side that preposition or tense tell; None without either."""
    prep, tense = match["prep"], anchor.tense
    if len(match["weekday"]) < 6 and not prep:
        return None  # "sat", "sun" and "mon" are other words
    if prep == "for" and tense < 0:
        return None  # "got tickets for Friday": the verb dates the getting
    if prep == "since":
        tense = -1
    elif prep in ("by", "until", "till", "come", "for") and tense == 0:
        tense = 1
    if not tense:
        return None
    return one_day(weekday_near(anchor.low, weekday_of(match["weekday"]), tense))


@rule(
    r"\b(?P<prep>on|by|until|till|since|from|before|after) the (?P<day>\d\d?)(?:st|nd|rd|th)"
    rf"(?: of (?P<which>last|this|next) month\b|{STOP}|(?= (?:at|in the|for|with)\b))",
    "the",
    0.85,
)
def _day_of_month(match: re.Match[str], anchor: Anchor) -> Period | None:
    number, tense = int(match["day"]), anchor.tense
    if not 1 <= number <= 31:
        return None
    if match["prep"] in ("by", "until", "till") and tense == 0:
        tense = 1
    which = match["which"]
    for step in (STEPS[which],) if which else (0, tense, 2 * tense) if tense else ():
        month = shifted(anchor.low, "month", step)
        that = month and day_of(month.low.year, month.low.month, number)
        if that and (which or (that - anchor.low).days * tense >= 0):
            return one_day(that)
    return None


@rule(
    rf"{NOT_MINE}\b(?P<which>last|next|this(?: past| coming)?) (?:{MONTH}"
    r"|(?P<season>spring|summer|autumn|fall|winter)\b)(?! \d)",
    " ".join(MONTHS) + " spring summer autumn fall winter",
    0.88,
)
def _which_month(match: re.Match[str], anchor: Anchor) -> Period | None:
    which = match["which"].split()[-1]
    years = range(anchor.low.year - 1, anchor.low.year + 2)
    if match["season"]:
        periods = [season(match["season"], year) for year in years]
    else:
        month = month_of(match["month"])
        periods = [whole_month(year, month) for year in years]
    if which in ("last", "past"):
        return next((one for one in reversed(periods) if one.high < anchor.low), None)
    if which == "this":
        return min(periods, key=lambda period: abs(period.low - anchor.low))
    return next((period for period in periods if period.low > anchor.low), None)


@rule(
    rf"\b(?P<prep>in|since|by|until|till|during|throughout|early|mid|late)[ -]{MONTH}"
    r"(?![ -]\d|['’]s)",
    " ".join(MONTHS),
    0.85,
    "partial",
)
def _month(match: re.Match[str], anchor: Anchor) -> Period | None:
    tense = -1 if match["prep"] == "since" else anchor.tense
    if match["prep"] == "by" and (tense < 0 or len(match["month"]) < 5):
        return None  # "written by April"
    month = month_of(match["month"])
    if month == anchor.low.month:
        return whole_month(anchor.low.year, month, 0.9)
    near = nearest_year(month, 15, anchor.low, tense)
    if near is None:
        return None
    return whole_month(near[0].year, month, near[1])


TOKEN = re.compile(r"[^\W_]+")
REACH = 6
"""Words that an expression may have before its key: "one hundred and five working days before"."""


def find_relative(text: str, lowered: str, tokens: Sequence[re.Match[str]]) -> Iterator[Candidate]:
    """Yield what the rules find; they are tried only where one of their keys stands. `lowered`:
    `text` in lower case, of the same length. `tokens`: the words and numbers (`TOKEN`) of
    `lowered`."""
    reached: dict[Rule, int] = {}
    for index, token in enumerate(tokens):
        for entry in RULES.get(token[0], ()):
            key = token.start()
            if reached.get(entry, 0) > key:
                continue
            for start in tokens[max(0, index - REACH) : index + 1]:
                match = entry.pattern.match(lowered, start.start())
                if match and match.end() > key and _fits(text, lowered, match):
                    reached[entry] = match.end()
                    yield _candidate(entry, match)
                    break


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
