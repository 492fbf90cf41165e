"""Tuple sets of prices (ImpliRet, appendix A.1)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction

from engine.generate.implicit_records import ImplicitRequest, PriceTuple, TupleSet
from engine.generate.solving import randomness, solve

LOWEST, HIGHEST = 200, 3200
"""Queried prices are spread from here up to but without there."""
LOWEST_BASE, HIGHEST_BASE = 100, 6400
STEP = 10
_HUNDREDTHS = (25, 50, 75, 150, 200, 200, 250, 300, 400)
_PERCENT = (*range(55, 100, 5), *range(105, 180, 5))
MULTIPLIERS = tuple(Fraction(n, 100) for n in (*_HUNDREDTHS, *_PERCENT))
"""Halves, multiples and whole five percents: sums that a reader does in the head."""


def price_set(request: ImplicitRequest, number: int) -> TupleSet:
    """Set ``number``: one queried price in each of as many equal bands as there are documents.

    Raises:
        UnsatisfiableError: too many documents for the range of prices.
    """
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
