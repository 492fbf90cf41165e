"""Fusion of rankings by reciprocal rank (Cormack, Clarke and Buettcher, SIGIR 2009)."""

from __future__ import annotations

from collections import defaultdict

from engine.corpora.contracts import Corpus, Request, ScoredDocument, System, ordered

RANK_CONSTANT = 60
"""The constant of the paper; damps the weight of the very first ranks."""


class HybridSystem:
    """Reciprocal rank fusion of other systems: the sum of 1 / (60 + rank)."""

    name = "hybrid"
    reads_aspect = False

    def __init__(self, *systems: System) -> None:
        self._systems = systems

    def rank(self, corpus: Corpus, request: Request) -> list[ScoredDocument]:
        fused: defaultdict[str, float] = defaultdict(float)
        for system in self._systems:
            for rank, scored in enumerate(system.rank(corpus, request), start=1):
                fused[scored.doc_id] += 1.0 / (RANK_CONSTANT + rank)
        return ordered([ScoredDocument(*item) for item in fused.items()])[: request.depth]
