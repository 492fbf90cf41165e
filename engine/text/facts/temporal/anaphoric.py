"""Rules for what counts from a date told before: "the following morning", "two days later"."""

from __future__ import annotations

import re
from datetime import timedelta

from engine.text.facts import dates
from engine.text.facts.temporal.candidates import Anchor
from engine.text.facts.temporal.grammar import (
    COUNT,
    HOURS,
    MONTH,
    UNIT,
    WEEKDAY,
    count_of,
    rule,
    unit_of,
)
from engine.text.facts.temporal.periods import (
    Grain,
    Period,
    containing,
    one_day,
    shifted,
    weekday_near,
)

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
