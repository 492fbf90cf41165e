"""Test collections, and how systems did on them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from engine.types.jobs import Job
from engine.types.models import ModelReport, TaskProgress, TaskReport
from engine.types.searches import Query, Ranking

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Topic:
    """One query of a collection: a stored seed or a text, maybe an aspect, maybe a judged pool."""

    query_id: str
    seed: str | None = None
    text: str | None = None
    aspect: str | None = None
    pool: tuple[str, ...] | None = None
    answer: str | None = None  # reference answer
    instruction: str | None = None  # what is asked for in words of its own; None for the aspect's

    def query(self, corpus: str) -> Query:
        """What it asks of a corpus."""
        return Query(corpus, self.seed, self.text, self.aspect, self.instruction)


RELEVANT = 1  # The lowest grade that counts as relevant, unless a collection has another


@dataclass(frozen=True)
class Collection:
    """Topics and their judgments."""

    name: str
    topics: tuple[Topic, ...]
    qrels: Qrels
    documents: Path | None  # where its own documents can be imported from, or None
    source_format: str  # how to import them
    complete: bool = False  # what is not listed in `qrels` was judged 0, not left unjudged
    relevant_from: int = RELEVANT  # lowest grade that AP, RR and recall count as relevant
    annotators: Mapping[str, Qrels] = field(default_factory=dict)  # before adjudication
    warnings: tuple[str, ...] = ()  # plain sentences about what is odd in its files

    @cached_property
    def digest(self) -> str:
        """Identifies its queries and judgments."""
        asked = []
        for topic in self.topics:
            fields = asdict(topic)
            del fields["answer"]  # nothing is ranked by it
            if not topic.instruction:
                del fields["instruction"]
            asked.append(fields)
        what: list[Any] = [asked, self.qrels, self.annotators, self.complete]
        if self.relevant_from != RELEVANT:
            what.append(self.relevant_from)
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


MOST_GRADE = 3  # Grades of CSFCube and of SeedLens go from 0 to this
Grades = Mapping[str, int]  # doc_id -> relevance of one query
Qrels = Mapping[str, Grades]  # query_id -> grades


NDCG = "nDCG@20"  # As the field has it: the gain at rank r is divided by `log2(r + 1)`
CSFCUBE_NDCG = "nDCG@20 (CSFCube)"
"""As CSFCube's script has it: by ``log2(max(r, 2))``, so that ranks 1 and 2 count alike."""
Measures = Mapping[str, float | None]
"""Measure -> mean over queries, a fraction; None where undefined."""
Interval = tuple[float, float] | None
"""Bounds of a 95 % confidence interval; None with fewer than two queries."""
SystemKind = Literal["system", "human", "run"]


@dataclass(frozen=True, slots=True)
class SystemScores:
    """How one system did."""

    metrics: Measures  # None: undefined (p-MRR without two aspects)
    by_aspect: Mapping[str, Measures]  # the same for the queries of each aspect
    per_query: tuple[Mapping[str, Any], ...]  # `query_id`, `aspect`, measures
    seconds: float  # of all rankings, without evidence; 0 for given ones
    confidence: Mapping[str, Interval] = field(default_factory=dict)  # of means, over queries
    # main measures only
    confidence_by_aspect: Mapping[str, Mapping[str, Interval]] = field(default_factory=dict)
    annotators: Mapping[str, Measures] = field(default_factory=dict)  # of the human row
    kind: SystemKind = "system"  # one of ours, people, or an uploaded run
    llm: ModelReport | None = None  # None: no model took part


@dataclass(frozen=True, slots=True)
class Judged:
    """What an evaluation rests on."""

    queries: int  # those with at least one grade
    grades: int  # (query, document) pairs with a grade
    relevant: int  # pairs with a grade of at least `relevant_from`
    complete: bool  # what has no grade was judged 0, not left unjudged
    missing_documents: int  # judged, but not in the corpus; never found
    relevant_from: int = RELEVANT


