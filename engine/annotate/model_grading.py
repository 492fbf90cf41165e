"""A language model as one annotator among others: ``explorer.annotation.grading``.

Its grades count as qrels only where the project says so, and only where no person graded.
"""

from __future__ import annotations

import asyncio
import functools
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, Field, create_model

from engine.annotate.adjudication import Decision, check_model, decide, graded_by_model, models_of
from engine.annotate.pool import Searcher, unaskable
from engine.annotate.projects import (
    BY_MODEL,
    ProjectStore,
    checked,
    is_unread,
    model_annotator,
    own_name,
)
from engine.config import Settings
from engine.corpora.library import Library
from engine.errors import UnknownNameError, check_between
from engine.llm.endpoints import EndpointError
from engine.llm.judges import SEED_TOKENS, document_text, halved
from engine.llm.messages import Prompt, Words, json_prompt
from engine.llm.tasks import Estimator, ModelTask, TaskRun, TaskRunner
from engine.llm.texts import PROMPTS, cut_text, fenced, harmless, harmless_line
from engine.permissions import all_for_leads
from engine.text import counted, noted
from engine.types.annotating import (
    MOST_ANCHORS,
    GradeCounts,
    GradingRequest,
    Item,
    Judgment,
    ModelCheck,
    PoolItem,
    Project,
    Scale,
)
from engine.types.documents import Document
from engine.types.models import Estimate, TaskReport
from engine.types.searches import Query
from storage.documents import key_of
from storage.ledger import Ledger

Anchor = tuple[str, int]  # a document known to be relevant to a query, and its grade


CLUSTER = "cluster"
"""The source of documents that a build made a query from."""


def is_built(item: PoolItem) -> bool:
    """Whether the document is, or was, in the cluster that a build made the query from."""
    return any(source.name == CLUSTER for source in item.sources)


def known_positives(
    project: Project,
    queries: Mapping[str, Query],
    judgments: Iterable[Judgment],
    known: Collection[str],
    annotator: str = "",
    built: Collection[Item] = (),
) -> dict[str, list[Anchor]]:
    """query_id -> documents with a grade above the lowest: adjudicated, agreed by people, then
    those with the highest grade by a model that a build made the query from (``built``); by grade,
    then arrival. Other grades of models, ``annotator`` and imported ones included, would bias the
    model and change its questions between runs."""
    judgments, highest = list(judgments), max(project.scale.values)
    models = {j.annotator for j in judgments if j.origin == "model"} | {annotator}
    names = {*map(own_name, models)} - {""}
    judgments = [
        j
        for j in judgments
        if (j.origin != "model" or j.item in built)
        and (j.origin != "import" or own_name(j.annotator) not in names)
    ]
    lowest = min(project.scale.values)
    tiers = {"adjudicated": 0, "agreed": 1, "single": 1, "model": 2}
    found: list[tuple[int, int, Decision]] = []
    for decision in decide(judgments, model_grades=True, scale=project.scale).decisions:
        query, grade = queries.get(decision.query_id), decision.relevance
        is_seed = query is not None and query.seed == decision.doc_id
        enough = highest if decision.basis == "model" else lowest + 1
        if grade is not None and grade >= enough and decision.doc_id in known and not is_seed:
            found.append((tiers[decision.basis], -grade, decision))
    anchors: dict[str, list[Anchor]] = {}
    for _, grade, decision in sorted(found, key=lambda row: row[:2]):  # else by arrival
        anchors.setdefault(decision.query_id, []).append((decision.doc_id, -grade))
    return anchors


GRADING = "annotating/1"
CANDIDATE_TOKENS = 1600  # of the candidate; longer documents are cut
ANCHOR_SHARE = 4
"""An anchor gets so many times less room than the candidate."""
GUIDE_TOKENS = 1500  # of the guidelines for all aspects, and of those for the query's own
FEWEST_TOKENS = 100  # a candidate is never cut below this
MOST_TOKENS = 250  # of an answer
MOST_REASON = 600  # characters of a reason that are kept
SYSTEM = PROMPTS["annotating"]


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
        scale = [
            f"{g.value} " + ": ".join(harmless_line(s) for s in (g.name, g.meaning) if s.strip())
            for g in self.scale.grades
        ]
        parts = ["The scale of the project:\n" + "\n".join(scale)]
        if self.guidelines:
            parts.append(f"The guidelines of the project:\n{self.guidelines}")
        return "\n\n".join([*parts, f"The query:\n{self.query}"])


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
    """The question how relevant a candidate is, beside known relevant documents with grades."""
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

    def checked(said: Graded) -> Graded | None:
        cut = {"reason": said.reason[:MOST_REASON]}
        return said.model_copy(update=cut) if said.grade in values else None

    shorter = halved(tokens, lambda less: grading(asked, anchors, candidate, less), FEWEST_TOKENS)
    more: Any = {"most_tokens": MOST_TOKENS, "check": checked, "shorter": shorter}
    return json_prompt(GRADING, SYSTEM, user, graded_on(asked.scale), **more)


