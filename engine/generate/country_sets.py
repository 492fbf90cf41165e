"""Tuple sets of places (ImpliRet, appendix A.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.generate.implicit_records import ImplicitRequest, PlaceTuple, TupleSet
from engine.generate.solving import randomness, solve
from engine.generate.word_lists import COUNTRIES, Country


def place_set(request: ImplicitRequest, number: int) -> TupleSet:
    """Set ``number``: as many different countries as documents, one place from each.

    Raises:
        UnsatisfiableError: more documents than countries.
    """
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


def country_of(code: str) -> Country:
    """The country with that code; KeyError."""
    return _BY_CODE[code]


_BY_CODE = {country.code: country for country in COUNTRIES}
