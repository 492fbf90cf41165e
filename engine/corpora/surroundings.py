"""What lies around a seed in its corpus: the standard by which its evidence is measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.corpora.contracts import Surroundings
from engine.corpora.schema import matrix
from engine.numeric import FloatArray
from storage.vectors import DocumentTable

SAMPLE = 128
"""Documents that stand for the corpus: spread evenly, since neighbours are often alike."""


@dataclass(frozen=True, slots=True)
class PassageSample:
    """The sentences of some documents of a corpus, those without sentences left out.

    Attributes:
        vectors: (n, d) of the documents.
        sentences: (s, d) of all their sentences, document by document.
        roles: (s, a).
        starts: (n + 1,) where the sentences of each begin, and where the last ones end.
    """

    vectors: FloatArray
    sentences: FloatArray
    roles: FloatArray
    starts: NDArray[np.intp]

    @classmethod
    def read(cls, table: DocumentTable, count: int, dimension: int, aspects: int) -> PassageSample:
        """Read it from a corpus of ``count`` documents."""
        step = max(1, -(-count // SAMPLE))
        rows = table.take(range(0, count, step), ["vector", "sentence_vectors", "roles"])
        vectors, sentences, roles = (
            rows[name].combine_chunks() for name in ("vector", "sentence_vectors", "roles")
        )
        counts = np.diff(sentences.offsets.to_numpy())
        return cls(
            matrix(vectors, dimension)[counts > 0],
            matrix(sentences.flatten(), dimension),
            np.asarray(roles.flatten(), dtype=np.float32).reshape(-1, aspects),
            np.concatenate([[0], np.cumsum(counts[counts > 0])]).astype(np.intp),
        )

    def around(self, vector: FloatArray, centroid: FloatArray) -> Surroundings:
        """The surroundings of a document: of the sample, the half that is least like it.

        Args:
            vector: (d,) of the document.
            centroid: (d,) of the documents nearest to it.
        """
        unlike = np.sort(np.argsort(self.vectors @ vector, kind="stable")[: len(self.vectors) // 2])
        counts = np.diff(self.starts)
        chosen = np.repeat(np.isin(np.arange(len(counts)), unlike), counts)
        return Surroundings(
            centroid=centroid,
            sentences=self.sentences[chosen],
            roles=self.roles[chosen],
            starts=(np.cumsum(counts[unlike]) - counts[unlike]).astype(np.intp),
        )
