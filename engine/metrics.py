"""Measures of a ranking. What ir_measures has is computed by it; the rest stands here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import ir_measures
from ir_measures import AP, RR, Judged, R, nDCG

from engine.types import Ranking

Grades = Mapping[str, int]
"""doc_id -> relevance of one query."""
Qrels = Mapping[str, Grades]
"""query_id -> grades."""

MEASURES = (nDCG @ 10, nDCG @ 20, RR, AP, R @ 20, R @ 100, Judged @ 20)
CSFCUBE_NDCG = "nDCG@20 (CSFCube)"
P_MRR = "p-MRR"


def measure_runs(qrels: Qrels, rankings: Sequence[Ranking]) -> dict[str, dict[str, float]]:
    """Per query: every measure of :data:`MEASURES` by ir_measures, relevant means grade >= 1.

    Returns:
        query_id -> name -> value, fractions from 0 to 1.
    """
    run = {
        r.query_id: dict(zip(r.doc_ids, _falling(len(r.doc_ids)), strict=True)) for r in rankings
    }
    wanted = {query_id: dict(qrels.get(query_id, {})) for query_id in run}
    values: dict[str, dict[str, float]] = {query_id: {} for query_id in run}
    for metric in ir_measures.iter_calc(MEASURES, wanted, run):
        values[metric.query_id][str(metric.measure)] = float(metric.value)
    for ranking in rankings:
        for measure in MEASURES:  # a query without any judged document is missing in the above
            values[ranking.query_id].setdefault(str(measure), 0.0)
    return values


def _falling(count: int) -> list[float]:
    """Scores that fall with the rank: ours break ties by doc_id, which evaluators must not redo."""
    return [float(count - i) for i in range(count)]


def csfcube_ndcg(doc_ids: Sequence[str], grades: Grades, k: int = 20) -> float:
    """nDCG@k as CSFCube's evaluation script has it: ranks 1 and 2 are discounted alike.

    Gain is the grade, discount ``1 / log2(max(rank, 2))``, the ideal is the best order of
    all judged documents (Mysore et al. 2021). 0 when nothing is relevant.

    >>> csfcube_ndcg(["b", "a"], {"a": 3, "b": 0})
    1.0
    """

    def gain(relevances: Sequence[int]) -> float:
        return sum(g / math.log2(max(i, 2)) for i, g in enumerate(relevances[:k], start=1))

    ideal = gain(sorted(grades.values(), reverse=True))
    return gain([grades.get(doc_id, 0) for doc_id in doc_ids]) / ideal if ideal else 0.0


def p_mrr(
    ranking: Sequence[str], grades: Grades, other_ranking: Sequence[str], other_grades: Grades
) -> float | None:
    """How far the ranking for one aspect obeys, against the ranking for another of the seed.

    Over documents relevant for this aspect (grade >= 1) and not for the other (grade 0), with
    rank R here and R' there among the documents that both pools share: R'/R - 1 if R > R',
    else 1 - R/R'; the mean. FollowIR's p-MRR (Weller et al. 2024), read for aspects.

    Returns:
        -1 (the wrong way) to 1; 0 when nothing moves; None when no document tells.
    """
    shared = set(ranking) & set(other_ranking)
    here = {d: i for i, d in enumerate((d for d in ranking if d in shared), start=1)}
    there = {d: i for i, d in enumerate((d for d in other_ranking if d in shared), start=1)}
    changes = [
        there[d] / here[d] - 1 if here[d] > there[d] else 1 - here[d] / there[d]
        for d in here
        if grades.get(d, -1) >= 1 and other_grades.get(d, -1) == 0
    ]
    return sum(changes) / len(changes) if changes else None


def mean(values: Sequence[float | None]) -> float | None:
    """Mean of the values that are defined; None when none is."""
    defined = [v for v in values if v is not None]
    return sum(defined) / len(defined) if defined else None


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction (1979); in the order given, capped at 1."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for position, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - position) * p_values[i]))
        corrected[i] = highest
    return corrected


def significance(per_query: Mapping[str, Sequence[float]], measure: str) -> list[dict[str, object]]:
    """All pairs of systems on the same queries: difference of means, and two tests of it.

    Args:
        per_query: system -> one value per query, in the same order of queries.

    Returns:
        one dict per pair with ``difference`` (first minus second), ``t_test_p`` (paired),
        ``randomisation_p`` (sign flips, 10,000 draws, fixed seed) and both after Holm.
        Empty with fewer than two systems or queries.
    """
    from scipy.stats import permutation_test, ttest_rel

    rows: list[dict[str, object]] = []
    t_values, r_values = [], []
    for a, b in combinations(per_query, 2):
        differences = [x - y for x, y in zip(per_query[a], per_query[b], strict=True)]
        if len(differences) < 2:
            return []
        if any(differences):
            t_values.append(float(ttest_rel(per_query[a], per_query[b]).pvalue))
            test = permutation_test(
                (differences,), lambda x, axis: x.mean(axis=axis), permutation_type="samples",
                n_resamples=10_000, rng=0,
            )  # fmt: skip
            r_values.append(float(test.pvalue))
        else:
            t_values.append(1.0)
            r_values.append(1.0)
        average = sum(differences) / len(differences)
        rows.append({"systems": [a, b], "measure": measure, "difference": average})
    corrected = zip(rows, t_values, holm(t_values), r_values, holm(r_values), strict=True)
    for row, t, t_holm, r, r_holm in corrected:
        row |= {"t_test_p": t, "t_test_p_holm": t_holm}
        row |= {"randomisation_p": r, "randomisation_p_holm": r_holm}
    return rows
