"""What lies around a seed in its corpus: the standard by which its evidence is measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.corpora.contracts import Surroundings
from engine.corpora.schema import matrix, rows_of
from engine.numeric import FloatArray, groups, widened
from storage.vectors import DocumentTable

SAMPLE = 128  # Documents that stand for the corpus: spread evenly, since neighbours are often alike
SENTENCES = 500
"""Sentences that stand for each of them, from all over it. A seed is compared with all of these,
and a document of a million characters has tens of thousands."""
READ_SENTENCES = 100_000
"""Sentences of documents that are read at once, unless one has more: some 300 MB until cut."""


def sample_rows(count: int) -> range:
    """Rows of the documents that stand for a corpus of ``count``: always the same."""
    return range(0, count, max(1, -(-count // SAMPLE)))


@dataclass(frozen=True, slots=True)
class PassageSample:
    """The sentences of some documents of a corpus, those without sentences left out."""

    vectors: FloatArray  # (n, d) of the documents
    sentences: FloatArray  # (s, d), of each document at most `SENTENCES`, document by document
    roles: FloatArray  # (s, a)
    # (n + 1,) where the sentences of each begin, and where the last ones end
    starts: NDArray[np.intp]

    @classmethod
    def read(cls, table: DocumentTable, count: int, dimension: int, aspects: int) -> PassageSample:
        """Read it from a corpus of ``count`` documents."""
        rows = sample_rows(count)
        none = np.zeros((0, dimension), np.float32)  # of a corpus without documents
        vectors, sentences, roles = [none], [none], [np.zeros((0, aspects), np.float32)]
        for group in groups(table.sizes(rows, "array_length(sentence_starts)"), READ_SENTENCES):
            names = ["vector", "sentence_vectors", "roles"]
            read = table.take([rows[at] for at in group], names)
            vectors.append(matrix(read["vector"].combine_chunks(), dimension))
            for own, serves in zip(
                rows_of(read["sentence_vectors"], dimension), rows_of(read["roles"]), strict=True
            ):
                most = min(len(own), SENTENCES)
                kept = np.arange(most) * len(own) // max(most, 1)
                sentences.append(widened(own[kept]))
                roles.append(serves.reshape(-1, aspects)[kept])
        counts = np.array([len(own) for own in sentences[1:]], dtype=np.intp)
        return cls(
            np.concatenate(vectors)[counts > 0],
            np.concatenate(sentences),
            np.concatenate(roles).astype(np.float32),
            np.concatenate([[0], np.cumsum(counts[counts > 0])]).astype(np.intp),
        )

    def around(self, vector: FloatArray, centroid: FloatArray) -> Surroundings:
        """The surroundings of a document: of the sample, the half that is least like it."""
        cosines = self.vectors @ vector
        unlike = np.sort(np.argsort(cosines, kind="stable")[: len(cosines) // 2])
        counts = np.diff(self.starts)
        chosen = np.repeat(np.isin(np.arange(len(counts)), unlike), counts)
        return Surroundings(
            centroid=centroid,
            sentences=self.sentences[chosen],
            roles=self.roles[chosen],
            starts=(np.cumsum(counts[unlike]) - counts[unlike]).astype(np.intp),
            chance=float(cosines[unlike].sum()) / max(len(unlike), 1),
        )
