"""SICR and WISE are what InfoSearch defines, worked by hand."""

import math

import pytest

from engine.measures.p_mrr import sicr, wise

PLAIN = ["x", "a", "b", "c", "d", "y"]


def test_sicr_counts_documents_that_rise_with_the_instruction_and_fall_with_its_reverse():
    # a: 2, 1, 3 obeys. b: 3, 3, 4 does not rise. c: 4, 2, 2 rises with both. d: 5, 4, 5 stays.
    with_it, reverse = ["a", "c", "b", "d", "x", "y"], ["x", "c", "a", "b", "d", "y"]
    assert sicr(["a", "b", "c", "d"], PLAIN, with_it, reverse) == 0.25
    assert sicr(["x"], PLAIN, PLAIN, ["a", "x"]) == 1.0, "the first has to stay first, then fall"
    assert sicr(["x"], PLAIN, with_it, ["a", "x"]) == 0.0
    assert sicr(["a"], PLAIN, with_it, ["x"]) == 0.0, (
        "left out is behind the last: second, as before"
    )
    assert sicr([], PLAIN, PLAIN, PLAIN) is None


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ((3, 1, 9), 1.0),  # first, out of the four candidates
        ((4, 1, 9), 1 - math.sqrt(3) / 20),  # first, from behind them
        ((6, 4, 7), (1 - math.sqrt(2) / 20) / 2),
        ((3, 3, 4), 1 / math.sqrt(3)),  # stays, and falls with the reverse
        ((21, 2, 30), 0.01),  # from too far down
        ((5, 8, 2), -1.0),  # both the wrong way
        ((5, 8, 9), (5 - 8) / 8),  # falls with the instruction
        ((8, 2, 6), (6 - 8) / 8),  # rises with the reverse, too
        ((5, 5, 5), 0.0),
    ],
)
def test_wise_weighs_how_far_a_document_obeys(ranks, expected):
    plain, with_it, reverse = (
        [*(f"x{i}" for i in range(rank - 1)), "a", *(f"x{i}" for i in range(rank - 1, 29))]
        for rank in ranks
    )
    assert wise(["a"], plain, with_it, reverse, candidates=4) == pytest.approx(expected)


def test_wise_is_the_mean_over_what_is_relevant():
    # a: 2, 1, 3 is 1. b: 3, 4, 1 is -1.
    found = wise(["a", "b"], PLAIN, ["a", "x", "c", "b"], ["b", "x", "a"], candidates=6)
    assert found == 0.0
    assert wise([], PLAIN, PLAIN, PLAIN, candidates=6) is None
