"""Test collections, and how systems did on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from engine.types.jobs import Job
from engine.types.models import ModelReport, TaskProgress, TaskReport
from engine.types.searches import Ranking

if TYPE_CHECKING:
    import pandas as pd

NDCG = "nDCG@20"
"""As the field has it: the gain at rank r is divided by ``log2(r + 1)``."""
CSFCUBE_NDCG = "nDCG@20 (CSFCube)"
"""As CSFCube's script has it: by ``log2(max(r, 2))``, so that ranks 1 and 2 count alike."""
Measures = Mapping[str, float | None]
"""Measure -> mean over queries, a fraction; None where undefined."""
Interval = tuple[float, float] | None
"""Bounds of a 95 % confidence interval; None with fewer than two queries."""
SystemKind = Literal["system", "human", "run"]


@dataclass(frozen=True, slots=True)
class SystemScores:
    """How one system did.

    Attributes:
        metrics: measure -> mean over queries, None where undefined (p-MRR without two aspects).
        by_aspect: the same for the queries of each aspect.
        per_query: one dict per query with ``query_id``, ``aspect`` and the measures.
        seconds: for all rankings of the system, evidence not included; 0 where SeedLens did
            not make them.
        confidence: bootstrap interval of every mean, over queries.
        confidence_by_aspect: the same for each aspect, of the main measures only.
        annotators: of the human row, each annotator's own means; empty for systems.
        kind: one of ours, people, or an uploaded run.
        llm: what a language model was asked for it; None where none took part.
    """

    metrics: Measures
    by_aspect: Mapping[str, Measures]
    per_query: tuple[Mapping[str, Any], ...]
    seconds: float
    confidence: Mapping[str, Interval] = field(default_factory=dict)
    confidence_by_aspect: Mapping[str, Mapping[str, Interval]] = field(default_factory=dict)
    annotators: Mapping[str, Measures] = field(default_factory=dict)
    kind: SystemKind = "system"
    llm: ModelReport | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """What an evaluation rests on.

    Attributes:
        queries: those with at least one grade.
        grades: (query, document) pairs with a grade.
        relevant: pairs with a grade of at least 1.
        complete: what has no grade was judged 0, not left unjudged.
        missing_documents: judged documents that the corpus does not hold; they count as
            never found.
    """

    queries: int
    grades: int
    relevant: int
    complete: bool
    missing_documents: int


@dataclass(frozen=True, slots=True)
class Sample:
    """Not all seeds were asked for: ``seeds`` of ``of``, the same ones every time."""

    seeds: int
    of: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Systems on one collection, and the rankings that the numbers come from.

    Attributes:
        queries: how many were asked.
        rankings: name of a run -> its rankings; empty when the evaluation was read back.
            The human row has one run per annotator.
        unjudged_in_top_k: share of the top 20 without a grade, 0 to 1.
        missing_documents: see :class:`Judged`.
        significance: see :func:`engine.measures.metrics.significance`.
        notes: plain sentences about anything a reader should know.
    """

    collection: str
    corpus: str
    queries: int
    systems: Mapping[str, SystemScores]
    rankings: Mapping[str, tuple[Ranking, ...]]
    unjudged_in_top_k: Mapping[str, float]
    missing_documents: int
    significance: tuple[Mapping[str, Any], ...]
    judged: Judged
    sample: Sample | None = None
    notes: tuple[str, ...] = ()

    def to_frame(self, *, per_query: bool = False) -> pd.DataFrame:
        """The measures, one row per system (the index); undefined ones are missing.

        Args:
            per_query: one row per system and query instead, with the query's ``aspect``.
        """
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
    """A test collection that this home knows.

    Attributes:
        key: names it in links: the corpus that came from it, ``<corpus>:<project>`` for what was
            judged here, ``qrels-<number>`` for uploaded judgments, ``<corpus>@<path>`` for files
            that were evaluated on a corpus that did not come from them.
        source: where its topics and judgments are read from.
        judgments: pairs with a grade; see also ``complete`` in :class:`Judged`.
        pooled: every query ranks its own judged candidates, not the corpus.
        annotators: who graded by themselves, before adjudication.
        uploaded: the judgments came in through the browser.
        synthetic: the documents are invented.
        problem: why it cannot be read; empty when it can.
        warnings: plain sentences about what is odd in it.
    """

    key: str
    name: str
    corpus: str
    source: str
    source_format: str
    queries: int = 0
    seeds: int = 0
    aspects: tuple[str, ...] = ()
    judgments: int = 0
    complete: bool = False
    pooled: bool = False
    annotators: tuple[str, ...] = ()
    uploaded: bool = False
    synthetic: bool = False
    problem: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """What to evaluate.

    Attributes:
        collection: key of a :class:`CollectionInfo`.
        systems: ours, those that need a language model among them; runs that were uploaded for
            the collection always stand beside them.
        steer: 0 to 1, for systems that take it.
        sample: how many seeds to ask for; None for all.
        human: also the annotators themselves.
        rerank: a mode in which a language model also reranks every system; "" for none. What
            comes of it stands beside the system as ``<system>+<mode>``.
        depth: documents of every ranking that are reranked.
        model: which model answers, and where: ``judge at http://localhost:8000/v1``; "" where
            none takes part.
    """

    collection: str
    systems: tuple[str, ...]
    steer: float = 0.5
    sample: int | None = None
    human: bool = False
    rerank: str = ""
    depth: int = 100
    model: str = ""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What an evaluation came to.

    Attributes:
        evaluation: where it ended early, of the systems that were done, and of the best order so
            far of those that a model had begun with; None when there was nothing to measure.
        known: runs that had been made before and were not made again.
    """

    evaluation: Evaluation | None
    known: tuple[str, ...] = ()


EvaluationJob = Job[TaskProgress, TaskReport[Evaluated]]


@dataclass(frozen=True, slots=True)
class EvaluationRecord:
    """A previous evaluation, as the history lists it.

    Attributes:
        headline: system -> nDCG@20.
        time: ISO 8601, UTC.
    """

    request: EvaluationRequest
    corpus: str
    queries: int
    headline: Measures
    time: str


@dataclass(frozen=True, slots=True)
class UploadedRun:
    """A TREC run that somebody uploaded.

    Attributes:
        name: what it is called beside our systems; unique within its collection.
        notes: plain sentences about what is odd in it.
        time: ISO 8601, UTC.
    """

    id: int
    name: str
    queries: int
    notes: tuple[str, ...]
    time: str
