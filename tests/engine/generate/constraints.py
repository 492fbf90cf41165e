"""What the paper asks of tuple sets, one predicate each; the places in ImpliRet's paper are in
``assets/generate/constraints.toml``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from engine.generate.implicit_records import TupleSet
from engine.generate.scenes import (
    APART,
    BLOCK,
    BLOCK_DAYS,
    HIGHEST_BASE,
    LOWEST_BASE,
    MOST_DAYS_AWAY,
    MOST_MESSAGES_A_DAY,
    ONCE,
    RUNNING,
    STEP,
    constraints_for,
)


def one_per_band(values: Sequence[int], low: int, high: int) -> bool:
    """Whether each of ``len(values)`` equal bands of ``[low, high)`` holds exactly one value.

    >>> one_per_band([1, 4, 9], 0, 9), one_per_band([1, 4, 8], 0, 9)
    (False, True)
    """
    bands = {(value - low) * len(values) // (high - low) for value in values}
    return all(low <= value < high for value in values) and len(bands) == len(values)


def different(values: Sequence[object]) -> bool:
    """Whether no two are equal."""
    return len(set(values)) == len(values)


def dates_spread(group: TupleSet) -> bool:
    """In threads, targets and messages lie in equal bands, one in each. In schedules, every day has
    one or two activities and at most three messages."""
    bases = [t.base.toordinal() for t in tuples(group)]
    targets = [day.toordinal() for t in tuples(group) for day in t.targets]
    if group.style == "multi":
        return all(one_per_band(days, group.low, group.high) for days in (bases, targets))
    busy, window = Counter(targets), range(group.low, group.high)
    return (
        all(1 <= busy[day] <= 2 for day in window)
        and all(day in window for day in (*bases, *targets))
        and max(Counter(bases).values()) <= MOST_MESSAGES_A_DAY
    )


def kinds_complete(group: TupleSet) -> bool:
    """Every block of 14 days has its 15 activities of three kinds."""
    blocks: dict[int, list[tuple[str, int]]] = {}
    for t in tuples(group):
        [block] = {(day.toordinal() - group.low) // BLOCK_DAYS for day in t.targets}
        blocks.setdefault(block, []).append((t.repetition, len(t.targets)))
    wanted = [("running", n) for n in RUNNING] + [("apart", n) for n in APART]
    wanted += [("once", 1)] * ONCE
    complete = len(blocks) * BLOCK == len(group.tuples)
    return complete and all(sorted(kinds) == sorted(wanted) for kinds in blocks.values())


def lots_apart(group: TupleSet) -> bool:
    """No two activities share a day and its part."""
    return different([(day, t.part) for t in tuples(group) for day in t.targets])


def tuples(group: TupleSet) -> list[Any]:
    return [*group.tuples]


def shares_letters(place: str, country: str) -> bool:
    """Whether four letters on end are the same."""
    one, other = place.lower(), country.lower().replace(" ", "")
    return any(one[i : i + 4] in other for i in range(len(one) - 3))


CHECKS: dict[str, Callable[[TupleSet], bool]] = {
    "prices follow": lambda group: all(
        t.base == t.queried * t.multiplier if t.inverse else t.queried == t.base * t.multiplier
        for t in tuples(group)
    ),
    "prices distinct": lambda group: different(
        [price for t in tuples(group) for price in (t.base, t.queried)]
    ),
    "prices round": lambda group: all(
        t.base % STEP == 0 == t.queried % STEP for t in tuples(group)
    ),
    "prices spread": lambda group: (
        all(LOWEST_BASE <= t.base <= HIGHEST_BASE for t in tuples(group))
        and one_per_band([t.queried for t in tuples(group)], group.low, group.high)
    ),
    "multipliers simple": lambda group: all(
        t.multiplier > 0 and t.multiplier != 1 and (t.multiplier * 100).denominator == 1
        for t in tuples(group)
    ),
    "places unique": lambda group: different([t.place for t in tuples(group)]),
    "places say nothing": lambda group: (
        not any(shares_letters(t.place, t.country) for t in tuples(group))
    ),
    "places specific": lambda group: all(
        re.fullmatch(r"[A-Z][a-z]{3,}", t.place) for t in tuples(group)
    ),
    "countries distinct": lambda group: different([t.code for t in tuples(group)]),
    "dates unique": lambda group: (
        lots_apart(group)
        if group.style == "uni"
        else different([day for t in tuples(group) for day in (t.base, *t.targets)])
    ),
    "dates spread": dates_spread,
    "offsets limited": lambda group: all(
        abs(n) <= MOST_DAYS_AWAY for t in tuples(group) for n in t.offsets
    ),
    "messages apart": lambda group: all(0 not in t.offsets for t in tuples(group)),
    "kinds complete": kinds_complete,
    "repetitions true": lambda group: all(
        (b - a).days == 1 if t.repetition == "running" else (b - a).days > 1
        for t in tuples(group)
        for a, b in pairwise(t.targets)
    ),
    "lots apart": lots_apart,
}


def broken(group: TupleSet) -> list[str]:
    """Names of the constraints that a set breaks."""
    names = constraints_for(group.category, group.style)
    return [name for name in names if not CHECKS[name](group)]
