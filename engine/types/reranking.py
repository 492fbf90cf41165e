"""What a language model did to a ranking, what it cost, and what it says about a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.types.documents import Span
from engine.types.evaluations import Interval
from engine.types.jobs import Job
from engine.types.models import Estimate, ModelReport, ModelUsage, TaskReport
from engine.types.searches import WHOLE, Query, SearchResults

DEFAULT_DEPTH = 100


@dataclass(frozen=True, slots=True)
class EndpointInfo:
    """The endpoint that questions would go to. The key is not among these fields."""

    address: str  # address, model: "" where none is set
    model: str
    set_up: bool  # an address and a model are set, usable or not
    tried: bool = False  # it has answered before, and what it can do is known
    # tells probabilities; None: unknown, likewise `reasons` (thinks first), `context` (tokens)
    logprobs: bool | None = None
    reasons: bool | None = None
    context: int | None = None
    problem: str = ""  # why it cannot be used; "" when nothing speaks against it
    how: tuple[str, ...] = ()  # how to connect one, a line each: hosted, vLLM, Ollama


@dataclass(frozen=True, slots=True)
class RerankRequest:
    """What a model is asked to rank."""

    query: Query
    mode: str = "pairwise"  # mode and depth count where the system does not ask a model itself
    depth: int = DEFAULT_DEPTH


@dataclass(frozen=True, slots=True)
class Move:
    """Where a model put a document."""

    doc_id: str
    rank: int  # rank, first_rank: now and in the first stage; 1 is best
    first_rank: int
    confidence: float | None = None  # 0.5 to 1, of its side of rank 20; None: not compared
    reranked: bool = True  # it was within the depth; the others follow in their order

    @property
    def moved(self) -> int:
        """Places gained (positive) or lost."""
        return self.first_rank - self.rank


@dataclass(frozen=True, slots=True)
class Reranking:
    """A page of results in the model's order."""

    results: SearchResults  # `score` is the first stage's
    moves: Mapping[str, Move]  # doc_id -> where it came from, for every document of the ranking
    report: ModelReport
    partial: bool = False  # more questions were meant to be asked; this is the best order so far


@dataclass(frozen=True, slots=True)
class RankingProgress:
    """How far a model is with one ranking."""

    estimate: Estimate
    order: tuple[str, ...]
    report: ModelReport  # the figures so far
    rounds: int = 0  # done so far; `done` of `total` questions of the current one are settled
    done: int = 0
    total: int = 0
    confidence: Mapping[str, float] = field(default_factory=dict)  # doc_id -> as in `Move`
    scores: Mapping[str, float] = field(default_factory=dict)  # where not the first stage's
    queries: tuple[str, ...] = ()  # what a system that asks a model searched for

    @property
    def usage(self) -> ModelUsage:
        """What the model was asked so far."""
        return self.report

    @property
    def share(self) -> float:
        """How far it is, 0 to 1, by its rounds."""
        current = self.report.rounds
        if not current or not self.estimate.rounds:
            return 0.0
        within = self.done / self.total if self.total else 0.0
        return min(1.0, (current - 1 + within) / max(current, self.estimate.rounds))


RerankJob = Job[RankingProgress, TaskReport[RankingProgress]]
"""A model's work on one ranking, in a thread of this process."""


@dataclass(frozen=True, slots=True)
class QuotedText:
    """Words of a document, at ``span`` of its text; None for those of the title."""

    text: str
    span: Span | None


@dataclass(frozen=True, slots=True)
class GeneratedExplanation:
    """What a model says about the similarity of two documents. Always to be marked as generated."""

    doc_id: str
    similar: bool  # what the model thinks
    text: str  # its words
    seed_quotes: tuple[QuotedText, ...]  # evidence, each found in its document
    document_quotes: tuple[QuotedText, ...]
    unfounded: int  # quotes that it claimed and that occur nowhere; they are left out
    model: str  # model, endpoint: who said so
    endpoint: str
    cached: bool = False  # it had been asked before


