"""Vectors of documents' tokens and sentences: read when they are needed, the latest kept."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from engine.corpora.aspect_space import token_roles
from engine.corpora.contracts import Rows, TokenRows, TokenSpans
from engine.corpora.recent import Recent
from engine.corpora.schema import rows_of
from engine.numeric import FloatArray, groups
from engine.types.encoders import EncoderSpec
from storage.vectors import DocumentTable

TOKEN_COLUMNS = [
    *("token_vectors", "token_starts", "token_ends"),
    *("text", "sentence_starts", "roles"),
]
KEPT_BYTES = 256_000_000
"""Memory for token vectors of documents read before, of all corpora of this process; some 10,000
abstracts."""
READ_BYTES = 4_000_000
"""Text, in UTF-8, of documents whose tokens are read at once, unless one has more: a million tokens
and 200 MB, or four times as much where every sign is a token."""


def size_of(tokens: TokenRows) -> int:
    """Bytes of the tokens of one document."""
    return sum(array.nbytes for array in tokens)


class Passages:
    """The passages of one version of a corpus. Safe to share between threads.

    `aspects`: how many aspects the lens has. `idf`: weights of the tokens of a text, see
    `CorpusWords.idf`.
    """

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
        """Token vectors of each document, in the order asked for.

        `stored`: the rows of these documents, `TOKEN_COLUMNS` at least; None to read them.
        """
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
        """Sentence vectors (s, d) of each document, in the order asked for."""
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
