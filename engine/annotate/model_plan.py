"""Grading by a model: candidates, known positives and prompts.

After OBLIQ-Bench, section 4, step 5: query, known positives as anchors, one candidate. The
project's scale and guidelines are instructions; document texts never are.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import BaseModel, Field, create_model

from engine.annotate.adjudication import Decision, decide, graded_by_model
from engine.annotate.judgments import BUILT
from engine.annotate.pool import unaskable
from engine.annotate.projects import ProjectStore, own_name
from engine.corpora.opened import OpenCorpus
from engine.errors import BadInputError, UnknownNameError
from engine.llm.judges import document_text
from engine.llm.judging_prompts import SEED_TOKENS
from engine.llm.messages import Prompt, Words, json_prompt
from engine.llm.texts import cut_text, fenced, harmless, harmless_line
from engine.types.annotating import (
    MOST_ANCHORS,
    GradingRequest,
    Item,
    Judgment,
    Project,
    Scale,
)
from engine.types.documents import Document
from engine.types.searches import Query


class Anchor(NamedTuple):
    """A document known to be relevant to a query."""

    doc_id: str
    relevance: int


@dataclass(frozen=True, slots=True)
class GradingPlan:
    """The candidates of a request and their anchors."""

    annotator: str
    request: GradingRequest
    queries: Mapping[str, Query]  # of the project
    candidates: tuple[Item, ...]  # query by query, in the project's order
    before: Mapping[Item, Judgment]  # the model's current grade of a candidate
    anchors: Mapping[str, Sequence[Anchor]]  # query_id -> known relevant documents, the best first
    done: int = 0  # graded by this model before; ``judged``: by people, and left to them
    judged: int = 0
    gone: int = 0  # candidates not in the corpus any more, or of unaskable queries

    @property
    def project(self) -> Project:
        return self.request.project

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
    annotator: str, request: GradingRequest, projects: ProjectStore, corpus: OpenCorpus
) -> GradingPlan:
    """The plan for a request; ``annotator`` is the model's name, "" while unknown."""
    project, known = request.project, corpus.row_of
    queries, judgments = projects.queries(project), projects.judgments(project)
    _check(request, queries)
    before = graded_by_model(judgments, annotator)
    others = ("model", "audit")
    by_people = {j.item for j in judgments if j.origin not in others and j.relevance is not None}
    to_grade: dict[str, list[Item]] = {
        q: [] for q in queries if q in (request.query_ids or queries)
    }
    done = judged = gone = 0
    left_out = {*unaskable(corpus, queries)}
    for item in (i.item for i in projects.pool(project) if i.query_id in to_grade):
        if item[1] not in known or item[0] in left_out:
            gone += 1
        elif item in before and not request.again:
            done += 1
        elif item in by_people and item not in before and not request.judged:
            judged += 1
        else:
            to_grade[item[0]].append(item)
    candidates = [item for items in to_grade.values() for item in items][: request.limit]
    anchors = known_positives(project, queries, judgments, known, annotator)
    return GradingPlan(
        annotator, request, queries, tuple(candidates), before, anchors, done, judged, gone
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

    Order: adjudicated, agreed by people, then documents that a build made the query from; by grade,
    then arrival. Grades of models, imported ones included, are left out: they would bias the model
    and change its questions between runs.

    Args:
        annotator: the model that is to grade; "" while unknown.
    """
    judgments = list(judgments)
    models = {j.annotator for j in judgments if j.origin == "model"} | {annotator}
    names = set(map(own_name, models)) - {""}
    judgments = [j for j in judgments if _may_anchor(j, names)]
    lowest = min(project.scale.values)
    tiers = {"adjudicated": 0, "agreed": 1, "single": 1, "model": 2}
    found: list[tuple[int, int, Decision]] = []
    for decision in decide(judgments, model_grades=True, scale=project.scale).decisions:
        query, grade = queries.get(decision.query_id), decision.relevance
        is_seed = query is not None and query.seed == decision.doc_id
        if grade is not None and grade > lowest and decision.doc_id in known and not is_seed:
            found.append((tiers[decision.basis], -grade, decision))
    anchors: dict[str, list[Anchor]] = {}
    for _, grade, decision in sorted(found, key=lambda row: row[:2]):  # else by arrival
        anchors.setdefault(decision.query_id, []).append(Anchor(decision.doc_id, -grade))
    return anchors


def _may_anchor(judgment: Judgment, models: Collection[str]) -> bool:
    if judgment.origin == "model":
        return judgment.event.startswith(BUILT)
    return judgment.origin != "import" or own_name(judgment.annotator) not in models


GRADING = "annotating/1"
CANDIDATE_TOKENS = 1600
"""Of the candidate; longer documents are cut."""
ANCHOR_SHARE = 4
"""An anchor gets so many times less room than the candidate."""
GUIDE_TOKENS = 1500
"""Of the guidelines for all aspects, and of those for the query's own."""
FEWEST_TOKENS = 100
"""A candidate is never cut below this."""
MOST_TOKENS = 250
"""Of an answer."""
MOST_REASON = 600
"""Characters of a reason that are kept."""
SYSTEM = """\
You are one of the annotators of a test collection. You are shown a query and one document, the \
candidate, and say how relevant the candidate is, on the scale of the project and by its \
guidelines. People check what you say.
Grade what the candidate itself says or surely implies. Examples, where there are any, were found \
relevant before: they show what is meant, but a candidate may be relevant in quite another way, \
and likeness to an example in some other respect counts for nothing. Between two grades give the \
lower one."""


class Graded(BaseModel):
    """The grade of the candidate."""

    # Models read this docstring. The reason comes first: they should think before they grade.

    reason: Words = Field(description="why, in one sentence: what of the candidate decides it")
    grade: int


@functools.lru_cache(maxsize=64)
def graded_on(scale: Scale) -> type[Graded]:
    """The form of an answer on this scale."""
    names = "; ".join(f"{g.value} = {harmless_line(g.name)}" for g in scale.grades)
    allowed = Field(description=names, json_schema_extra={"enum": list(scale.values)})
    return create_model("Graded", __base__=Graded, grade=(int, allowed))


@dataclass(frozen=True, slots=True)
class Asked:
    """One query of a project, shared by all questions about its candidates."""

    scale: Scale
    query: str  # seed and wish, foreign texts fenced
    guidelines: str = ""  # for all aspects and for its own; "" for none

    @property
    def text(self) -> str:
        """The part that all questions share; it comes first, so that a server can reuse it."""
        lines = [f"{g.value} {_named(g.name, g.meaning)}" for g in self.scale.grades]
        parts = ["The scale of the project:\n" + "\n".join(lines)]
        if self.guidelines:
            parts.append(f"The guidelines of the project:\n{self.guidelines}")
        parts.append(f"The query:\n{self.query}")
        return "\n\n".join(parts)


def guidelines_for(project: Project, aspect: str | None) -> str:
    """The project's guidelines for all aspects and for this one, cut to a limit each."""
    texts = [project.guidelines.get(key, "").strip() for key in dict.fromkeys(("", aspect or ""))]
    return "\n\n".join(harmless(cut_text(text, GUIDE_TOKENS).text) for text in texts if text)


def in_words(text: str) -> str:
    """A query that is a text and names no aspect, in a question."""
    shown = fenced("query", cut_text(text.strip(), SEED_TOKENS).text)
    return (
        f"{shown}\nRelevant is a document that is what this text asks for or describes; where it "
        "neither asks nor describes, one that is like it as a whole."
    )


def grading(
    asked: Asked,
    anchors: Sequence[tuple[Document, int]],
    candidate: Document,
    tokens: int = CANDIDATE_TOKENS,
) -> Prompt[Graded]:
    """The question how relevant a candidate is.

    Args:
        anchors: known relevant documents with their grades.
        tokens: of the candidate at most.
    """
    values = asked.scale.values
    names = {grade.value: grade.name for grade in asked.scale.grades}
    shown = [
        f"An example, graded {grade} {harmless_line(names.get(grade, ''))}:\n"
        + fenced("example", cut_text(document_text(document), tokens // ANCHOR_SHARE).text)
        for document, grade in anchors
    ]
    text = fenced("candidate", cut_text(document_text(candidate), tokens).text)
    question = f"Which grade of the scale ({', '.join(map(str, values))}) is the candidate's?"
    user = "\n\n".join([asked.text, *shown, f"The candidate:\n{text}", question])
    less = tokens // 2

    def checked(said: Graded) -> Graded | None:
        if said.grade not in values:
            return None
        return said.model_copy(update={"reason": said.reason[:MOST_REASON]})

    return json_prompt(
        GRADING,
        SYSTEM,
        user,
        graded_on(asked.scale),
        most_tokens=MOST_TOKENS,
        check=checked,
        shorter=(lambda: grading(asked, anchors, candidate, less))
        if less >= FEWEST_TOKENS
        else None,
    )


def _named(name: str, meaning: str) -> str:
    return ": ".join(harmless_line(part) for part in (name, meaning) if part.strip())
