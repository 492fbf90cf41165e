"""Every number on a page is what its definition says, worked by hand and by someone else's code."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from scipy import stats

from engine.metrics import csfcube_ndcg, holm, mean, measure_runs, p_mrr, significance
from engine.types import Ranking

# The measures of ir_measures


def measured(doc_ids: list[str], grades: dict[str, int]) -> dict[str, float]:
    ranking = Ranking("q", tuple(doc_ids), tuple(-float(i) for i in range(len(doc_ids))))
    return measure_runs({"q": grades}, [ranking])["q"]


def test_measures_by_hand() -> None:
    values = measured(["x", "a", "zero", "b"], {"a": 3, "b": 1, "c": 2, "zero": 0})
    ideal = 3 + 2 / math.log2(3) + 1 / math.log2(4)
    ndcg = (3 / math.log2(3) + 1 / math.log2(5)) / ideal
    assert values == {
        "nDCG@10": pytest.approx(ndcg),
        "nDCG@20": pytest.approx(ndcg),
        "RR": pytest.approx(1 / 2),
        "AP": pytest.approx((1 / 2 + 2 / 4) / 3),
        "R@20": pytest.approx(2 / 3),
        "R@100": pytest.approx(2 / 3),
        "Judged@20": pytest.approx(3 / 4),
    }


def test_a_perfect_ranking_scores_one_and_a_worthless_one_zero() -> None:
    grades = {"a": 3, "b": 1}
    perfect = measured(["a", "b"], grades)
    assert {perfect[m] for m in ("nDCG@20", "RR", "AP", "R@20")} == {1.0}
    assert set(measured(["x", "y"], grades).values()) == {0.0}


def test_equal_scores_keep_our_order() -> None:
    """Evaluators break ties by id, backwards; ours are broken already."""
    for order in (("a", "b"), ("b", "a")):
        ranking = Ranking("q", order, (0.5, 0.5))
        rr = measure_runs({"q": {"a": 1}}, [ranking])["q"]["RR"]
        assert rr == pytest.approx(1 / (order.index("a") + 1))


def test_a_query_without_judgments_scores_zero_rather_than_going_missing() -> None:
    values = measure_runs({}, [Ranking("q", ("a",), (1.0,)), Ranking("empty", (), ())])
    assert set(values) == {"q", "empty"}
    for row in values.values():
        assert len(row) == 7
        assert set(row.values()) == {0.0}


# nDCG as CSFCube has it


def test_csfcubes_ndcg_by_hand() -> None:
    # Ranks 1 and 2 count in full, rank 3 by 1 / log2(3).
    found = csfcube_ndcg(["zero", "a", "b"], {"a": 3, "b": 1, "zero": 0})
    assert found == pytest.approx((0 + 3 + 1 / math.log2(3)) / (3 + 1))
    assert csfcube_ndcg(["b", "a"], {"a": 3, "b": 1}) == 1.0
    assert csfcube_ndcg(["x", "y"], {"a": 3}) == 0.0
    assert csfcube_ndcg(["a"], {"a": 0}) == 0.0
    assert csfcube_ndcg([], {}) == 0.0


def test_csfcubes_ndcg_is_that_of_the_release() -> None:
    """``rel[0] + sum(rel[1:] / log2(2 .. n))``, as the release's script computes it."""

    def dcg(grades: list[int]) -> float:
        rel = np.array(grades[:20], dtype=float)
        return float(rel[0] + np.sum(rel[1:] / np.log2(np.arange(2, rel.size + 1))))

    chance = random.Random(2)  # noqa: S311 - not for secrets
    for _ in range(50):
        grades = {f"d{i}": chance.choice([0, 0, 1, 2, 3]) for i in range(chance.randint(2, 60))}
        order = chance.sample(sorted(grades), len(grades))
        ideal = dcg(sorted(grades.values(), reverse=True))
        expected = dcg([grades[d] for d in order]) / ideal if ideal else 0.0
        assert csfcube_ndcg(order, grades) == pytest.approx(expected)


# p-MRR


def test_p_mrr_by_hand() -> None:
    # a rose from 4 to 1: 1 - 1/4. b fell from 1 to 2: 1/2 - 1. Both tell; c and d do not.
    here, there = ["a", "b", "c", "d"], ["b", "c", "d", "a"]
    grades, other = {"a": 2, "b": 1, "c": 0, "d": 3}, {"a": 0, "b": 0, "c": 0, "d": 1}
    assert p_mrr(here, grades, there, other) == pytest.approx((0.75 - 0.5) / 2)


def test_p_mrr_is_positive_when_obeying_and_negative_the_other_way() -> None:
    rising, falling = ["a", "x", "y"], ["x", "y", "a"]
    grades, other = {"a": 3}, {"a": 0}
    assert p_mrr(rising, grades, falling, other) == pytest.approx(2 / 3)
    assert p_mrr(falling, grades, rising, other) == pytest.approx(-2 / 3)
    assert p_mrr(rising, grades, rising, other) == 0.0