BATCH = 32  # candidates that are graded together; what a kill costs at most
SAMPLE = 100  # candidates whose lengths an estimate is made from


class GradePool(ModelTask[GradeCounts]):
    """Grades what a request asks for, and stores it batch by batch; one run per project at once."""

    phase = "grading"

    def __init__(self, request: GradingRequest, facade: ModelGrading) -> None:
        project = request.project
        self.request, self._facade = request, facade
        self.key: tuple[str, str] = project.key
        self.busy = f"The project '{project.name}' of corpus '{project.corpus}' is being graded."
        self._asked: dict[str, Asked] = {}
        self._prepare("")

    def held(self) -> AbstractContextManager[None]:
        return self._facade._ledger.locks.hold("grading", *self.key, what=self.busy[:-1])

    def _prepare(self, model: str) -> None:
        """Find the candidates for a model, "" while it is unknown, and their anchors."""
        request, projects = self.request, self._facade._projects
        project, self._annotator = request.project, model_annotator(model) if model else ""
        lowest = min(project.scale.values)
        corpus = self._facade._library.open(project.corpus)
        judgments = projects.judgments(project)
        queries = self._queries = projects.queries(project)
        check_between("The number of anchors", request.anchors, 0, MOST_ANCHORS)
        check_between("The limit of candidates", request.limit, 1)
        for query_id in request.query_ids:
            if query_id not in queries:
                raise UnknownNameError(f"The query '{query_id}' is not in this project.")
        self._before = before = graded_by_model(judgments, self._annotator)
        not_asked = {j.item for j in judgments if is_unread(j) and j.relevance == lowest}
        own = [j for j in judgments if j.origin not in ("model", "audit")]
        by_people = {j.item for j in own if j.relevance is not None}
        to_grade: dict[str, list[Item]] = {  # in the project's order
            q: [] for q in queries if q in (request.query_ids or queries)
        }
        kinds, left_out = Counter[str](), {*unaskable(corpus, queries)}
        wanted = None if request.items is None else frozenset(request.items)
        pool = [one for one in projects.pool(project) if one.query_id in to_grade]
        for item in (one.item for one in pool):
            if item in not_asked or (wanted is not None and item not in wanted):
                continue
            if item[1] not in corpus.row_of or item[0] in left_out:
                kinds["gone"] += 1
            elif item in before and not request.again:
                kinds["done"] += 1
            elif item in by_people and item not in before and not request.judged:
                kinds["judged"] += 1
            else:
                to_grade[item[0]].append(item)
        self._candidates = [i for items in to_grade.values() for i in items][: request.limit]
        built = {one.item for one in pool if is_built(one)}
        who, there = self._annotator, corpus.row_of
        self._anchors = known_positives(project, queries, judgments, there, who, built)
        asked = {query_id for query_id, _ in self._candidates}
        lacking = sum(not self._anchors.get(query_id) for query_id in asked)
        counts = {name: kinds[name] for name in ("done", "judged")}
        self._counts = {**counts, "queries": len(asked), "without_anchors": lacking}
        self._gone = kinds["gone"]

    def _prompts(self, items: Sequence[Item]) -> list[Prompt[Graded]]:
        """The questions about some candidates, in their order."""
        searcher, most = self._facade._searcher(self.request.project.corpus), self.request.anchors
        prompts = []
        for query_id, doc_id in items:
            if query_id not in self._asked:
                self._asked[query_id] = self._query(query_id, searcher)
            # a candidate is no example of its own
            anchors = [one for one in self._anchors.get(query_id, ()) if one[0] != doc_id][:most]
            ids, grades = [d for d, _ in anchors], [grade for _, grade in anchors]
            *shown, candidate = searcher.corpus.documents([*ids, doc_id])
            prompts.append(
                grading(self._asked[query_id], [*zip(shown, grades, strict=True)], candidate)
            )
        return prompts

    def _query(self, query_id: str, searcher: Searcher) -> Asked:
        """A query as a model reads it."""
        query, project = self._queries[query_id], self.request.project
        said = query.aspect or query.instruction or query.focus or query.reading
        if query.text is not None and not said:
            words = in_words(query.text)  # a text by itself needs no encoder
        else:
            words = searcher.criterion(query, searcher.seed(query)).text
        return Asked(project.scale, words, guidelines_for(project, query.aspect))

    def estimate(self, known: Estimator) -> Estimate:
        self._prepare(known.model)
        cost = Estimate(items=len(self._candidates), calls=len(self._candidates))
        if known.model:  # else no text need be read
            cost = known.of_items(self._candidates, self._prompts, SAMPLE)
        return replace(cost, counts=self._counts)

    async def run(self, run: TaskRun) -> TaskReport[GradeCounts]:
        report = await self.grade(run)
        missed, made = report.failed + report.left, report.result
        if made.graded or not missed or run.cancelled() or run.client is None:
            return report
        usage = run.client.usage
        asked = f"{counted(missed, 'candidate')} in {counted(usage.calls, 'call')}"
        raise NothingGradedError(
            f"Nothing was graded: {made.annotator} gave no usable answer to {asked}. "
            f"{usage.problem}".strip(),
            "Try another model, or begin with a few candidates.",
        )

    async def grade(self, run: TaskRun) -> TaskReport[GradeCounts]:
        """All of it, or as far as it comes; never raises for what the endpoint does."""
        await asyncio.to_thread(self._prepare, run.model)
        items, grades = self._candidates, Counter[int]()
        changed = failed = 0
        run.progress(0, len(items), phase=self.phase)
        for group in run.groups(items, self._facade.batch):
            prompts = await asyncio.to_thread(self._prompts, group)
            answers = await run.ask(prompts, len(group))
            if not run.stopped:  # else some were not asked about
                failed += answers.count(None)
            new = []
            for item, answer in zip(group, answers, strict=True):
                if answer is None:
                    continue
                judgment, held = self._judgment(item, answer), self._before.get(item)
                grades[answer.grade] += 1
                changed += held is not None and held.relevance != judgment.relevance
                if held is None or (held.relevance, held.note) != (answer.grade, judgment.note):
                    new.append(judgment)
            await asyncio.to_thread(self._facade._ledger.judging.add, new)
            made, done = grades.total(), grades.total() + failed
            run.progress(done, len(items), failed=failed, made=made, phase=self.phase)
        each = {value: grades[value] for value in self.request.project.scale.values}
        lacking = self._counts["without_anchors"] if self.request.anchors else 0
        without = "no document that is known to be relevant, and so no examples."
        gone = "left out: the corpus lacks the document, the seed or the aspect."
        return TaskReport(
            result=GradeCounts(self._annotator, grades.total(), changed, each),
            failed=failed,
            left=len(items) - grades.total() - failed,
            notes=noted(
                (lacking, "query has/queries have", without),
                (self._gone, "candidate is/candidates are", gone),
            ),
        )

    def _judgment(self, item: Item, answer: Graded) -> Judgment:
        project = self.request.project
        event = BY_MODEL + secrets.token_hex(12)
        about: Any = {"note": answer.reason, "origin": "model", "event": event}
        about["instruction"] = self._queries[item[0]].instruction or ""
        return checked(project, Judgment(*item, self._annotator, answer.grade, **about))


