"""One version of a corpus, opened to be searched: its documents, scopes, scores and vectors."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from itertools import chain
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.corpora.aspect_space import without_context
from engine.corpora.contracts import (
    DEPTH,
    RankedDocuments,
    Request,
    Rows,
    Scope,
    Seed,
    Surroundings,
    TokenRows,
    TokenSpans,
    VectorPart,
)
from engine.corpora.corpus_words import CorpusWords
from engine.corpora.passage_vectors import TOKEN_COLUMNS, Passages
from engine.corpora.schema import (
    PASSAGE_COLUMNS,
    TEXT_COLUMNS,
    condition,
    field_values,
    matrix,
    to_document,
    to_seeds,
)
from engine.corpora.stored_facts import all_facts, facts_of, facts_to_read
from engine.corpora.surroundings import PassageSample
from engine.errors import UnknownNameError
from engine.facts.fact_index import FactIndex
from engine.numeric import FloatArray, distinct
from engine.types.corpora import FieldValues
from engine.types.documents import Document
from engine.types.encoders import EncoderSpec
from engine.types.facts import Fact
from engine.types.lenses import Lens
from engine.types.searches import Filter
from storage.records import Condition
from storage.vectors import DocumentTable

Value = TypeVar("Value")
MOST_DOCUMENTS, MOST_SEEDS = 256, 64
"""Documents, and documents with their vectors (some 150 kB each), that are kept once read."""
MOST_REMEMBERED_VALUES = 64
"""Seeds and wordings whose scores are kept, to be used when only the steer changes."""
MOST_PRODUCTS = 16
"""Vectors whose cosines and nearest documents are kept: a search asks for the same four times."""
NEAREST_READ = 2 * DEPTH
"""Documents that the vector index is asked for: 20 or 2,000 take the same time, and a search
asks for the nearest ones of a vector with several limits."""
NEAREST = 20
"""Documents whose mean tells which of a seed's sentences are close to all that is close to it."""
EXACT_BELOW = 20_000
"""Scopes up to this many documents are scored exactly even when the corpus is not resident."""


