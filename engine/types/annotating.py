"""Annotation: projects, queues, grades of people and of models, and how far they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args

from engine.text import counted
from engine.types.evaluations import Interval
from engine.types.jobs import Job
from engine.types.models import RunProgress, TaskProgress, TaskReport
from engine.types.searches import Filter, Ranking
from storage.records import Judgment as Judgment
from storage.records import Origin as Origin
from storage.records import Verdict as Verdict

Item = tuple[str, str]  # (query_id, doc_id)
JudgingOrder = Literal["shuffled", "same", "disagreement", "rank"]
Role = Literal["annotator", "lead"]
ADJUDICATED = "adjudicated"
"""The annotator by whose name adjudicated grades are exported; nobody can judge by it."""
MOST_FIRST = 1000  # Items that everybody judges first
DEEPEST_POOL = 1000  # Documents that a pool can take from the top of a ranking
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
    relevant_from: int | None = None  # None: what is above the lowest

    @property
    def relevant(self) -> int:
        """The lowest grade that counts as relevant."""
        return min(self.values) + 1 if self.relevant_from is None else self.relevant_from

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
    """What is judged, how, and by whom."""

    corpus: str
    name: str = ""  # letters, digits, - and _; "" for judgments while exploring
    guidelines: Mapping[str, str] = field(default_factory=dict)  # aspect key ("": all) -> Markdown
    scale: Scale = GRADED
    annotators: tuple[str, ...] = ()  # names; () lets everybody judge
    leads: tuple[str, ...] = ()  # who may change the project, adjudicate and see what others said
    per_item: int = 1  # how many annotators each item needs
    order: JudgingOrder = "shuffled"
    blind: bool = True  # ranks, systems and scores are hidden while judging
    model_grades: bool = False  # a grade by a model counts where no person graded
    first: int = 0  # items that everybody judges, before all others
    assigned: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # query_id -> annotators
    place: str = ""  # the name under which all that belongs to it is stored; "" for its name
    deleted: bool = False
    former: tuple[str, ...] = ()  # names that it had

    @property
    def key(self) -> tuple[str, str]:
        """(corpus, name under which it is stored), which renaming does not change."""
        return (self.corpus, self.place or self.name)


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
    """What a pool is made of."""

    systems: tuple[str, ...] = ("bm25", "dense", "aspect")
    depth: int = 20  # documents taken from the top of each ranking
    variants: tuple[str, ...] = ()  # sets of wordings (`SETS`) that are pooled too
    runs: Mapping[str, Sequence[Ranking]] = field(default_factory=dict)  # name -> given rankings
    filters: tuple[Filter, ...] = ()  # what documents must meet to be pooled, those of runs too


@dataclass(frozen=True, slots=True)
class PoolFilled:
    """What filling a pool did."""

    queries: int
    left: int  # queries that were not reached
    added: int  # items that were not in the pool before
    stopped: str = ""  # "cancelled" when it ended early; "" otherwise


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
    """How far one annotator is."""

    done: int  # graded, skipped or unsure. skipped, unsure: of those.
    total: int  # items that this annotator may still be asked for, or was
    skipped: int = 0
    unsure: int = 0
    per_minute: float | None = None  # the pace over the last items; None before there is one

    @property
    def left(self) -> int:
        return self.total - self.done


@dataclass(frozen=True, slots=True)
class PersonProgress:
    """How far one person of a project is."""

    annotator: str
    queue: QueueProgress
    share: float  # of all that people said in the project, 0 to 1
    last: datetime | None = None  # when they said something last; None where they did not yet

    @property
    def graded(self) -> int:
        return self.queue.done - self.queue.skipped - self.queue.unsure


@dataclass(frozen=True, slots=True)
class FirstItems:
    """How far the items are that everybody judges first.

    >>> str(FirstItems(10, 8, ("Ada", "Grace")))
    '10 items for everybody: 8 judged by both.'
    """

    items: int
    judged: int  # by all of these people
    people: tuple[str, ...]  # of the project; without a list, those who judged

    def __str__(self) -> str:
        many = len(self.people)
        who = {0: "", 1: f" by {''.join(self.people)}", 2: " by both"}.get(many, f" by all {many}")
        return f"{counted(self.items, 'item')} for everybody: {self.judged:,} judged{who}."


@dataclass(frozen=True, slots=True)
class ProjectProgress:
    """How far a project is. An annotation is a grade or an "unsure" by a person."""

    people: tuple[PersonProgress, ...]  # listed or not, by name
    items: int  # of the pool; `complete` of them have as many annotations as the project asks for
    complete: int
    annotations: int  # that there are, those beyond what an item needs left aside; `needed` in all
    needed: int
    extra: int = 0  # those beyond what an item needs
    first: FirstItems | None = None  # None where a project has none

    @property
    def is_done(self) -> bool:
        return self.annotations >= self.needed


@dataclass(frozen=True, slots=True)
class Unjudged:
    """What is unjudged in the top of one system."""

    system: str
    k: int
    judged: float  # Judged@k, the mean over queries, a fraction
    missing: Mapping[str, tuple[str, ...]]  # query_id -> unjudged documents of its top k, by rank


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
    """One coefficient over the items that at least two annotators graded."""

    name: str
    value: float | None  # 1 is full agreement, 0 that of chance (`raw`: a share); None: undefined
    interval: Interval  # bootstrap of 95 % over items
    items: int

    @property
    def title(self) -> str:
        return AGREEMENT_MEASURES[self.name]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far annotators agree."""

    annotators: tuple[str, ...]
    grades: tuple[int, ...]  # of the scale, in the order of rows and columns
    measures: tuple[AgreementMeasure, ...]  # raw, Fleiss' kappa (equal numbers only), alpha
    pairs: Mapping[tuple[str, str], tuple[AgreementMeasure, ...]]  # raw, Cohen's kappas
    by_aspect: Mapping[str, tuple[AgreementMeasure, ...]]  # aspect -> as `measures`
    # counts; rows: grade of the first
    confusion: Mapping[tuple[str, str], tuple[tuple[int, ...], ...]]
    notes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()  # in `pairs` only

    def with_model(self, pair: tuple[str, str]) -> bool:
        """Whether one of a pair is a language model."""
        return not set(self.models).isdisjoint(pair)