@dataclass(frozen=True, slots=True)
class Sample:
    """Not all seeds were asked for: ``seeds`` of ``of``, the same ones every time."""

    seeds: int
    of: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Systems on one collection, and the rankings that the numbers come from."""

    collection: str
    corpus: str
    queries: int  # how many were asked
    systems: Mapping[str, SystemScores]
    rankings: Mapping[str, tuple[Ranking, ...]]  # by run or annotator; empty when read back
    unjudged_in_top_k: Mapping[str, float]  # share of the top 20 without a grade, 0 to 1
    missing_documents: int  # see `Judged`
    significance: tuple[Mapping[str, Any], ...]  # see `significance`
    judged: Judged
    sample: Sample | None = None
    notes: tuple[str, ...] = ()  # plain sentences about anything a reader should know

    def to_frame(self, *, per_query: bool = False) -> pd.DataFrame:
        """The measures by system (the index), or by system and query with its ``aspect``."""
        import pandas as pd

        if not per_query:
            metrics = {name: scores.metrics for name, scores in self.systems.items()}
            return pd.DataFrame.from_dict(metrics, orient="index", dtype=float).rename_axis(
                "system"
            )
        rows = [
            {"system": name, **row}
            for name, scores in self.systems.items()
            for row in scores.per_query
        ]
        return pd.DataFrame(rows).set_index(["system", "query_id"])

    @property
    def model_reports(self) -> dict[str, ModelReport]:
        """system -> what a language model was asked for it, of those that one took part in."""
        return {name: s.llm for name, s in self.systems.items() if s.llm is not None}


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A test collection that this home knows."""

    # in links: corpus, `<corpus>:<project>`, `qrels-<number>`, or `<corpus>@<path>` of files
    key: str
    name: str
    corpus: str
    source: str  # where its topics and judgments are read from
    source_format: str
    queries: int = 0
    seeds: int = 0
    aspects: tuple[str, ...] = ()
    judgments: int = 0  # pairs with a grade; see also `complete` in `Judged`
    complete: bool = False
    pooled: bool = False  # every query ranks its own judged candidates, not the corpus
    annotators: tuple[str, ...] = ()  # who graded by themselves, before adjudication
    uploaded: bool = False  # the judgments came in through the browser
    synthetic: bool = False  # the documents are invented
    problem: str = ""  # why it cannot be read; empty when it can
    warnings: tuple[str, ...] = ()  # plain sentences about what is odd in it


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """What to evaluate."""

    collection: str  # key of a `CollectionInfo`
    systems: tuple[str, ...]  # ours and those that ask a model, beside all uploaded runs
    steer: float = 0.5  # 0 to 1, for systems that take it
    sample: int | None = None  # how many seeds to ask for; None for all
    human: bool = False  # also the annotators themselves
    rerank: str = ""  # mode by which a model reranks each system, as `<system>+<mode>`; "" for none
    depth: int = 100  # documents of every ranking that are reranked
    model: str = ""  # `judge at http://localhost:8000/v1`; "" for none
    runs: tuple[str, ...] = ()  # uploaded runs: only judged queries that all of these rank


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What an evaluation came to."""

    evaluation: Evaluation | None  # partial where it ended early; None without any measure
    known: tuple[str, ...] = ()  # runs that had been made before and were not made again


EvaluationJob = Job[TaskProgress, TaskReport[Evaluated]]


@dataclass(frozen=True, slots=True)
class EvaluationRecord:
    """A previous evaluation, as the history lists it."""

    request: EvaluationRequest
    corpus: str
    queries: int
    headline: Measures  # system -> nDCG@20
    time: str  # ISO 8601, UTC
    name: str = ""  # that a person gave it
    removed: bool = False  # not listed any more
    id: str = ""  # by which it is renamed and removed
    judgments: str = ""  # identifies the collection's queries and judgments; "" in former versions
    version: str = ""  # of the corpus and of SeedLens


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure of a system in two evaluations, on the queries of both."""

    systems: tuple[str, str]  # two names where the evaluations have no system in common
    measure: str
    queries: int
    means: tuple[float, float]
    difference: float  # second minus first
    interval: Interval
    t_test_p: float | None  # paired, after Holm over the systems; None where undefined
    randomisation_p: float  # the same of random signs


@dataclass(frozen=True, slots=True)
class UploadedRun:
    """A TREC run that somebody uploaded."""

    id: int
    name: str  # what it is called beside our systems; unique within its collection
    queries: int
    notes: tuple[str, ...]  # plain sentences about what is odd in it
    time: str  # ISO 8601, UTC
    collection: str  # key of a `CollectionInfo`
    sha256: str  # of its file
