"""Aspect-conditioned retrieval: the whole document and one of its aspects, weighed by steer."""

from __future__ import annotations

from engine.columns import aspect_column
from engine.numeric import unit
from engine.retrieve.base import Corpus, Request, ScoredDocument, VectorPart


class AspectSystem:
    """``(1 - steer) cos(seed, document) + steer cos(seed's aspect, document's aspect)``.

    The seed's aspect vector is the weighted mean of its sentence vectors in context; a
    document's is the mean of its sentences that serve the aspect, zero when none does: a
    document that says nothing about the aspect earns nothing for it. Without an aspect, or
    at steer 0, this is dense retrieval. Raising steer trades relevance for obedience.
    """

    name = "aspect"
    reads_aspect = True

    def rank(self, corpus: Corpus, request: Request) -> list[ScoredDocument]:
        focus, steer = request.focus, request.steer
        if focus is None:
            steer = 0.0
        parts = [VectorPart("vector", request.seed.vector, 1.0 - steer)]
        if focus is not None:
            vector = unit(focus.sentence_weights @ request.seed.sentences)
            parts += [
                VectorPart(aspect_column(key), vector, steer * float(weight))
                for key, weight in zip(corpus.aspects, focus.aspect_weights, strict=True)
            ]
        return corpus.by_vectors([part for part in parts if part.weight > 0], request)