AgreementStep = Literal["items", "day"]
"""What a point of agreement over time stands for: some more items, or a day (UTC)."""


@dataclass(frozen=True, slots=True)
class AgreementPoint:
    """Agreement over the first items of a project."""

    items: int  # that two or more people had graded by then
    until: datetime  # when the last of these grades came
    measures: tuple[AgreementMeasure, ...]  # of people, as in `Agreement`


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item on which annotators differ, for adjudication."""

    query_id: str
    doc_id: str
    said: Sequence[Judgment]  # each annotator's grade, skips and unsure verdicts included
    spread: int  # highest less lowest grade
    decided: Judgment | None = None  # the adjudicated judgment; None while there is none


@dataclass(frozen=True, slots=True)
class JudgmentCounts:
    """What a file of judgments holds.

    >>> str(JudgmentCounts.of([(("q", "d"), ["Ada"], 1), (("q", "e"), ["Grace"], "skip")]))
    '2 judgments by 2 people on 2 items (grades: 1 × 1, 1 × skip)'
    >>> str(JudgmentCounts.of([(("q", "d"), ["Ada", "Grace"], 1)]))
    '1 adjudicated grade by 2 people on 1 item (grades: 1 × 1)'
    """

    judgments: int = 0
    people: Mapping[str, int] = field(default_factory=dict)  # annotator -> judgments
    items: int = 0
    grades: Mapping[str, int] = field(default_factory=dict)  # grade or verdict -> judgments

    @classmethod
    def of(cls, rows: Iterable[tuple[Item, Iterable[str], object]]) -> JudgmentCounts:
        """Counts of items, who judged them, and grades or verdicts."""
        items, people, grades = Counter[Item](), Counter[str](), Counter[str]()
        for item, who, grade in rows:
            items[item] += 1
            people.update(who)
            grades[str(grade)] += 1
        return cls(items.total(), dict(people), len(items), dict(sorted(grades.items())))

    def __str__(self) -> str:
        who = f" by {counted(len(self.people), 'person', 'people')}" if self.people else ""
        grades = ", ".join(f"{number:,} × {grade}" for grade, number in self.grades.items())
        together = sum(self.people.values()) > self.judgments
        what = "adjudicated grade" if together else "judgment"
        judgments, items = counted(self.judgments, what), counted(self.items, "item")
        return f"{judgments}{who} on {items}" + (f" (grades: {grades})" if grades else "")


@dataclass(frozen=True, slots=True)
class ImportedJudgments:
    """What an import of judgments did, or would do."""

    added: int  # added, known: events that were new, and that were there already
    known: int
    conflicts: tuple[str, ...] = ()  # plain sentences: where a file differs from what is stored
    warnings: tuple[str, ...] = ()  # what was left out and why, with line numbers
    counts: JudgmentCounts = field(
        default_factory=JudgmentCounts
    )  # of the file, the last of each annotator and item
    queries: int = 0  # that the project did not have
    project: str = ""


# Known positives that a model is shown beside a candidate, and can be shown
ANCHORS, MOST_ANCHORS = 3, 10


@dataclass(frozen=True, slots=True)
class GradingRequest:
    """What a model is asked to grade in a project."""

    project: Project
    query_ids: tuple[str, ...] = ()  # () for all queries of the project
    anchors: int = ANCHORS  # known relevant documents shown beside each candidate, at most
    again: bool = False  # also what this model graded before
    limit: int | None = None  # candidates at most in this run; None for all
    judged: bool = False  # also what people graded, for comparison
    items: tuple[Item, ...] | None = None  # of the pool; None for all


@dataclass(frozen=True, slots=True)
class GradeCounts:
    """What a run graded."""

    annotator: str  # the name by which the model grades
    graded: int = 0  # candidates that have its grade now
    changed: int = 0  # of those, the ones that it graded otherwise before
    grades: Mapping[int, int] = field(default_factory=dict)  # grade -> count, all of the scale


GradingJob = Job[TaskProgress, TaskReport[GradeCounts]]


@dataclass(frozen=True, slots=True)
class GradingDifference:
    """An item that people and the model grade differently."""

    query_id: str
    doc_id: str
    people: int  # people, model: their grades
    model: int
    reason: str  # the model's, as it wrote it
    said: Mapping[str, int]  # each person's own grade, by annotator
    notes: Mapping[str, str] = field(default_factory=dict)  # what they noted, by annotator
    decided_by: str = ""  # who decided what counts for `people`; "" where nobody had to
    decision: str = ""  # the reason that was given for it


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """People (their adjudicated or common grade) against the model, where both graded."""

    annotator: str  # the model; "" when none has graded anything
    graded: int = 0  # items with its grade
    items: int = 0  # graded by people too; on `undecided` more people differ
    undecided: int = 0
    grades: tuple[int, ...] = ()  # of the scale, in the order of rows and columns
    measures: tuple[AgreementMeasure, ...] = ()  # raw, Cohen's kappas
    by_aspect: Mapping[str, tuple[AgreementMeasure, ...]] = field(default_factory=dict)  # "": none
    confusion: tuple[tuple[int, ...], ...] = ()  # rows: grade of people
    differences: tuple[GradingDifference, ...] = ()  # the widest first
    notes: tuple[str, ...] = ()  # plain sentences


FEWEST_JUDGED = 10
"""Judged documents of a query, without which no recall is estimated."""


@dataclass(frozen=True, slots=True)
class RecallEstimate:
    """Relevant documents among those of a ranking."""

    found: int  # judged relevant
    judged: int
    total: float  # median of the posterior, at least `found`
    low: int  # low, high: a 95 % interval of the total
    high: int
