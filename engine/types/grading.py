"""Grades that a language model gives to the candidates of an annotation project.

After OBLIQ-Bench, section 4, step 5: the model reads the query, documents that are known to be
relevant, and one candidate that nobody has judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.types.annotating import AgreementMeasure, Project
from engine.types.jobs import Job
from engine.types.models import TaskProgress, TaskReport

ANCHORS, MOST_ANCHORS = 3, 10
"""Known positives that a model is shown beside a candidate, and can be shown."""


@dataclass(frozen=True, slots=True)
class GradingRequest:
    """What a model is asked to grade in a project.

    Attributes:
        query_ids: () for all queries of the project.
        anchors: documents known to be relevant that it is shown beside each candidate, at most.
        again: also what this model graded before; its grade changes where the guidelines, the
            scale or the anchors did.
        limit: candidates at most in this run; None for all.
        judged: also what people graded, so that the model can be compared with them at once.
    """

    project: Project
    query_ids: tuple[str, ...] = ()
    anchors: int = ANCHORS
    again: bool = False
    limit: int | None = None
    judged: bool = False


@dataclass(frozen=True, slots=True)
class GradeCounts:
    """What a run graded.

    Attributes:
        annotator: the name by which the model grades.
        graded: candidates that have its grade now.
        changed: of those, the ones that it graded otherwise before.
        grades: grade -> how many of ``graded`` got it, every grade of the scale.
    """

    annotator: str
    graded: int = 0
    changed: int = 0
    grades: Mapping[int, int] = field(default_factory=dict)


GradingJob = Job[TaskProgress, TaskReport[GradeCounts]]


@dataclass(frozen=True, slots=True)
class GradingDifference:
    """An item that people and the model grade differently.

    Attributes:
        people, model: their grades.
        reason: the model's, as it wrote it.
        said: each person's own grade, by annotator.
        notes: what they noted, by annotator.
        decided_by: who decided what counts for ``people``; "" where nobody had to.
        decision: the reason that was given for it.
    """

    query_id: str
    doc_id: str
    people: int
    model: int
    reason: str
    said: Mapping[str, int]
    notes: Mapping[str, str] = field(default_factory=dict)
    decided_by: str = ""
    decision: str = ""


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """People against the model, on the items that both graded.

    The grade of people is the adjudicated one, else the one that all who graded it gave.

    Attributes:
        annotator: the model; "" when none has graded anything.
        graded: items with its grade.
        items: of those, the ones that people graded too; ``undecided`` more are left out, for
            people differ on them.
        grades: of the scale, in the order of rows and columns.
        measures: raw agreement, Cohen's kappa unweighted, linear and quadratic.
        by_aspect: aspect ("" for none) -> as ``measures``.
        confusion: rows by the grade of people, columns by the model's: counts.
        differences: the widest first.
        notes: plain sentences.
    """

    annotator: str
    graded: int = 0
    items: int = 0
    undecided: int = 0
    grades: tuple[int, ...] = ()
    measures: tuple[AgreementMeasure, ...] = ()
    by_aspect: Mapping[str, tuple[AgreementMeasure, ...]] = field(default_factory=dict)
    confusion: tuple[tuple[int, ...], ...] = ()
    differences: tuple[GradingDifference, ...] = ()
    notes: tuple[str, ...] = ()
