"""Token and sentence vectors of documents, read once and kept while they are in use."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np
import pyarrow as pa

from engine.aspect_space import token_roles
from engine.numeric import FloatArray
from engine.retrieve.base import TokenRows
from engine.stored_rows import rows_of
from storage.vectors import DocumentTable

KEPT_BYTES = 256_000_000
"""Memory for token vectors of documents read before; some 5,000 abstracts."""


class Passages:
    """The passages of one version of a corpus. Safe to share between threads.

    Args:
        dimension, token_dimension: widths of sentence and token vectors.
        aspects: how many aspects the lens has.
    """

    def __init__(
        self, table: DocumentTable, dimension: int, token_dimension: int, aspects: int
    ) -> None:
        self._table = table
        self._dimension, self._token_dimension = dimension, token_dimension
        self._aspects = aspects
        self._kept: OrderedDict[str, TokenRows] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def tokens(self, doc_ids: Sequence[str]) -> list[TokenRows]:
        """Token vectors of each document that is stored, in the order asked for."""
        with self._lock:
            found = {i: self._kept[i] for i in doc_ids if i in self._kept}
            for doc_id in found:  # the ones in use are let go last
                self._kept.move_to_end(doc_id)
        missing = [i for i in doc_ids if i not in found]
        if missing:
            read = self._read(missing)
            found.update({row.doc_id: row for row in read})
            self._keep(read)
        return [found[i] for i in doc_ids if i in found]

    def sentences(self, doc_ids: Sequence[str]) -> list[tuple[str, FloatArray]]:
        """Sentence vectors (s, d) of each document that is stored, in the order asked for."""
        rows = self._table.rows(doc_ids, ["sentence_vectors"])
        vectors = rows["sentence_vectors"].combine_chunks()
        ids = rows["doc_id"].to_pylist()
        return [(i, rows_of(vectors, at, self._dimension)) for at, i in enumerate(ids)]

    def _keep(self, rows: Sequence[TokenRows]) -> None:
        with self._lock:
            for row in rows:
                if row.doc_id not in self._kept:
                    self._kept[row.doc_id] = row
                    self._bytes += row.vectors.nbytes + row.roles.nbytes
            while self._bytes > KEPT_BYTES:
                _, old = self._kept.popitem(last=False)
                self._bytes -= old.vectors.nbytes + old.roles.nbytes

    def _read(self, doc_ids: Sequence[str]) -> list[TokenRows]:
        columns = ["token_vectors", "token_starts", "sentence_starts", "roles"]
        rows = self._table.rows(doc_ids, columns)
        vectors = rows["token_vectors"].combine_chunks()
        starts, sentences, roles = (
            [np.asarray(row.values) for row in rows[name]] for name in columns[1:]
        )
        return [
            TokenRows(
                doc_id,
                _half(vectors, at, self._token_dimension),
                token_roles(starts[at], sentences[at], roles[at].reshape(-1, self._aspects)),
            )
            for at, doc_id in enumerate(rows["doc_id"].to_pylist())
        ]


def _half(column: pa.ListArray, row: int, width: int) -> np.ndarray:
    """The vectors of one row as stored (float16), copied, so that the others can go."""
    start, end = column.offsets[row].as_py(), column.offsets[row + 1].as_py()
    values = column.values.slice(start, end - start).flatten().to_numpy(zero_copy_only=False)
    return np.array(values, dtype=np.float16).reshape(-1, width)
