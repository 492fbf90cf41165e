"""What the paper asks of tuple sets, one predicate each (ImpliRet, section 2 and appendix A)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from engine.generate.implicit_records import (
    DateTuple,
    PlaceTuple,
    PriceTuple,
    TupleSet,
)
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
    if not all(low <= value < high for value in values):
        return False
    bands = {(value - low) * len(values) // (high - low) for value in values}
    return len(bands) == len(values)


# -- arithmetic --------------------------------------------------------------------------


def prices_follow(group: TupleSet) -> bool:
    """Every queried price is what base, multiplier and direction say (section 2.1)."""
    return all(
        t.base == t.queried * t.multiplier if t.inverse else t.queried == t.base * t.multiplier
        for t in _prices(group)
    )


def prices_distinct(group: TupleSet) -> bool:
    """No two prices of the set are equal, stated or queried (A.1, i)."""
    values = [price for t in _prices(group) for price in (t.base, t.queried)]
    return len(set(values)) == len(values)


def prices_round(group: TupleSet) -> bool:
    """Every price is a multiple of 10 (A.1, ii)."""
    return all(t.base % STEP == 0 == t.queried % STEP for t in _prices(group))


def prices_spread(group: TupleSet) -> bool:
    """Queried prices lie evenly in the range, stated ones are plausible (A.1, iii)."""
    plausible = all(LOWEST_BASE <= t.base <= HIGHEST_BASE for t in _prices(group))
    return plausible and one_per_band([t.queried for t in _prices(group)], group.low, group.high)


def multipliers_simple(group: TupleSet) -> bool:
    """Multipliers have at most two decimals, and change something (A.1, iv)."""
    return all(
        t.multiplier > 0 and t.multiplier != 1 and (t.multiplier * 100).denominator == 1
        for t in _prices(group)
    )


# -- world knowledge ---------------------------------------------------------------------


def places_unique(group: TupleSet) -> bool:
    """No place stands in the set twice (A.2, i; that it is unique on earth is a matter of
    :mod:`engine.generate.countries`)."""
    return len({t.place for t in _places(group)}) == len(group.tuples)


def places_say_nothing(group: TupleSet) -> bool:
    """No place shares four letters on end with its country's name (A.2, ii)."""
    return all(not _shared_letters(t.place, t.country) for t in _places(group))


def places_specific(group: TupleSet) -> bool:
    """Every place is a proper name of one word, not a description (A.2, iii)."""
    return all(re.fullmatch(r"[A-Z][a-z]{3,}", t.place) for t in _places(group))


def countries_distinct(group: TupleSet) -> bool:
    """Every place lies in another country (A.2, end)."""
    return len({t.code for t in _places(group)}) == len(group.tuples)


# -- temporal ----------------------------------------------------------------------------


def dates_unique(group: TupleSet) -> bool:
    """No two tuples share a day that a query asks for or, in threads, a message (A.3, i)."""
    if group.style == "uni":
        return lots_apart(group)
    days = [day for t in _dates(group) for day in (t.base, *t.targets)]
    return len(set(days)) == len(days)


def dates_spread(group: TupleSet) -> bool:
    """Days lie evenly in the window (A.3, ii).

    In threads, targets and messages alike: one in each of as many equal bands. In schedules,
    every day has one or two activities and at most three messages.
    """
    dates = _dates(group)
    bases = [t.base.toordinal() for t in dates]
    targets = [day.toordinal() for t in dates for day in t.targets]
    if group.style == "multi":
        return all(one_per_band(days, group.low, group.high) for days in (bases, targets))
    busy, messages = Counter(targets), Counter(bases)
    window = range(group.low, group.high)
    return (
        all(1 <= busy[day] <= 2 for day in window)
        and all(day in window for day in (*bases, *targets))
        and max(messages.values()) <= MOST_MESSAGES_A_DAY
    )


def offsets_limited(group: TupleSet) -> bool:
    """No message is more than a fortnight from a day that it speaks of (A.3, iii)."""
    return all(abs(n) <= MOST_DAYS_AWAY for t in _dates(group) for n in t.offsets)


def kinds_complete(group: TupleSet) -> bool:
    """Every block of 14 days has its 15 activities of three kinds (A.3.2)."""
    blocks: dict[int, list[tuple[str, int]]] = {}
    for t in _dates(group):
        block = {(day.toordinal() - group.low) // BLOCK_DAYS for day in t.targets}
        if len(block) > 1:
            return False
        blocks.setdefault(block.pop(), []).append((t.repetition, len(t.targets)))
    wanted = [("running", n) for n in RUNNING] + [("apart", n) for n in APART]
    wanted += [("once", 1)] * ONCE
    complete = len(blocks) * BLOCK == len(group.tuples)
    return complete and all(sorted(kinds) == sorted(wanted) for kinds in blocks.values())


def repetitions_true(group: TupleSet) -> bool:
    """Consecutive activities have no gap, the others never two days on end (A.3.2)."""
    for t in _dates(group):
        gaps = [(b - a).days for a, b in pairwise(t.targets)]
        if not all(gap == 1 if t.repetition == "running" else gap > 1 for gap in gaps):
            return False
    return True


def lots_apart(group: TupleSet) -> bool:
    """No two activities share a day and its part (A.3.2, phase i)."""
    lots = [(day, t.part) for t in _dates(group) for day in t.targets]
    return len(set(lots)) == len(lots)


def messages_apart(group: TupleSet) -> bool:
    """No message is written on a day that it speaks of (A.3.2, phase ii)."""
    return all(0 not in t.offsets for t in _dates(group))


CHECKS: dict[str, Callable[[TupleSet], bool]] = {
    check.__name__.replace("_", " "): check
    for check in (
        prices_follow,
        prices_distinct,
        prices_round,
        prices_spread,
        multipliers_simple,
        places_unique,
        places_say_nothing,
        places_specific,
        countries_distinct,
        dates_unique,
        dates_spread,
        offsets_limited,
        messages_apart,
        kinds_complete,
        repetitions_true,
        lots_apart,
    )
}


def broken(group: TupleSet) -> list[str]:
    """Names of the constraints that a set breaks."""
    names = constraints_for(group.category, group.style)
    return [name for name in names if not CHECKS[name](group)]


def _prices(group: TupleSet) -> list[PriceTuple]:
    return [t for t in group.tuples if isinstance(t, PriceTuple)]


def _places(group: TupleSet) -> list[PlaceTuple]:
    return [t for t in group.tuples if isinstance(t, PlaceTuple)]


def _dates(group: TupleSet) -> list[DateTuple]:
    return [t for t in group.tuples if isinstance(t, DateTuple)]


def _shared_letters(place: str, country: str) -> bool:
    one, other = place.lower(), country.lower().replace(" ", "")
    return any(one[i : i + 4] in other for i in range(len(one) - 3))
