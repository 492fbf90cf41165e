"""Retrieval by scenarios: what a document says, and what somebody could need it for.

After SPIKE (Lee et al., 2025), equation 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from engine.corpora.contracts import (
    Corpus,
    Request,
    ScenarioScores,
    ScoredDocument,
    System,
    scored_documents,
)
from engine.errors import BadInputError
from engine.numeric import FloatArray
from engine.search.systems.dense import DenseSystem

CANDIDATES = 1000
"""Documents that each side brings up, at least, where the corpus is not ranked whole."""


class ScenarioSystem:
    """``weight * document + (1 - weight) * best scenario``.

    A document without scenarios keeps its own score: it is neither raised nor lowered for what
    nobody wrote about it.

    Args:
        weight: 0 to 1; None for what the corpus is set to.
        base: scores the documents, by cosines of the corpus's model; None for ``dense``.
    """

    name = "scenario"
    reads_aspect = False

    def __init__(self, weight: float | None = None, base: System | None = None) -> None:
        self._weight = weight
        self._base = base

    def rank(self, corpus: Corpus, request: Request) -> list[ScoredDocument]:
        if request.scenarios is None:
            raise BadInputError("There are no scenarios to rank by.")
        scenarios = request.scenarios()
        weight = scenarios.weight if self._weight is None else self._weight
        vector = request.seed.vector
        if self._base is None:
            whole, best = corpus.all_cosines("vector", vector), scenarios.everywhere(vector)
            if whole is not None and best is not None:
                return corpus.by_scores(_joined(weight, whole, best), request)
        doc_ids, own = self._scored(corpus, request, scenarios)
        scores = _joined(weight, own, scenarios.best(doc_ids, vector))
        return _ordered(doc_ids, scores)[: request.depth]

    def _scored(
        self, corpus: Corpus, request: Request, scenarios: ScenarioScores
    ) -> tuple[list[str], FloatArray]:
        """Documents that may be ranked, and what they score themselves."""
        whole = request.depth >= request.scope.size
        candidates = max(2 * request.depth, CANDIDATES)
        depth = request.depth if whole else candidates
        base = self._base or DenseSystem()
        ranked = base.rank(corpus, replace(request, depth=depth))
        doc_ids, own = map(list, zip(*ranked, strict=True)) if ranked else ([], [])
        scores = np.array(own, dtype=np.float32)
        if whole:
            return doc_ids, scores
        known, vector = set(doc_ids), request.seed.vector
        near = scenarios.nearest(vector, candidates, request.scope.allowed)
        others = [doc_id for doc_id in near if doc_id not in known]
        cosines = corpus.cosines(others, [("vector", vector)])[:, 0]
        return [*doc_ids, *others], np.concatenate([scores, cosines])


def _joined(weight: float, own: FloatArray, best: FloatArray) -> FloatArray:
    """Scores of documents and of their best scenarios in one; own ones where there is none."""
    joined = weight * own + (1 - weight) * np.where(np.isnan(best), own, best)
    return np.asarray(joined, dtype=np.float32)


def _ordered(doc_ids: Sequence[str], scores: FloatArray) -> list[ScoredDocument]:
    """Best first, ties by doc_id: like :func:`engine.corpora.contracts.ordered`, for thousands."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    ids = [doc_ids[i] for i in order]
    edges = [0, *(np.flatnonzero(np.diff(ranked)) + 1).tolist(), len(ids)]
    if len(edges) <= len(ids):
        for start, end in pairwise(edges):
            if end - start > 1:
                ids[start:end] = sorted(ids[start:end])
    return scored_documents(ids, ranked.tolist())
