"""A language model as one annotator among others: what pages and the command line call as
``explorer.annotation.grading``.

Its grades are never qrels by themselves: they count where the project says so, and only where no
person graded.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace

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
from engine.annotate.pool import unaskable
from engine.annotate.projects import ProjectStore, model_annotator
from engine.config import Settings
from engine.corpora.library import Library
from engine.jobs.runner import JobRunner
from engine.llm.budget import RoundProgress
from engine.llm.client import Client
from engine.llm.connecting import connect, describe
from engine.llm.endpoint_errors import EndpointError
from engine.llm.endpoints import Connection, Endpoint
from engine.llm.estimates import estimator
from engine.llm.messages import Prompt
from engine.llm.run import ask_model, complete
from engine.permissions import all_for_leads
from engine.search.searcher import Searcher, criterion_for
from engine.text import counted
from engine.types.annotating import (
    GradingEstimate,
    GradingProgress,
    GradingReport,
    GradingRequest,
    Item,
    Judgment,
    ModelCheck,
    Project,
)
from engine.types.callbacks import Ask, never, tell_nobody
from engine.types.documents import Document
from engine.types.models import Estimate
from engine.types.people import ForPerson
from storage.judgment_events import Judging
from storage.ledger import Ledger

BATCH = 32
"""Candidates that are graded together; what a kill costs at most."""
TellGrading = Callable[[GradingProgress], None]


class Material:
    """What questions are made of: documents and queries as a model reads them.

    Args:
        searcher: of the project's corpus.
    """

    def __init__(self, plan: GradingPlan, searcher: Searcher) -> None:
        self._plan, self._searcher = plan, searcher
        self._asked: dict[str, Asked] = {}
        self._anchors: dict[str, Document] = {}

    def prompts(self, items: Sequence[Item]) -> list[Prompt[Graded]]:
        """The questions about some candidates, in their order."""
        plan = self._plan
        candidates = self._documents(doc_id for _, doc_id in items)
        wanted = {a.doc_id for item in items for a in plan.anchors_of(item)}
        self._anchors |= self._documents(wanted - self._anchors.keys())
        return [
            grading(
                self._query(item[0]),
                [(self._anchors[a.doc_id], a.relevance) for a in plan.anchors_of(item)],
                candidates[item[1]],
            )
            for item in items
        ]

    def _documents(self, doc_ids: Iterable[str]) -> dict[str, Document]:
        wanted = list(dict.fromkeys(doc_ids))
        return {d.doc_id: d for d in self._searcher.corpus.documents(wanted)} if wanted else {}

    def _query(self, query_id: str) -> Asked:
        if query_id not in self._asked:
            query, project = self._plan.queries[query_id], self._plan.project
            said = query.aspect or query.instruction or query.focus or query.reading
            if query.text is not None and not said:
                words = in_words(query.text)  # a text by itself needs no encoder
            else:
                seed = self._searcher.seed(query)
                words = criterion_for(self._searcher, query, seed).text
            guidelines = guidelines_for(project, query.aspect)
            self._asked[query_id] = Asked(project.scale, words, guidelines)
        return self._asked[query_id]


@dataclass(slots=True)
class Grader:
    """Grades what a plan says, and stores it by the model's name."""

    plan: GradingPlan
    material: Material
    judging: Judging
    tell: TellGrading
    cancelled: Ask
    batch: int = BATCH
    grades: Counter[int] = field(default_factory=Counter)
    changed: int = 0
    failed: int = 0
    _started: float = field(default_factory=time.perf_counter)

    async def work(self, client: Client) -> GradingReport:
        """All of it, or as far as it comes; what was graded is stored batch by batch."""
        items = self.plan.candidates
        self._tell(client)
        for start in range(0, len(items), self.batch):
            if self.cancelled() or client.stopped:
                break
            group = items[start : start + self.batch]
            prompts = await asyncio.to_thread(self.material.prompts, group)
            answers = await client.ask(prompts)
            if not client.stopped:  # else some were not asked about
                self.failed += answers.count(None)
            said = {i: a for i, a in zip(group, answers, strict=True) if a is not None}
            await asyncio.to_thread(self._store, said)
            self._tell(client)
        return self._report(client)

    def _store(self, said: Mapping[Item, Graded]) -> None:
        judgments = [self._judgment(item, answer) for item, answer in said.items()]
        before = self.plan.before
        new = [j for j in judgments if not _same(j, before.get(j.item))]
        self.judging.add(new)
        for judgment in judgments:
            held = before.get(judgment.item)
            self.changed += held is not None and held.relevance != judgment.relevance
            self.grades[judgment.relevance or 0] += 1

    def _judgment(self, item: Item, answer: Graded) -> Judgment:
        plan, held = self.plan, self.plan.before.get(item)
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

    def _tell(self, client: Client) -> None:
        usage = client.usage
        self.tell(
            GradingProgress(
                done=self.grades.total() + self.failed,
                total=len(self.plan.candidates),
                failed=self.failed,
                seconds=time.perf_counter() - self._started,
                calls=usage.calls,
                tokens=usage.tokens,
                annotator=self.plan.annotator,
            )
        )

    def _report(self, client: Client) -> GradingReport:
        plan, usage = self.plan, client.usage
        left = len(plan.candidates) - self.grades.total() - self.failed
        cancelled = "cancelled" if left and self.cancelled() else ""
        return GradingReport(
            request=plan.request,
            annotator=plan.annotator,
            graded=self.grades.total(),
            changed=self.changed,
            grades={value: self.grades[value] for value in plan.project.scale.values},
            failed=self.failed,
            left=left,
            seconds=time.perf_counter() - self._started,
            stopped=usage.stopped or cancelled,
            notes=(*usage.notes, *_notes(plan)),
            **usage.taken,
        )