class NothingGradedError(EndpointError):
    """No candidate of a run got a grade."""


@all_for_leads
class ModelGrading(TaskRunner[GradingRequest, GradeCounts]):
    """Models that grade; thread-safe. ``counts`` of an estimate: "done" by this model, "judged" by
    people, "queries", and those "without_anchors"."""

    def __init__(
        self,
        projects: ProjectStore,
        ledger: Ledger,
        library: Library,
        searcher: Callable[[str], Searcher],
        settings: Settings,
    ) -> None:
        super().__init__(settings, ledger.answers)
        self._projects, self._ledger, self._library = projects, ledger, library
        self._searcher = searcher  # by corpus name
        self.batch = BATCH  # candidates graded together: the most that an abort loses

    def _task(self, request: GradingRequest) -> GradePool:
        return GradePool(request, self)

    def within(self, request: GradingRequest, phase: str) -> GradePool:
        """The task as a phase of another one."""
        task = self._task(request)
        task.phase = phase
        return task

    def models(self, project: Project) -> list[str]:
        """The names by which models graded in a project, the latest to do so last."""
        return models_of(self._projects.judgments(project))

    def sample(
        self, project: Project, count: int, seed: int = 0, annotator: str = ""
    ) -> list[Item]:
        """A random sample of pool items that a model graded and no person has, without those that
        ``annotator`` skipped; the same seed gives the same order."""
        known = self._library.open(project.corpus).row_of
        judgments = self._projects.judgments(project)
        by_models = (j for j in judgments if j.origin == "model" and not is_unread(j))
        graded = {j.item for j in by_models if j.relevance is not None}
        people = [j for j in judgments if j.origin != "model"]
        seen = {
            j.item for j in people if j.verdict in ("grade", "unsure") or j.annotator == annotator
        }
        pool = self._projects.pooled(project)
        left = {item for item in graded - seen if item in pool and item[1] in known}
        return sorted(left, key=lambda item: key_of(str(seed), *item))[:count]

    def check(self, project: Project, annotator: str = "") -> ModelCheck:
        """People against a model on items that both graded; "" is the model that graded last."""
        judgments = self._projects.judgments(project)
        models = models_of(judgments)
        name = annotator or next(reversed(models), "")
        queries = self._projects.queries(project, retired=True)
        aspects = {key: query.aspect or "" for key, query in queries.items()}
        return check_model(name, judgments, project.scale, aspects)
