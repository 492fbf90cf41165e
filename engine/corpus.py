"""An opened corpus: its documents, and the three ways to score them."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.columns import facet
from engine.encode.protocols import EncoderSpec
from engine.errors import BadInputError, UnknownNameError
from engine.numeric import FloatArray
from engine.retrieve.base import (
    Request,
    Scope,
    ScoredDocument,
    Seed,
    VectorPart,
    ordered,
)
from engine.types import Document, Filter, Lens, Sentence
from storage.records import Condition
from storage.vectors import DocumentTable

TEXT_COLUMNS = [
    *("doc_id", "title", "text", "year", "authors", "url", "metadata"),
    *("sentence_starts", "sentence_ends", "roles"),
]
PASSAGE_COLUMNS = ["sentence_vectors", "token_vectors", "token_starts", "token_ends"]
RARITY_SAMPLE = 1000
"""Documents in which words are counted, to tell telling words from common ones."""
_WORD = re.compile(r"\w+")
EXACT_BELOW = 20_000
"""Scopes up to this many documents are scored exactly even when the corpus is not resident."""


class OpenCorpus:
    """One version of one corpus. Vectors are read on first use and kept while they fit.

    Implements :class:`engine.retrieve.base.Corpus`.

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
        self._folded: list[str] | None = None
        self._word_counts: Counter[str] | None = None
        self._resident: dict[str, FloatArray] = {}
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
            _document(row, self.lens) for row in self.table.rows(doc_ids, TEXT_COLUMNS).to_pylist()
        ]

    def seeds(self, doc_ids: Sequence[str]) -> list[Seed]:
        """Stored documents with their passages' vectors, in the order asked for."""
        rows = self.table.rows(doc_ids, [*TEXT_COLUMNS, "vector", *PASSAGE_COLUMNS])
        return [_seed(rows, i, self.lens, self.spec) for i in range(rows.num_rows)]

    def find_titles(self, words: str, limit: int) -> list[str]:
        """Ids of documents whose title has all ``words`` (any case), shortest titles first.

        A full doc_id finds its document too.
        """
        if self._folded is None:
            self._folded = [title.casefold() for title in self.titles]
        parts = words.casefold().split()
        rows = [i for i, title in enumerate(self._folded) if all(p in title for p in parts)]
        rows.sort(key=lambda i: (len(self.titles[i]), self.doc_ids[i]))
        exact = [self.row_of[words.strip()]] if words.strip() in self.row_of else []
        return [self.doc_ids[i] for i in dict.fromkeys([*exact, *rows])][:limit]

    def rarity(self, word: str) -> float:
        """How rare a word is: 0 when every document has it, 1 when (almost) none has.

        The inverse document frequency over the first :data:`RARITY_SAMPLE` documents,
        divided by its maximum.
        """
        if self._word_counts is None:
            self._word_counts = self._count_words()
        counted = max(2, min(len(self), RARITY_SAMPLE))
        return 1.0 - math.log1p(self._word_counts[word.casefold()]) / math.log1p(counted)

    def _count_words(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for row in self.table.rows(self.doc_ids[:RARITY_SAMPLE], ["text"])["text"].to_pylist():
            counts.update(set(_WORD.findall(row.casefold())))
        return counts

    # -- scope -----------------------------------------------------------------------

    def scope(
        self,
        filters: Sequence[Filter] = (),
        *,
        without: str | None = None,
        pool: Sequence[str] | None = None,
    ) -> Scope:
        """Documents that meet every filter, are in the pool if one is given, and not the seed."""
        conditions = tuple(_condition(f) for f in filters)
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

    def by_words(self, text: str, request: Request) -> list[ScoredDocument]:
        """See :class:`engine.retrieve.base.Corpus`."""
        scope = request.scope
        # A pool's documents may stand far down the corpus: ask for all, then keep the pool's.
        limit = len(self) if scope.pool is not None else request.depth + 1
        found = self.table.full_text(text, max(limit, 1), scope.conditions) if text.strip() else []
        scored = [ScoredDocument(i, s) for i, s in found if self._in_scope(i, scope)]
        return ordered(scored)[: request.depth]

    def tokens(self, doc_ids: Sequence[str]) -> list[tuple[str, FloatArray]]:
        """See :class:`engine.retrieve.base.Corpus`."""
        rows = self.table.rows(doc_ids, ["token_vectors"])
        vectors = rows["token_vectors"].combine_chunks()
        return [
            (doc_id, _rows_of(vectors, i, self.spec.token_dimension))
            for i, doc_id in enumerate(rows["doc_id"].to_pylist())
        ]

    def _in_scope(self, doc_id: str, scope: Scope) -> bool:
        row = self.row_of.get(doc_id)
        return row is not None and bool(scope.allowed[row])

    def _matrix(self, column: str) -> FloatArray:
        if column not in self._resident:
            parts = [
                _flat(batch[column], self.spec.dimension) for batch in self.table.columns([column])
            ]
            empty = np.zeros((0, self.spec.dimension), dtype=np.float32)
            self._resident[column] = np.concatenate([empty, *parts])
        return self._resident[column]

    def _top(
        self, scores: FloatArray, allowed: NDArray[np.bool_], depth: int
    ) -> list[ScoredDocument]:
        rows = np.flatnonzero(allowed)
        if len(rows) > depth:
            floor = np.partition(scores[rows], len(rows) - depth)[len(rows) - depth]
            rows = rows[scores[rows] >= floor]
        order = np.lexsort((self._tie_order[rows], -scores[rows]))[:depth]
        return [ScoredDocument(self.doc_ids[i], float(scores[i])) for i in rows[order]]

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
        columns = list(dict.fromkeys(p.column for p in parts))
        rows = self.table.rows(doc_ids, columns)
        if not rows.num_rows:
            return []
        scores = np.zeros(rows.num_rows, dtype=np.float32)
        for part in parts:
            matrix = _flat(rows[part.column].combine_chunks(), self.spec.dimension)
            scores += part.weight * (matrix @ part.vector)
        return [
            ScoredDocument(i, float(s))
            for i, s in zip(rows["doc_id"].to_pylist(), scores, strict=True)
        ]


def _condition(filter_: Filter) -> Condition:
    if filter_.field == "year":
        if not re.fullmatch(r"\d{1,4}", filter_.value):
            raise BadInputError(
                f"'{filter_.value}' is not a year.", "Write a filter like year>=2010."
            )
        return Condition("year", filter_.op, int(filter_.value))
    if filter_.op != "=":
        raise BadInputError(
            f"The filter '{filter_}' cannot be used: only year takes >= and <=.",
            "Write field=value.",
        )
    return Condition("facets", "contains", facet(filter_.field, filter_.value))


def _flat(column: Any, width: int) -> FloatArray:
    """A fixed-size-list column as a float32 matrix."""
    values = column.flatten().to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float32).reshape(-1, width)


