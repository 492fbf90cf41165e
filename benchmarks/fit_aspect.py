"""Fit the aspect system's weights: ``assets/aspect/weights.json``.

The system joins few signals linearly (:class:`AspectSystem`). The weights of the whole
document's signals are a ridge-penalised pairwise logistic regression on relevance. Those of
the aspect's signals come from a small grid, judged by nDCG@20 plus p-MRR around the default
steer and at steer 1, with the labels' roles and with predicted ones; the mean of the best tenth
of the grid is taken, so that no lucky corner wins. Fitted on CSFCube's open half (27 queries)
and a part of the demo; the same procedure on all seeds but one, for every seed, gives the
cross-validated figures. The file keeps both, and the figures of single signals.

Run: ``python -m benchmarks.fit_aspect`` (some 10 minutes; CSFCube's data must be at hand).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from benchmarks.sources import CSFCUBE, cache
from engine.collections.readers import read_collection
from engine.config import DEMO, Settings
from engine.corpora import aspect_space
from engine.explorer import Explorer
from engine.measures.metrics import csfcube_ndcg, mean
from engine.measures.p_mrr import p_mrr
from engine.numeric import FloatArray, standardised
from engine.search.systems.aspect_system import WEIGHTS, combined, find_signals
from engine.types.collections import Collection
from engine.types.corpora import ImportRequest
from engine.types.searches import Query

STEERS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)
RIDGE = 0.003
GRID = tuple(
    {"aspect": 1.0, "words": words, "tokens": tokens, "others": -others}
    for words, tokens, others in itertools.product(
        (0.0, 0.2, 0.4, 0.6), (0.0, 0.3, 0.6), (0.0, 0.2, 0.4, 0.6)
    )
)
DEMO_SEEDS = 20
Weights = Mapping[str, float]


@dataclass(frozen=True)
class Judged:
    """One query with its candidates' signals and grades."""

    query_id: str
    seed: str
    doc_ids: list[str]
    grades: dict[str, int]
    whole: dict[str, FloatArray]
    aspect: dict[str, FloatArray]

    def ranking(self, whole: FloatArray, aspect: FloatArray, steer: float) -> list[str]:
        scores = (1 - steer) * whole + steer * aspect
        order = sorted(zip(self.doc_ids, scores, strict=True), key=lambda s: (-s[1], s[0]))
        return [doc_id for doc_id, _ in order]


@dataclass(frozen=True)
class Data:
    """Queries of one collection and one way of knowing roles."""

    name: str
    queries: list[Judged]

    def without(self, seed: str) -> Data:
        return replace(self, queries=[q for q in self.queries if q.seed != seed])

    def only(self, seed: str) -> Data:
        return replace(self, queries=[q for q in self.queries if q.seed == seed])


