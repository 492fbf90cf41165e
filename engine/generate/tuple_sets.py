"""The tuples that queries ask for: prices, days and countries that meet the paper's constraints.

One option per slot is chosen so that all fit together: depth first, with backtracking.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import TypeVar

from engine.errors import BadInputError
from engine.generate.implicit_records import (
    Category,
    DateTuple,
    ImplicitRequest,
    PlaceTuple,
    PriceTuple,
    Repetition,
    Style,
    TupleSet,
)
from engine.generate.wording import CONSTRAINTS, COUNTRIES

Slot = TypeVar("Slot")
Choice = TypeVar("Choice")
MOST_STEPS = 200_000
"""Options tried until a search counts as hopeless; a solvable request takes some thousands."""


class UnsatisfiableError(BadInputError):
    """No tuple set of the size that was asked for meets all constraints."""


def randomness(*parts: object) -> random.Random:
    """A source of its own for every purpose, so that one more draw here changes nothing there.

    >>> randomness(7, "prices").random() == randomness(7, "prices").random()
    True
    """
    return random.Random("/".join(map(str, parts)))  # noqa: S311 - no secret, to be repeated


def solve(
    slots: Sequence[Slot],
    options: Callable[[Slot], Iterable[Choice]],
    fits: Callable[[Slot, Choice, Sequence[Choice]], bool],
    what: str,
) -> list[Choice]:
    """One choice per slot; each fits those before it. The options' order decides among answers.

    `options`: what a slot can be filled with, the preferred first. Called again after every step
    back. `fits`: whether a choice may follow the choices made for the slots before. `what`: names
    the things in the error: "30 prices from 200 to 3,200".

    >>> solve([1, 2], lambda slot: (2, 1), lambda slot, n, before: n not in before, "numbers")
    [2, 1]
    """
    chosen: list[Choice] = []
    open_options: list[Iterator[Choice]] = []
    steps = deepest = 0
    while len(chosen) < len(slots):
        if len(open_options) == len(chosen):
            open_options.append(iter(options(slots[len(chosen)])))
        for choice in open_options[-1]:
            steps += 1
            if steps > MOST_STEPS:
                raise _unsatisfiable(what, deepest, len(slots))
            if fits(slots[len(chosen)], choice, chosen):
                chosen.append(choice)
                deepest = max(deepest, len(chosen))
                break
        else:
            open_options.pop()
            if not chosen:
                raise _unsatisfiable(what, deepest, len(slots))
            chosen.pop()
    return chosen


def _unsatisfiable(what: str, reached: int, wanted: int) -> UnsatisfiableError:
    return UnsatisfiableError(
        f"No choice of {what} meets every constraint ({reached} of {wanted} could be placed).",
        "Ask for fewer documents per set.",
    )


LOWEST, HIGHEST = 200, 3200  # Queried prices are spread from here up to but without there
LOWEST_BASE, HIGHEST_BASE = 100, 6400
STEP = 10
_HUNDREDTHS = (25, 50, 75, 150, 200, 200, 250, 300, 400)
_PERCENT = (*range(55, 100, 5), *range(105, 180, 5))
MULTIPLIERS = tuple(Fraction(n, 100) for n in (*_HUNDREDTHS, *_PERCENT))
"""Halves, multiples and whole five percents: sums that a reader does in the head."""


def price_set(request: ImplicitRequest, number: int) -> TupleSet:
    """Set ``number``: one queried price in each of as many equal bands as there are documents."""
    rng = randomness(request.seed, "prices", request.style, number)
    bands = list(range(request.documents))
    rng.shuffle(bands)

    def options(band: int) -> Iterator[PriceTuple]:
        return _candidates(rng, *band_of(band, request.documents, LOWEST, HIGHEST))

    what = f"{request.documents} prices from {LOWEST:,} to {HIGHEST:,}"
    tuples = solve(bands, options, _apart, what)
    return TupleSet("arithmetic", request.style, number, tuple(tuples), LOWEST, HIGHEST)


def band_of(band: int, count: int, low: int, high: int) -> tuple[int, int]:
    """The whole numbers ``[first, last)`` of one of ``count`` equal bands of ``[low, high)``.

    >>> band_of(1, 3, 0, 10)
    (4, 7)
    """
    width = high - low
    return low - (-width * band // count), low - (-width * (band + 1) // count)


def _candidates(rng: random.Random, first: int, last: int) -> Iterator[PriceTuple]:
    """Every tuple whose queried price is round and lies in ``[first, last)``, in random order."""
    queried = list(range(-(-first // STEP) * STEP, last, STEP))
    rng.shuffle(queried)
    for price in queried:
        ways = [(m, inverse) for m in MULTIPLIERS for inverse in (False, True)]
        rng.shuffle(ways)
        for multiplier, inverse in ways:
            base = price * multiplier if inverse else price / multiplier
            if base % STEP == 0 and LOWEST_BASE <= base <= HIGHEST_BASE:
                yield PriceTuple(int(base), multiplier, inverse, price)


def _apart(_: int, one: PriceTuple, others: Sequence[PriceTuple]) -> bool:
    prices = {price for other in others for price in (other.base, other.queried)}
    return prices.isdisjoint((one.base, one.queried))


WINDOW_START = date(2025, 1, 1)
WINDOW_DAYS = 365
MOST_DAYS_AWAY = 14  # From a message to the day that it speaks of
PAST = 0.75  # Share of messages of a thread that look back; the others look ahead

BLOCK_DAYS = 14
PARTS = ("morning", "evening")
RUNNING, APART, ONCE = (4, 3, 3), (3, 2, 2), 9
"""Of each block: activities on consecutive days, on days with gaps, and on one day."""
BLOCK = len(RUNNING) + len(APART) + ONCE
MOST_MESSAGES_A_DAY = 3
_WIDEST_GAPS = 9
"""Days that an activity with gaps stretches over at most, so that one message can see them all."""


def date_set(request: ImplicitRequest, number: int) -> TupleSet:
    """Set ``number``."""
    rng = randomness(request.seed, "dates", request.style, number)
    if request.style == "uni":
        return _schedule(request, number, rng)
    return _thread(request, number, rng)


def _thread(request: ImplicitRequest, number: int, rng: random.Random) -> TupleSet:
    """One target and one message in each of as many equal bands as there are documents."""
    count, low = request.documents, WINDOW_START.toordinal()
    high = low + WINDOW_DAYS
    bands = [range(*band_of(i, count, low, high)) for i in range(count)]

    def band(day: date) -> int:
        return next(i for i, days in enumerate(bands) if day.toordinal() in days)

    def options(target_band: int) -> Iterator[DateTuple]:
        near = bands[max(0, target_band - 1) : target_band + 2]
        return _day_candidates(rng, bands[target_band], [day for days in near for day in days])

    def fits(slot: int, one: DateTuple, others: Sequence[DateTuple]) -> bool:
        dates = {d for other in others for d in (other.base, *other.targets)}
        filled = {band(other.base) for other in others}
        if not dates.isdisjoint((one.base, *one.targets)) or band(one.base) in filled:
            return False
        # Later slots do not reach back to the band before this one: it has to be filled by now.
        filled.add(band(one.base))
        last = slot == count - 1
        return (slot == 0 or slot - 1 in filled) and (not last or slot in filled)

    what = f"{count} days and messages in {WINDOW_DAYS} days"
    tuples = solve(range(count), options, fits, what)
    return TupleSet("temporal", "multi", number, tuple(tuples), low, high)


def _day_candidates(
    rng: random.Random, targets: Sequence[int], bases: Sequence[int]
) -> Iterator[DateTuple]:
    pairs = [(t, b) for t in targets for b in bases if 0 < abs(b - t) <= MOST_DAYS_AWAY]
    rng.shuffle(pairs)
    looks_back = rng.random() < PAST
    for target, base in sorted(pairs, key=lambda pair: (pair[1] > pair[0]) != looks_back):
        yield DateTuple(date.fromordinal(base), (date.fromordinal(target),))


# -- schedules ---------------------------------------------------------------------------


_Kind = tuple[Repetition, int]  # How often an activity of a block is done, and on how many days


@dataclass(frozen=True, slots=True)
class _Placed:
    """An activity in its block: days are counted from the start of the block."""

    repetition: Repetition
    days: tuple[int, ...]
    part: str

    @property
    def lots(self) -> set[tuple[int, str]]:
        return {(day, self.part) for day in self.days}


def _schedule(request: ImplicitRequest, number: int, rng: random.Random) -> TupleSet:
    """The main conversant's activities: blocks of 14 days with 15 activities each."""
    if request.documents % BLOCK:
        raise UnsatisfiableError(
            f"A schedule cannot have {request.documents} activities: every block of "
            f"{BLOCK_DAYS} days has exactly {BLOCK}.",
            f"Ask for a multiple of {BLOCK} documents per set; the paper has {2 * BLOCK}.",
        )
    blocks = request.documents // BLOCK
    days = blocks * BLOCK_DAYS
    start = WINDOW_START + timedelta(days=rng.randrange(WINDOW_DAYS - days))
    placed = [
        (start + timedelta(days=block * BLOCK_DAYS), activity)
        for block in range(blocks)
        for activity in _block(rng)
    ]
    window = [start + timedelta(days=day) for day in range(days)]
    tuples = _with_messages(rng, placed, window)
    rng.shuffle(tuples)
    low = start.toordinal()
    return TupleSet("temporal", "uni", number, tuple(tuples), low, low + days)


