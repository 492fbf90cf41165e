"""Adjudication: disagreements, decisions, and the qrels of several annotators' grades.

A decision is an event like any judgment, with the reason as its note, by its author;
annotators' own grades do not change.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from engine.text import noted
from engine.types.annotating import ADJUDICATED, Disagreement, Item, Judgment, Scale

Basis = Literal["adjudicated", "agreed", "single", "median", "model", "undecided"]
DECIDED_FIELDS = (
    *("query_id", "doc_id", "relevance", "annotator", "note", "time"),
    *("basis", "by", "annotators"),
)
"""Columns of adjudicated grades: ``basis`` says what each rests on, ``by`` who decided."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The grade of one (query, document), and what it rests on."""

    query_id: str
    doc_id: str
    relevance: int | None  # None while ``undecided``
    # ``adjudicated`` by a person, ``agreed`` by two or more, ``single``, the ``median`` of grades
    # that differ, or a ``model`` where no person graded
    basis: Basis
    annotators: tuple[str, ...]  # who graded: people, unless it rests on a ``model``
    decided: Judgment | None = None  # the adjudication; None without one

    @property
    def item(self) -> Item:
        return (self.query_id, self.doc_id)

    def row(self) -> dict[str, Any]:
        """:data:`DECIDED_FIELDS` as JSON-ready values."""
        decided = self.decided
        return {
            **{name: getattr(self, name) for name in ("query_id", "doc_id", "relevance")},
            "annotator": ADJUDICATED,
            "note": "" if decided is None else decided.note,
            "time": None if decided is None else decided.time.isoformat(),
            "basis": self.basis,
            "by": "" if decided is None else decided.annotator,
            "annotators": list(self.annotators),
        }


@dataclass(frozen=True, slots=True)
class DecidedQrels:
    """The qrels of a project."""

    # one per graded (query, document), in order of arrival, undecided ones included
    decisions: tuple[Decision, ...]
    notes: tuple[str, ...] = ()  # plain sentences about what is not in the grades

    @property
    def grades(self) -> dict[str, dict[str, int]]:
        """query_id -> doc_id -> grade; what is undecided is unjudged."""
        by_query: dict[str, dict[str, int]] = {}
        for decision in self.decisions:
            if decision.relevance is not None:
                by_query.setdefault(decision.query_id, {})[decision.doc_id] = decision.relevance
        return by_query

    def rows(self) -> list[dict[str, Any]]:
        """The grades as rows of a table."""
        return [one.row() for one in self.decisions if one.relevance is not None]

    @property
    def undecided(self) -> int:
        return self.count("undecided")

    def count(self, basis: Basis) -> int:
        """How many decisions rest on this."""
        return sum(decision.basis == basis for decision in self.decisions)


def decide(
    judgments: Iterable[Judgment],
    *,
    median: bool = False,
    model_grades: bool = False,
    audit: bool = False,
    retired: Container[str] = (),
    scale: Scale | None = None,
) -> DecidedQrels:
    """The grade of every item: the adjudicated one, else the one that all annotators gave, else
    with ``median`` the (lower) median. Grades of models, audits, retired queries and other scales
    (None for any) count where the arguments say so."""
    everything = list(judgments)
    counting = [j for j in everything if audit or j.origin != "audit"]
    asked = [j for j in counting if j.query_id not in retired]
    judgments = [j for j in asked if scale is None or j.relevance in (None, *scale.values)]
    decisions: list[Decision] = []
    for (query_id, doc_id), said in _by_item(judgments).items():
        decided = _adjudication(said)
        graded = [j for j in said if j.relevance is not None and j.origin != "adjudication"]
        people = [j for j in graded if j.origin != "model"]
        who = tuple(j.annotator for j in people)
        if decided is not None:
            one = Decision(query_id, doc_id, decided.relevance, "adjudicated", who, decided)
            decisions.append(one)
        elif people:
            decisions.append(_settled(query_id, doc_id, people, median=median))
        elif graded and model_grades:
            one = _settled(query_id, doc_id, graded, median=median)
            decisions.append(one if one.relevance is None else replace(one, basis="model"))
    by_models = {j.item for j in judgments if j.origin == "model"} - {d.item for d in decisions}
    gone = {j.query_id for j in everything if j.query_id in retired}
    foreign, audits = len(asked) - len(judgments), len(everything) - len(counting)
    counts = Counter(decision.basis for decision in decisions)
    middle = "the (lower) median of grades that differ; nobody decided."
    notes = noted(
        (counts["undecided"], "item is/items are", "left out: grades differ, and nobody decided."),
        (counts["median"], "item has/items have", middle),
        (counts["model"], "grade rests/grades rest", "on a model alone: no person graded there."),
        (len(by_models), "item was/items were", "graded by a model only, and left out."),
        (len(gone), "query is/queries are", "retired: the grades are kept, and left out."),
        (foreign, "grade is/grades are", "not in the project's scale, and left out."),
        (audits, "audit grade is/audit grades are", "left out: given to check a model."),
    )
    return DecidedQrels(tuple(decisions), notes)


