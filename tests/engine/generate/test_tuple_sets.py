"""Tuple sets meet every constraint of the paper."""

from dataclasses import replace

import pytest

from engine.generate.implicit_records import CATEGORIES, STYLES, ImplicitRequest
from engine.generate.scenes import UnsatisfiableError, solve, tuple_set
from tests.engine.generate.constraints import broken

KINDS = [(category, style) for category in CATEGORIES for style in STYLES]
SIZES = {("temporal", "uni"): (15, 30, 45)}
"""Elsewhere: any number."""


def made(category, style, seed=7, documents=30):
    return tuple_set(ImplicitRequest(category, style, 1, seed, documents), 0)


@pytest.mark.parametrize(("category", "style"), KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_every_set_meets_every_constraint(category, style, seed):
    for documents in SIZES.get((category, style), (1, 2, 7, 30, 60)):
        found = made(category, style, seed, documents)
        assert len(found.tuples) == documents
        assert broken(found) == []


def test_sets_differ_and_do_not_depend_on_how_many_there_are():
    few, many = (ImplicitRequest("arithmetic", "multi", sets, 3) for sets in (2, 50))
    assert tuple_set(few, 1) == tuple_set(many, 1) != tuple_set(few, 0)
    assert tuple_set(few, 1) != tuple_set(replace(few, seed=4), 1)


# -- the search ----------------------------------------------------------------------------


def test_the_search_takes_choices_back():
    def fits(slot, one, before):
        return one not in before and not (slot == "last" and before[0] == 1)

    choices = {"first": (1, 2), "middle": (1, 3), "last": (4,)}
    assert solve(list(choices), choices.__getitem__, fits, "numbers") == [2, 1, 4]


def test_a_search_without_an_answer_says_how_far_it_came():
    with pytest.raises(UnsatisfiableError, match=r"3 pigeons .*2 of 3 could be placed"):
        solve(range(3), lambda _: (1, 2), lambda _, one, before: one not in before, "3 pigeons")


# -- what cannot be made ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [{"category": "spatial"}, {"style": "duo"}, {"sets": 0}, {"sets": 2001}, {"documents": 61}],
    ids=str,
)
def test_requests_out_of_range_are_refused(values):
    with pytest.raises(ValueError, match=next(iter(values))):
        ImplicitRequest(**{"category": "world", "style": "uni", "sets": 1, **values})


def test_a_schedule_has_no_other_number_of_activities():
    with pytest.raises(UnsatisfiableError, match=r"20 activities.*exactly 15.*the paper has 30"):
        made("temporal", "uni", documents=20)
