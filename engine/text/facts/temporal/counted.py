"""Rules for what is counted from the time of writing: "two days ago", "in a month's time"."""

from __future__ import annotations

import re
from datetime import date, timedelta

from engine.text.facts import dates
from engine.text.facts.temporal.candidates import Anchor
from engine.text.facts.temporal.grammar import AT, COUNT, UNIT, WEEKDAY, count_of, rule, unit_of
from engine.text.facts.temporal.periods import Period, containing, one_day, shifted, weekday_near

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
