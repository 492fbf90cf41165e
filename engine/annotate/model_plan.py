"""What a model is to grade in a project, and by which known positives."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.annotate.adjudication import decide
from engine.annotate.project_settings import own_name
from engine.errors import BadInputError, UnknownNameError
from engine.types.annotating import Judgment, PoolItem, Project
from engine.types.grading import GradingRequest
from engine.types.searches import Query

Item = tuple[str, str]
"""(query_id, doc_id)"""
EVENT = "grading-"
"""Begins the events that grading makes."""
BUILT = "build-"
"""Begins the events by which a build says which documents it made a query from: they are its known
positives, also where a model labelled them, and also in a project that they are copied into."""
MOST_ANCHORS = 10


@dataclass(frozen=True, slots=True)
class Anchor:
    """A document known to be relevant to a query."""

    doc_id: str
    relevance: int


@dataclass(frozen=True, slots=True)
class GradingPlan:
    """What is to be done.

    Attributes:
        queries: of the project.
        candidates: query by query, in the project's order.
        before: what the model's grade of a candidate is now.
        anchors: query_id -> documents known to be relevant, the best first.
        done: graded by this model before; ``judged``: graded by people, and left to them.
        gone: candidates that the corpus does not hold any more, or whose seed it does not.
    """

    project: Project
    annotator: str
    request: GradingRequest
    queries: Mapping[str, Query]
    candidates: tuple[Item, ...]
    before: Mapping[Item, Judgment]
    anchors: Mapping[str, Sequence[Anchor]]
    done: int = 0
    judged: int = 0
    gone: int = 0

    @property
    def asked(self) -> list[str]:
        """The queries that there are candidates for."""
        return list(dict.fromkeys(query_id for query_id, _ in self.candidates))

    @property
    def without_anchors(self) -> int:
        """How many of these have no document known to be relevant."""
        return sum(not self.anchors.get(query_id) for query_id in self.asked)

    def anchors_of(self, item: Item) -> list[Anchor]:
        """The anchors for one candidate, which is never among them."""
        query_id, doc_id = item
        others = [a for a in self.anchors.get(query_id, ()) if a.doc_id != doc_id]
        return others[: self.request.anchors]


def make_plan(
    project: Project,
    annotator: str,
    request: GradingRequest,
    pool: Iterable[PoolItem],
    queries: Mapping[str, Query],
    judgments: Sequence[Judgment],
    known: Collection[str],
) -> GradingPlan:
    """The plan for a request.

    Args:
        annotator: the model's name; "" while nobody knows which one it is.
        known: documents of the corpus.

    Raises:
        BadInputError: a number of anchors or a limit that cannot be.
        UnknownNameError: a query that the project does not have.
    """
    _check(request, queries)
    before = {
        (j.query_id, j.doc_id): j
        for j in judgments
        if j.annotator == annotator and j.origin == "model" and j.relevance is not None
    }
    by_people = {
        (j.query_id, j.doc_id) for j in judgments if j.origin != "model" and j.relevance is not None
    }
    found: dict[str, list[Item]] = {q: [] for q in queries if q in (request.query_ids or queries)}
    done = judged = gone = 0
    for item in ((i.query_id, i.doc_id) for i in pool if i.query_id in found):
        seed = queries[item[0]].seed
        if item[1] not in known or (seed is not None and seed not in known):
            gone += 1
        elif item in before and not request.again:
            done += 1
        elif item in by_people and item not in before and not request.judged:
            judged += 1
        else:
            found[item[0]].append(item)
    candidates = [item for items in found.values() for item in items][: request.limit]
    anchors = known_positives(project, queries, judgments, known, annotator)
    return GradingPlan(
        project, annotator, request, queries, tuple(candidates), before, anchors, done, judged, gone
    )


def _check(request: GradingRequest, queries: Mapping[str, Query]) -> None:
    if not 0 <= request.anchors <= MOST_ANCHORS:
        raise BadInputError(
            f"The number of anchors is {request.anchors}.", f"Use 0 to {MOST_ANCHORS}."
        )
    if request.limit is not None and request.limit < 1:
        raise BadInputError("The limit is below one candidate.", "Give 1 or more.")
    for query_id in request.query_ids:
        if query_id not in queries:
            raise UnknownNameError(f"The query '{query_id}' is not in this project.")


def known_positives(
    project: Project,
    queries: Mapping[str, Query],
    judgments: Iterable[Judgment],
    known: Collection[str],
    annotator: str = "",
) -> dict[str, list[Anchor]]:
    """query_id -> documents with a grade above the lowest, the surest first.

    Adjudicated grades come first, then those that people agree on, then the documents that a
    build made the query from: by grade, then in order of arrival. What models graded is left
    out, wherever it came from: it would show a model what to think, and a run that was stopped
    would ask other questions when it goes on. So is what was imported by the bare name of a
    model that grades here.

    Args:
        annotator: the model that is to grade; "" while nobody knows which one it is.
    """
    judgments = list(judgments)
    models = {j.annotator for j in judgments if j.origin == "model"} | {annotator}
    names = set(map(own_name, models)) - {""}
    judgments = [j for j in judgments if _may_anchor(j, names)]
    tiers = {"adjudicated": 0, "agreed": 1, "single": 1, "model": 2}
    lowest = min(project.scale.values)
    decided = decide(judgments, model_grades=True, scale=project.scale)
    rows = [
        (tiers[d.basis], -d.relevance, number, d)
        for number, d in enumerate(decided.decisions)
        if d.relevance is not None and d.relevance > lowest
    ]
    found: dict[str, list[Anchor]] = {}
    for *_, decision in sorted(rows, key=lambda row: row[:3]):
        query = queries.get(decision.query_id)
        is_seed = query is not None and query.seed == decision.doc_id
        if decision.doc_id in known and not is_seed:
            anchor = Anchor(decision.doc_id, decision.relevance or 0)
            found.setdefault(decision.query_id, []).append(anchor)
    return found


def _may_anchor(judgment: Judgment, models: Collection[str]) -> bool:
    if judgment.origin == "model":
        return judgment.event.startswith(BUILT)
    return judgment.origin != "import" or own_name(judgment.annotator) not in models
