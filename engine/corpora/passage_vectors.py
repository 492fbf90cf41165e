"""Vectors of documents' tokens and sentences: read when they are needed, the latest kept."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator
from threading import Lock
from weakref import WeakSet

import numpy as np
import pyarrow as pa

from engine.corpora.aspect_space import token_roles
from engine.corpora.contracts import Rows, TokenRows, TokenSpans
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

_LOCK = Lock()
_USE = itertools.count()


class Passages:
    """The passages of one version of a corpus. Safe to share between threads.

    What is kept has one limit for all corpora: the one used longest ago gives way first.

    Args:
        aspects: how many aspects the lens has.
        idf: what the tokens of a text weigh, see ``CorpusWords.idf``.
    """

    def __init__(
        self,
        table: DocumentTable,
        spec: EncoderSpec,
        aspects: int,
        idf: Callable[[str, TokenSpans], FloatArray],
    ) -> None:
        self._table = table
        self._dimension, self._token_dimension = spec.dimension, spec.token_dimension
        self._aspects, self._idf = aspects, idf
        self._kept: OrderedDict[int, TokenRows] = OrderedDict()
        self._bytes = 0
        self._used = 0
        with _LOCK:
            _OPEN.add(self)

    def has_tokens(self, rows: Rows) -> bool:
        """Whether :meth:`tokens` of these documents has nothing to read."""
        with _LOCK:
            return all(row in self._kept for row in rows.tolist())

    def tokens(self, rows: Rows, stored: pa.Table | None = None) -> list[TokenRows]:
        """Token vectors of each document, in the order asked for.

        Args:
            stored: what is stored of them, :data:`TOKEN_COLUMNS` at least; None to read it.
        """
        asked: list[int] = rows.tolist()
        with _LOCK:
            self._used = next(_USE)
            found = {row: self._kept[row] for row in asked if row in self._kept}
            for row in found:  # the ones in use are let go last
                self._kept.move_to_end(row)
        missing = asked if stored is not None else [row for row in asked if row not in found]
        if missing:
            stored = self._table.take(missing, TOKEN_COLUMNS) if stored is None else stored
            read = dict(zip(missing, self._read(stored), strict=True))
            found.update(read)
            self._keep(read)
        return [found[row] for row in asked]

    def each(self, rows: Rows) -> Iterator[TokenRows]:
        """:meth:`tokens`, one after another: read as many at once as :data:`READ_BYTES` allow."""
        asked: list[int] = rows.tolist()
        with _LOCK:
            new = [row for row in asked if row not in self._kept]
        size = dict(zip(new, self._table.sizes(new, "octet_length(text)"), strict=True))
        for group in groups([size.get(row, 0) for row in asked], READ_BYTES):
            yield from self.tokens(rows[group])

    def sentences(self, rows: Rows) -> list[FloatArray]:
        """Sentence vectors (s, d) of each document, in the order asked for."""
        stored = self._table.take(rows, ["sentence_vectors"])
        vectors = rows_of(stored["sentence_vectors"], self._dimension)
        return [found.astype(np.float32, copy=False) for found in vectors]

    def _keep(self, read: dict[int, TokenRows]) -> None:
        with _LOCK:
            for row, tokens in read.items():
                if row not in self._kept:
                    self._kept[row] = tokens
                    self._bytes += _bytes(tokens)
            keeping = sorted(_OPEN, key=lambda passages: passages._used, reverse=True)
            total = sum(passages._bytes for passages in keeping)
            while total > KEPT_BYTES:
                if not keeping[-1]._kept:
                    keeping.pop()
                    continue
                total -= keeping[-1]._let_go()

    def _let_go(self) -> int:
        """Forget the document used longest ago; returns its bytes."""
        _, old = self._kept.popitem(last=False)
        freed = _bytes(old)
        self._bytes -= freed
        return freed

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


_OPEN: WeakSet[Passages] = WeakSet()
"""Those of all corpora that are open."""


def _bytes(row: TokenRows) -> int:
    return row.vectors.nbytes + row.starts.nbytes + row.idf.nbytes + row.roles.nbytes
