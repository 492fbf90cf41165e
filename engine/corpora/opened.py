"""One version of a corpus, opened to be searched: its documents, scopes, scores and vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.corpora.contracts import (
    DEPTH,
    LARGE,
    RankedDocuments,
    Request,
    Rows,
    Scope,
    Seed,
    Surroundings,
    TokenRows,
    VectorPart,
    without_context,
)
from engine.corpora.facets import FacetIndex
from engine.corpora.passage_vectors import TOKEN_COLUMNS, CorpusWords, Passages, PassageSample
from engine.corpora.recent import Recent
from engine.corpora.schema import (
    PASSAGE_COLUMNS,
    TEXT_COLUMNS,
    RowOf,
    StoredTexts,
    column_of,
    matrix,
    to_document,
    to_seeds,
)
from engine.corpora.stored_facts import FACT_SOURCES, all_facts, facts_of
from engine.errors import UnknownNameError
from engine.facts.fact_index import FactIndex
from engine.numeric import FloatArray, distinct, groups
from engine.types.corpora import FieldValues
from engine.types.documents import Document, Fact
from engine.types.encoders import EncoderSpec
from engine.types.lenses import Lens
from engine.types.searches import Filter
from storage.vectors import DocumentTable

# Kept once read: documents, and documents with their vectors (some 150 kB each); characters of
# these together (a book's million takes 5 MB, 150 MB with its vectors)
MOST_DOCUMENTS, MOST_SEEDS = 256, 64
DOCUMENT_CHARS, SEED_CHARS = 32_000_000, 1_000_000
SEED_BYTES = 500_000  # Text of documents whose vectors (150 MB) are read at once
MOST_REMEMBERED_VALUES = 64  # Seeds and wordings whose scores are kept for other aspect weights
MOST_TERMS = 256  # Terms whose documents are kept
MOST_PRODUCTS = 16  # Vectors and words whose scores are kept: a search needs the same four times
HELD_BYTES = 256_000_000
"""Disk of a version of a corpus up to which documents and vectors are read into memory, if there is
room: some 7,000 abstracts in a second."""
READS_BEFORE = 6  # Reads of seeds, two a search, before that: it costs what ten searches save
NEAREST_READ = DEPTH
"""Documents of the vector index, at least, that are scored exactly. It has the exact first 60 among
them, and 95 % of the first 500; of those of an aspect 99.9 %."""
NEAREST = 20  # Documents around a seed whose mean is its centroid
EXACT_BELOW = 2_000
"""Scopes up to this many documents are scored exactly, which is as fast as the index. BM25 of so
many is read for them alone: of a hundred among a million in a third of the time."""
OUTSIDE, WIDER = 1.3, 8
"""Of a larger scope an index gives as many more as lie outside, times the first; where too few of
these are in scope, times the second, again and again."""
AMONG_BELOW, MORE = 20_000, 3
"""Up to this many documents are named to the index where that is faster: each takes three times as
long as one that is found."""


class OpenCorpus:
    """One version of one corpus. Vectors are read on first use and kept while they fit.

    `identity` names its documents, vectors and roles, like `demo.2@3-5f0c2a91be04`: folder,
    version, the table's random id, and a digest where other homes write to it (`shared`). The place
    of a document in `doc_ids` is its row. A corpus that needs more than `resident_bytes` for
    document and aspect vectors is searched through its vector index, then scored exactly.
    """

    def __init__(
        self,
        name: str,
        table: DocumentTable,
        lens: Lens,
        spec: EncoderSpec,
        resident_bytes: int,
        selected: Callable[[str], list[str] | None] = lambda _: None,
        shared: bool = False,
    ) -> None:
        self.name, self.table, self.lens, self.spec = name, table, lens, spec
        self.version, self.shared = table.version, shared
        drawn = (table.made, table.digest[:12] * shared)
        self.identity = "-".join([f"{table.path.name}@{table.version}", *filter(None, drawn)])
        self.doc_ids = StoredTexts.read(table, "doc_id")
        self.row_of = RowOf(self.doc_ids)
        years = column_of(table, "year").fill_null(-1).to_numpy()
        self.years = years.astype(np.int32)  # (n,) -1 for none
        table.stay()
        self._documents: Recent[str, Document] = Recent(
            MOST_DOCUMENTS, lambda document: len(document.text), DOCUMENT_CHARS
        )
        self._seeds: Recent[str, Seed] = Recent(
            MOST_SEEDS, lambda seed: len(seed.document.text), SEED_CHARS
        )
        self.term_scores: Recent[str, Any] = Recent(MOST_TERMS)  # TermScores of engine.search
        self._resident: dict[str, FloatArray] = {}
        self._products: Recent[tuple[str, bytes], FloatArray] = Recent(MOST_PRODUCTS)
        self._memory: Recent[str, dict[int, float]] = Recent(MOST_REMEMBERED_VALUES)
        self.words = CorpusWords(table, self.row_of, self.doc_ids)
        # Not over a method of ours: a cycle would keep what is cached in memory after closing.
        self._nearest = lru_cache(maxsize=MOST_PRODUCTS)(partial(_read_nearest, table))
        self.facet_index = FacetIndex(name, table, lens, self.years, selected)
        self._passages = Passages(table, spec, len(lens.aspects), self.words.idf)
        needed = len(self) * spec.dimension * 4 * (1 + len(lens.aspects))
        self.resident = needed <= resident_bytes
        self.resident_bytes = self._own_bytes = needed if self.resident else 0
        self._limit_bytes = resident_bytes
        self._reads = 0

    def make_room(self, more: int) -> bool:
        """Whether ``more`` bytes fit into memory beside its own vectors; then they count."""
        fits = self.resident and self._own_bytes + more <= self._limit_bytes
        self.resident_bytes = self._own_bytes + more * fits
        return fits

    def __len__(self) -> int:
        return len(self.doc_ids)

    @property
    def titles(self) -> StoredTexts:
        """Of all documents, in stored order; read on first use."""
        return self.words.titles

    @property
    def aspects(self) -> Sequence[str]:
        return [aspect.key for aspect in self.lens.aspects]

    # -- documents -----------------------------------------------------------------

    def rows(self, doc_ids: Sequence[str]) -> Rows:
        """The rows of stored documents, as systems name them."""
        return np.fromiter((self.row_of[doc_id] for doc_id in doc_ids), np.intp, len(doc_ids))

    def document(self, doc_id: str) -> Document:
        """One stored document, or UnknownNameError."""
        return self.documents([self.known(doc_id)])[0]

    def seed(self, doc_id: str) -> Seed:
        """One stored document with its passages' vectors, or UnknownNameError."""
        return next(self.seeds([self.known(doc_id)]))

    def known(self, doc_id: str) -> str:
        """The id of a stored document, or UnknownNameError."""
        if doc_id not in self.row_of:
            raise UnknownNameError(
                f"There is no document '{doc_id}' in corpus '{self.name}'.",
                "Check the id: it is the doc_id that the import read.",
            )
        return doc_id

    def documents(self, doc_ids: Sequence[str]) -> list[Document]:
        """Stored documents in the order asked for."""
        return self._documents.get(doc_ids, self._read_documents)

    def _stored(self, doc_ids: Sequence[str]) -> Rows:
        """The rows of those of ``doc_ids`` that are stored, in their order, each once."""
        known = (self.row_of.get(doc_id, -1) for doc_id in dict.fromkeys(doc_ids))
        return np.array([row for row in known if row >= 0], dtype=np.intp)

    def _read_documents(self, doc_ids: Sequence[str]) -> dict[str, Document]:
        rows = self.table.take(self._stored(doc_ids), TEXT_COLUMNS).to_pylist()
        return {row["doc_id"]: to_document(row, self.lens) for row in rows}

    def seeds(self, doc_ids: Sequence[str]) -> Iterator[Seed]:
        """Stored documents with vectors, in order, each once; read by :data:`SEED_BYTES`."""
        rows = self._stored(doc_ids).tolist()
        known = self.doc_ids.at(rows)
        sizes = self.table.sizes(rows, "octet_length(text)") if len(rows) > 1 else [0] * len(rows)
        for group in groups(sizes, SEED_BYTES):
            yield from self._seeds.get([known[at] for at in group], self._read_seeds)

    def _hold_rows(self) -> None:
        """Read documents and vectors into memory, once they are used often and there is room."""
        self._reads += 1
        if self._reads != READS_BEFORE or not self.resident or self.table.remote is not None:
            return
        size = self.table.own_bytes()
        if size <= HELD_BYTES and self.resident_bytes + size <= self._limit_bytes:
            columns = dict.fromkeys([*TEXT_COLUMNS, *PASSAGE_COLUMNS, *TOKEN_COLUMNS])
            held = self.table.hold([*columns])
            self._own_bytes += held
            self.resident_bytes += held

    def _read_seeds(self, doc_ids: Sequence[str]) -> dict[str, Seed]:
        self._hold_rows()
        # Their tokens were read a moment ago where the documents were ranked by them.
        rows = self._stored(doc_ids)
        more = [] if self._passages.has_tokens(rows) else TOKEN_COLUMNS
        stored = self.table.take(rows, [*TEXT_COLUMNS, *PASSAGE_COLUMNS, *more])
        tokens = self._passages.tokens(rows, stored if more else None)
        seeds = to_seeds(stored, tokens, self.lens, self.spec)
        return {seed.document.doc_id: seed for seed in seeds}

    def with_words(self, text: str, limit: int, *, every: bool = True) -> Rows:
        """Documents with every word of a text, or with any, best first by BM25."""
        return self.table.full_text(text, limit, every=every)[0]

    def near_meaning(self, vector: FloatArray, limit: int) -> Rows:
        """The documents nearest to a vector (d,)."""
        if not self.resident:
            return self._nearest("vector", vector.tobytes(), limit, None)
        most = min(limit, len(self))
        return np.argpartition(-(self._matrix("vector") @ vector), most - 1)[:most]

    @property
    def sentence_sample(self) -> FloatArray:
        """Sentence vectors (s, d) of documents from all over the corpus."""
        return self._sample.sentences

    def surroundings(self, seed: Seed) -> Surroundings:
        """The standard by which a seed's evidence is measured."""
        return self._sample.around(seed.vector, self._centroid(seed))

    @cached_property
    def _sample(self) -> PassageSample:
        dimension, aspects = self.spec.dimension, len(self.lens.aspects)
        return PassageSample.read(self.table, len(self), dimension, aspects)

    def _centroid(self, seed: Seed) -> FloatArray:
        """The mean vector (d,) of the documents nearest to a seed, itself left out."""
        own = seed.document.doc_id
        whole = VectorPart("vector", seed.vector, 1.0)
        if self.resident:
            cosine = self._every_cosine(whole)
            near = np.argpartition(-cosine, min(NEAREST, len(self) - 1))[: NEAREST + 1]
        else:
            near = self._nearest("vector", seed.vector.tobytes(), NEAREST_READ, None)
            near = self._best(near, whole, NEAREST + 1)
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
        allowed = self.facet_index.mask(filters)
        if pool is not None:
            members = np.zeros(len(self), dtype=np.bool_)
            members[[self.row_of[i] for i in pool if i in self.row_of]] = True
            allowed &= members
        if without is not None and without in self.row_of:
            allowed[self.row_of[without]] = False
        return Scope(allowed, None if pool is None else frozenset(pool))

    @property
    def fields(self) -> Mapping[str, FieldValues]:
        """Values of each stored field that filters can name, ``year`` first."""
        return self.facet_index.fields

    # -- scoring -----------------------------------------------------------------------

    def ranked(self, rows: Rows, scores: NDArray[np.floating], depth: int) -> RankedDocuments:
        """These documents by their scores (n,), ties by doc_id; at most ``depth``."""
        if len(rows) > depth:
            floor = np.partition(scores, len(rows) - depth)[len(rows) - depth]
            best = scores >= floor
            rows, scores = rows[best], scores[best]
        order = np.lexsort((self.row_of.rank[rows], -scores))[:depth]
        return RankedDocuments(self.doc_ids, rows[order], scores[order])

    def by_vectors(self, parts: Sequence[VectorPart], request: Request) -> RankedDocuments:
        """Documents by the weighted sum of cosines, at most ``request.most``."""
        scope = request.scope
        if self.resident:
            every = sum(p.weight * self._every_cosine(p) for p in parts)
            rows = np.flatnonzero(scope.allowed)
            scores = np.asarray(every, dtype=np.float32)[rows]
        else:
            preferred = np.zeros(0, np.intp) if request.preferred is None else request.preferred
            near = [self._near(part, request) for part in parts]
            rows = distinct([*near, preferred[scope.allowed[preferred]]])
            cosines = self.cosines(rows, [(p.column, p.vector) for p in parts])
            scores = cosines @ np.array([p.weight for p in parts], dtype=np.float32)
        return self.ranked(rows, scores, request.most)

    def candidates(self, parts: Sequence[VectorPart], request: Request, each: int) -> Rows:
        """The ``each`` nearest documents by every part alone, each document once."""
        if self.resident:
            alone = [self.by_vectors([part], replace(request, depth=each)).rows for part in parts]
        else:
            alone = [self._best(self._near(part, request), part, each) for part in parts]
        return distinct(alone)

    def _best(self, rows: Rows, part: VectorPart, most: int) -> Rows:
        """Those of ``rows`` that a part scores highest, exactly."""
        scores = self.cosines(rows, [(part.column, part.vector)])[:, 0]
        return self.ranked(rows, scores, most).rows

    def _near(self, part: VectorPart, request: Request) -> Rows:
        """Rows in scope that a part may score highest: all where they are few, else the nearest to
        its vector, through the index."""
        scope, size = request.scope, request.scope.size
        if not size or size <= EXACT_BELOW:
            return np.flatnonzero(scope.allowed)
        vector, wanted = part.vector.tobytes(), max(request.depth, NEAREST_READ)
        asked = self._asked(wanted, scope)
        # More of the nearest than by chance may lie outside.
        while size > AMONG_BELOW or asked <= MORE * size:
            rows = self._nearest(part.column, vector, min(asked, len(self)), None)
            inside = rows[scope.allowed[rows]][:wanted]
            if size + 1 >= len(self) or len(inside) == min(wanted, size) or asked >= len(self):
                return inside
            asked *= WIDER
        among = np.flatnonzero(scope.allowed).tobytes()
        return self._nearest(part.column, vector, wanted, among)

    def by_words(self, text: str, request: Request) -> RankedDocuments:
        """Documents by BM25; documents without a word of ``text`` are absent."""
        scope = request.scope
        if not text.strip() or not scope.size:
            return self.ranked(np.zeros(0, np.intp), np.zeros(0, np.float32), 0)
        few = len(self) > LARGE and scope.size <= EXACT_BELOW
        among = np.flatnonzero(scope.allowed) if few else None
        words, wanted = self._rarest(text), request.depth + 1
        asked = wanted if few else self._asked(wanted, scope)
        rows, scores = self.table.full_text(words, asked, among)
        needed = min(wanted, scope.size)
        while len(rows) == asked < len(self) and scope.allowed[rows].sum() < needed:
            asked = min(WIDER * asked, len(self))
            rows, scores = self.table.full_text(words, asked, among)
        known = self._kept(("words", text.encode()))
        known[rows] = scores
        if len(rows) < asked:  # no other document in scope has a word of it
            known[scope.allowed & np.isnan(known)] = 0.0
        allowed = scope.allowed[rows]
        return self.ranked(rows[allowed], scores[allowed], request.depth)

    def _asked(self, wanted: int, scope: Scope) -> int:
        """How many of the best documents to ask an index for, so that so many are in scope."""
        if scope.size + 1 >= len(self):  # all but the seed
            return wanted
        return min(int(OUTSIDE * wanted * len(self) / max(scope.size, 1)), len(self))

    @cached_property
    def _fact_index(self) -> FactIndex:
        return FactIndex(facts for _, facts in all_facts(self.table))

    def by_facts(self, asked: Sequence[Fact], request: Request) -> RankedDocuments:
        """Documents by how well their facts answer those requested, above 0 to 1."""
        scores = self._fact_index.scores(asked, request.scope.allowed).astype(np.float32)
        rows = np.flatnonzero(scores > 0)
        return self.ranked(rows, scores[rows], request.depth)

    def word_scores(self, text: str, rows: Rows) -> FloatArray:
        """BM25 (n,) of these documents; 0 for one without a word of ``text``."""
        known, text = self._kept(("words", text.encode())), self._rarest(text)
        new = rows[np.isnan(known[rows])]
        if len(new):
            read = np.zeros(len(self), dtype=np.float32)
            if text.strip():
                among = new if len(new) <= EXACT_BELOW else None
                limit = len(self) if among is None else len(new)
                found, scores = self.table.full_text(text, limit, among=among)
                read[found] = scores
            known[new] = read[new]
        return known[rows]

    def _rarest(self, text: str) -> str:
        """The words that the full text is searched for: in a large corpus, the rarest."""
        return text if len(self) <= LARGE else self.words.rarest(text)

    def vectors(self, rows: Rows, columns: Sequence[str]) -> dict[str, FloatArray]:
        """The documents' vectors (n, d) in each of these columns."""
        if self.resident:
            return {column: self._matrix(column)[rows] for column in columns}
        return self._vectors_of(rows, columns)

    def cosines(self, rows: Rows, parts: Sequence[tuple[str, FloatArray]]) -> FloatArray:
        """Cosines (n, len(parts)) of the documents' columns with vectors."""
        known = [self._every_cosine(VectorPart(*part, 1.0)) for part in parts]
        new = rows[np.isnan([cosines[rows] for cosines in known]).any(axis=0)]
        if len(new):
            vectors = self._vectors_of(new, [column for column, _ in parts])
            for cosines, (column, vector) in zip(known, parts, strict=True):
                cosines[new] = vectors[column] @ vector
        return np.stack([cosines[rows] for cosines in known], axis=1)

    def tokens(self, rows: Rows) -> Iterator[TokenRows]:
        """The documents' token vectors, one after another; fewer are read at once of long ones."""
        return self._passages.each(rows)

    def sentences(self, rows: Rows) -> list[FloatArray]:
        """The documents' sentence vectors (s, d)."""
        return self._passages.sentences(rows)

    def remembered(self, key: str) -> dict[int, float]:
        """Values by row that were computed under ``key`` before, to be added to."""
        return self._memory.one(key, dict)

    def facts(self, doc_ids: Sequence[str]) -> dict[str, tuple[Fact, ...]]:
        """The facts of stored documents, by id."""
        columns = ["doc_id", *FACT_SOURCES]
        rows = self.table.take(self._stored(doc_ids), columns).to_pylist()
        return {row["doc_id"]: facts_of(row) for row in rows}

    def _every_cosine(self, part: VectorPart) -> FloatArray:
        """Cosines (n,) of all documents; see :meth:`_kept`."""
        make = (lambda: self._matrix(part.column) @ part.vector) if self.resident else None
        return self._kept((part.column, part.vector.tobytes()), make)

    def _kept(
        self, key: tuple[str, bytes], make: Callable[[], FloatArray] | None = None
    ) -> FloatArray:
        """Scores (n,) of all documents, kept; without ``make`` NaN for those not scored yet."""
        unknown = partial(np.full, len(self), np.nan, dtype=np.float32)
        return self._products.one(key, make or unknown)

    def _matrix(self, column: str) -> FloatArray:
        """A column as unit rows; of an aspect, what it says beside the document as a whole."""
        if column not in self._resident:
            whole = None if column == "vector" else self._matrix("vector")
            read = np.empty((len(self), self.spec.dimension), dtype=np.float32)
            at = 0
            for batch in self.table.columns([column]):  # beside them there is room for little else
                here = slice(at, at := at + batch.num_rows)
                own = matrix(batch[column], self.spec.dimension)
                read[here] = own if whole is None else without_context(own, whole[here])
            self._resident[column] = read
        return self._resident[column]

    def _vectors_of(self, rows: Rows, columns: Sequence[str]) -> dict[str, FloatArray]:
        """Like :meth:`_matrix` for these documents only, read now."""
        stored = self.table.take(rows, list(dict.fromkeys(["vector", *columns])))
        read = {c: matrix(stored[c].combine_chunks(), self.spec.dimension) for c in columns}
        whole = matrix(stored["vector"].combine_chunks(), self.spec.dimension)
        return {c: v if c == "vector" else without_context(v, whole) for c, v in read.items()}


def _read_nearest(
    table: DocumentTable, column: str, vector: bytes, limit: int, among: bytes | None
) -> Rows:
    """The rows nearest to a float32 vector through the vector index, best first."""
    within = None if among is None else np.frombuffer(among, np.intp)
    return table.nearest_rows(column, np.frombuffer(vector, np.float32), limit, within)