def _settled(query_id: str, doc_id: str, graded: Sequence[Judgment], *, median: bool) -> Decision:
    grades = [j.relevance for j in graded if j.relevance is not None]
    who = tuple(j.annotator for j in graded)
    if len(set(grades)) == 1:
        return Decision(query_id, doc_id, grades[0], "agreed" if grades[1:] else "single", who)
    if median:
        return Decision(query_id, doc_id, statistics.median_low(grades), "median", who)
    return Decision(query_id, doc_id, None, "undecided", who)


def find_disagreements(judgments: Iterable[Judgment]) -> list[Disagreement]:
    """Grades that differ, the widest spread first, then unsure ones; decided items last, in that
    order."""
    differing = []
    for (query_id, doc_id), everything in _by_item(judgments).items():
        said = [j for j in everything if j.origin not in ("adjudication", "audit")]
        grades = [j.relevance for j in said if j.relevance is not None and j.origin != "model"]
        spread = max(grades) - min(grades) if grades else 0
        decided = _adjudication(everything)
        if spread or decided is not None or any(j.verdict == "unsure" for j in said):
            differing.append(Disagreement(query_id, doc_id, tuple(said), spread, decided))
    return sorted(differing, key=lambda d: (d.decided is not None, -d.spread))


def _by_item(judgments: Iterable[Judgment]) -> Mapping[Item, list[Judgment]]:
    by_item: dict[Item, list[Judgment]] = {}
    for judgment in judgments:
        by_item.setdefault(judgment.item, []).append(judgment)
    return by_item


def _adjudication(said: Iterable[Judgment]) -> Judgment | None:
    """The last decision to arrive; when its author takes it back, the one before."""
    return next(reversed([j for j in said if j.origin == "adjudication"]), None)


GRADERS = ("person", "import", "model")
"""Origins of grades that annotators gave."""


def own_grades(
    judgments: Sequence[Judgment], *, models: bool = False
) -> dict[str, dict[str, dict[str, int]]]:
    """annotator -> query_id -> doc_id -> grade of people, with ``models`` also of models, before
    adjudication."""
    origins = GRADERS if models else GRADERS[:2]
    by_annotator: dict[str, dict[str, dict[str, int]]] = {}
    for judgment in judgments:
        if judgment.relevance is not None and judgment.origin in origins:
            own = by_annotator.setdefault(judgment.annotator, {}).setdefault(judgment.query_id, {})
            own[judgment.doc_id] = judgment.relevance
    return dict(sorted(by_annotator.items()))


def graded_by_model(judgments: Iterable[Judgment], annotator: str) -> dict[Item, Judgment]:
    """What one model graded, by item."""
    return {
        j.item: j
        for j in judgments
        if j.annotator == annotator and j.origin == "model" and j.relevance is not None
    }
