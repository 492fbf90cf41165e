"""Every number on a page is what its definition says, worked by hand and by someone else's code."""

import math
import random

import numpy as np
import pytest

from engine.measures.metrics import csfcube_ndcg, measure_runs
from engine.measures.p_mrr import p_mrr, p_mrr_by_document, p_mrr_of_aspect, rank_gain, sicr, wise
from engine.types.searches import Ranking

# The measures of ir_measures


def measured(doc_ids, grades):
    ranking = Ranking("q", tuple(doc_ids), tuple(-float(i) for i in range(len(doc_ids))))
    return measure_runs({"q": grades}, [ranking])["q"]


def test_measures_by_hand():
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


def test_ap_rr_and_recall_count_grades_from_the_threshold_of_the_collection():
    ranking = Ranking("q", ("x", "b", "a"), (3.0, 2.0, 1.0))
    values = measure_runs({"q": {"a": 3, "b": 1, "c": 2}}, [ranking], relevant_from=2)["q"]
    assert (values["RR"], values["R@20"]) == (pytest.approx(1 / 3), 0.5)
    assert values["AP"] == pytest.approx((1 / 3) / 2)
    plain = measure_runs({"q": {"a": 3, "b": 1, "c": 2}}, [ranking])["q"]
    assert values["nDCG@20"] == plain["nDCG@20"], "grades count in full"


def test_equal_scores_keep_our_order():
    """Evaluators break ties by id, backwards; ours are broken already."""
    for order in (("a", "b"), ("b", "a")):
        ranking = Ranking("q", order, (0.5, 0.5))
        rr = measure_runs({"q": {"a": 1}}, [ranking])["q"]["RR"]
        assert rr == pytest.approx(1 / (order.index("a") + 1))


def test_a_query_without_judgments_scores_zero_rather_than_going_missing():
    values = measure_runs({}, [Ranking("q", ("a",), (1.0,)), Ranking("empty", (), ())])
    assert set(values) == {"q", "empty"}
    for row in values.values():
        assert len(row) == 7
        assert set(row.values()) == {0.0}


# nDCG as CSFCube has it


def test_csfcubes_ndcg_by_hand():
    # Ranks 1 and 2 count in full, rank 3 by 1 / log2(3).
    found = csfcube_ndcg(["zero", "a", "b"], {"a": 3, "b": 1, "zero": 0})
    assert found == pytest.approx((0 + 3 + 1 / math.log2(3)) / (3 + 1))
    assert csfcube_ndcg(["b", "a"], {"a": 3, "b": 1}) == 1.0
    assert csfcube_ndcg(["x", "y"], {"a": 3}) == 0.0
    assert csfcube_ndcg(["a"], {"a": 0}) == 0.0
    assert csfcube_ndcg([], {}) == 0.0


def test_csfcubes_ndcg_is_that_of_the_release():
    """``rel[0] + sum(rel[1:] / log2(2 .. n))``, as the release's script computes it."""

    def dcg(grades):
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


def test_p_mrr_by_hand():
    # a: 4 there, 1 here: 1 - 1/4. b: 1 there, 2 here: 1/2 - 1. e: 5 and 5.
    # c is not relevant here, and d is relevant for the other aspect too.
    here, there = ["a", "b", "c", "d", "e"], ["b", "c", "d", "a", "e"]
    grades = {"e": 1, "a": 2, "b": 1, "c": 0, "d": 3}
    other = {"a": 0, "b": 0, "c": 0, "d": 1, "e": 0}
    by_document = p_mrr_by_document(here, grades, there, other)
    assert by_document == {"a": 0.75, "b": -0.5, "e": 0.0}
    assert list(by_document) == ["a", "b", "e"], "as ranked here"
    assert p_mrr(here, grades, there, other) == pytest.approx((0.75 - 0.5 + 0) / 3)


def slow_p_mrr(ranking, grades, other_ranking, other):
    """The definition, word by word, one document after another."""
    total, count = 0.0, 0
    for document in sorted(set(ranking) | set(other_ranking)):
        if document not in ranking or document not in other_ranking:
            continue
        if document not in grades or grades[document] < 1:
            continue
        if document not in other or other[document] != 0:
            continue
        rank = 1 + sum(d in other_ranking for d in ranking[: ranking.index(document)])
        other_rank = 1 + sum(d in ranking for d in other_ranking[: other_ranking.index(document)])
        # Reciprocal ranks, as FollowIR writes it: the ratio of what the two ranks are worth.
        worth, other_worth = 1 / rank, 1 / other_rank
        total += worth / other_worth - 1 if worth < other_worth else 1 - other_worth / worth
        count += 1
    return total / count if count else None


def test_p_mrr_is_its_definition_over_unequal_pools_and_missing_grades():
    chance = random.Random(7)  # noqa: S311 - not for secrets
    ids = [f"d{i}" for i in range(60)]
    defined = 0
    for _ in range(200):
        here = chance.sample(ids, chance.randint(0, 60))
        there = chance.sample(ids, chance.randint(0, 60))
        grades = {d: chance.randint(0, 3) for d in chance.sample(ids, 40)}
        other = {d: chance.randint(0, 1) for d in chance.sample(ids, 40)}
        expected, found = slow_p_mrr(here, grades, there, other), p_mrr(here, grades, there, other)
        assert found == (None if expected is None else pytest.approx(expected))
        defined += found is not None
    assert defined > 100


@pytest.mark.parametrize(
    ("grades", "other"),
    [
        ({}, {}),
        ({"a": 1}, {}),  # unjudged for the other aspect is not 0
        ({}, {"a": 0}),
        ({"a": 0}, {"a": 0}),
        ({"a": 3}, {"a": 1}),  # relevant for both
        ({"gone": 3}, {"gone": 0}),  # in neither ranking
        ({"a": -1}, {"a": 0}),
    ],
    ids=str,
)
def test_p_mrr_is_undefined_when_no_document_tells(grades, other):
    assert p_mrr(["a", "b"], grades, ["b", "a"], other) is None
    assert p_mrr_by_document(["a", "b"], grades, ["b", "a"], other) == {}


def test_p_mrr_of_an_aspect_is_the_mean_over_the_other_judged_aspects_of_the_seed():
    judgments = {"method": {"a": 2, "x": 0}, "result": {"a": 0, "x": 1}, "topic": {"a": 0, "x": 0}}
    ranked = {"result": ["x", "a"], "topic": ["a", "x"]}
    found = p_mrr_of_aspect(["a", "new", "x"], ranked, "method", judgments)
    assert found == pytest.approx(((1 - 1 / 2) + 0) / 2)


def test_rank_gain_is_between_two_rankings_for_one_aspect():
    judgments = {"method": {"a": 2, "x": 0}, "result": {"a": 0, "x": 1}}
    assert rank_gain(["a", "x"], ["x", "a"], "method", judgments) == pytest.approx(0.5)
    assert rank_gain(["a", "x"], ["a", "x"], "method", judgments) == 0.0
    assert rank_gain(["a", "x"], ["x", "a"], "method", {"method": judgments["method"]}) is None


# SICR and WISE as InfoSearch defines them

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
