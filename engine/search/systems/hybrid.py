"""Fusion of rankings by reciprocal rank (Cormack, Clarke and Buettcher, SIGIR 2009)."""

from __future__ import annotations

import numpy as np

from engine.corpora.contracts import Corpus, RankedDocuments, Request, System

RANK_CONSTANT = 60
"""The constant of the paper; damps the weight of the very first ranks."""


class HybridSystem:
    """Reciprocal rank fusion of other systems: the sum of 1 / (60 + rank)."""

    name = "hybrid"
    reads_aspect = False

    def __init__(self, *systems: System) -> None:
        self._systems = systems

    def rank(self, corpus: Corpus, request: Request) -> RankedDocuments:
        fused = np.zeros(len(request.scope.allowed))
        for system in self._systems:
            rows = system.rank(corpus, request).rows
            fused[rows] += 1.0 / (RANK_CONSTANT + np.arange(1, len(rows) + 1))
        rows = np.flatnonzero(fused)
        return corpus.ranked(rows, fused[rows], request.most)