def _with_grades(report: GradingReport) -> GradingReport:
    """The report, if there was nothing to grade or something was; a run that was cancelled has
    done what it was asked to."""
    missed = report.failed + report.left
    if report.graded or not missed or report.stopped == "cancelled":
        return report
    asked = f"{counted(missed, 'candidate')} in {counted(report.calls, 'call')}"
    raise NothingGradedError(
        f"Nothing was graded: {report.annotator} gave no usable answer to {asked}. "
        f"{report.problem}".strip(),
        "Try another model, or begin with a few candidates. What it answers must be a small JSON "
        "object with a reason and a grade of the scale.",
    )


def _same(judgment: Judgment, held: Judgment | None) -> bool:
    return held is not None and (held.relevance, held.note) == (judgment.relevance, judgment.note)


def _notes(plan: GradingPlan) -> list[str]:
    notes = []
    if plan.without_anchors and plan.request.anchors:
        which = counted(plan.without_anchors, "query has", "queries have")
        notes.append(f"{which} no document that is known to be relevant, and so no examples.")
    if plan.gone:
        which = counted(plan.gone, "candidate is", "candidates are")
        notes.append(f"{which} left out: the corpus lacks the document, the seed or the aspect.")
    return notes


class ProgressOfBatches:
    """Tells how far a run is: after every batch, and while one is answered.

    Args:
        tell: told of the candidates graded, those of the batch at hand among them.
    """

    def __init__(self, tell: TellGrading, progress: GradingProgress) -> None:
        self._tell, self._progress = tell, progress
        self._round = self._counted = 0

    def after_batch(self, progress: GradingProgress) -> None:
        """What a :class:`Grader` tells."""
        self._progress, self._counted = progress, self._round
        self._tell(progress)

    def of_round(self, now: RoundProgress) -> None:
        """What the client tells of the questions at hand."""
        self._round = now.usage.rounds
        progress, usage = self._progress, now.usage
        settled = now.done if now.usage.rounds > self._counted else 0
        self._tell(
            replace(
                progress,
                done=min(progress.done + settled, progress.total),
                seconds=max(progress.seconds, usage.seconds),
                calls=max(progress.calls, usage.calls),
                tokens=max(progress.tokens, usage.tokens),
            )
        )


class NothingGradedError(EndpointError):
    """A run asked about candidates, and not one of them has a grade by it."""


SAMPLE = 100
"""Candidates whose lengths an estimate is made from."""


