"""Tuple sets meet every constraint of the paper, and a set that does not is found out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import pytest

from engine.generate.implicit_records import (
    CATEGORIES,
    STYLES,
    DateTuple,
    ImplicitRequest,
    PlaceTuple,
    PriceTuple,
    TupleSet,
)
from engine.generate.scenes import tuple_set
from engine.generate.tuple_sets import UnsatisfiableError, band_of, constraints_for, solve
from tests.engine.generate.constraints import broken

KINDS = [(category, style) for category in CATEGORIES for style in STYLES]
SIZES = {("temporal", "uni"): (15, 30, 45)}
"""Elsewhere: any number."""


def made(category: Any, style: Any, seed: int = 7, documents: int = 30) -> TupleSet:
    return tuple_set(ImplicitRequest(category, style, 1, seed, documents), 0)


@pytest.mark.parametrize(("category", "style"), KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_every_set_meets_every_constraint(category: Any, style: Any, seed: int) -> None:
    for documents in SIZES.get((category, style), (1, 2, 7, 30, 60)):
        found = made(category, style, seed, documents)
        assert len(found.tuples) == documents
        assert broken(found) == []


def test_sets_differ_and_do_not_depend_on_how_many_there_are() -> None:
    few, many = (ImplicitRequest("arithmetic", "multi", sets, 3) for sets in (2, 50))
    assert tuple_set(few, 1) == tuple_set(many, 1) != tuple_set(few, 0)
    assert tuple_set(few, 1) != tuple_set(replace(few, seed=4), 1)


# -- each constraint can fail --------------------------------------------------------------

START = date(2025, 3, 3)


def changed(found: TupleSet, *changes: tuple[int, dict[str, Any]]) -> TupleSet:
    """The set with some of its tuples changed."""
    tuples: list[Any] = list(found.tuples)
    for number, values in changes:
        tuples[number] = replace(tuples[number], **values)
    return replace(found, tuples=tuple(tuples))


def prices(*tuples: PriceTuple) -> TupleSet:
    return TupleSet("arithmetic", "multi", 0, tuples, 200, 200 + 100 * len(tuples))


def places(*tuples: PlaceTuple) -> TupleSet:
    return TupleSet("world", "multi", 0, tuples)


def thread(*pairs: tuple[int, int]) -> TupleSet:
    """(message, target) as days after the start; a band is ten days wide."""
    tuples = tuple(
        DateTuple(START + timedelta(base), (START + timedelta(target),)) for base, target in pairs
    )
    low = START.toordinal()
    return TupleSet("temporal", "multi", 0, tuples, low, low + 10 * len(pairs))


DOUBLE = PriceTuple(120, Fraction(2), False, 240)
HALF = PriceTuple(760, Fraction(1, 2), False, 380)
BREMEN = PlaceTuple("Rostock", "Germany", "DE")
BROKEN = [
    (prices(replace(DOUBLE, base=130), HALF), "prices follow"),
    (prices(DOUBLE, PriceTuple(120, Fraction(3), False, 360)), "prices distinct"),
    (prices(PriceTuple(125, Fraction(2), False, 250), HALF), "prices round"),
    (prices(DOUBLE, PriceTuple(140, Fraction(2), False, 280)), "prices spread"),
    (prices(DOUBLE, PriceTuple(80, Fraction(4), False, 320)), "prices spread"),
    (prices(PriceTuple(160, Fraction(13, 8), False, 260), HALF), "multipliers simple"),
    (places(BREMEN, replace(BREMEN, code="AT")), "places unique"),
    (places(BREMEN, PlaceTuple("Nigeria", "Niger", "NE")), "places say nothing"),
    (places(BREMEN, PlaceTuple("the old harbour", "France", "FR")), "places specific"),
    (places(BREMEN, replace(BREMEN, place="Bochum")), "countries distinct"),
    (thread((5, 3), (17, 5)), "dates unique"),
    (thread((5, 3), (8, 12)), "dates spread"),
    (thread((5, 3), (17, 9)), "dates spread"),
    (thread((0, 15), (17, 9)), "offsets limited"),
    (thread((5, 5), (17, 12)), "messages apart"),
]


@pytest.mark.parametrize(("found", "constraint"), BROKEN)
def test_a_set_that_breaks_a_constraint_is_found_out(found: TupleSet, constraint: str) -> None:
    assert constraint in constraints_for(found.category, found.style)
    assert constraint in broken(found)


def test_sets_made_by_hand_that_break_nothing_pass() -> None:
    good = (prices(DOUBLE, HALF), places(BREMEN), thread((5, 3), (17, 12)))
    assert [broken(found) for found in good] == [[], [], []]


@pytest.mark.parametrize(
    ("repetition", "targets", "constraint"),
    [
        ("once", (0, 1), "kinds complete"),
        ("running", (0, 2, 3), "repetitions true"),
        ("apart", (0, 1, 2), "repetitions true"),
    ],
)
def test_a_schedule_that_breaks_a_constraint_is_found_out(
    repetition: str, targets: Sequence[int], constraint: str
) -> None:
    found = made("temporal", "uni")
    number = next(i for i, t in enumerate(found.tuples) if t.repetition == repetition)  # type: ignore[union-attr]
    days = tuple(date.fromordinal(found.low + day) for day in targets)
    assert constraint in broken(changed(found, (number, {"targets": days})))


def test_a_schedule_with_two_things_at_once_is_found_out() -> None:
    found = made("temporal", "uni")
    singles = [i for i, t in enumerate(found.tuples) if len(t.targets) == 1]  # type: ignore[union-attr]
    first: Any = found.tuples[singles[0]]
    double = changed(found, (singles[1], {"targets": first.targets, "part": first.part}))
    assert {"lots apart", "dates unique"} <= set(broken(double))


# -- the search ----------------------------------------------------------------------------


def test_the_search_takes_choices_back() -> None:
    def fits(slot: str, one: int, before: Sequence[int]) -> bool:
        return one not in before and not (slot == "last" and before[0] == 1)

    choices = {"first": (1, 2), "middle": (1, 3), "last": (4,)}
    assert solve(list(choices), choices.__getitem__, fits, "numbers") == [2, 1, 4]


def test_a_search_without_an_answer_says_how_far_it_came() -> None:
    with pytest.raises(UnsatisfiableError, match=r"3 pigeons .*2 of 3 could be placed"):
        solve(range(3), lambda _: (1, 2), lambda _, one, before: one not in before, "3 pigeons")


def test_bands_cover_a_range_without_gaps() -> None:
    bands = [band_of(i, 7, 200, 3200) for i in range(7)]
    assert [n for first, last in bands for n in range(first, last)] == list(range(200, 3200))


# -- what cannot be made ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [{"category": "spatial"}, {"style": "duo"}, {"sets": 0}, {"sets": 2001}, {"documents": 61}],
    ids=str,
)
def test_requests_out_of_range_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(values))):
        ImplicitRequest(**{"category": "world", "style": "uni", "sets": 1, **values})


def test_a_schedule_has_no_other_number_of_activities() -> None:
    with pytest.raises(UnsatisfiableError, match=r"20 activities.*exactly 15.*the paper has 30"):
        made("temporal", "uni", documents=20)
