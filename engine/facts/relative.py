"""Rules for what is counted from the time of writing: "two days ago", "in a month's time"."""

from __future__ import annotations

import re
from datetime import date, timedelta

from engine.facts import dates
from engine.facts.grammar import (
    AT,
    COUNT,
    HOURS,
    MONTH,
    UNIT,
    WEEKDAY,
    Anchor,
    Grain,
    Period,
    containing,
    count_of,
    one_day,
    rule,
    season,
    shifted,
    unit_of,
    weekday_near,
)
from engine.facts.stated import nearest_year

STOP = (
    r"(?= *(?:$|[.,;:!?)\]\n–—\"”]"
    r"| (?:and|but|or|so|when|because|since|while|we|i|he|she|they|it)\b))"
)
UNITS = "day days night nights week weeks fortnight fortnights month months quarter quarters year"
UNITS += " years decade decades weekend weekends weekdays workdays"
DAYS = {"yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1}
"""Days that a count may start from."""


@rule(
    rf"\b{COUNT} {UNIT} (?:ago\b|back{STOP})(?: (?P<day>{'|'.join(DAYS)})\b)?",
    "ago back",
    "deictic",
    0.97,
)
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


@rule(rf"\b{COUNT} {UNIT} (?P<day>{'|'.join(DAYS)})\b", " ".join(DAYS), "deictic", 0.9)
def _from_day(match: re.Match[str], anchor: Anchor) -> Period | None:
    """Count on from a day to come: "a week tomorrow"; "a week yesterday" tells no direction."""
    count, unit = count_of(match), unit_of(match)
    if not count or match["day"] == "yesterday" or unit not in ("week", "fortnight"):
        return None
    return shifted(anchor.low + timedelta(days=DAYS[match["day"]]), unit, count)


def same_day(that: date, period: Period) -> Period | None:
    """Return the day of a month or year that has the number (and month) of ``that``."""
    month = that.month if period.grain == "year" else period.low.month
    found = dates.day(period.low.year, month, that.day)
    return one_day(found) if found else None


@rule(rf"\b{COUNT} (?P<unit>hour|minute)s? ago\b", "ago", "deictic", 0.93)
def _hours_ago(match: re.Match[str], anchor: Anchor) -> Period | None:
    count = count_of(match)
    if not count or anchor.moment is None:
        return None
    hours = count if match["unit"] == "hour" else count / 60
    return one_day((anchor.moment - timedelta(hours=hours)).date())


@rule(rf"\b{COUNT} weeks? ago (?:on )?{WEEKDAY}", "ago", "deictic", 0.8)
def _weekday_ago(match: re.Match[str], anchor: Anchor) -> Period | None:
    count = count_of(match)
    monday = containing("week", anchor.low).low
    wanted = dates.weekday_of(match["weekday"])
    return shifted(monday + timedelta(days=wanted), "week", -count) if count else None


@rule(
    rf"\b(?:(?P<future>in) )?{COUNT} {UNIT}(?:(?:['’]s?)? time\b| from (?:now|today)\b| hence\b)",
    "time now today hence",
    "deictic",
    0.95,
)
def _from_now(match: re.Match[str], anchor: Anchor) -> Period | None:
    if match[0].endswith("time") and not match["future"]:
        return None
    count = count_of(match)
    return shifted(anchor.low, unit_of(match), count) if count else None


@rule(rf"\bin {COUNT} {UNIT}{STOP}", UNITS, "deictic", 0.85)
def _in(match: re.Match[str], anchor: Anchor) -> Period | None:
    """Only with a future around it: "built in ten days" tells how long it took."""
    count = count_of(match)
    return shifted(anchor.low, unit_of(match), count) if count and anchor.tense > 0 else None


@rule(
    rf"\b(?:a (?P<unit>week|fortnight) (?:on|from) {WEEKDAY}{AT}"
    rf"|(?:on )?(?P<day>{'|'.join(dates.FULL_WEEKDAYS)}) week\b)",
    "week fortnight",
    "deictic",
    0.9,
)
def _week_on(match: re.Match[str], anchor: Anchor) -> Period | None:
    """A week after the next such day: "a week on Monday", "Monday week"."""
    that = weekday_near(anchor.low, dates.weekday_of(match["weekday"] or match["day"]), 1)
    return shifted(that, match["unit"] or "week", 1)


FORWARD = ("after", "following", "next", "later", "from", "since", "thereafter")
LONG_UNITS: tuple[Grain, ...] = ("month", "quarter", "year")
LONGEST_VISIT = timedelta(days=31)
"""A stretch up to this long has a day before it and a day after it that people speak of."""


def from_edge(anchor: Anchor, unit: str, count: int) -> Period | None:
    """Return what is ``count`` units after the anchor's end, or before its beginning.

    None when the anchor is coarser than the unit: no day follows a year.
    """
    coarse = anchor.high - anchor.low > LONGEST_VISIT or anchor.grain in LONG_UNITS
    ranks = {"month": 1, "quarter": 2, "year": 3, "decade": 4}
    if coarse and ranks.get(unit, 0) < ranks.get(anchor.grain, 3):
        return None
    return shifted(anchor.high if count > 0 else anchor.low, unit, count)


@rule(
    rf"\b(?:the (?P<way>following|next|previous|preceding) "
    rf"(?P<unit>day|week|weekend|month|quarter|year|{HOURS})|(?P<bare>next|following) day)\b"
    r"(?! (?:of|to)\b)",
    "following next previous preceding",
    "anaphoric",
    0.93,
)
def _following(match: re.Match[str], anchor: Anchor) -> Period | None:
    if match["bare"]:
        return from_edge(anchor, "day", 1) if anchor.kind == "text" else None
    step = 1 if match["way"] in FORWARD else -1
    named = match["unit"]
    unit = named if named in ("week", "weekend", "month", "quarter", "year") else "day"
    if anchor.kind != "text" and match["way"] in FORWARD:
        return None
    if unit == "day":
        return from_edge(anchor, "day", step)
    period = from_edge(anchor, unit, step)
    return period and containing(unit, period.low)


@rule(
    rf"\bthe (?P<way>following|next|previous|preceding) (?:{WEEKDAY}|{MONTH})",
    "following next previous preceding",
    "anaphoric",
    0.9,
)
def _following_named(match: re.Match[str], anchor: Anchor) -> Period | None:
    step = 1 if match["way"] in FORWARD else -1
    if match["weekday"]:
        if from_edge(anchor, "day", step) is None:
            return None
        day = anchor.high if step > 0 else anchor.low
        return one_day(weekday_near(day, dates.weekday_of(match["weekday"]), step))
    month = dates.month_of(match["month"])
    year = anchor.high.year if step > 0 else anchor.low.year
    for candidate in (year, year + step):
        period = Period(*dates.month_days(candidate, month), "month")
        if period.low > anchor.high if step > 0 else period.high < anchor.low:
            return period
    return None


AFTERWARDS = (
    r"(?P<way>later|earlier|afterwards?|thereafter|beforehand|previously|prior(?! to\b)"
    r"|(?:after|before) (?:that|this|then)(?= *(?:$|[.,;:!?)\n–—])"
    r"| (?:it|he|she|they|we|i|you|the|an?|his|her|their|our|my|and|but|in|at|on|to|when|there)\b)"
    r"|(?:after|before)(?= *(?:$|[.,;:!?)\n])))"
)


@rule(
    rf"\b{COUNT} {UNIT} (?:{AFTERWARDS})",
    "later earlier afterward afterwards thereafter beforehand previously prior after before",
    "anaphoric",
    0.93,
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
    "anaphoric",
    0.9,
)
def _the_day_before(match: re.Match[str], anchor: Anchor) -> Period | None:
    if anchor.kind != "text":
        return None
    step = 1 if match["way"] == "after" else -1
    unit = match["unit"]
    if unit in ("week", "weekend", "month", "year"):
        period = from_edge(anchor, unit, step)
        return period and containing(unit, period.low)
    return from_edge(anchor, "day", step)


@rule(
    rf"(?:\b{COUNT} {UNIT}|\b(?:on )?the (?:very )?(?P<named>day|week|weekend|month|year"
    rf"|{HOURS}|eve|{'|'.join(dates.FULL_WEEKDAYS)}))"
    r" (?P<way>before|after|prior to|following|from|of) (?:on )?",
    "before after prior following from eve",
    "offset",
    0.92,
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
    if way == "from":
        return None
    if named in dates.WEEKDAYS:
        if from_edge(anchor, "day", step) is None:
            return None
        return one_day(
            weekday_near(anchor.high if step > 0 else anchor.low, dates.weekday_of(named), step)
        )
    if named in ("week", "weekend", "month", "year"):
        period = from_edge(anchor, named, step)
        return period and containing(named, period.low)
    return from_edge(anchor, "day", step)


WEEKDAYS = " ".join(dates.WEEKDAYS)
NOT_MINE = (
    r"(?<!\bmy )(?<!\byour )(?<!\bhis )(?<!\bher )(?<!\bits )(?<!\bour )(?<!\btheir )(?<!['’]s )"
    r"(?<!\bthe )(?<!\bat )(?<!\bevery )(?<!\beach )(?<!\ba )(?<!\bvery )"
)


NAMED_DAYS = {
    "the day before yesterday": -2, "the night before last": -2, "the evening before last": -2,
    "yesterday": -1, "last night": -1, "last evening": -1, "today": 0, "earlier today": 0,
    "later today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0,
    "tomorrow": 1, "the day after tomorrow": 2,
}  # fmt: skip
_NAMED = "|".join(sorted((name.removeprefix("the ") for name in NAMED_DAYS), key=len, reverse=True))


@rule(
    rf"\b(?:the )?(?P<name>{_NAMED}){AT}",
    "yesterday today tonight tomorrow last this",
    "deictic",
    0.95,
)
def _named_day(match: re.Match[str], anchor: Anchor) -> Period:
    name = re.sub(r"\s+", " ", match["name"])
    days = NAMED_DAYS.get(name, NAMED_DAYS.get(f"the {name}", 0))
    certainty = 0.7 if name == "today" else 1.0  # as often "nowadays"
    that = anchor.low + timedelta(days=days)
    return Period(that, that, certainty=certainty)


@rule(
    rf"{NOT_MINE}\b(?P<which>last|next|this(?: past| coming)?|past|coming) "
    r"(?P<unit>week|weekend|month|quarter|year|decade)\b(?! (?:of|before|after)\b)",
    UNITS,
    "deictic",
    0.93,
)
def _unit(match: re.Match[str], anchor: Anchor) -> Period | None:
    steps = {"last": -1, "past": -1, "this past": -1, "next": 1, "coming": 1, "this coming": 1}
    step = steps.get(re.sub(r"\s+", " ", match["which"]), 0)
    unit = match["unit"]
    start = containing("week", anchor.low).low if unit in ("week", "weekend") else anchor.low
    moved = start
    if step:
        period = shifted(start, unit, step)
        if period is None:
            return None
        moved = period.low
    return containing(unit, moved)


@rule(
    r"\bthe (?P<unit>week|weekend|month|year) (?P<way>before last|after next)\b",
    "last next",
    "deictic",
    0.95,
)
def _second_unit(match: re.Match[str], anchor: Anchor) -> Period | None:
    unit = match["unit"]
    start = containing("week", anchor.low).low if unit.startswith("week") else anchor.low
    period = shifted(start, unit, -2 if "last" in match["way"] else 2)
    return period and containing(unit, period.low)


@rule(
    r"\b(?P<way>earlier|later) (?P<unit>this) (?P<what>week|month|year)\b",
    "earlier later",
    "deictic",
    0.9,
)
def _rest(match: re.Match[str], anchor: Anchor) -> Period:
    whole = containing(match["what"], anchor.low)
    if match["way"] == "earlier":
        return Period(whole.low, anchor.low, "range")
    return Period(anchor.low, whole.high, "range")


@rule(
    r"\b(?:(?:in|over|during|for|within|throughout) )?(?:the|these) (?P<way>past|last|next|coming) "
    rf"(?:(?:{COUNT}) )?{UNIT}(?! (?:of|before|after|that|when)\b)",
    "past last next coming",
    "deictic",
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
    if unit in ("month", "year", "quarter", "decade"):
        whole = shifted(anchor.low, unit, step)
        found = whole and (same_day(anchor.low, whole) or one_day(whole.low))
    else:
        found = shifted(anchor.low, unit, step)
    if not found:
        return None
    return Period(min(found.low, anchor.low), max(found.low, anchor.low), "range")


@rule(
    rf"{NOT_MINE}\b(?P<which>last|next|this(?: past| coming)?|past|coming) {WEEKDAY}{AT}",
    WEEKDAYS,
    "deictic",
    0.95,
)
def _which_weekday(match: re.Match[str], anchor: Anchor) -> Period | None:
    which = re.sub(r"\s+", " ", match["which"])
    wanted = dates.weekday_of(match["weekday"])
    today = anchor.low
    if which in ("last", "past", "this past"):
        that = weekday_near(today, wanted, -1)
        same_week = containing("week", today).low <= that
        return Period(that, that, certainty=0.85 if which == "last" and same_week else 1.0)
    if which == "next":  # that of the week after this one, for most; some mean the one to come
        monday = containing("week", today).low + timedelta(days=7)
        that = monday + timedelta(days=wanted)
        return Period(that, that, certainty=0.7 if wanted > today.weekday() else 1.0)
    that = containing("week", today).low + timedelta(days=wanted)
    if which == "this" and (that >= today or anchor.tense < 0):
        return one_day(that)
    return one_day(weekday_near(today, wanted, 1))


@rule(
    rf"\b(?:on )?{WEEKDAY}{AT} (?:(?:of |in )?(?P<which>last|next|this) week\b)"
    rf"|\b(?P<also>last|next|this) week(?:['’]s| on) (?P<day>{'|'.join(dates.FULL_WEEKDAYS)})\b",
    "week",
    "deictic",
    0.93,
)
def _weekday_of_week(match: re.Match[str], anchor: Anchor) -> Period:
    step = {"last": -7, "this": 0, "next": 7}[match["which"] or match["also"]]
    wanted = dates.weekday_of(match["weekday"] or match["day"])
    return one_day(containing("week", anchor.low).low + timedelta(days=step + wanted))


_MONTHS = "(?:" + "|".join(sorted(dates.MONTHS, key=len, reverse=True)) + ")"
BARE = (
    r"(?<!\bthe )(?<!\blast )(?<!\bnext )(?<!\bevery )(?<!\beach )(?<!\bother )(?<!\bone )(?<!\ba )"
)
BARE += (
    r"(?<!\bfirst )(?<!\bsecond )(?<!\bany )(?<!\bmost )(?<!\bsome )(?<!\bprevious )(?<!\bcoming )"
)

NO_DATE = (
    rf"(?!,? (?:the )?(?:\d\d?(?:st|nd|rd|th)?(?: of)?[ -]{_MONTHS}|{_MONTHS}\.? \d|\d\d?[/.-]\d))"
)


@rule(
    rf"{BARE}\b(?:(?P<prep>on|by|until|till|since|before|after|from|to|come|for) )?{BARE}"
    rf"{WEEKDAY}{NO_DATE}{AT}",
    WEEKDAYS,
    "weekday",
    0.9,
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
    return one_day(weekday_near(anchor.low, dates.weekday_of(match["weekday"]), tense))


@rule(
    r"\b(?P<prep>on|by|until|till|since|from|before|after) the (?P<day>\d\d?)(?:st|nd|rd|th)"
    rf"(?: of (?P<which>last|this|next) month\b|{STOP}|(?= (?:at|in the|for|with)\b))",
    "the",
    "deictic",
    0.85,
)
def _day_of_month(match: re.Match[str], anchor: Anchor) -> Period | None:
    number, tense = int(match["day"]), anchor.tense
    if not 1 <= number <= 31:
        return None
    if match["which"]:
        step = {"last": -1, "this": 0, "next": 1}[match["which"]]
        month = shifted(anchor.low, "month", step)
        found = month and dates.day(month.low.year, month.low.month, number)
        return one_day(found) if found else None
    if match["prep"] in ("by", "until", "till") and tense == 0:
        tense = 1
    for step in (0, tense, 2 * tense) if tense else ():
        month = shifted(anchor.low, "month", step)
        found = month and dates.day(month.low.year, month.low.month, number)
        if found and (found - anchor.low).days * tense >= 0:
            return one_day(found)
    return None


@rule(
    rf"{NOT_MINE}\b(?P<which>last|next|this(?: past| coming)?) (?:{MONTH}"
    r"|(?P<season>spring|summer|autumn|fall|winter)\b)(?! \d)",
    " ".join(dates.MONTHS) + " spring summer autumn fall winter",
    "deictic",
    0.88,
)
def _which_month(match: re.Match[str], anchor: Anchor) -> Period | None:
    which = match["which"].split()[-1]
    years = range(anchor.low.year - 1, anchor.low.year + 2)
    if match["season"]:
        periods = [season(match["season"], year) for year in years]
    else:
        month = dates.month_of(match["month"])
        periods = [Period(*dates.month_days(year, month), "month") for year in years]
    if which in ("last", "past"):
        ended = [period for period in periods if period.high < anchor.low]
        return ended[-1] if ended else None
    if which == "this":
        return min(periods, key=lambda period: abs(period.low - anchor.low))
    return next((period for period in periods if period.low > anchor.low), None)


@rule(
    rf"\b(?P<prep>in|since|by|until|till|during|throughout|early|mid|late)[ -]{MONTH}"
    r"(?![ -]\d|['’]s)",
    " ".join(dates.MONTHS),
    "partial",
    0.85,
)
def _month(match: re.Match[str], anchor: Anchor) -> Period | None:
    tense = -1 if match["prep"] == "since" else anchor.tense
    if match["prep"] == "by" and (tense < 0 or len(match["month"]) < 5):
        return None  # "written by April"
    month = dates.month_of(match["month"])
    if month == anchor.low.month:
        return Period(*dates.month_days(anchor.low.year, month), "month", 0.9)
    near = nearest_year(month, 15, anchor.low, tense)
    if near is None:
        return None
    return Period(*dates.month_days(near[0].year, month), "month", near[1])