@all_for_leads
class ModelGrading(ForPerson):
    """Models that grade, over one home. Safe to share between threads.

    Attributes:
        jobs: by :attr:`Project.key`. What is graded when one is cancelled stays, and the next
            run goes on from there.
        batch: candidates that are graded together; what a kill costs at most.

    Args:
        searcher: gives the search engine of a corpus by name.
    """

    def __init__(
        self,
        projects: ProjectStore,
        ledger: Ledger,
        library: Library,
        searcher: Callable[[str], Searcher],
        settings: Settings,
    ) -> None:
        self._projects, self._ledger, self._library = projects, ledger, library
        self._searcher, self._settings = searcher, settings
        self.jobs = JobRunner()
        self.batch = BATCH

    def models(self, project: Project) -> list[str]:
        """The names by which models graded in a project, the latest to do so last."""
        return models_of(self._projects.judgments(project))

    # -- grading ---------------------------------------------------------------------------

    def estimate(
        self,
        project: Project,
        request: GradingRequest,
        endpoint: Endpoint | None = None,
    ) -> GradingEstimate:
        """What a request would take at most; nothing is asked. Tokens only with an endpoint."""
        info = describe(self._settings, self._ledger.answers, endpoint)
        name = model_annotator(info.model) if info.model else ""
        plan = self._plan(project, name, request)
        cost = Estimate(calls=len(plan.candidates))
        if info.set_up and plan.candidates:
            cost = self._cost(plan, connect(self._settings, endpoint, person=self.person))
        return GradingEstimate(
            request=request,
            annotator=name,
            candidates=len(plan.candidates),
            done=plan.done,
            judged=plan.judged,
            queries=len(plan.asked),
            without_anchors=plan.without_anchors,
            **asdict(cost),
        )

    def start(
        self,
        project: Project,
        request: GradingRequest,
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
        owner: str = "",
    ) -> str:
        """Grade in the background; returns the job's id. A project has one run at a time in
        this process: while one is under way, it is that one's id.

        Args:
            owner: who asks for it.
        """
        connection = connect(self._settings, endpoint, most_calls, self.person)
        running = self.jobs.running(project.key)
        if running is not None:
            return running
        name = model_annotator(connection.endpoint.model)
        connection = connection.within(self._check(project, name, request))
        progress = GradingProgress(annotator=name)

        def work(tell: TellGrading, cancelled: Ask) -> GradingReport:
            so_far = ProgressOfBatches(tell, progress)

            async def graded(client: Client) -> GradingReport:
                return await self.grade(client, project, request, so_far.after_batch)

            answers = self._ledger.answers
            run = ask_model(connection, answers, graded, so_far.of_round, cancelled)
            return _with_grades(run.value)

        return self.jobs.start(project.key, work, progress, request=request, owner=owner)

    def run(
        self,
        project: Project,
        request: GradingRequest,
        *,
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
        tell: TellGrading = tell_nobody,
    ) -> GradingReport:
        """Grade now. Ctrl-C ends it, what was answered is stored; a second one is a
        KeyboardInterrupt.
        """
        connection = connect(self._settings, endpoint, most_calls, self.person)
        announced = self._check(project, model_annotator(connection.endpoint.model), request)
        connection = connection.within(announced)

        async def work(client: Client) -> GradingReport:
            return await self.grade(client, project, request, tell)

        return complete(connection, self._ledger.answers, work).value

    async def grade(
        self,
        client: Client,
        project: Project,
        request: GradingRequest,
        tell: TellGrading = tell_nobody,
        cancelled: Ask = never,
    ) -> GradingReport:
        """Grade with a client that is open: the work itself, for runs that do more than this.

        Never raises for what the endpoint does; see ``stopped`` and ``problem`` of the report.

        Args:
            tell: called after every batch.
            cancelled: asked before every batch, beside the client's own.
        """
        name = model_annotator(client.usage.model)
        with self._alone(project):  # around the plan, too: nobody asks what was just answered
            plan = await asyncio.to_thread(self._plan, project, name, request)
            material = Material(plan, self._searcher(project.corpus))
            grader = Grader(plan, material, self._ledger.judging, tell, cancelled, self.batch)
            return await grader.work(client)

    # -- checking --------------------------------------------------------------------------

    def sample(
        self, project: Project, count: int, seed: int = 0, annotator: str = ""
    ) -> list[Item]:
        """Items of the pool that a model graded and no person has, drawn at random.

        Args:
            annotator: who is to look at them; what they skipped is left out.
        """
        known = self._library.open(project.corpus).row_of
        pool = self._projects.pool(project)
        judgments = self._projects.judgments(project)
        return draw_sample(pool, judgments, count, seed, annotator, known)

    def check(self, project: Project, annotator: str = "") -> ModelCheck:
        """People against a model, on the items that both graded.

        Args:
            annotator: the model's name; "" for the one that graded last.
        """
        judgments = self._projects.judgments(project)
        models = models_of(judgments)
        name = annotator or next(reversed(models), "")
        queries = self._projects.queries(project, retired=True)
        aspects = {key: query.aspect or "" for key, query in queries.items()}
        return check_model(name, judgments, project.scale, aspects)

    # -- inside ----------------------------------------------------------------------------

    def _alone(self, project: Project) -> AbstractContextManager[None]:
        """Grade a project while nobody else does: two runs would pay for every answer twice."""
        what = f"The project '{project.name}' of corpus '{project.corpus}' is being graded"
        return self._ledger.locks.hold("grading", *project.key, what=what)

    def _check(self, project: Project, annotator: str, request: GradingRequest) -> Estimate:
        """Raise before anything is asked for what :meth:`grade` would refuse; returns how much
        it asks."""
        plan = self._plan(project, annotator, request)
        with self._alone(project):
            pass
        return Estimate(calls=len(plan.candidates))

    def _plan(self, project: Project, annotator: str, request: GradingRequest) -> GradingPlan:
        opened = self._library.open(project.corpus)
        pool = self._projects.pool(project)
        judgments = self._projects.judgments(project)
        queries = self._projects.queries(project)
        gone = {*unaskable(opened, queries)}
        return make_plan(project, annotator, request, pool, queries, judgments, opened.row_of, gone)

    def _cost(self, plan: GradingPlan, connection: Connection) -> Estimate:
        """Calls, tokens and cost of a plan, from a sample of its candidates."""
        sampled = plan.candidates[:: -(-len(plan.candidates) // SAMPLE)]
        prompts = Material(plan, self._searcher(plan.project.corpus)).prompts(sampled)
        known = estimator(connection, self._ledger.answers)
        return known.estimate(list(prompts), len(plan.candidates))
