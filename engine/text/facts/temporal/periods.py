"""Stretches of days, and the calendar's arithmetic on them."""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from dateutil.relativedelta import relativedelta

from engine.text.facts.dates import month_days

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
