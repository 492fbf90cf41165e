"""Grades that a language model gives to the candidates of an annotation project.

After OBLIQ-Bench, section 4, step 5: the model reads the query, documents that are known to be
relevant, and one candidate that nobody has judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.types.annotating import AgreementMeasure
from engine.types.jobs import Job
from engine.types.models import Estimate, ModelRunProgress, ModelRunReport

MOST_ANCHORS = 10  # Known positives that a model can be shown beside a candidate


@dataclass(frozen=True, slots=True)
class GradingRequest:
    """What a model is asked to grade."""

    query_ids: tuple[str, ...] = ()  # () for all queries of the project
    # documents known to be relevant that it is shown beside each candidate, at most
    anchors: int = 3
    # also what this model graded before; its grade changes where the guidelines, the scale or the
    # anchors did
    again: bool = False
    limit: int | None = None  # candidates at most in this run; None for all
    # also what people graded, so that the model can be compared with them at once
    judged: bool = False


@dataclass(frozen=True, slots=True)
class GradingEstimate(Estimate):
    """What a request takes at most. Nothing is asked for it."""

    request: GradingRequest
    annotator: str  # the name by which the model grades; "" without an endpoint
    candidates: int  # to be graded
    done: int = 0  # of the pool, graded by this model already
    judged: int = 0  # of the pool, graded by people and left to them
    # that the candidates are for; `without_anchors` of them have no document that is known to be
    # relevant
    queries: int = 0
    without_anchors: int = 0


@dataclass(frozen=True, slots=True)
class GradingProgress(ModelRunProgress):
    """How far a run is, in candidates; ``annotator`` is the name by which the model grades."""

    annotator: str = ""


@dataclass(frozen=True, slots=True)
class GradingReport(ModelRunReport):
    """What a run did."""

    request: GradingRequest
    annotator: str
    graded: int = 0  # candidates that have the model's grade now
    changed: int = 0  # of those, the ones that it graded otherwise before
    # grade -> how many of `graded` got it, every grade of the scale
    grades: Mapping[int, int] = field(default_factory=dict)


GradingJob = Job[GradingProgress, GradingReport]


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
    """People against the model, on the items that both graded.

    The grade of people is the adjudicated one, else the one that all who graded it gave.
    """

    annotator: str  # the model; "" when none has graded anything
    graded: int = 0  # items with its grade
    # of those, the ones that people graded too; `undecided` more are left out, for people differ on
    # them
    items: int = 0
    undecided: int = 0
    grades: tuple[int, ...] = ()  # of the scale, in the order of rows and columns
    # raw agreement, Cohen's kappa unweighted, linear and quadratic
    measures: tuple[AgreementMeasure, ...] = ()
    # aspect ("" for none) -> as `measures`
    by_aspect: Mapping[str, tuple[AgreementMeasure, ...]] = field(default_factory=dict)
    # rows by the grade of people, columns by the model's: counts
    confusion: tuple[tuple[int, ...], ...] = ()
    differences: tuple[GradingDifference, ...] = ()  # the widest first
    notes: tuple[str, ...] = ()  # plain sentences
