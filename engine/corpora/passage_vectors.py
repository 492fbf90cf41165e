"""Vectors of documents' tokens and sentences: read when they are needed, the latest kept."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Lock
from weakref import WeakSet

import numpy as np
import pyarrow as pa

from engine.corpora.aspect_space import token_roles
from engine.corpora.contracts import TokenRows, TokenSpans
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
        row_of: the row of each document that is stored.
    """

    def __init__(
        self,
        table: DocumentTable,
        spec: EncoderSpec,
        aspects: int,
        idf: Callable[[str, TokenSpans], FloatArray],
        row_of: Mapping[str, int],
    ) -> None:
        self._table, self._row_of = table, row_of
        self._dimension, self._token_dimension = spec.dimension, spec.token_dimension
        self._aspects, self._idf = aspects, idf
        self._kept: OrderedDict[str, TokenRows] = OrderedDict()
        self._bytes = 0
        self._used = 0
        with _LOCK:
            _OPEN.add(self)

    def has_tokens(self, doc_ids: Sequence[str]) -> bool:
        """Whether :meth:`tokens` of these documents has nothing to read."""
        with _LOCK:
            return all(doc_id in self._kept for doc_id in doc_ids)

    def tokens(self, doc_ids: Sequence[str], rows: pa.Table | None = None) -> list[TokenRows]:
        """Token vectors of each document that is stored, in the order asked for.

        Args:
            rows: of these documents, with :data:`TOKEN_COLUMNS`; None to read what is missing.
        """
        with _LOCK:
            self._used = next(_USE)
            found = {i: self._kept[i] for i in doc_ids if i in self._kept}
            for doc_id in found:  # the ones in use are let go last
                self._kept.move_to_end(doc_id)
        missing = [i for i in doc_ids if i not in found]
        if missing:
            rows = self._stored(missing, TOKEN_COLUMNS) if rows is None else rows
            read = self._read(rows)
            found.update({row.doc_id: row for row in read})
            self._keep(read)
        return [found[i] for i in doc_ids if i in found]

    def each(self, doc_ids: Sequence[str]) -> Iterator[TokenRows]:
        """:meth:`tokens`, one after another: read as many at once as :data:`READ_BYTES` allow."""
        with _LOCK:
            new = [i for i in doc_ids if i not in self._kept and i in self._row_of]
        read = self._table.sizes([self._row_of[i] for i in new], "octet_length(text)")
        size = dict(zip(new, read, strict=True))
        for group in groups([size.get(i, 0) for i in doc_ids], READ_BYTES):
            yield from self.tokens([doc_ids[at] for at in group])

    def sentences(self, doc_ids: Sequence[str]) -> list[FloatArray]:
        """Sentence vectors (s, d) of each document that is stored, in the order asked for."""
        rows = self._stored(doc_ids, ["sentence_vectors"])
        vectors = rows_of(rows["sentence_vectors"], self._dimension)
        return [found.astype(np.float32, copy=False) for found in vectors]

    def _stored(self, doc_ids: Sequence[str], columns: Sequence[str]) -> pa.Table:
        rows = [self._row_of[doc_id] for doc_id in doc_ids if doc_id in self._row_of]
        return self._table.take(rows, ["doc_id", *columns])

    def _keep(self, rows: Sequence[TokenRows]) -> None:
        with _LOCK:
            for row in rows:
                if row.doc_id not in self._kept:
                    self._kept[row.doc_id] = row
                    self._bytes += _bytes(row)
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
                doc_id,
                vectors[at].copy(),  # copied, so that the others can go
                starts[at].astype(np.int32),
                self._idf(text, np.stack([starts[at], ends[at]], axis=1)),
                token_roles(starts[at], sentences[at], roles[at].reshape(-1, self._aspects)),
            )
            for at, (doc_id, text) in enumerate(
                zip(rows["doc_id"].to_pylist(), rows["text"].to_pylist(), strict=True)
            )
        ]


_OPEN: WeakSet[Passages] = WeakSet()
"""Those of all corpora that are open."""


def _bytes(row: TokenRows) -> int:
    return row.vectors.nbytes + row.starts.nbytes + row.idf.nbytes + row.roles.nbytes