class Recent(Generic[Value]):
    """What was read last, by doc_id. Safe to share between threads.

    Args:
        most: values that are kept; those used longest ago give way.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[str, Value] = OrderedDict()
        self._lock = Lock()

    def get(
        self, doc_ids: Sequence[str], read: Callable[[Sequence[str]], dict[str, Value]]
    ) -> list[Value]:
        """The values of those of ``doc_ids`` that are stored, in their order, each once."""
        wanted = list(dict.fromkeys(doc_ids))
        with self._lock:
            found = {i: self._kept[i] for i in wanted if i in self._kept}
        missing = [i for i in wanted if i not in found]
        found.update(read(missing) if missing else {})
        with self._lock:
            for doc_id in wanted:
                if doc_id in found:
                    self._kept[doc_id] = found[doc_id]
                    self._kept.move_to_end(doc_id)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return [found[i] for i in wanted if i in found]


class OpenCorpus:
    """One version of one corpus. Vectors are read on first use and kept while they fit.

    Implements :class:`engine.corpora.contracts.Corpus`.

    Attributes:
        identity: which documents, vectors and roles exactly, like ``demo.2@3-5f0c2a91be04``:
            the folder, the version and what was drawn when the documents were first written.
            It changes with everything that is written, with a change of the lens (whose
            versions may be numbered alike), and when a corpus takes the name of a deleted one.

        resident_bytes: memory that its document and aspect vectors take, once they are read, and
            what else :meth:`make_room` let in.

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
        table.remember_addresses()
        self.doc_ids = ids
        self.years = years
        self.row_of = {doc_id: row for row, doc_id in enumerate(ids)}
        self._tie_order = (
            np.argsort(np.argsort(np.array(ids, dtype=object))) if ids else np.array([])
        )
        self._documents: Recent[Document] = Recent(MOST_DOCUMENTS)
        self._seeds: Recent[Seed] = Recent(MOST_SEEDS)
        self._fact_index: FactIndex | None = None
        self._fact_lock = Lock()  # its own: the first search by facts may take a while
        self._resident: dict[str, FloatArray] = {}
        self._products: dict[tuple[str, bytes], FloatArray] = {}
        self._memory: dict[str, dict[int, float]] = {}
        self._words = CorpusWords(table, self.row_of, self.titles)
        # Not over a method of ours: a cycle would keep what is cached in memory after closing.
        nearest = partial(_read_nearest, table, self.row_of)
        self._nearest = lru_cache(maxsize=MOST_PRODUCTS)(nearest)
        self._lock = Lock()
        self._passages = Passages(table, spec, len(lens.aspects), self._words.idf)
        needed = len(ids) * spec.dimension * 4 * (1 + len(lens.aspects))
        self.resident = needed <= resident_bytes
        self.resident_bytes = self._own_bytes = needed if self.resident else 0
        self._limit_bytes = resident_bytes

    def make_room(self, more: int) -> bool:
        """Whether vectors of other kinds, ``more`` bytes, fit into memory beside its own; then
        they count instead of those before them."""
        fits = self.resident and self._own_bytes + more <= self._limit_bytes
        self.resident_bytes = self._own_bytes + more * fits
        return fits

    def __len__(self) -> int:
        return len(self.doc_ids)

    @property
    def aspects(self) -> Sequence[str]:
        return [aspect.key for aspect in self.lens.aspects]

    # -- documents -----------------------------------------------------------------

    def rows(self, doc_ids: Sequence[str]) -> Rows:
        """The rows of stored documents, as systems name them."""
        return np.fromiter(map(self.row_of.__getitem__, doc_ids), np.intp, len(doc_ids))

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
        return self._documents.get(doc_ids, self._read_documents)

    def _read_documents(self, doc_ids: Sequence[str]) -> dict[str, Document]:
        rows = self.table.rows(doc_ids, TEXT_COLUMNS).to_pylist()
        return {row["doc_id"]: to_document(row, self.lens) for row in rows}

    def seeds(self, doc_ids: Sequence[str]) -> list[Seed]:
        """Stored documents with their passages' vectors, in the order asked for."""
        return self._seeds.get(doc_ids, self._read_seeds)

    def _read_seeds(self, doc_ids: Sequence[str]) -> dict[str, Seed]:
        # Their tokens were read a moment ago where the documents were ranked by them.
        more = [] if self._passages.has_tokens(doc_ids) else TOKEN_COLUMNS
        rows = self.table.rows(doc_ids, [*TEXT_COLUMNS, *PASSAGE_COLUMNS, *more])
        found = self._passages.tokens(doc_ids, rows if more else None)
        seeds = to_seeds(rows, {row.doc_id: row for row in found}, self.lens, self.spec)
        return {seed.document.doc_id: seed for seed in seeds}

    def find_titles(self, words: str, limit: int) -> list[str]:
        """See :meth:`engine.corpora.corpus_words.CorpusWords.find_titles`."""
        return self._words.find_titles(words, limit)

    def find_texts(self, words: str, limit: int) -> list[str]:
        """Ids of documents with any of ``words`` in title or text, best first by BM25."""
        found, _ = self.table.full_text(words, limit)
        return self._ids(found)

    def idf(self, text: str, spans: TokenSpans) -> FloatArray:
        """See :meth:`engine.corpora.corpus_words.CorpusWords.idf`."""
        return self._words.idf(text, spans)

    @property
    def rarity(self) -> Callable[[str], float]:
        """See :meth:`engine.corpora.corpus_words.CorpusWords.rarity`."""
        return self._words.rarity

    def surroundings(self, seed: Seed) -> Surroundings:
        """What lies around a seed, stored or not, in this corpus."""
        return self._sample.around(seed.vector, self._centroid(seed))

    @cached_property
    def _sample(self) -> PassageSample:
        dimension, aspects = self.spec.dimension, len(self.lens.aspects)
        return PassageSample.read(self.table, self.doc_ids, dimension, aspects)

    def _centroid(self, seed: Seed) -> FloatArray:
        """The mean vector (d,) of the documents nearest to a seed, itself left out."""
        own = seed.document.doc_id
        if self.resident:
            cosine = self._every_cosine(VectorPart("vector", seed.vector, 1.0))
            near = np.argpartition(-cosine, min(NEAREST, len(self) - 1))[: NEAREST + 1]
            near = near[near != self.row_of.get(own, -1)]
            vectors = self._matrix("vector")[near[:NEAREST]]
        else:
            near = self._nearest("vector", seed.vector.tobytes(), NEAREST_READ, ())[: NEAREST + 1]
            near = near[near != self.row_of.get(own, -1)]
            vectors = self.vectors(near[:NEAREST], ["vector"])["vector"]
        empty = np.zeros((1, self.spec.dimension), dtype=np.float32)
        return np.asarray((vectors if len(vectors) else empty).mean(axis=0))

    # -- scope -----------------------------------------------------------------------

    def scope(
        self,
        filters: Sequence[Filter] = (),
        *,
        without: str | None = None,
        pool: Sequence[str] | None = None,
    ) -> Scope:
        """Documents that meet every filter, are in the pool if one is given, and not the seed."""
        conditions = tuple(self._condition(f) for f in filters)
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

    @cached_property
    def fields(self) -> Mapping[str, FieldValues]:
        """What the documents have in each field that filters can name, ``year`` first."""
        facets = chain.from_iterable(
            batch["facets"].to_pylist() for batch in self.table.columns(["facets"])
        )
        return field_values(facets, self.years)

    def _condition(self, filter_: Filter) -> Condition:
        if filter_.field not in self.fields:
            raise UnknownNameError(
                f"There is no field '{filter_.field}' in corpus '{self.name}'.",
                f"Its fields are: {', '.join(self.fields)}.",
            )
        return condition(filter_)

    # -- scoring: see :class:`engine.corpora.contracts.Corpus` -----------------------------

    def ranked(self, rows: Rows, scores: NDArray[np.floating], depth: int) -> RankedDocuments:
        if len(rows) > depth:
            floor = np.partition(scores, len(rows) - depth)[len(rows) - depth]
            best = scores >= floor
            rows, scores = rows[best], scores[best]
        order = np.lexsort((self._tie_order[rows], -scores))[:depth]
        return RankedDocuments(self.doc_ids, rows[order], scores[order])

    def by_vectors(self, parts: Sequence[VectorPart], request: Request) -> RankedDocuments:
        scope = request.scope
        if self.resident:
            every = sum(p.weight * self._every_cosine(p) for p in parts)
            rows = np.flatnonzero(scope.allowed)
            scores = np.asarray(every, dtype=np.float32)[rows]
        else:
            if scope.size <= EXACT_BELOW:
                rows = np.flatnonzero(scope.allowed)
            else:
                rows = self.candidates(parts, request, max(2 * request.depth, 1000))
            cosines = self.cosines(rows, [(p.column, p.vector) for p in parts])
            scores = cosines @ np.array([p.weight for p in parts], dtype=np.float32)
        return self.ranked(rows, scores, request.depth)

    def candidates(self, parts: Sequence[VectorPart], request: Request, each: int) -> Rows:
        scope = request.scope
        nearest = []
        for part in parts:
            if self.resident or scope.size <= EXACT_BELOW:
                nearest.append(self.by_vectors([part], replace(request, depth=each)).rows)
            else:
                most = max(each, NEAREST_READ)
                vector = part.vector.tobytes()
                rows = self._nearest(part.column, vector, most, scope.conditions)[:each]
                nearest.append(rows[scope.allowed[rows]])
        return distinct(nearest)

    def by_words(self, text: str, request: Request) -> RankedDocuments:
        scope = request.scope
        if not text.strip():
            return self.ranked(np.zeros(0, np.intp), np.zeros(0, np.float32), 0)
        # A pool's documents may stand far down the corpus: ask for all, then keep the pool's.
        limit = len(self) if scope.pool is not None else request.depth + 1
        rows, scores = self.table.full_text(text, limit, scope.conditions)
        allowed = scope.allowed[rows]
        return self.ranked(rows[allowed], scores[allowed], request.depth)

    def by_facts(self, asked: Sequence[Fact], request: Request) -> RankedDocuments:
        with self._fact_lock:
            if self._fact_index is None:
                self._fact_index = FactIndex(facts for _, facts in all_facts(self.table))
        scores = self._fact_index.scores(asked, request.scope.allowed).astype(np.float32)
        rows = np.flatnonzero(scores > 0)
        return self.ranked(rows, scores[rows], request.depth)

    def word_scores(self, text: str, rows: Rows, request: Request) -> FloatArray:
        return self._words.scores(text, rows, request.scope)

    def vectors(self, rows: Rows, columns: Sequence[str]) -> dict[str, FloatArray]:
        if self.resident:
            return {column: self._matrix(column)[rows] for column in columns}
        return self._vectors_of(self._ids(rows), columns)

    def cosines(self, rows: Rows, parts: Sequence[tuple[str, FloatArray]]) -> FloatArray:
        known = [self._every_cosine(VectorPart(*part, 1.0)) for part in parts]
        new = rows[np.isnan([cosines[rows] for cosines in known]).any(axis=0)]
        if len(new):
            vectors = self._vectors_of(self._ids(new), [column for column, _ in parts])
            for cosines, (column, vector) in zip(known, parts, strict=True):
                cosines[new] = vectors[column] @ vector
        return np.stack([cosines[rows] for cosines in known], axis=1)

    def tokens(self, rows: Rows) -> list[TokenRows]:
        return self._passages.tokens(self._ids(rows))

    def sentences(self, rows: Rows) -> list[FloatArray]:
        return self._passages.sentences(self._ids(rows))

    def remembered(self, key: str) -> dict[int, float]:
        with self._lock:
            found = self._memory.pop(key, {})
            self._memory[key] = found  # the latest used goes last
            while len(self._memory) > MOST_REMEMBERED_VALUES:
                self._memory.pop(next(iter(self._memory)))
        return found

    def facts(self, doc_ids: Sequence[str]) -> dict[str, tuple[Fact, ...]]:
        """The facts of stored documents, by id."""
        rows = self.table.rows(doc_ids, facts_to_read(self.table)).to_pylist()
        return {row["doc_id"]: facts_of(row) for row in rows}

    def _ids(self, rows: Rows) -> list[str]:
        return [self.doc_ids[row] for row in rows.tolist()]

    def _every_cosine(self, part: VectorPart) -> FloatArray:
        """Cosines (n,) of all documents, those of the latest searches are kept; where vectors
        are not resident, NaN for a document whose vector was not read for it yet."""
        key = (part.column, part.vector.tobytes())
        with self._lock:
            known = self._products.pop(key, None)
        if known is None:
            known = np.full(len(self), np.nan, dtype=np.float32)
            if self.resident:
                known = self._matrix(part.column) @ part.vector
        with self._lock:
            self._products[key] = known  # the latest used goes last
            while len(self._products) > MOST_PRODUCTS:
                self._products.pop(next(iter(self._products)))
        return known

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


def _read_nearest(
    table: DocumentTable,
    row_of: Mapping[str, int],
    column: str,
    vector: bytes,
    limit: int,
    conditions: tuple[Condition, ...],
) -> Rows:
    """The rows nearest to a float32 vector through the vector index, best first."""
    doc_ids = table.nearest(column, np.frombuffer(vector, np.float32), limit, conditions)
    return np.array([row_of[doc_id] for doc_id in doc_ids if doc_id in row_of], dtype=np.intp)