def _block(rng: random.Random) -> list[_Placed]:
    """Phase (i) of A.3.2: activities without overlap, the largest first."""
    kinds: list[_Kind] = [("running", n) for n in RUNNING]
    kinds += [("apart", n) for n in APART]
    kinds += [("once", 1)] * ONCE

    def options(kind: _Kind) -> Iterable[_Placed]:
        choices = [_Placed(kind[0], days, part) for days in _days(rng, *kind) for part in PARTS]
        rng.shuffle(choices)
        return choices

    def fits(_: _Kind, one: _Placed, others: Sequence[_Placed]) -> bool:
        busy = {day for other in (one, *others) for day in other.days}
        left = BLOCK - len(others) - 1  # of the last ones, each fills one empty day at most
        no_overlap = all(one.lots.isdisjoint(other.lots) for other in others)
        return no_overlap and (left > ONCE or BLOCK_DAYS - len(busy) <= left)

    return solve(kinds, options, fits, f"{BLOCK} activities in {BLOCK_DAYS} days")


def _days(rng: random.Random, repetition: Repetition, count: int) -> list[tuple[int, ...]]:
    if repetition != "apart":
        return [tuple(range(start, start + count)) for start in range(BLOCK_DAYS - count + 1)]
    choices = set()
    for _ in range(60):
        days = tuple(sorted(rng.sample(range(BLOCK_DAYS), count)))
        gaps = [b - a for a, b in pairwise(days)]
        if min(gaps) >= 2 and days[-1] - days[0] <= _WIDEST_GAPS:
            choices.add(days)
    return sorted(choices)


