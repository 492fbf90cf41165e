"""Retrieval by documents and their scenarios, after SPIKE (Lee et al., 2025), equation 3."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from engine.corpora.contracts import RankedDocuments, Request, Rows
from engine.errors import BadInputError
from engine.numeric import FloatArray
from engine.search.systems.baselines import Corpus, DenseSystem, System
from engine.types.scenarios import SCENARIO

if TYPE_CHECKING:
    from engine.search.scenario_index import ScenarioIndex

CANDIDATES = 1000
"""Documents that each side retrieves, at least, where the corpus is not ranked whole."""


class ScenarioSystem:
    """``weight * document + (1 - weight) * best scenario``; the document alone without scenarios.
    The corpus's weight and ``dense`` as ``base`` unless given."""

    name = SCENARIO
    reads_aspect = False

    def __init__(self, weight: float | None = None, base: System | None = None) -> None:
        self._weight = weight
        self._base = base

    def rank(self, corpus: Corpus, request: Request) -> RankedDocuments:
        if request.scenarios is None:
            raise BadInputError("There are no scenarios to rank by.")
        scenarios: ScenarioIndex = request.scenarios()
        weight = scenarios.weight if self._weight is None else self._weight
        rows, own = self._scored(corpus, request, scenarios)
        best = scenarios.best(rows, request.seed.vector)
        scores = weight * own + (1 - weight) * np.where(np.isnan(best), own, best)
        return corpus.ranked(rows, np.asarray(scores, dtype=np.float32), request.depth)

    def _scored(
        self, corpus: Corpus, request: Request, scenarios: ScenarioIndex
    ) -> tuple[Rows, FloatArray]:
        """Documents that may be ranked, and their own scores."""
        size, candidates = request.scope.size, max(2 * request.depth, CANDIDATES)
        in_memory = self._base is None and corpus.resident and scenarios.resident
        whole = in_memory or request.depth >= size
        base = self._base or DenseSystem()
        ranking = base.rank(corpus, replace(request, depth=size if whole else candidates))
        own = ranking.scores.astype(np.float32)
        if whole:
            return ranking.rows, own
        vector = request.seed.vector
        near = scenarios.nearest(vector, candidates, request.scope.allowed)
        others = near[np.isin(near, ranking.rows, invert=True)]
        cosines = corpus.cosines(others, [("vector", vector)])[:, 0]
        return np.concatenate([ranking.rows, others]), np.concatenate([own, cosines])
