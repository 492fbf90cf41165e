"""Measures of a ranking. What ir_measures has is computed by it; the rest stands here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import ir_measures
import numpy as np
from ir_measures import AP, RR, Judged, R, nDCG

from engine.measures.ranking_change import ranks
from engine.types.collections import Grades, Qrels
from engine.types.searches import Ranking

MEASURES = (nDCG @ 10, nDCG @ 20, RR, AP, R @ 20, R @ 100, Judged @ 20)
CSFCUBE_NDCG = "nDCG@20 (CSFCube)"
P_MRR = "p-MRR"

RESAMPLES = 10_000
"""Of the randomisation test and of the bootstrap."""
ROUNDING = 1e-12
"""Measures that differ by no more are equal: sums in another order differ that much."""


def measure_runs(qrels: Qrels, rankings: Sequence[Ranking]) -> dict[str, dict[str, float]]:
    """Per query: every measure of :data:`MEASURES` by ir_measures, relevant means grade >= 1.

    Returns:
        query_id -> name -> value, fractions from 0 to 1.

    Raises:
        ValueError: a ranking holds a document twice.
    """
    run = {r.query_id: _falling(r.doc_ids) for r in rankings if r.doc_ids}
    wanted = {query_id: dict(qrels.get(query_id, {})) for query_id in run}
    values: dict[str, dict[str, float]] = {r.query_id: {} for r in rankings}
    for metric in ir_measures.iter_calc(MEASURES, wanted, run):
        values[metric.query_id][str(metric.measure)] = float(metric.value)
    for ranking in rankings:
        for measure in MEASURES:  # without a judged or a ranked document it is missing
            values[ranking.query_id].setdefault(str(measure), 0.0)
    return values


def _falling(doc_ids: Sequence[str]) -> dict[str, float]:
    """Scores that fall with the rank: ours break ties by doc_id, which evaluators must not redo."""
    return {doc_id: float(-rank) for doc_id, rank in ranks(doc_ids).items()}


def csfcube_ndcg(doc_ids: Sequence[str], grades: Grades, k: int = 20) -> float:
    """nDCG@k as CSFCube's evaluation script has it: ranks 1 and 2 are discounted alike.

    Gain is the grade, discount ``1 / log2(max(rank, 2))``, the ideal is the best order of
    all judged documents (Mysore et al. 2021). 0 when nothing is relevant.

    Raises:
        ValueError: the ranking holds a document twice.

    >>> csfcube_ndcg(["b", "a"], {"a": 3, "b": 0})
    1.0
    """

    def gain(relevances: Sequence[int]) -> float:
        return sum(g / math.log2(max(i, 2)) for i, g in enumerate(relevances[:k], start=1))

    ideal = gain(sorted(grades.values(), reverse=True))
    return gain([grades.get(doc_id, 0) for doc_id in ranks(doc_ids)]) / ideal if ideal else 0.0


def judged_at(doc_ids: Sequence[str], grades: Grades, k: int) -> float:
    """Judged@k: which share of the first ``k`` has a grade, 0 included; 0 for an empty ranking.

    Raises:
        ValueError: ``k`` is below 1, or the ranking holds a document twice.

    >>> judged_at(["a", "x"], {"a": 0}, k=20)
    0.5
    """
    if k < 1:
        raise ValueError(f"k is at least 1; it is {k}.")
    top = list(ranks(doc_ids))[:k]
    return sum(doc_id in grades for doc_id in top) / len(top) if top else 0.0


def p_mrr_by_document(
    ranking: Sequence[str], grades: Grades, other_ranking: Sequence[str], other_grades: Grades
) -> dict[str, float]:
    """How far each telling document follows the instruction: it should be higher here than there.

    A document tells when it is relevant for this aspect (grade >= 1), judged not relevant for
    the other (grade 0), and in both rankings. With its rank R here and R' there, counted among
    the documents that both hold: R'/R - 1 if R > R', else 1 - R/R'. FollowIR's p-MRR (Weller
    et al. 2024), read for the aspects of a seed.

    Returns:
        doc_id -> -1 (the wrong way) to 1, 0 where it did not move; in the order of ``ranking``;
        empty when no document tells.

    Raises:
        ValueError: a ranking holds a document twice.

    >>> p_mrr_by_document(["a", "b"], {"a": 2}, ["b", "a"], {"a": 0})
    {'a': 0.5}
    """
    here, there = ranks(ranking), ranks(other_ranking)
    if here.keys() != there.keys():
        here = ranks([doc_id for doc_id in ranking if doc_id in there])
        there = ranks([doc_id for doc_id in other_ranking if doc_id in here])
    telling = [
        doc_id
        for doc_id, grade in grades.items()
        if grade >= 1 and other_grades.get(doc_id) == 0 and doc_id in here
    ]
    telling.sort(key=here.__getitem__)
    return {doc_id: _rank_shift(here[doc_id], there[doc_id]) for doc_id in telling}


def _rank_shift(here: int, there: int) -> float:
    return there / here - 1 if here > there else 1 - here / there


def p_mrr(
    ranking: Sequence[str], grades: Grades, other_ranking: Sequence[str], other_grades: Grades
) -> float | None:
    """How far the ranking for one aspect follows it, against the ranking for another of the seed.

    Returns:
        mean of :func:`p_mrr_by_document`, from -1 (the wrong way) to 1; 0 when nothing moves;
        None when no document tells.

    Raises:
        ValueError: a ranking holds a document twice.
    """
    return mean(tuple(p_mrr_by_document(ranking, grades, other_ranking, other_grades).values()))


def ranking_by_grades(grades: Grades, tie_break: Sequence[str]) -> list[str]:
    """The pool in the order of one annotator's grades: the ceiling for systems.

    Args:
        grades: that annotator's. A document without one stands among those of grade 0, and
            documents outside the pool are left out.
        tie_break: the whole pool, ranked; equal grades keep this order.

    Raises:
        ValueError: ``tie_break`` holds a document twice.

    >>> ranking_by_grades({"a": 1, "c": 3}, tie_break=["b", "a", "c"])
    ['c', 'a', 'b']
    """
    return sorted(ranks(tie_break), key=lambda doc_id: -grades.get(doc_id, 0))


def p_mrr_among_judged(
    ranking: Sequence[str], other_ranking: Sequence[str], aspect: str, judgments: Qrels
) -> float | None:
    """How far documents relevant only for ``aspect`` stand higher in the first ranking.

    Args:
        judgments: aspect -> grades, of one seed.

    Returns:
        the mean of :func:`p_mrr` over the other judged aspects; None where none tells.
    """
    grades = judgments.get(aspect, {})
    values = []
    for other, other_grades in judgments.items():
        if other != aspect:
            shared = grades.keys() & other_grades.keys()
            here = [d for d in ranking if d in shared]
            there = [d for d in other_ranking if d in shared]
            values.append(p_mrr(here, grades, there, other_grades))
    return mean(values)


def mean(values: Sequence[float | None]) -> float | None:
    """Mean of the values that are defined; None when none is."""
    defined = [v for v in values if v is not None]
    return math.fsum(defined) / len(defined) if defined else None


def confidence_interval(
    values: Sequence[float | None], level: float = 0.95
) -> tuple[float, float] | None:
    """Between which bounds the mean over more queries of the same kind would lie.

    The bootstrap over queries, bias-corrected and accelerated (Efron 1987), by scipy, 10,000
    draws with a fixed seed; undefined values are left out. Of a handful of values it makes too
    narrow an interval.

    Args:
        values: one per query.
        level: how often such an interval holds the true mean, between 0 and 1.

    Returns:
        lower and upper bound; both the same value where all values are equal; None with
        fewer than two defined ones.

    Raises:
        ValueError: ``level`` is not between 0 and 1.
    """
    from scipy.stats import bootstrap

    if not 0 < level < 1:
        raise ValueError(f"level lies between 0 and 1, both excluded; it is {level}.")
    defined = np.array([v for v in values if v is not None], dtype=float)
    if defined.size < 2:
        return None
    if np.ptp(defined) <= ROUNDING:
        return float(defined.min()), float(defined.max())
    found = bootstrap(
        (defined,), np.mean, confidence_level=level, n_resamples=RESAMPLES,
        batch=1_000, vectorized=True, method="BCa", rng=0,
    ).confidence_interval  # fmt: skip
    return float(found.low), float(found.high)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction (1979); in the order given, capped at 1."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for position, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - position) * p_values[i]))
        corrected[i] = highest
    return corrected


def significance(
    per_query: Mapping[str, Sequence[float | None]], measure: str
) -> list[dict[str, object]]:
    """Pairs of systems on the same queries: difference of means, and two tests of it.

    Args:
        per_query: system -> one value per query, in the same order of queries; None where
            the measure is undefined. A pair is tested on the queries where both are defined.

    Returns:
        one dict per pair with ``queries`` (how many it was tested on), ``difference`` (first
        minus second), ``t_test_p`` (paired), ``randomisation_p`` (sign flips: all of them
        where they are no more than 10,000, else so many draws with a fixed seed) and both
        after Holm over the pairs with a p-value. ``t_test_p`` is None where every query differs
        by the same, other than 0: without a deviation the test is undefined. A pair with fewer
        than two queries is left out.

    Raises:
        ValueError: systems with unequal numbers of values.
    """
    rows: list[dict[str, object]] = []
    t_values, r_values = [], []
    for a, b in combinations(per_query, 2):
        differences = _differences(per_query[a], per_query[b])
        if len(differences) < 2:
            continue
        t_values.append(_t_test(differences))
        r_values.append(_randomisation_test(differences))
        rows.append(
            {
                "systems": [a, b],
                "measure": measure,
                "queries": len(differences),
                "difference": mean(differences),
            }
        )
    corrected = zip(
        rows, t_values, _holm_of_defined(t_values), r_values, holm(r_values), strict=True
    )
    for row, t, t_holm, r, r_holm in corrected:
        row |= {"t_test_p": t, "t_test_p_holm": t_holm}
        row |= {"randomisation_p": r, "randomisation_p_holm": r_holm}
    return rows


def _differences(first: Sequence[float | None], second: Sequence[float | None]) -> list[float]:
    """Query by query where both are defined; 0 where rounding alone sets them apart."""
    if len(first) != len(second):
        raise ValueError(
            f"Systems are compared on the same queries; one has {len(first)} values, "
            f"the other {len(second)}."
        )
    pairs = zip(first, second, strict=True)
    differences = [x - y for x, y in pairs if x is not None and y is not None]
    return [0.0 if abs(d) <= ROUNDING else d for d in differences]


def _holm_of_defined(p_values: Sequence[float | None]) -> list[float | None]:
    """:func:`holm` over the p-values that there are; None stays None."""
    corrected = iter(holm([p for p in p_values if p is not None]))
    return [None if p is None else next(corrected) for p in p_values]


def _t_test(differences: Sequence[float]) -> float | None:
    """Two-sided p-value of the paired t-test; 1 without a difference.

    None where all differences are the same, other than 0: two queries or two thousand would
    give the same limit, 0, whatever their number says.
    """
    from scipy.stats import ttest_1samp

    if not any(differences):
        return 1.0
    if max(differences) - min(differences) <= ROUNDING:
        return None
    return float(ttest_1samp(differences, 0.0).pvalue)


def _randomisation_test(differences: Sequence[float]) -> float:
    """Two-sided p-value: how often random signs make a mean as large (Fisher 1935)."""
    from scipy.stats import permutation_test

    if not any(differences):
        return 1.0
    test = permutation_test(
        (differences,), lambda x, axis: x.mean(axis=axis), permutation_type="samples",
        n_resamples=RESAMPLES, batch=1_000, rng=0,
    )  # fmt: skip
    return float(test.pvalue)