def _with_messages(
    rng: random.Random, placed: Sequence[tuple[date, _Placed]], window: Sequence[date]
) -> list[DateTuple]:
    """Phases (ii) and (iii) of A.3.2: a message per activity, before it or after it."""

    def options(slot: tuple[date, _Placed]) -> Iterable[DateTuple]:
        start, activity = slot
        targets = tuple(start + timedelta(days=day) for day in activity.days)
        choices = [
            DateTuple(base, targets, activity.part, activity.repetition)
            for base in window
            if not targets[0] <= base <= targets[-1]
            and max(abs((base - t).days) for t in targets) <= MOST_DAYS_AWAY
        ]
        rng.shuffle(choices)
        return choices

    def fits(_: object, one: DateTuple, others: Sequence[DateTuple]) -> bool:
        return sum(other.base == one.base for other in others) < MOST_MESSAGES_A_DAY

    return solve(placed, options, fits, f"{len(placed)} messages in {len(window)} days")


def place_set(request: ImplicitRequest, number: int) -> TupleSet:
    """Set ``number``: as many different countries as documents, one place from each."""
    rng = randomness(request.seed, "places", request.style, number)
    order = list(COUNTRIES)
    rng.shuffle(order)

    def options(slot: int) -> Iterable[PlaceTuple]:
        for country in order[slot:] + order[:slot]:
            for place in rng.sample(country.places, len(country.places)):
                yield PlaceTuple(place, country.name, country.code)

    def fits(_: int, one: PlaceTuple, others: Sequence[PlaceTuple]) -> bool:
        return all(one.code != other.code and one.place != other.place for other in others)

    what = f"{request.documents} of {len(COUNTRIES)} countries"
    tuples = solve(range(request.documents), options, fits, what)
    return TupleSet("world", request.style, number, tuple(tuples))


def constraints_for(category: Category, style: Style) -> dict[str, str]:
    """Constraints that sets of a category and style meet, with their place in ImpliRet's paper."""
    return {**CONSTRAINTS[category], **CONSTRAINTS.get(f"{category}-{style}", {})}
