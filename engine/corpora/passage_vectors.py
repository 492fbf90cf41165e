"""Vectors of documents' tokens and sentences, and of a sample that stands for the corpus."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.corpora.contracts import Rows, Surroundings, TokenRows, TokenSpans, token_roles
from engine.corpora.recent import Recent
from engine.corpora.schema import matrix, rows_of
from engine.numeric import FloatArray, groups, widened
from engine.types.encoders import EncoderSpec
from storage.vectors import DocumentTable

TOKEN_COLUMNS = [
    *("token_vectors", "token_starts", "token_ends"),
    *("text", "sentence_starts", "roles"),
]
KEPT_BYTES = 256_000_000  # Of token vectors in memory, of all corpora; some 10,000 abstracts
READ_BYTES = 4_000_000
"""Text of documents whose tokens are read at once: a million tokens and 200 MB, or four times as
much where every character is a token."""


def size_of(tokens: TokenRows) -> int:
    """Bytes of the tokens of one document."""
    return sum(array.nbytes for array in tokens)


class Passages:
    """The passages of one version of a corpus, whose lens has so many `aspects`; thread-safe.

    `idf`: weights of the tokens of a text, see `CorpusWords.idf`."""

    _tokens: Recent[tuple[int, int], TokenRows] = Recent(None, size_of, KEPT_BYTES)
    """Of all corpora, by the number of the object and the row."""
    _numbers = itertools.count()

    def __init__(
        self,
        table: DocumentTable,
        spec: EncoderSpec,
        aspects: int,
        idf: Callable[[str, TokenSpans], FloatArray],
    ) -> None:
        self._table, self._number = table, next(self._numbers)
        self._dimension, self._token_dimension = spec.dimension, spec.token_dimension
        self._aspects, self._idf = aspects, idf

    def _has(self, row: int) -> bool:
        return (self._number, row) in self._tokens

    def has_tokens(self, rows: Rows) -> bool:
        """Whether :meth:`tokens` of these documents has nothing to read."""
        return all(map(self._has, rows.tolist()))

    def tokens(self, rows: Rows, stored: pa.Table | None = None) -> list[TokenRows]:
        """Token vectors of each document, in this order. `stored`: their rows with
        `TOKEN_COLUMNS`; None to read them."""
        asked: list[int] = rows.tolist()

        def read(missing: Sequence[tuple[int, int]]) -> dict[tuple[int, int], TokenRows]:
            new = [row for _, row in missing]
            if stored is None:
                found = self._table.take(new, TOKEN_COLUMNS)
            else:
                found = stored.take(pa.array(map(asked.index, new), pa.int64()))
            return dict(zip(missing, self._read(found), strict=True))

        keys = [(self._number, row) for row in dict.fromkeys(asked)]
        known = dict(zip(keys, self._tokens.get(keys, read), strict=True))
        return [known[self._number, row] for row in asked]

    def each(self, rows: Rows) -> Iterator[TokenRows]:
        """:meth:`tokens`, one after another: read as many at once as :data:`READ_BYTES` allow."""
        asked: list[int] = rows.tolist()
        new = [row for row in asked if not self._has(row)]
        size = dict(zip(new, self._table.sizes(new, "octet_length(text)"), strict=True))
        for group in groups([size.get(row, 0) for row in asked], READ_BYTES):
            yield from self.tokens(rows[group])

    def sentences(self, rows: Rows) -> list[FloatArray]:
        """Sentence vectors (s, d) of each document, in this order."""
        stored = self._table.take(rows, ["sentence_vectors"])
        vectors = rows_of(stored["sentence_vectors"], self._dimension)
        return [found.astype(np.float32, copy=False) for found in vectors]

    def _read(self, rows: pa.Table) -> list[TokenRows]:
        vectors = rows_of(rows["token_vectors"], self._token_dimension)
        starts, ends, sentences, roles = (
            rows_of(rows[name])
            for name in ("token_starts", "token_ends", "sentence_starts", "roles")
        )
        return [
            TokenRows(
                vectors[at].copy(),  # copied, so that the others can go
                starts[at].astype(np.int32),
                self._idf(text, np.stack([starts[at], ends[at]], axis=1)),
                token_roles(starts[at], sentences[at], roles[at].reshape(-1, self._aspects)),
            )
            for at, text in enumerate(rows["text"].to_pylist())
        ]


SAMPLE = 128  # Documents that stand for the corpus: spread evenly, since neighbours are often alike
SENTENCES = 500  # Of each of them, from all over it; a book has tens of thousands
READ_SENTENCES = 100_000  # Sentences of documents that are read at once: some 300 MB


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
