"""What steer trades for what: instruction following against relevance from steer 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.compare.comparer import Comparer
from engine.measures.metrics import csfcube_ndcg, p_mrr_among_judged
from engine.numeric import standardised
from engine.types.comparisons import Frontier, FrontierPoint, Variant
from engine.types.searches import PAGE_SIZE

STEERS = tuple(i / 10 for i in range(11))


def find_frontier(
    comparer: Comparer, variant: Variant, steers: Sequence[float] = STEERS
) -> Frontier:
    """The frontier of one wording for one seed.

    With two judged aspects: nDCG@20 (CSFCube's) of the judged documents against p-MRR to
    the ranking of steer 0. Else an estimate: how alike the top 20 are to the whole seed
    (standardised cosine) against the share of the top 20 that steer 0 has not.
    """
    rankings = [
        comparer.rank(replace(variant, steer=steer, name=str(steer))).doc_ids for steer in steers
    ]
    origin = rankings[0] if steers[0] == 0 else comparer.without_wording(variant.system)
    judged = sum(bool(grades) for grades in comparer.judgments.values()) > 1
    judged = judged and bool(comparer.judgments.get(comparer.aspect))
    measure = _judged if judged else _estimated
    points = measure(comparer, rankings, origin)
    return Frontier(
        tuple(FrontierPoint(s, r, o) for s, (r, o) in zip(steers, points, strict=True)), judged, 1
    )


def _judged(
    comparer: Comparer, rankings: Sequence[Sequence[str]], origin: Sequence[str]
) -> list[tuple[float, float | None]]:
    grades = comparer.judgments[comparer.aspect]
    return [
        (
            csfcube_ndcg([d for d in ranking if d in grades], grades),
            p_mrr_among_judged(ranking, origin, comparer.aspect, comparer.judgments),
        )
        for ranking in rankings
    ]


def _estimated(
    comparer: Comparer, rankings: Sequence[Sequence[str]], origin: Sequence[str]
) -> list[tuple[float, float | None]]:
    corpus = comparer.searcher.corpus
    pool = sorted({d for ranking in (*rankings, origin) for d in ranking[:PAGE_SIZE]})
    vector = comparer.searcher.seed(comparer.query).vector
    whole = standardised(corpus.cosines(corpus.rows(pool), [("vector", vector)])[:, 0])
    alike = dict(zip(pool, whole.tolist(), strict=True))
    before = set(origin[:PAGE_SIZE])
    points: list[tuple[float, float | None]] = []
    for ranking in rankings:
        top = ranking[:PAGE_SIZE]
        relevance = float(np.mean([alike[d] for d in top])) if top else 0.0
        points.append((relevance, len(set(top) - before) / len(top) if top else 0.0))
    return points
