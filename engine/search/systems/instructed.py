"""Instructed dense retrieval: the seed is read anew together with the instruction."""

from __future__ import annotations

from engine.corpora.contracts import Corpus, RankedDocuments, Request, VectorPart


class InstructedSystem:
    """Cosine of the documents' vectors and that of the seed under the instruction.

    The corpus's model encodes wording and seed as one query, with the query prompt that it
    was trained with (Asai et al., TART, 2023; Muennighoff et al., GritLM, 2024); a model
    without one reads the wording before the seed's text. Where the two do not fit the
    model's window, the seed's end is cut. Without an instruction this is dense retrieval.
    The wording alone decides how far the aspect counts: steer has no part in it.
    """

    name = "instructed"
    reads_aspect = True

    def rank(self, corpus: Corpus, request: Request) -> RankedDocuments:
        read = request.instructed
        vector = request.seed.vector if read is None else read()
        return corpus.by_vectors([VectorPart("vector", vector, 1.0)], request)
