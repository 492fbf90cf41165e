"""An opened corpus: its documents, and the ways to score them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from engine.aspect_space import without_context
from engine.conditions import condition
from engine.corpus_words import CorpusWords
from engine.encode.protocols import EncoderSpec
from engine.errors import UnknownNameError
from engine.fact_index import FactIndex
from engine.numeric import FloatArray
from engine.passages import Passages
from engine.retrieve.base import (
    Request,
    Scope,
    ScoredDocument,
    Seed,
    TokenRows,
    VectorPart,
    ordered,
    scored_documents,
)
from engine.stored_facts import all_facts, facts_of, facts_to_read
from engine.stored_rows import PASSAGE_COLUMNS, TEXT_COLUMNS, matrix, to_document, to_seed
from engine.types import Document, Fact, Filter, Lens
from storage.vectors import DocumentTable

MOST_REMEMBERED = 64
"""Seeds and wordings whose scores are kept, to be used when only the steer changes."""
EXACT_BELOW = 20_000
"""Scopes up to this many documents are scored exactly even when the corpus is not resident."""


class OpenCorpus:
    """One version of one corpus. Vectors are read on first use and kept while they fit.

    Implements :class:`engine.retrieve.base.Corpus`.

    Attributes:
        identity: which documents, vectors and roles exactly, like ``demo.2@3-5f0c2a91be04``:
            the folder, the version and what was drawn when the documents were first written.
            It changes with everything that is written, with a change of the lens (whose
            versions may be numbered alike), and when a corpus takes the name of a deleted one.

    Args:
        resident_bytes: how much memory document and aspect vectors may take; a corpus
            that needs more is searched through its vector index, then scored exactly.
    """

    def __init__(
        self,
        name: str,
        table: DocumentTable,
        lens: Lens,
        spec: EncoderSpec,
        resident_bytes: int,
    ) -> None:
        self.name, self.table, self.lens, self.spec = name, table, lens, spec
        self.version = table.version
        self.identity = f"{table.path.name}@{table.version}" + (f"-{table.made}" * bool(table.made))
        ids: list[str] = []
        self.titles: list[str] = []
        years: list[int | None] = []
        for batch in table.columns(["doc_id", "title", "year"]):
            ids += batch["doc_id"].to_pylist()
            self.titles += batch["title"].to_pylist()
            years += batch["year"].to_pylist()
        self.doc_ids = ids
        self.years = years
        self.row_of = {doc_id: row for row, doc_id in enumerate(ids)}
        self._tie_order = (
            np.argsort(np.argsort(np.array(ids, dtype=object))) if ids else np.array([])
        )
        self._fact_index: FactIndex | None = None
        self._fact_lock = Lock()  # its own: the first search by facts may take a while
        self._resident: dict[str, FloatArray] = {}
        self._memory: dict[str, dict[str, float]] = {}
        self._words = CorpusWords(table, ids, self.titles)
        self._lock = Lock()
        self._passages = Passages(table, spec.dimension, spec.token_dimension, len(lens.aspects))
        self.resident = len(ids) * spec.dimension * 4 * (1 + len(lens.aspects)) <= resident_bytes

    def __len__(self) -> int:
        return len(self.doc_ids)

    @property
    def aspects(self) -> Sequence[str]:
        return [aspect.key for aspect in self.lens.aspects]

    # -- documents -----------------------------------------------------------------

    def document(self, doc_id: str) -> Document:
        """One stored document, or UnknownNameError."""
        return self.documents([self._known(doc_id)])[0]

    def seed(self, doc_id: str) -> Seed:
        """One stored document with its passages' vectors, or UnknownNameError."""
        return self.seeds([self._known(doc_id)])[0]

    def _known(self, doc_id: str) -> str:
        if doc_id not in self.row_of:
            raise UnknownNameError(
                f"There is no document '{doc_id}' in corpus '{self.name}'.",
                "Check the id: it is the doc_id that the import read.",
            )
        return doc_id

    def documents(self, doc_ids: Sequence[str]) -> list[Document]:
        """Stored documents in the order asked for."""
        return [
            to_document(row, self.lens)
            for row in self.table.rows(doc_ids, TEXT_COLUMNS).to_pylist()
        ]

    def seeds(self, doc_ids: Sequence[str]) -> list[Seed]:
        """Stored documents with their passages' vectors, in the order asked for."""
        rows = self.table.rows(doc_ids, [*TEXT_COLUMNS, *PASSAGE_COLUMNS])
        return [to_seed(rows, i, self.lens, self.spec) for i in range(rows.num_rows)]

    def find_titles(self, words: str, limit: int) -> list[str]:
        """See :meth:`engine.corpus_words.CorpusWords.find_titles`."""
        return self._words.find_titles(words, limit)

    def rarity(self, word: str) -> float:
        """See :meth:`engine.corpus_words.CorpusWords.rarity`."""
        return self._words.rarity(word)

    # -- scope -----------------------------------------------------------------------

    def scope(
        self,
        filters: Sequence[Filter] = (),
        *,
        without: str | None = None,
        pool: Sequence[str] | None = None,
    ) -> Scope:
        """Documents that meet every filter, are in the pool if one is given, and not the seed."""
        conditions = tuple(condition(f) for f in filters)
        allowed = np.ones(len(self), dtype=np.bool_)
        if conditions:
            allowed[:] = False
            rows = [self.row_of[i] for i in self.table.matching(conditions) if i in self.row_of]
            allowed[rows] = True
        if pool is not None:
            members = np.zeros(len(self), dtype=np.bool_)
            members[[self.row_of[i] for i in pool if i in self.row_of]] = True
            allowed &= members
        if without is not None and without in self.row_of:
            allowed[self.row_of[without]] = False
        return Scope(allowed, conditions, None if pool is None else frozenset(pool))

    # -- scoring -----------------------------------------------------------------------

    def by_vectors(self, parts: Sequence[VectorPart], request: Request) -> list[ScoredDocument]:
        """See :class:`engine.retrieve.base.Corpus`."""
        scope = request.scope
        if self.resident:
            scores = sum(p.weight * (self._matrix(p.column) @ p.vector) for p in parts)
            return self._top(np.asarray(scores, dtype=np.float32), scope.allowed, request.depth)
        if scope.size <= EXACT_BELOW:
            rows = [self.doc_ids[i] for i in np.flatnonzero(scope.allowed)]
        else:
            rows = self._nearest(parts, request)
        scored = self._score_rows(rows, parts)
        return ordered(scored)[: request.depth]

    def brought_up(self, parts: Sequence[VectorPart], request: Request, each: int) -> list[str]:
        """See :class:`engine.retrieve.base.Corpus`."""
        scope = request.scope
        found: dict[str, None] = {}
        for part in parts:
            if self.resident or scope.size <= EXACT_BELOW:
                nearest = [s.doc_id for s in self.by_vectors([part], replace(request, depth=each))]
            else:
                nearest = self.table.nearest(part.column, part.vector, each, scope.conditions)
            found.update((i, None) for i in nearest if self._in_scope(i, scope))
        return list(found)

    def by_words(self, text: str, request: Request) -> list[ScoredDocument]:
        """See :class:`engine.retrieve.base.Corpus`."""
        scope = request.scope
        # A pool's documents may stand far down the corpus: ask for all, then keep the pool's.
        limit = len(self) if scope.pool is not None else request.depth + 1
        found = self.table.full_text(text, max(limit, 1), scope.conditions) if text.strip() else []
        scored = [ScoredDocument(i, s) for i, s in found if self._in_scope(i, scope)]
        return ordered(scored)[: request.depth]

    def tokens(self, doc_ids: Sequence[str]) -> list[TokenRows]:
        """See :class:`engine.retrieve.base.Corpus`."""
        return self._passages.tokens(doc_ids)

    def sentences(self, doc_ids: Sequence[str]) -> list[tuple[str, FloatArray]]:
        """See :class:`engine.retrieve.base.Corpus`."""
        return self._passages.sentences(doc_ids)

    def cosines(
        self, doc_ids: Sequence[str], parts: Sequence[tuple[str, FloatArray]]
    ) -> FloatArray:
        """See :class:`engine.retrieve.base.Corpus`."""
        out = np.zeros((len(doc_ids), len(parts)), dtype=np.float32)
        if self.resident:
            at = [self.row_of[i] for i in doc_ids]
            vectors = {column: self._matrix(column)[at] for column, _ in parts}
        else:
            vectors = self._vectors_of(doc_ids, [column for column, _ in parts])
        for i, (column, vector) in enumerate(parts):
            out[:, i] = vectors[column] @ vector
        return out

    def all_cosines(self, column: str, vector: FloatArray) -> FloatArray | None:
        """See :class:`engine.retrieve.base.Corpus`."""
        return np.asarray(self._matrix(column) @ vector) if self.resident else None

    def by_scores(self, scores: FloatArray, request: Request) -> list[ScoredDocument]:
        """See :class:`engine.retrieve.base.Corpus`."""
        return self._top(scores, request.scope.allowed, request.depth)

    def by_facts(self, asked: Sequence[Fact], request: Request) -> list[ScoredDocument]:
        """See :class:`engine.retrieve.base.Corpus`."""
        with self._fact_lock:
            if self._fact_index is None:
                self._fact_index = FactIndex(facts for _, facts in all_facts(self.table))
        scores = self._fact_index.scores(asked, request.scope.allowed).astype(np.float32)
        return self._top(scores, scores > 0, request.depth)

    def facts(self, doc_ids: Sequence[str]) -> dict[str, tuple[Fact, ...]]:
        """The facts of stored documents, by id."""
        rows = self.table.rows(doc_ids, facts_to_read(self.table)).to_pylist()
        return {row["doc_id"]: facts_of(row) for row in rows}

    def word_scores(self, text: str, doc_ids: Sequence[str], request: Request) -> FloatArray:
        """See :class:`engine.retrieve.base.Corpus`."""
        return self._words.scores(text, doc_ids, request.scope)

    def remembered(self, key: str) -> dict[str, float]:
        """See :class:`engine.retrieve.base.Corpus`."""
        with self._lock:
            found = self._memory.pop(key, {})
            self._memory[key] = found  # the latest used goes last
            while len(self._memory) > MOST_REMEMBERED:
                self._memory.pop(next(iter(self._memory)))
        return found

    def _in_scope(self, doc_id: str, scope: Scope) -> bool:
        row = self.row_of.get(doc_id)
        return row is not None and bool(scope.allowed[row])

    def _matrix(self, column: str) -> FloatArray:
        """A column as unit rows; of an aspect, what it says beside the document as a whole."""
        if column not in self._resident:
            parts = [
                matrix(batch[column], self.spec.dimension) for batch in self.table.columns([column])
            ]
            empty = np.zeros((0, self.spec.dimension), dtype=np.float32)
            read = np.concatenate([empty, *parts])
            if column != "vector":
                read = without_context(read, self._matrix("vector"))
            self._resident[column] = read
        return self._resident[column]

    def _vectors_of(self, doc_ids: Sequence[str], columns: Sequence[str]) -> dict[str, FloatArray]:
        """Like :meth:`_matrix` for stored documents only, read now."""
        rows = self.table.rows(doc_ids, list(dict.fromkeys(["vector", *columns])))
        read = {c: matrix(rows[c].combine_chunks(), self.spec.dimension) for c in columns}
        whole = matrix(rows["vector"].combine_chunks(), self.spec.dimension)
        return {c: v if c == "vector" else without_context(v, whole) for c, v in read.items()}

    def _top(
        self, scores: FloatArray, allowed: NDArray[np.bool_], depth: int
    ) -> list[ScoredDocument]:
        rows = np.flatnonzero(allowed)
        if len(rows) > depth:
            floor = np.partition(scores[rows], len(rows) - depth)[len(rows) - depth]
            rows = rows[scores[rows] >= floor]
        order = np.lexsort((self._tie_order[rows], -scores[rows]))[:depth]
        best = rows[order].tolist()
        return scored_documents([self.doc_ids[i] for i in best], scores[best].tolist())

    def _nearest(self, parts: Sequence[VectorPart], request: Request) -> list[str]:
        """Candidates from the vector indexes: the union over all parts of the score."""
        limit = max(2 * request.depth, 1000)
        found: dict[str, None] = {}
        for part in parts:
            for doc_id in self.table.nearest(
                part.column, part.vector, limit, request.scope.conditions
            ):
                if self._in_scope(doc_id, request.scope):
                    found[doc_id] = None
        return list(found)

    def _score_rows(
        self, doc_ids: Sequence[str], parts: Sequence[VectorPart]
    ) -> list[ScoredDocument]:
        if not doc_ids:
            return []
        cosines = self.cosines(doc_ids, [(p.column, p.vector) for p in parts])
        scores = cosines @ np.array([p.weight for p in parts], dtype=np.float32)
        return scored_documents(doc_ids, scores.tolist())