def load(explorer: Explorer, corpus: str, collection: Collection, seeds: int = 0) -> Data:
    """Signals of every judged candidate, by the engine itself."""
    searcher = explorer.searcher(corpus)
    topics = list(collection.topics)
    if seeds:
        kept = sorted({t.seed for t in topics if t.seed})[:: max(1, len(topics) // 3 // seeds)]
        topics = [t for t in topics if t.seed in kept[:seeds]]
    queries = []
    for topic in topics:
        query = Query(corpus, seed=topic.seed, aspect=topic.aspect)
        seed = searcher.seed(query)
        request = searcher.request(query, seed, searcher.interpret(query, seed).focus)
        scope = searcher.corpus.scope(without=topic.seed, pool=topic.pool)
        allowed = np.flatnonzero(scope.allowed)
        doc_ids = [searcher.corpus.doc_ids[i] for i in allowed]
        signals = find_signals(searcher.corpus, replace(request, scope=scope), allowed)
        listed = collection.qrels.get(topic.query_id, {})
        grades = {**dict.fromkeys(doc_ids, 0), **listed} if collection.complete else dict(listed)
        # A seed without a sentence of the aspect has no aspect signals: the whole decides.
        aspect = dict(signals.aspect) or {n: np.zeros(len(doc_ids)) for n in GRID[0]}
        queries.append(
            Judged(topic.query_id, topic.seed or "", doc_ids, grades, dict(signals.whole), aspect)
        )
    return Data(corpus, queries)


def measure(rankings: Mapping[str, list[str]], data: Data) -> tuple[float, float]:
    """Mean nDCG@20 (CSFCube's) and p-MRR."""
    of_seed: dict[str, list[Judged]] = {}
    for query in data.queries:
        of_seed.setdefault(query.seed, []).append(query)
    relevance = [csfcube_ndcg(rankings[q.query_id], q.grades) for q in data.queries]
    obedience: list[float | None] = []
    for group in of_seed.values():
        for query in group:
            others = [o for o in group if o is not query]
            ids = query.query_id
            values = [
                p_mrr(rankings[ids], query.grades, rankings[o.query_id], o.grades) for o in others
            ]
            obedience.append(mean(values))
    return float(np.mean(relevance)), mean(obedience) or 0.0


def evaluate(data: Data, whole: Weights, aspect: Weights, steer: float) -> tuple[float, float]:
    rankings = {
        q.query_id: q.ranking(combined(q.whole, whole), combined(q.aspect, aspect), steer)
        for q in data.queries
    }
    return measure(rankings, data)


def fit_whole(data: Data) -> dict[str, float]:
    """Weights of the whole document's signals by pairwise logistic regression, summing to 1."""
    names = list(data.queries[0].whole)
    differences, shares = [], []
    for query in data.queries:
        rows = np.stack([standardised(query.whole[n]) for n in names], axis=1)
        grades = np.array([query.grades.get(d, 0) for d in query.doc_ids])
        for i in np.flatnonzero(grades >= 1):
            lower = np.flatnonzero(grades < grades[i])
            differences.append(rows[i] - rows[lower])
            shares.append(2.0 ** grades[i] - 2.0 ** grades[lower])
    x, w = np.concatenate(differences), np.concatenate(shares)
    w = w / w.sum()

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        margin = x @ weights
        slope = -(w / (1 + np.exp(margin))) @ x
        return (
            float(w @ np.logaddexp(0, -margin) + RIDGE * weights @ weights),
            slope + 2 * RIDGE * weights,
        )

    bounds = [(0, None)] * len(names)
    fitted = minimize(loss, np.full(len(names), 0.1), jac=True, method="L-BFGS-B", bounds=bounds).x
    return {n: round(float(v / fitted.sum()), 3) for n, v in zip(names, fitted, strict=True)}


def fit_aspect(
    sets: Sequence[tuple[float, Data]], whole: Weights
) -> tuple[dict[str, float], list[float]]:
    """The mean of the best tenth of the grid, and what every point of it scored."""
    values = []
    for point in GRID:
        value = 0.0
        for share, data in sets:
            around = [sum(evaluate(data, whole, point, s)) for s in (0.4, 0.5, 0.6)]
            value += share * (float(np.mean(around)) + 0.5 * sum(evaluate(data, whole, point, 1)))
        values.append(value)
    best = np.argsort(values)[::-1][: max(1, len(GRID) // 10)]
    return {n: round(float(np.mean([GRID[i][n] for i in best])), 3) for n in GRID[0]}, values


def cross_validated(labelled: Data, predicted: Data, demo: Data) -> list[dict[str, Any]]:
    """Every seed ranked with weights that were fitted without it."""
    rankings: dict[str, dict[float, dict[str, list[str]]]] = {}
    for seed in sorted({q.seed for q in labelled.queries}):
        whole = fit_whole(labelled.without(seed))
        sets = [(0.5, labelled.without(seed)), (0.5, predicted.without(seed)), (0.3, demo)]
        aspect, _ = fit_aspect(sets, whole)
        for data in (labelled, predicted):
            for query in data.only(seed).queries:
                parts = combined(query.whole, whole), combined(query.aspect, aspect)
                for steer in STEERS:
                    of_data = rankings.setdefault(data.name, {}).setdefault(steer, {})
                    of_data[query.query_id] = query.ranking(*parts, steer)
    return [
        {
            "steer": steer,
            "labels": _figures(measure(rankings[labelled.name][steer], labelled)),
            "predicted_roles": _figures(measure(rankings[predicted.name][steer], predicted)),
        }
        for steer in STEERS
    ]


def single_signals(data: Data) -> dict[str, dict[str, float]]:
    """What each signal does alone."""
    quality = {}
    for part in ("whole", "aspect"):
        for name in getattr(data.queries[0], part):
            rankings = {
                q.query_id: q.ranking(getattr(q, part)[name], getattr(q, part)[name], 0.0)
                for q in data.queries
            }
            quality[f"{part}: {name}"] = _figures(measure(rankings, data))
    return quality


def context_study(whole: Weights, aspect: Weights) -> dict[str, dict[str, dict[str, float]]]:
    """The fitted weights with other shares of the document taken out of its aspects.

    Read together with :data:`engine.corpora.aspect_space.CONTEXT`, which it is the reason for.
    """
    csfcube, shipped = read_collection(CSFCUBE), aspect_space.CONTEXT
    quality = {}
    for share in (0.0, 0.2, 0.3, 0.4, 0.5):
        aspect_space.CONTEXT = share
        # Anew each time: an opened corpus holds its aspects with the share taken out.
        data = load(Explorer(Settings(home=cache() / "home")), "abstracts", csfcube)
        quality[str(share)] = {
            f"steer {steer:g}": _figures(evaluate(data, whole, aspect, steer))
            for steer in (0.5, 1.0)
        }
    aspect_space.CONTEXT = shipped
    return quality


def _figures(values: tuple[float, float]) -> dict[str, float]:
    return {"nDCG@20 (CSFCube)": round(values[0], 4), "p-MRR": round(values[1], 4)}


def corpora(explorer: Explorer) -> tuple[Data, Data, Data]:
    """CSFCube with its labels, with predicted roles, and the demo; indexed once."""
    for name, path, mapping in (
        ("abstracts", CSFCUBE, {}),
        ("abstracts-unlabelled", CSFCUBE, {"roles": ""}),
        ("demo", DEMO, {}),
    ):
        explorer.library.import_documents(ImportRequest(path, name, "auto", mapping, None))
    csfcube = read_collection(CSFCUBE)
    return (
        load(explorer, "abstracts", csfcube),
        load(explorer, "abstracts-unlabelled", csfcube),
        load(explorer, "demo", read_collection(DEMO), DEMO_SEEDS),
    )


def main() -> None:
    explorer = Explorer(Settings(home=cache() / "home"))
    labelled, predicted, demo = corpora(explorer)
    whole = fit_whole(labelled)
    aspect, values = fit_aspect([(0.5, labelled), (0.5, predicted), (0.3, demo)], whole)
    data = {
        "made_by": "python -m benchmarks.fit_aspect",
        "trained_on": f"CSFCube, open half ({len(labelled.queries)} queries), with labels and "
        f"with predicted roles, and {len(demo.queries)} queries of the demo",
        "whole": whole,
        "aspect": aspect,
        "grid": {"points": len(GRID), "best": max(values), "median": float(np.median(values))},
        "fitted": [
            {
                "steer": steer,
                "labels": _figures(evaluate(labelled, whole, aspect, steer)),
                "predicted_roles": _figures(evaluate(predicted, whole, aspect, steer)),
                "demo": _figures(evaluate(demo, whole, aspect, steer)),
            }
            for steer in STEERS
        ],
        "cross_validated": cross_validated(labelled, predicted, demo),
        "single_signals": single_signals(labelled),
        "context": context_study(whole, aspect),
    }
    WEIGHTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(data, indent=1))


if __name__ == "__main__":
    main()
