"""Fit the aspect system's weights: ``assets/aspect/weights.json``.

The system joins few signals (:class:`AspectSystem`). Their weights are drawn at random; each
draw is judged by nDCG@20 plus p-MRR at the default steer, averaged over CSFCube's open half (27
queries) with the labels' roles, the same with predicted ones, and 20 seeds of the demo; the mean
of the best twentieth is taken, so that no lucky draw wins. The same procedure on all seeds but
one, for every seed, gives the cross-validated figures. 40 other seeds of the demo, those of
``seedlens evaluate assets/demo --sample 40``, only measure. The file keeps all of it, and the
figures of single signals.

Run: ``python -m tools.fit.aspect`` (some 15 minutes; CSFCube's data must be at hand).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import homes
from benchmarks.homes import CSFCUBE
from engine.collections.readers import read_collection
from engine.config import DEMO
from engine.explorer import Explorer
from engine.measures.metrics import csfcube_ndcg, mean
from engine.measures.p_mrr import p_mrr
from engine.numeric import FloatArray
from engine.search.systems.aspect_system import (
    WEIGHTS,
    Signals,
    combined,
    find_candidates,
    find_signals,
    joined,
)
from engine.search.topics import sampled
from engine.types.corpora import ImportRequest
from engine.types.evaluations import Collection, Topic
from engine.types.searches import Query

STEERS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)
DEFAULT = 0.5
DRAWS = 2000
BEST = DRAWS // 20
RANGES = {
    "whole": {"tokens": (1.0, 1.0), "words": (0.0, 0.4)},
    "aspect": {
        "aspect": (1.0, 1.0),
        "words": (0.0, 0.5),
        "tokens": (0.0, 1.2),
        "others": (-0.6, 0.0),
        "same": (-0.6, 0.0),
    },
    "joined": {"aspect": (1.0, 1.5)},
}
"""Where the weights of each part are drawn from; the first signal's stays 1."""
DEMO_SEEDS, DEMO_APART = 20, 40
"""Of the demo, seeds that are fitted on, and others that only measure."""
Weights = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Judged:
    """One query with its candidates' signals and grades."""

    query_id: str
    seed: str
    doc_ids: list[str]
    grades: dict[str, int]
    signals: Signals

    def ranked(self, scores: FloatArray) -> list[str]:
        order = sorted(zip((-scores).tolist(), self.doc_ids, strict=True))
        return [doc_id for _, doc_id in order]

    def ranking(self, weights: Weights, steer: float) -> list[str]:
        whole = combined(self.signals.whole, weights["whole"])
        if not self.signals.aspect:  # the seed has no sentence of the aspect
            return self.ranked(whole)
        aspect = weights["joined"]["aspect"] * combined(self.signals.aspect, weights["aspect"])
        return self.ranked(joined(whole, aspect, steer, self.signals.neighbours))


@dataclass(frozen=True)
class Data:
    """Queries of one collection and one way of knowing roles."""

    name: str
    queries: list[Judged]


def load(
    explorer: Explorer, corpus: str, collection: Collection, topics: Sequence[Topic] = ()
) -> Data:
    """Signals of every judged candidate, by the engine itself; of all topics or of some."""
    searcher = explorer.searcher(corpus)
    queries = []
    for topic in topics or collection.topics:
        query = Query(corpus, seed=topic.seed, aspect=topic.aspect)
        seed = searcher.seed(query)
        request = searcher.request(query, seed, searcher.interpret(query, seed).focus)
        scope = searcher.corpus.scope(without=topic.seed, pool=topic.pool)
        request = replace(request, scope=scope)
        pooled = topic.pool is not None
        rows = (
            np.flatnonzero(scope.allowed) if pooled else find_candidates(searcher.corpus, request)
        )
        doc_ids = [searcher.corpus.doc_ids[i] for i in rows]
        signals = find_signals(searcher.corpus, request, rows)
        listed = collection.qrels.get(topic.query_id, {})
        grades = {**dict.fromkeys(doc_ids, 0), **listed} if collection.complete else dict(listed)
        queries.append(Judged(topic.query_id, topic.seed or "", doc_ids, grades, signals))
    return Data(corpus, queries)


def measure(rankings: Mapping[str, list[str]], data: Data) -> NDArray[np.float64]:
    """nDCG@20 (CSFCube's) and p-MRR (queries, 2); NaN where no other aspect is judged."""
    values = np.full((len(data.queries), 2), np.nan)
    for i, query in enumerate(data.queries):
        own = rankings[query.query_id]
        values[i, 0] = csfcube_ndcg(own, query.grades)
        following = mean(
            [
                p_mrr(own, query.grades, rankings[other.query_id], other.grades)
                for other in data.queries
                if other.seed == query.seed and other is not query
            ]
        )
        values[i, 1] = np.nan if following is None else following
    return values