def _rows_of(column: pa.ListArray, row: int, width: int) -> FloatArray:
    """The vectors of one row of a list-of-vectors column, without copying the others."""
    start, end = column.offsets[row].as_py(), column.offsets[row + 1].as_py()
    return _flat(column.values.slice(start, end - start), width)


def _document(row: dict[str, Any], lens: Lens) -> Document:
    count = len(lens.aspects)
    roles = row["roles"] or []
    text = row["text"]
    sentences = tuple(
        Sentence((a, b), text[a:b], tuple(roles[i * count : (i + 1) * count]))
        for i, (a, b) in enumerate(zip(row["sentence_starts"], row["sentence_ends"], strict=True))
    )
    return Document(
        doc_id=row["doc_id"],
        title=row["title"],
        text=text,
        sentences=sentences,
        year=row["year"],
        authors=tuple(row["authors"] or ()),
        url=row["url"],
        metadata=json.loads(row["metadata"]),
    )


def _seed(rows: pa.Table, i: int, lens: Lens, spec: EncoderSpec) -> Seed:
    def vectors(name: str, width: int) -> FloatArray:
        return _rows_of(rows[name].combine_chunks(), i, width)

    def offsets(name: str) -> NDArray[np.int32]:
        return np.asarray(rows[name][i].values.to_numpy(zero_copy_only=False), dtype=np.int32)

    document = _document(rows.select(TEXT_COLUMNS).slice(i, 1).to_pylist()[0], lens)
    return Seed(
        document=document,
        vector=_flat(rows["vector"].combine_chunks().slice(i, 1), spec.dimension)[0],
        sentences=vectors("sentence_vectors", spec.dimension),
        tokens=vectors("token_vectors", spec.token_dimension),
        token_spans=np.stack([offsets("token_starts"), offsets("token_ends")], axis=1),
    )
