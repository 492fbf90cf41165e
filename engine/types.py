"""The words of SeedLens as frozen records. Nothing here imports more than the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Span = tuple[int, int]
"""Character offsets ``[start, end)`` into a document's text as stored."""

PAGE_SIZE = 20


@dataclass(frozen=True, slots=True)
class Aspect:
    """A named facet of a lens.

    Attributes:
        key: what people type (``method``); lower case, no spaces.
        letter: the mark that goes with the colour (``M``).
        definition: one sentence that says which sentences serve this aspect.
        instruction: the built-in wording that asks for documents alike in it.
    """

    key: str
    name: str
    letter: str
    definition: str
    instruction: str


@dataclass(frozen=True, slots=True)
class Lens:
    """A set of aspects for one kind of corpus."""

    key: str
    name: str
    aspects: tuple[Aspect, ...]

    def index(self, key: str) -> int:
        """Position of the aspect ``key``; ValueError when the lens has no such aspect."""
        return [aspect.key for aspect in self.aspects].index(key)


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """One document as a reader yields it, before indexing.

    Attributes:
        where: file and row it came from, for error messages.
        sentences: given sentence splits, or None: then the text is split.
        roles: one aspect key (or None: no role in the lens) per given sentence, or None.
        metadata: further fields; scalars only, JSON-serialisable.
    """

    doc_id: str
    title: str
    text: str
    where: str
    sentences: tuple[Span, ...] | None = None
    roles: tuple[str | None, ...] | None = None
    year: int | None = None
    authors: tuple[str, ...] = ()
    url: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a document: its span, words, and role probabilities over the lens."""

    span: Span
    text: str
    roles: tuple[float, ...]

    @property
    def role(self) -> int | None:
        """Index of the likeliest aspect, None when no aspect has any probability."""
        if not self.roles or max(self.roles) <= 0.0:
            return None
        return max(range(len(self.roles)), key=self.roles.__getitem__)


@dataclass(frozen=True, slots=True)
class Document:
    """A document as stored."""

    doc_id: str
    title: str
    text: str
    sentences: tuple[Sentence, ...]
    year: int | None = None
    authors: tuple[str, ...] = ()
    url: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on a field: ``year >= 2010``, ``venue = ACL``.

    For ``=`` on a field other than ``year`` the value is compared as text.
    """

    field: str
    op: Literal["=", ">=", "<="]
    value: str

    def __str__(self) -> str:
        return f"{self.field}{self.op}{self.value}"


@dataclass(frozen=True, slots=True)
class Query:
    """One search: a seed (``seed`` or ``text``, exactly one), an aspect, and how to rank.

    Attributes:
        focus: indices of single seed sentences to ask for "more like exactly this";
            when given they take the place of the aspect's sentences.
        steer: 0 (whole document) to 1 (aspect only).
        symmetric: late interaction scores both directions.
    """

    corpus: str
    seed: str | None = None
    text: str | None = None
    aspect: str | None = None
    instruction: str | None = None
    focus: tuple[int, ...] = ()
    system: str = "aspect"
    steer: float = 0.7
    k: int = PAGE_SIZE
    offset: int = 0
    symmetric: bool = False
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """A pair of passages that explains a rank.

    Attributes:
        score: cosine similarity of the two passages in context, -1 to 1.
        seed_marks, doc_marks: spans of the words that carried the match (token alignment).
        role: index of the aspect that the document's passage serves, or None.
    """

    seed_span: Span
    doc_span: Span
    seed_text: str
    doc_text: str
    score: float
    seed_marks: tuple[Span, ...] = ()
    doc_marks: tuple[Span, ...] = ()
    seed_role: int | None = None
    role: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """One document of a ranking, with its evidence.

    Attributes:
        rank: 1 is best.
        rank_change: places gained (positive) or lost against the same search without
            an aspect; None when it was not within the depth of that search.
    """

    rank: int
    document: Document
    score: float
    rank_change: int | None
    evidence: tuple[Evidence, ...]
    explanation: str | None = None

    @property
    def doc_id(self) -> str:
        return self.document.doc_id


@dataclass(frozen=True, slots=True)
class SearchResults:
    """A page of a ranking, and what it lacks.

    Attributes:
        total: documents that the ranking holds (within its depth).
        truncated: True when more documents exist than the ranking holds.
        obedience: share of the top 20 that differs from the same search without an
            aspect, 0 to 1; None when the search has no aspect.
        weights: how the aspect was read, one weight per seed sentence.
        notes: plain sentences about anything a reader should know of this ranking.
    """

    query: Query
    seed: Document
    results: tuple[Result, ...]
    total: int
    corpus_size: int
    truncated: bool
    seconds: float
    obedience: float | None
    weights: tuple[float, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ordered documents of one query on one system, without evidence (for runs)."""

    query_id: str
    doc_ids: tuple[str, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class CorpusInfo:
    """A corpus as ``seedlens corpora`` and the Library page list it."""

    name: str
    documents: int
    expected: int
    state: str
    systems: tuple[str, ...]
    lens: Lens
    encoder: str
    bytes: int
    source: str
    source_format: str
    updated_at: str


Phase = Literal["checking", "indexing", "finishing", "done"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long job is: ``done`` of ``total`` documents in ``phase`` after ``seconds``."""

    phase: Phase
    done: int
    total: int
    seconds: float
    rate: float = 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds to go, None while there is no rate yet."""
        return (self.total - self.done) / self.rate if self.rate > 0 else None


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did. ``warnings`` are plain sentences; ``cancelled`` means: resume later."""

    corpus: str
    read: int
    added: int
    updated: int
    unchanged: int
    documents: int
    seconds: float
    warnings: tuple[str, ...] = ()
    cancelled: bool = False


JobState = Literal["running", "done", "cancelled", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Job:
    """An import that runs, or ran, in a process of its own.

    Attributes:
        state: ``interrupted`` means that its process is gone without having finished.
        report: what it did, when it is done or was cancelled.
        error, remedy: why it failed or was interrupted, and what to do.
        started_at, updated_at: ISO 8601, UTC; of the last (re)start and the last sign of life.
        pid, pid_started: its process; 0 and None until that has come up.
        stopping: somebody asked it to stop; it ends after the batch at hand.
    """

    id: str
    corpus: str
    path: str
    source_format: str
    mapping: Mapping[str, str]
    encoder: str | None
    lens: Lens
    state: JobState
    progress: Progress
    started_at: str
    updated_at: str
    report: ImportReport | None = None
    error: str = ""
    remedy: str = ""
    pid: int = 0
    pid_started: str | None = None
    stopping: bool = False


@dataclass(frozen=True, slots=True)
class CorpusContents:
    """What is in a corpus, at a glance.

    Attributes:
        titles: of its first documents.
        years: first and last year, None when no document has one.
        undated: documents without a year.
        shares: (aspect, share of the sentences that serve it, 0 to 1), in the lens's order;
            what is missing to 1 serves none.
        sampled: how many documents, spread over the corpus, the shares were counted in.
    """

    titles: tuple[str, ...]
    years: tuple[int, int] | None
    undated: int
    shares: tuple[tuple[Aspect, float], ...]
    sampled: int


@dataclass(frozen=True, slots=True)
class Preview:
    """The first rows of a source as they are, and how its fields would be read."""

    source_format: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    mapping: Mapping[str, str]
    documents: tuple[SourceDocument, ...]
    problems: tuple[str, ...] = ()


Mapped = Mapping[str, str]
"""Document field -> column of the source: ``{"doc_id": "PMID", "text": "Abstract"}``."""
