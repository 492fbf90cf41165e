"""Dense retrieval: one vector per document."""

from __future__ import annotations

from engine.corpora.contracts import Corpus, RankedDocuments, Request, VectorPart


class DenseSystem:
    """Cosine of the seed's and the document's vectors."""

    name = "dense"
    reads_aspect = False

    def rank(self, corpus: Corpus, request: Request) -> RankedDocuments:
        return corpus.by_vectors([VectorPart("vector", request.seed.vector, 1.0)], request)