def evaluate(data: Data, weights: Weights, steer: float) -> NDArray[np.float64]:
    return measure({q.query_id: q.ranking(weights, steer) for q in data.queries}, data)


class Draws:
    """Random weights, and how well each did on every query of every set of data."""

    def __init__(self, *sets: Data) -> None:
        generator = np.random.default_rng(0)
        self.weights = [
            {
                part: {n: float(generator.uniform(*of)) for n, of in ranges.items()}
                for part, ranges in RANGES.items()
            }
            for _ in range(DRAWS)
        ]
        self._values = [
            np.array([evaluate(data, weights, DEFAULT) for weights in self.weights])
            for data in sets
        ]
        self._seeds = [np.array([q.seed for q in data.queries]) for data in sets]

    def totals(self, without: str = "") -> NDArray[np.float64]:
        """nDCG@20 plus p-MRR (draws,), the sets averaged; ``without`` one seed."""
        kept = zip(self._values, self._seeds, strict=True)
        means = [
            np.nanmean(values[:, seeds != without], axis=1).sum(axis=1) for values, seeds in kept
        ]
        return np.asarray(np.mean(means, axis=0))

    def fitted(self, without: str = "") -> dict[str, dict[str, float]]:
        """The mean of the best draws."""
        best = [self.weights[i] for i in np.argsort(-self.totals(without))[:BEST]]
        return {
            part: {n: round(float(np.mean([w[part][n] for w in best])), 3) for n in ranges}
            for part, ranges in RANGES.items()
        }


def cross_validated(draws: Draws, *sets: Data) -> list[dict[str, Any]]:
    """Every seed ranked with weights that were fitted without it."""
    seeds = sorted({query.seed for data in sets for query in data.queries})
    weights = {seed: draws.fitted(without=seed) for seed in seeds}

    def figures(data: Data, steer: float) -> dict[str, float]:
        rankings = {q.query_id: q.ranking(weights[q.seed], steer) for q in data.queries}
        return _figures(measure(rankings, data))

    return [
        {"steer": steer, **{data.name: figures(data, steer) for data in sets}} for steer in STEERS
    ]


def single_signals(data: Data) -> dict[str, dict[str, float]]:
    """What each signal does alone."""
    quality = {}
    for part in ("whole", "aspect"):
        for name in RANGES[part]:
            rankings = {q.query_id: q.ranked(getattr(q.signals, part)[name]) for q in data.queries}
            quality[f"{part}: {name}"] = _figures(measure(rankings, data))
    return quality


def _figures(values: NDArray[np.float64]) -> dict[str, float]:
    relevance, following = np.nanmean(values, axis=0).tolist()
    return {"nDCG@20 (CSFCube)": round(relevance, 4), "p-MRR": round(following, 4)}


def corpora(explorer: Explorer) -> tuple[Data, Data, Data, Data]:
    """CSFCube with its labels, with predicted roles, the demo, and its seeds that only measure."""
    unlabelled = ImportRequest(CSFCUBE, "abstracts-unlabelled", "auto", {"roles": ""}, None)
    for request in (unlabelled, ImportRequest(DEMO, "demo")):
        explorer.library.import_documents(request)
    csfcube, demo = read_collection(CSFCUBE), read_collection(DEMO)
    apart = sampled(demo.topics, DEMO_APART)
    fitted = [t for t in sampled(demo.topics, DEMO_APART + DEMO_SEEDS) if t not in apart]
    return (
        replace(load(explorer, "abstracts", csfcube), name="labels"),
        replace(load(explorer, "abstracts-unlabelled", csfcube), name="predicted_roles"),
        load(explorer, "demo", demo, fitted),
        replace(load(explorer, "demo", demo, apart), name="demo_apart"),
    )


def main() -> None:
    labelled, predicted, demo, apart = corpora(homes.explorer())
    draws = Draws(labelled, predicted, demo)
    weights, totals = draws.fitted(), draws.totals()
    every = (labelled, predicted, demo, apart)
    data = {
        "made_by": "python -m tools.fit.aspect",
        "trained_on": f"CSFCube, open half ({len(labelled.queries)} queries), with labels and "
        f"with predicted roles, and {DEMO_SEEDS} seeds of the demo; {DEMO_APART} others of it "
        "only measure",
        **weights,
        "draws": {"count": DRAWS, "best": totals.max(), "median": float(np.median(totals))},
        "fitted": [
            {"steer": steer, **{d.name: _figures(evaluate(d, weights, steer)) for d in every}}
            for steer in STEERS
        ],
        "cross_validated": cross_validated(draws, labelled, predicted, demo),
        "single_signals": single_signals(labelled),
    }
    WEIGHTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(data, indent=1))


if __name__ == "__main__":
    main()
