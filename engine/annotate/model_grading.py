"""A language model as one annotator among others: ``explorer.annotation.grading``.

Its grades count as qrels only where the project says so, and only where no person graded.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from engine.annotate.agreement import check_model, draw_sample, models_of
from engine.annotate.judgments import BY_MODEL, checked, digest
from engine.annotate.model_plan import (
    Asked,
    Graded,
    GradingPlan,
    grading,
    guidelines_for,
    in_words,
    make_plan,
)
from engine.annotate.projects import ProjectStore, model_annotator
from engine.config import Settings
from engine.corpora.library import Library
from engine.llm.connecting import Estimator
from engine.llm.endpoint_errors import EndpointError
from engine.llm.messages import Prompt
from engine.llm.tasks import ModelTask, TaskRun, TaskRunner
from engine.permissions import all_for_leads
from engine.search.searcher import Searcher, criterion_for
from engine.text import counted
from engine.types.annotating import GradeCounts, GradingRequest, Item, Judgment, ModelCheck, Project
from engine.types.models import Estimate, TaskReport
from storage.ledger import Ledger

BATCH = 32
"""Candidates that are graded together; what a kill costs at most."""
SAMPLE = 100
"""Candidates whose lengths an estimate is made from."""


class GradePool(ModelTask[GradeCounts]):
    """Grades what a request asks for, and stores it by the model's name batch by batch; one run per
    project at a time."""

    phase = "grading"

    def __init__(
        self,
        request: GradingRequest,
        projects: ProjectStore,
        ledger: Ledger,
        library: Library,
        searcher: Callable[[str], Searcher],
        batch: int = BATCH,
    ) -> None:
        project = request.project
        self.request, self.key = request, project.key
        self._projects, self._ledger, self._library = projects, ledger, library
        self._searcher, self._batch = searcher, batch
        self.busy = f"The project '{project.name}' of corpus '{project.corpus}' is being graded."
        self._asked: dict[str, Asked] = {}
        self._plan("")

    def held(self) -> AbstractContextManager[None]:
        key, what = self.request.project.key, self.busy.rstrip(".")
        return self._ledger.locks.hold("grading", *key, what=what)

    def _plan(self, model: str) -> GradingPlan:
        corpus = self._library.open(self.request.project.corpus)
        annotator = model_annotator(model) if model else ""
        return make_plan(annotator, self.request, self._projects, corpus)

    def _prompts(self, plan: GradingPlan, items: Sequence[Item]) -> list[Prompt[Graded]]:
        """The questions about some candidates, in their order."""
        searcher = self._searcher(plan.project.corpus)
        anchors = {item: plan.anchors_of(item) for item in items}
        wanted = {a.doc_id for of_item in anchors.values() for a in of_item}
        doc_ids = wanted.union(doc_id for _, doc_id in items)
        documents = {d.doc_id: d for d in searcher.corpus.documents([*doc_ids])}
        for query_id in {query_id for query_id, _ in items} - self._asked.keys():
            self._asked[query_id] = _asked(plan, query_id, searcher)
        return [
            grading(
                self._asked[query_id],
                [(documents[a.doc_id], a.relevance) for a in anchors[query_id, doc_id]],
                documents[doc_id],
            )
            for query_id, doc_id in items
        ]

    def estimate(self, known: Estimator) -> Estimate:
        plan = self._plan(known.model)
        total = len(plan.candidates)
        cost = Estimate(calls=total)
        if known.model and total:  # else no text need be read
            sample = plan.candidates[:: -(-total // SAMPLE)]
            cost = known.estimate(self._prompts(plan, sample), total)
        counts = {
            "done": plan.done,
            "judged": plan.judged,
            "queries": len(plan.asked),
            "without_anchors": plan.without_anchors,
        }
        return replace(cost, items=total, counts=counts)

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
            "Try another model, or begin with a few candidates. What it answers must be a small "
            "JSON object with a reason and a grade of the scale.",
        )

    async def grade(self, run: TaskRun) -> TaskReport[GradeCounts]:
        """All of it, or as far as it comes; never raises for what the endpoint does."""
        plan = await asyncio.to_thread(self._plan, run.model)
        items, batch = plan.candidates, self._batch
        grades: Counter[int] = Counter()
        changed = failed = 0
        run.progress(0, len(items), phase=self.phase)
        for start in range(0, len(items), batch):
            if run.stopped:
                break
            group = items[start : start + batch]
            prompts = await asyncio.to_thread(self._prompts, plan, group)
            answers = await run.ask(prompts, len(group))
            if not run.stopped:  # else some were not asked about
                failed += answers.count(None)
            new = []
            for item, answer in zip(group, answers, strict=True):
                if answer is None:
                    continue
                judgment, held = _judgment(plan, item, answer), plan.before.get(item)
                grades[answer.grade] += 1
                changed += held is not None and held.relevance != judgment.relevance
                if held is None or (held.relevance, held.note) != (answer.grade, judgment.note):
                    new.append(judgment)
            await asyncio.to_thread(self._ledger.judging.add, new)
            made, done = grades.total(), grades.total() + failed
            run.progress(done, len(items), failed=failed, made=made, phase=self.phase)
        each = {value: grades[value] for value in plan.project.scale.values}
        return TaskReport(
            result=GradeCounts(plan.annotator, grades.total(), changed, each),
            failed=failed,
            left=len(items) - grades.total() - failed,
            notes=tuple(_notes(plan)),
        )


def _asked(plan: GradingPlan, query_id: str, searcher: Searcher) -> Asked:
    """A query as a model reads it."""
    query, project = plan.queries[query_id], plan.project
    said = query.aspect or query.instruction or query.focus or query.reading
    if query.text is not None and not said:
        words = in_words(query.text)  # a text by itself needs no encoder
    else:
        words = criterion_for(searcher, query, searcher.seed(query)).text
    return Asked(project.scale, words, guidelines_for(project, query.aspect))


def _judgment(plan: GradingPlan, item: Item, answer: Graded) -> Judgment:
    held = plan.before.get(item)
    # Two runs at once that get the same answer store it once.
    parts = (*plan.project.key, *item, plan.annotator)
    said = (str(answer.grade), answer.reason, "" if held is None else held.event)
    judgment = Judgment(
        *item,
        plan.annotator,
        answer.grade,
        note=answer.reason,
        origin="model",
        instruction=plan.queries[item[0]].instruction or "",
        event=BY_MODEL + digest(*parts, *said),
    )
    return checked(plan.project, judgment)


def _notes(plan: GradingPlan) -> list[str]:
    notes = []
    if plan.without_anchors and plan.request.anchors:
        which = counted(plan.without_anchors, "query has", "queries have")
        notes.append(f"{which} no document that is known to be relevant, and so no examples.")
    if plan.gone:
        which = counted(plan.gone, "candidate is", "candidates are")
        notes.append(f"{which} left out: the corpus lacks the document, the seed or the aspect.")
    return notes


class NothingGradedError(EndpointError):
    """No candidate of a run got a grade."""


@all_for_leads
class ModelGrading(TaskRunner[GradingRequest, GradeCounts]):
    """Models that grade; thread-safe.

    ``items`` of an estimate are candidates; its ``counts``: "done" by this model, "judged" by
    people and left to them, "queries" of the candidates, those "without_anchors" (no known relevant
    document).

    Args:
        searcher: corpus name -> search engine.
    """

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
        self._searcher = searcher
        self.batch = BATCH  # candidates graded together: the most that an abort loses

    def _task(self, request: GradingRequest) -> GradePool:
        place = (self._projects, self._ledger, self._library, self._searcher)
        return GradePool(request, *place, self.batch)

    def within(self, request: GradingRequest, phase: str) -> GradePool:
        """The task as a phase of another one."""
        task = self._task(request)
        task.phase = phase
        return task

    def models(self, project: Project) -> list[str]:
        """The names by which models graded in a project, the latest to do so last."""
        return models_of(self._projects.judgments(project))

    # -- checking --------------------------------------------------------------------------

    def sample(
        self, project: Project, count: int, seed: int = 0, annotator: str = ""
    ) -> list[Item]:
        """A random sample of pool items that a model graded and no person has, without those that
        ``annotator`` skipped."""
        known = self._library.open(project.corpus).row_of
        pool = self._projects.pool(project)
        judgments = self._projects.judgments(project)
        return draw_sample(pool, judgments, count, seed, annotator, known)

    def check(self, project: Project, annotator: str = "") -> ModelCheck:
        """People against a model, on the items that both graded; "" is the model that graded
        last."""
        judgments = self._projects.judgments(project)
        models = models_of(judgments)
        name = annotator or next(reversed(models), "")
        queries = self._projects.queries(project, retired=True)
        aspects = {key: query.aspect or "" for key, query in queries.items()}
        return check_model(name, judgments, project.scale, aspects)
