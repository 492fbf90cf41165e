"""What a language model did to a ranking, what it cost, and what it says about a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.types.documents import Span
from engine.types.evaluations import Interval
from engine.types.jobs import Job
from engine.types.models import Estimate, ModelReport, ModelUsage
from engine.types.searches import WHOLE, Query, SearchResults

DEFAULT_DEPTH = 100


@dataclass(frozen=True, slots=True)
class EndpointInfo:
    """The endpoint that questions would go to. The key is not among these fields.

    Attributes:
        address, model: "" where none is set.
        set_up: an address and a model are set, usable or not.
        tried: it has answered before, and what it can do is known.
        logprobs: it tells probabilities; None while nothing is known. Likewise ``reasons`` (it
            thinks before it answers, which costs) and ``context`` (tokens).
        problem: why it cannot be used; "" when nothing speaks against it.
        how: how to connect one, a line each: hosted, vLLM, Ollama.
    """

    address: str
    model: str
    set_up: bool
    tried: bool = False
    logprobs: bool | None = None
    reasons: bool | None = None
    context: int | None = None
    problem: str = ""
    how: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RerankRequest:
    """What a model is asked to rank.

    Attributes:
        mode, depth: how the first documents of the search are reranked, and how many of them.
            They do not count where the system of the query asks a model by itself.
    """

    query: Query
    mode: str = "pairwise"
    depth: int = DEFAULT_DEPTH


@dataclass(frozen=True, slots=True)
class Move:
    """Where a model put a document.

    Attributes:
        rank, first_rank: now and in the first stage; 1 is best.
        confidence: 0.5 to 1, how surely it is on its side of the cut behind the top 20; None
            where documents were not compared.
        reranked: it was within the depth; the others follow in their order.
    """

    doc_id: str
    rank: int
    first_rank: int
    confidence: float | None = None
    reranked: bool = True

    @property
    def moved(self) -> int:
        """Places gained (positive) or lost."""
        return self.first_rank - self.rank


@dataclass(frozen=True, slots=True)
class Reranking:
    """A page of results in the model's order.

    Attributes:
        results: a document's ``score`` is still the first stage's, and falls no more with rank.
        moves: doc_id -> where it came from, for every document of the ranking.
        partial: more questions were meant to be asked; this is the best order so far.
    """

    results: SearchResults
    moves: Mapping[str, Move]
    report: ModelReport
    partial: bool = False


@dataclass(frozen=True, slots=True)
class RankingProgress:
    """How far a model is with one ranking.

    Attributes:
        order: the best ids so far, the whole ranking; the first stage's at the beginning.
        rounds: done so far; ``done`` of ``total`` questions of the current one are settled.
        report: the figures so far.
        confidence: doc_id -> 0.5 to 1, once it is known; see :class:`Move`.
        scores: doc_id -> score, where they are not the first stage's.
        queries: what a system that asks a model searched for.
    """

    estimate: Estimate
    order: tuple[str, ...]
    report: ModelReport
    rounds: int = 0
    done: int = 0
    total: int = 0
    confidence: Mapping[str, float] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)
    queries: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """How far it is, 0 to 1, by its rounds."""
        current = self.report.rounds
        if not current or not self.estimate.rounds:
            return 0.0
        within = self.done / self.total if self.total else 0.0
        return min(1.0, (current - 1 + within) / max(current, self.estimate.rounds))


RerankJob = Job[RankingProgress, ModelReport]
"""A model's work on one ranking, in a thread of this process."""


@dataclass(frozen=True, slots=True)
class QuotedText:
    """Words that do stand in a document: ``span`` are offsets into its text as stored.

    ``span`` is None for words of the title.
    """

    text: str
    span: Span | None


@dataclass(frozen=True, slots=True)
class GeneratedExplanation:
    """What a model says about the similarity of two documents. Always to be marked as generated.

    Attributes:
        similar: what the model thinks.
        text: its words.
        seed_quotes, document_quotes: its evidence, every quote looked up in the document.
        unfounded: quotes that it claimed and that occur nowhere; they are left out.
        model, endpoint: who said so.
        cached: it had been asked before.
    """

    doc_id: str
    similar: bool
    text: str
    seed_quotes: tuple[QuotedText, ...]
    document_quotes: tuple[QuotedText, ...]
    unfounded: int
    model: str
    endpoint: str
    cached: bool = False


