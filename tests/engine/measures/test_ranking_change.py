"""What is said about two rankings is what the definitions say, worked by hand and the long way."""

import math
import random

import pytest
from scipy import stats

from engine.measures.ranking_change import (
    RankingChange,
    compare_rankings,
    kendall_tau,
    movers,
    overlap,
    rank_biased_overlap,
)


def random_pairs(count):
    """Rankings of 1 to 30 documents each, of unequal lengths, some in common."""
    chance = random.Random(3)  # noqa: S311 - not for secrets
    ids = [f"d{i}" for i in range(40)]
    return [
        (chance.sample(ids, chance.randint(1, 30)), chance.sample(ids, chance.randint(1, 30)))
        for _ in range(count)
    ]


# All of them together


def test_equal_rankings_are_exactly_one_by_every_measure():
    for count in (2, 20, 1000):
        ids = [f"d{i}" for i in range(count)]
        assert compare_rankings(ids, tuple(ids)) == RankingChange(1.0, 1.0, 1.0)


def test_nothing_against_nothing_is_undefined_and_against_something_disjoint():
    assert compare_rankings([], []) == RankingChange(None, None, None)
    assert compare_rankings(["a", "b"], []) == RankingChange(0.0, None, 0.0)
    assert compare_rankings(["a"], ["a"]) == RankingChange(1.0, None, 1.0)


@pytest.mark.parametrize(
    "measure",
    [rank_biased_overlap, kendall_tau, overlap, lambda a, b: movers(a, b, 3)],
    ids=["rbo", "tau", "overlap", "movers"],
)
def test_a_document_ranked_twice_is_refused(measure):
    for pair in ((["b", "a", "a"], ["b"]), (["b"], ["b", "a", "a"])):
        with pytest.raises(ValueError, match="'a' is there 2 times"):
            measure(*pair)


# Rank-biased overlap


def test_rbo_of_equally_long_rankings_by_hand():
    # Shares in common at depth 1, 2, 3: 0, 1, 1; all beyond as at 3.
    # (1 - p) x (0 + p + p^2) + p^3 = .1 x (.9 + .81) + .729
    assert rank_biased_overlap(["x", "y", "z"], ["y", "x", "z"]) == pytest.approx(0.9)
    # The same exchange one rank further down: shares 1, 1/2, 1.
    # .1 x (1 + .45 + .81) + .729
    assert rank_biased_overlap(["x", "y", "z"], ["x", "z", "y"]) == pytest.approx(0.955)


def test_rbo_is_the_sum_over_all_depths():
    """Term by term until the weights vanish, without the closed form."""

    def the_long_way(a, b, p):
        short, long = sorted((a, b), key=len)
        share_at_end = len(set(short) & set(long[: len(short)])) / len(short)
        total, agreement = 0.0, 0.0
        for depth in range(1, 3000):
            if depth <= len(long):
                common = float(len(set(short[:depth]) & set(long[:depth])))
                common += max(0, depth - len(short)) * share_at_end
                agreement = common / depth
            total += (1 - p) * p ** (depth - 1) * agreement
        return total

    for a, b in random_pairs(30):
        for p in (0.5, 0.9, 0.98):
            assert rank_biased_overlap(a, b, p) == pytest.approx(the_long_way(a, b, p))


# Kendall's tau


def test_tau_of_permutations_is_scipys():
    chance = random.Random(5)  # noqa: S311 - not for secrets
    for count in (2, 3, 10, 50, 200):
        ids = [f"d{i}" for i in range(count)]
        shuffled = chance.sample(ids, count)
        theirs = stats.kendalltau(range(count), [shuffled.index(d) for d in ids]).statistic
        assert kendall_tau(ids, shuffled) == pytest.approx(theirs)


# Overlap


def test_overlap_is_of_the_first_k_whatever_their_order():
    a, b = ["a", "b", "c", "d"], ["b", "a", "x", "c"]
    assert overlap(a, b, k=1) == 0.0
    assert overlap(a, b, k=2) == 1.0
    assert overlap(a, b, k=3) == pytest.approx(2 / 3)
    assert overlap(a, b) == pytest.approx(3 / 4)
    assert overlap(a, b[:2]) == pytest.approx(2 / 4), "out of as many as the longer one holds"


# Movers


def test_movers_by_hand():
    before, after = ["a", "b", "c", "d", "e"], ["b", "a", "c", "e", "d"]
    # Between ranks 1 and 2: 1 - 1 / log2(3). Between 4 and 5: 1 / log2(5) - 1 / log2(6).
    top, deep = 1 - 1 / math.log2(3), 1 / math.log2(5) - 1 / math.log2(6)
    found = movers(before, after, 10)
    assert found == pytest.approx({"a": -top, "b": top, "d": -deep, "e": deep})
    assert [*found] == ["a", "b", "d", "e"]
    assert [*movers(before, after, 1)] == ["a"]
    assert movers(before, before, 10) == {}
    # Who comes and goes stands behind the last rank.
    third = 1 / math.log2(4)
    found = movers(["a", "gone"], ["new", "a"], 10)
    assert found["new"] == pytest.approx(1 - third)
    assert found["gone"] == pytest.approx(third - 1 / math.log2(3))
