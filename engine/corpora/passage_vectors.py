"""Vectors of documents' tokens and sentences: read when they are needed, the latest kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np
import pyarrow as pa

from engine.corpora.aspect_space import token_roles
from engine.corpora.contracts import TokenRows
from engine.corpora.schema import rows_of
from engine.numeric import FloatArray
from storage.vectors import DocumentTable

TOKEN_COLUMNS = ["token_vectors", "token_starts", "sentence_starts", "roles"]
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

    def has_tokens(self, doc_ids: Sequence[str]) -> bool:
        """Whether :meth:`tokens` of these documents has nothing to read."""
        with self._lock:
            return all(doc_id in self._kept for doc_id in doc_ids)

    def tokens(self, doc_ids: Sequence[str], rows: pa.Table | None = None) -> list[TokenRows]:
        """Token vectors of each document that is stored, in the order asked for.

        Args:
            rows: of these documents, with :data:`TOKEN_COLUMNS`; None to read what is missing.
        """
        with self._lock:
            found = {i: self._kept[i] for i in doc_ids if i in self._kept}
            for doc_id in found:  # the ones in use are let go last
                self._kept.move_to_end(doc_id)
        missing = [i for i in doc_ids if i not in found]
        if missing:
            rows = self._table.rows(missing, TOKEN_COLUMNS) if rows is None else rows
            read = self._read(rows)
            found.update({row.doc_id: row for row in read})
            self._keep(read)
        return [found[i] for i in doc_ids if i in found]

    def sentences(self, doc_ids: Sequence[str]) -> list[FloatArray]:
        """Sentence vectors (s, d) of each document that is stored, in the order asked for."""
        rows = self._table.rows(doc_ids, ["sentence_vectors"])
        vectors = rows_of(rows["sentence_vectors"], self._dimension)
        return [found.astype(np.float32, copy=False) for found in vectors]

    def _keep(self, rows: Sequence[TokenRows]) -> None:
        with self._lock:
            for row in rows:
                if row.doc_id not in self._kept:
                    self._kept[row.doc_id] = row
                    self._bytes += row.vectors.nbytes + row.roles.nbytes
            while self._bytes > KEPT_BYTES:
                _, old = self._kept.popitem(last=False)
                self._bytes -= old.vectors.nbytes + old.roles.nbytes

    def _read(self, rows: pa.Table) -> list[TokenRows]:
        vectors = rows_of(rows["token_vectors"], self._token_dimension)
        starts, sentences, roles = (rows_of(rows[name]) for name in TOKEN_COLUMNS[1:])
        return [
            TokenRows(
                doc_id,
                vectors[at].astype(np.float16),  # copied, so that the others can go
                token_roles(starts[at], sentences[at], roles[at].reshape(-1, self._aspects)),
            )
            for at, doc_id in enumerate(rows["doc_id"].to_pylist())
        ]
