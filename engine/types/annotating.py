"""Annotation: projects, their queues, what people said of an item, and how far they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args

from engine.types.evaluations import Interval
from engine.types.jobs import Job
from engine.types.models import RunProgress
from engine.types.plurals import counted
from engine.types.searches import Filter, Ranking
from storage.records import Judgment as Judgment
from storage.records import Origin as Origin
from storage.records import Verdict as Verdict

Item = tuple[str, str]
"""(query_id, doc_id)"""
JudgingOrder = Literal["shuffled", "same", "disagreement", "rank"]
Role = Literal["annotator", "lead"]
ADJUDICATED = "adjudicated"
"""The annotator by whose name adjudicated grades are exported; nobody can judge by it."""
DEEPEST_POOL = 1000
"""Documents that a pool can take from the top of a ranking."""
JudgmentFormat = Literal["trec", "beir", "csv", "jsonl", "hand-over"]
JUDGMENT_FORMATS: tuple[str, ...] = get_args(JudgmentFormat)
"""In which judgments are exported; all of them can be imported."""
MODEL_PREFIX = "model:"
"""Begins the names by which language models grade; nobody else can judge by such a name."""


@dataclass(frozen=True, slots=True)
class GradeMeaning:
    """One step of a scale: 0 to 9, so that one key is one grade."""

    value: int
    name: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Scale:
    """The grades of a project, ascending; the lowest is "not relevant"."""

    name: str
    grades: tuple[GradeMeaning, ...]

    @property
    def values(self) -> tuple[int, ...]:
        return tuple(grade.value for grade in self.grades)


GRADED = Scale(
    "graded",
    (
        GradeMeaning(0, "Not alike", "Nothing in common in this aspect."),
        GradeMeaning(1, "Related", "Touches on it, in passing or in general terms."),
        GradeMeaning(2, "Similar", "Shares a good part of it."),
        GradeMeaning(3, "Nearly the same", "What one says in this aspect, the other could."),
    ),
)
BINARY = Scale("binary", (GradeMeaning(0, "Not relevant"), GradeMeaning(1, "Relevant")))
SCALES: Mapping[str, Scale] = {scale.name: scale for scale in (GRADED, BINARY)}


@dataclass(frozen=True, slots=True)
class Project:
    """What is judged, how, and by whom.

    Attributes:
        name: letters, digits, - and _; "" is a corpus's own, for what is judged while exploring.
        guidelines: aspect key -> Markdown; "" is for all aspects.
        annotators: names; () lets everybody judge.
        leads: who may change the project, adjudicate and see what others said.
        per_item: how many annotators each item needs.
        blind: ranks, systems and scores are hidden while judging.
        model_grades: a grade by a model counts where no person graded.
    """

    corpus: str
    name: str = ""
    guidelines: Mapping[str, str] = field(default_factory=dict)
    scale: Scale = GRADED
    annotators: tuple[str, ...] = ()
    leads: tuple[str, ...] = ()
    per_item: int = 1
    order: JudgingOrder = "shuffled"
    blind: bool = True
    model_grades: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """(corpus, name)"""
        return (self.corpus, self.name)


@dataclass(frozen=True, slots=True)
class Source:
    """A system, variant or run that retrieved a document, and its rank there: 1 is best."""

    name: str
    rank: int


@dataclass(frozen=True, slots=True)
class PoolItem:
    """A (query, document) to be judged, and what retrieved it."""

    query_id: str
    doc_id: str
    sources: tuple[Source, ...]

    @property
    def item(self) -> Item:
        return (self.query_id, self.doc_id)


@dataclass(frozen=True, slots=True)
class PoolRequest:
    """What a pool is made of.

    Attributes:
        depth: documents taken from the top of each ranking.
        variants: sets of wordings (:data:`engine.lenses.variants.SETS`) that the query's
            aspect is asked for in as well, by every system.
        runs: name -> rankings that somebody brought.
        filters: what documents must meet to be pooled, those of runs too.
    """

    systems: tuple[str, ...] = ("bm25", "dense", "aspect")
    depth: int = 20
    variants: tuple[str, ...] = ()
    runs: Mapping[str, Sequence[Ranking]] = field(default_factory=dict)
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class PoolFilled:
    """What filling a pool did.

    Attributes:
        left: queries that were not reached.
        added: items that were not in the pool before.
        stopped: "cancelled" when it ended early; "" otherwise.
    """

    queries: int
    left: int
    added: int
    stopped: str = ""


def are_passed_over(query_ids: Sequence[str]) -> str:
    """What is said of queries that cannot be asked any more, of the first few by their ids.

    >>> are_passed_over(["7_method"])
    '1 query is skipped (seed or aspect not in the corpus): 7_method.'
    """
    which = counted(len(query_ids), "query is", "queries are")
    named = ", ".join([*query_ids[:_MOST_NAMED], *["..."] * (len(query_ids) > _MOST_NAMED)])
    return f"{which} skipped (seed or aspect not in the corpus): {named}."


_MOST_NAMED = 5
PoolJob = Job[RunProgress, PoolFilled]


@dataclass(frozen=True, slots=True)
class QueueProgress:
    """How far one annotator is.

    Attributes:
        done: graded, skipped or unsure.  skipped, unsure: of those.
        total: items that this annotator may still be asked for, or was.
        per_minute: the pace over the last items; None before there is one.
    """

    done: int
    total: int
    skipped: int = 0
    unsure: int = 0
    per_minute: float | None = None

    @property
    def left(self) -> int:
        return self.total - self.done


@dataclass(frozen=True, slots=True)
class PersonProgress:
    """How far one person of a project is.

    Attributes:
        share: of all that people said in the project, 0 to 1.
        last: when they said something last; None where they did not yet.
    """

    annotator: str
    queue: QueueProgress
    share: float
    last: datetime | None = None

    @property
    def graded(self) -> int:
        return self.queue.done - self.queue.skipped - self.queue.unsure


@dataclass(frozen=True, slots=True)
class ProjectProgress:
    """How far a project is. An annotation is a grade or an "unsure" by a person.

    Attributes:
        people: of the project's list, and whoever judged in it beside, by name.
        items: of the pool; ``complete`` of them have as many annotations as the project asks for.
        annotations: that there are, those beyond what an item needs left aside; ``needed`` in all.
        extra: those beyond what an item needs.
    """

    people: tuple[PersonProgress, ...]
    items: int
    complete: int
    annotations: int
    needed: int
    extra: int = 0


@dataclass(frozen=True, slots=True)
class Unjudged:
    """What is unjudged in the top of one system.

    Attributes:
        judged: Judged@k, the mean over queries, a fraction.
        missing: query_id -> unjudged documents of its top k, by rank.
    """

    system: str
    k: int
    judged: float
    missing: Mapping[str, tuple[str, ...]]


AGREEMENT_MEASURES: Mapping[str, str] = {
    "raw": "Raw agreement",
    "fleiss_kappa": "Fleiss' kappa",
    "krippendorff_alpha": "Krippendorff's alpha (ordinal)",
    "cohen_kappa": "Cohen's kappa",
    "cohen_kappa_linear": "Cohen's kappa (linear)",
    "cohen_kappa_quadratic": "Cohen's kappa (quadratic)",
}
"""name -> what to call it."""


@dataclass(frozen=True, slots=True)
class AgreementMeasure:
    """One coefficient over the items that at least two annotators graded.

    Attributes:
        value: 1 is full agreement, 0 is what chance gives (of ``raw`` a share, 0 to 1); None
            where it is undefined.
        interval: bootstrap of 95 % over items.
    """

    name: str
    value: float | None
    interval: Interval
    items: int

    @property
    def title(self) -> str:
        return AGREEMENT_MEASURES[self.name]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far annotators agree.

    Attributes:
        measures: over all of them: raw, Fleiss' kappa (where everybody graded everything),
            Krippendorff's alpha (ordinal, with partial overlap).
        models: those of the annotators that are language models; they stand in ``pairs`` only.
        pairs: (one, other) -> raw agreement, Cohen's kappa unweighted, linear and quadratic.
        by_aspect: aspect -> as ``measures``.
        confusion: (one, other) -> rows by the one's grade, columns by the other's: counts.
        grades: of the scale, in the order of rows and columns.
    """

    annotators: tuple[str, ...]
    grades: tuple[int, ...]
    measures: tuple[AgreementMeasure, ...]
    pairs: Mapping[tuple[str, str], tuple[AgreementMeasure, ...]]
    by_aspect: Mapping[str, tuple[AgreementMeasure, ...]]
    confusion: Mapping[tuple[str, str], tuple[tuple[int, ...], ...]]
    notes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    def with_model(self, pair: tuple[str, str]) -> bool:
        """Whether one of a pair is a language model."""
        return not set(self.models).isdisjoint(pair)


AgreementStep = Literal["items", "day"]
"""What a point of agreement over time stands for: some more items, or a day (UTC)."""


@dataclass(frozen=True, slots=True)
class AgreementPoint:
    """Agreement over the first items of a project.

    Attributes:
        items: that two or more people had graded by then.
        until: when the last of these grades came.
        measures: of people over all these items, as in :class:`Agreement`; a ``value`` of None is
            undefined there.
    """

    items: int
    until: datetime
    measures: tuple[AgreementMeasure, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item on which annotators differ, for adjudication.

    Attributes:
        said: each annotator's grade, skips and unsure verdicts included.
        spread: highest less lowest grade.
        decided: the adjudicated judgment; None while there is none.
    """

    query_id: str
    doc_id: str
    said: Sequence[Judgment]
    spread: int
    decided: Judgment | None = None


@dataclass(frozen=True, slots=True)
class ImportedJudgments:
    """What an import of judgments did.

    Attributes:
        added, known: events that were new, and that were there already.
        conflicts: plain sentences: where a file says otherwise than what stands.
        warnings: what was left out and why, with line numbers.
    """

    added: int
    known: int
    conflicts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