@dataclass(frozen=True, slots=True)
class WordingReading:
    """What a model reads a free wording as. To be shown as the model's.

    Attributes:
        wanted, ruled_out: keys of the lens's aspects, in its order; no key stands in both.
        content: those words of the wording that say what documents should state, "" for none.
        model: which read it.
        words: terms, as :attr:`Query.reading` has them.
    """

    wanted: tuple[str, ...]
    ruled_out: tuple[str, ...]
    content: str = ""
    model: str = ""
    words: tuple[str, ...] = ()

    def terms(self, query: Query) -> tuple[str, ...]:
        """This reading as :attr:`Query.reading` of a query with the wording.

        As with the built-in reading, an aspect that was chosen or sentences that were picked
        decide what is wanted. Empty where nothing is left to name but the wording has content:
        then the built-in reading, which compares it with the seed's sentences, does better.
        """
        wanted: tuple[str, ...] = self.wanted
        if query.focus or query.aspect:
            wanted = (query.aspect.lower(),) if query.aspect and not query.focus else ()
        against = [f"-{key}" for key in self.ruled_out if key not in wanted]
        terms = (*(f"+{key}" for key in wanted), *against, *self.words)
        return terms or (() if self.content and not query.focus else WHOLE)


@dataclass(frozen=True, slots=True)
class WordingReadings:
    """What a model read wordings as.

    Attributes:
        readings: by wording; those without a usable answer lack.
        problem: why some lack, "" where none does.
        usage: what was asked.
    """

    readings: Mapping[str, WordingReading]
    problem: str
    usage: ModelUsage


@dataclass(frozen=True, slots=True)
class GapPoint:
    """Quality at one size of the candidate pool.

    Attributes:
        size: candidates asked for per query.
        documents, documents_infused: what the verifier read per query on the mean: fewer where
            the retrievers bring no more, more with what was put in.
        found: share of the relevant documents that the pool holds, the mean over queries.
        lower: what the verifier makes of the pool: the best possible system does no worse.
        upper: the same with the missing relevant documents put in.
        lower_interval, upper_interval: bootstrap intervals of 95 % over queries.
        gap_lower_interval, gap_upper_interval: the same of the difference to the best retriever,
            query by query.
    """

    size: int
    documents: float
    documents_infused: float
    found: float | None
    lower: float
    upper: float
    lower_interval: Interval = None
    upper_interval: Interval = None
    gap_lower_interval: Interval = None
    gap_upper_interval: Interval = None


@dataclass(frozen=True, slots=True)
class Gap:
    """The retrieval-verification gap of a collection: how much better a verifier knows.

    Attributes:
        measure: what all numbers are; fractions.
        retrievers: system -> its quality without the verifier.
        points: by size, ascending.
        lacking: relevant documents that the corpus does not hold: nobody can put them in.
        retriever_intervals: system -> bootstrap interval of 95 % over queries.
    """

    collection: str
    corpus: str
    queries: int
    verifier: str
    measure: str
    retrievers: Mapping[str, float]
    points: tuple[GapPoint, ...]
    report: ModelReport
    lacking: int = 0
    notes: tuple[str, ...] = ()
    retriever_intervals: Mapping[str, Interval] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """The retriever that does best by itself."""
        return max(self.retrievers, key=lambda name: self.retrievers[name])

    @property
    def best_first(self) -> list[tuple[str, float]]:
        """The retrievers with their quality, the best first."""
        return sorted(self.retrievers.items(), key=lambda item: -item[1])

    @property
    def extent(self) -> tuple[float, float]:
        """The smallest and the largest of the retrievers, the bounds and their intervals."""
        values = [*self.retrievers.values()]
        for point in self.points:
            values += [point.lower, point.upper]
            values += [*(point.lower_interval or ()), *(point.upper_interval or ())]
        return min(values), max(values)

    def gap(self, point: GapPoint) -> tuple[float, float]:
        """Lower and upper bound of the gap: the verifier's less the best retriever's quality."""
        best = self.retrievers[self.best]
        return point.lower - best, point.upper - best


MOST_POOL = 2_000
"""Candidates per query that a pool of the gap may have: a model reads all of them."""


@dataclass(frozen=True, slots=True)
class GapRequest:
    """Which gap to measure.

    Attributes:
        collection: key of a :class:`engine.types.CollectionInfo`.
        systems: the retrievers; their rankings together make up the pools.
    """

    collection: str
    verifier: str = "pairwise"
    systems: tuple[str, ...] = ("bm25", "dense", "aspect")
    sizes: tuple[int, ...] = (20, 50, 100, 200)
    sample: int | None = None


@dataclass(frozen=True, slots=True)
class GapRecord:
    """A gap that was measured before, as a list of them shows it.

    Attributes:
        model: which model verified, and where: ``judge at http://localhost:8000/v1``.
        bounds: lower and upper bound of the gap at the largest pool.
        time: ISO 8601, UTC.
    """

    request: GapRequest
    model: str
    bounds: tuple[float, float]
    time: str