@dataclass(frozen=True, slots=True)
class WordingReading:
    """What a model reads a free wording as. To be shown as the model's."""

    wanted: tuple[str, ...]  # keys of aspects, in the order of the lens; none in both
    ruled_out: tuple[str, ...]
    content: str = ""  # words on content; "" for none
    model: str = ""  # which read it
    words: tuple[str, ...] = ()  # terms, as `reading` has them

    def terms(self, query: Query) -> tuple[str, ...]:
        """This reading as :attr:`Query.reading`; a chosen aspect or picked sentences decide what is
        wanted. Empty where only content is left, which the built-in reading compares with
        sentences."""
        wanted: tuple[str, ...] = self.wanted
        if query.focus or query.aspect:
            wanted = (query.aspect.lower(),) if query.aspect and not query.focus else ()
        against = [f"-{key}" for key in self.ruled_out if key not in wanted]
        terms = (*(f"+{key}" for key in wanted), *against, *self.words)
        return terms or (() if self.content and not query.focus else WHOLE)


@dataclass(frozen=True, slots=True)
class WordingReadings:
    """What a model read wordings as."""

    readings: Mapping[str, WordingReading]  # by wording; those without a usable answer lack
    problem: str  # why some lack, "" where none does
    usage: ModelUsage  # what was asked


@dataclass(frozen=True, slots=True)
class GapPoint:
    """Quality at one size of the candidate pool."""

    size: int  # candidates asked for per query
    documents: float  # read by the verifier per query, mean
    documents_infused: float
    found: float | None  # share of the relevant documents in the pool, mean over queries
    lower: float  # what the verifier makes of the pool: the best possible system does no worse
    upper: float  # the same with the missing relevant documents put in
    lower_interval: Interval = None  # bootstrap, 95 %, over queries
    upper_interval: Interval = None
    gap_lower_interval: Interval = None  # of the difference to the best retriever
    gap_upper_interval: Interval = None


@dataclass(frozen=True, slots=True)
class Gap:
    """The retrieval-verification gap of a collection: how much better a verifier knows."""

    collection: str
    corpus: str
    queries: int
    verifier: str
    measure: str  # what all numbers are; fractions
    retrievers: Mapping[str, float]  # system -> its quality without the verifier
    points: tuple[GapPoint, ...]  # by size, ascending
    report: ModelReport
    lacking: int = 0  # relevant documents that the corpus does not hold: nobody can put them in
    notes: tuple[str, ...] = ()
    retriever_intervals: Mapping[str, Interval] = field(default_factory=dict)  # bootstrap

    @property
    def best(self) -> str:
        """The retriever that does best by itself."""
        return max(self.retrievers, key=lambda name: self.retrievers[name])

    @property
    def best_first(self) -> list[tuple[str, float]]:
        """The retrievers with their quality, the best first."""
        return sorted(self.retrievers.items(), key=lambda item: -item[1])

    def gap(self, point: GapPoint) -> tuple[float, float]:
        """Lower and upper bound of the gap: the verifier's less the best retriever's quality."""
        best = self.retrievers[self.best]
        return point.lower - best, point.upper - best


MOST_POOL = 2_000  # Candidates per query that a pool of the gap may have: a model reads all of them


@dataclass(frozen=True, slots=True)
class GapRequest:
    """Which gap to measure."""

    collection: str  # key of a `CollectionInfo`
    verifier: str = "pointwise"
    systems: tuple[str, ...] = ("bm25", "dense", "aspect")  # retrievers whose rankings are pooled
    sizes: tuple[int, ...] = (20, 50, 100, 200)
    sample: int | None = None


@dataclass(frozen=True, slots=True)
class GapRecord:
    """A gap that was measured before, as a list of them shows it."""

    request: GapRequest
    model: str  # which model verified, and where: `judge at http://localhost:8000/v1`
    bounds: tuple[float, float]  # lower and upper bound of the gap at the largest pool
    time: str  # ISO 8601, UTC
    name: str = ""  # name, removed, id: as of an `EvaluationRecord`
    removed: bool = False
    id: str = ""