def test_exchanging_the_rankings_changes_only_the_sign() -> None:
    chance = random.Random(4)  # noqa: S311 - not for secrets
    ids = [f"d{i}" for i in range(30)]
    for _ in range(50):
        one, two = chance.sample(ids, 30), chance.sample(ids, 30)
        grades = {d: chance.randint(0, 3) for d in ids}
        other = {d: chance.randint(0, 1) for d in ids}
        value = p_mrr(one, grades, two, other)
        assert value is not None
        assert -1 <= value <= 1
        assert p_mrr(two, grades, one, other) == pytest.approx(-value)


def test_p_mrr_counts_ranks_among_what_both_pools_hold() -> None:
    here, there = ["only", "a", "b"], ["b", "other", "a"]
    # Without "only" and "other": a is 1 here and 2 there.
    assert p_mrr(here, {"a": 1}, there, {"a": 0}) == pytest.approx(1 - 1 / 2)


@pytest.mark.parametrize(
    ("grades", "other"),
    [
        ({}, {}),
        ({"a": 1}, {}),  # unjudged for the other aspect is not 0
        ({}, {"a": 0}),
        ({"a": 0}, {"a": 0}),
        ({"a": 3}, {"a": 1}),  # relevant for both
        ({"gone": 3}, {"gone": 0}),
    ],
    ids=str,
)
def test_p_mrr_is_undefined_when_no_document_tells(
    grades: dict[str, int], other: dict[str, int]
) -> None:
    assert p_mrr(["a", "b"], grades, ["b", "a"], other) is None


def test_a_mean_is_over_what_is_defined() -> None:
    assert mean([0.5, None, 1.0]) == 0.75
    assert mean([0.0]) == 0.0
    assert mean([None]) is None
    assert mean([]) is None


# Significance


def test_holm_by_hand() -> None:
    # Sorted: .005 x 4, .01 x 3, .03 x 2, .04 x 1; none below the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


SCORES = {
    "a": [0.9, 0.5, 0.7, 0.8, 0.6, 0.75, 0.4, 0.65],
    "b": [0.6, 0.45, 0.72, 0.5, 0.5, 0.6, 0.41, 0.5],
    "c": [0.2, 0.5, 0.3, 0.1, 0.6, 0.2, 0.3, 0.25],
}


def test_significance_is_that_of_the_textbook() -> None:
    rows = significance(SCORES, "nDCG@20")
    assert [row["systems"] for row in rows] == [["a", "b"], ["a", "c"], ["b", "c"]]
    for row in rows:
        first, second = (np.array(SCORES[name]) for name in row["systems"])  # type: ignore[attr-defined]
        d = first - second
        assert row["measure"] == "nDCG@20"
        assert row["difference"] == pytest.approx(d.mean())
        t = d.mean() / (d.std(ddof=1) / math.sqrt(len(d)))
        assert row["t_test_p"] == pytest.approx(2 * stats.t.sf(abs(t), df=len(d) - 1))
        assert row["t_test_p"] == pytest.approx(stats.ttest_rel(first, second).pvalue)
        # Eight queries have 256 sign flips: count all those at least as extreme.
        flips = [abs((d * s).mean()) for s in itertools.product([1, -1], repeat=len(d))]
        extreme = sum(f >= abs(d.mean()) - 1e-12 for f in flips)
        assert row["randomisation_p"] == pytest.approx(extreme / 256)
    for name in ("t_test_p", "randomisation_p"):
        assert [r[f"{name}_holm"] for r in rows] == holm([float(r[name]) for r in rows])  # type: ignore[arg-type]


def test_many_queries_are_sampled_the_same_way_every_time() -> None:
    chance = random.Random(6)  # noqa: S311 - not for secrets
    scores = {s: [chance.random() for _ in range(40)] for s in "ab"}
    one, two = significance(scores, "RR"), significance(scores, "RR")
    assert one == two
    assert abs(float(one[0]["randomisation_p"]) - float(one[0]["t_test_p"])) < 0.05  # type: ignore[arg-type]


def test_equal_systems_do_not_differ() -> None:
    (row,) = significance({"a": [0.1, 0.2], "b": [0.1, 0.2]}, "RR")
    assert (row["difference"], row["t_test_p"], row["randomisation_p"]) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize("scores", [{}, {"a": [0.1, 0.2]}, {"a": [0.1], "b": [0.2]}], ids=str)
def test_with_less_than_two_of_either_nothing_is_tested(scores: dict[str, list[float]]) -> None:
    assert significance(scores, "RR") == []


def test_a_constant_difference_has_a_number_that_json_can_hold() -> None:
    (row,) = significance({"a": [0.5, 0.5, 0.5], "b": [0.25, 0.25, 0.25]}, "RR")
    assert all(math.isfinite(float(v)) for k, v in row.items() if k.endswith(("_p", "_holm")))  # type: ignore[arg-type]
