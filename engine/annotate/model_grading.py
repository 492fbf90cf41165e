"""A language model as one annotator among others: what pages and the command line call as
``explorer.annotation.grading``.

Its grades are never qrels by themselves: they count where the project says so, and only where no
person graded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager

from engine.annotate.judgments import standing
from engine.annotate.model_check import check_model, draw_sample, models_of
from engine.annotate.model_plan import GradingPlan, Item, make_plan
from engine.annotate.model_work import BATCH, Grader, GradingWork, Material, TellGrading
from engine.annotate.pool import pool_items
from engine.annotate.project_settings import model_annotator
from engine.annotate.query_ids import ProjectQueries
from engine.config import Settings
from engine.corpora.library import Library
from engine.jobs.threads import Jobs
from engine.llm.budget import Estimate
from engine.llm.client import Client
from engine.llm.connecting import connect, describe
from engine.llm.endpoints import Connection, Endpoint
from engine.llm.estimates import estimator
from engine.llm.run import Run, complete
from engine.search.searcher import Searcher
from engine.types.annotating import Project
from engine.types.callbacks import Ask, never, tell_nobody
from engine.types.grading import (
    GradingEstimate,
    GradingJob,
    GradingProgress,
    GradingReport,
    GradingRequest,
    ModelCheck,
)
from storage.ledger import Ledger

SAMPLE = 100
"""Candidates whose lengths stand for all in an estimate."""


class ModelGrading:
    """Models that grade, over one home. Safe to share between threads.

    ``session`` and ``secrets`` are settings of the endpoint, as for
    :class:`engine.assist.verifier.Verifier`.

    Attributes:
        batch: candidates that are graded together; what a kill costs at most.

    Args:
        searcher: gives the search engine of a corpus by name.
    """

    def __init__(
        self,
        ledger: Ledger,
        library: Library,
        searcher: Callable[[str], Searcher],
        settings: Settings,
    ) -> None:
        self._ledger, self._library = ledger, library
        self._searcher, self._settings = searcher, settings
        self._queries = ProjectQueries(ledger, library)
        self._jobs = Jobs()
        self.batch = BATCH

    def annotator(self, model: str) -> str:
        """The name by which a model grades: ``model:`` and its own; long ones are cut.

        No person can judge by such a name.
        """
        return model_annotator(model)

    def models(self, project: Project) -> list[str]:
        """The names by which models graded in a project, the latest to do so last."""
        return models_of(standing(self._ledger.judging, project))

    # -- grading ---------------------------------------------------------------------------

    def estimate(
        self,
        project: Project,
        request: GradingRequest,
        endpoint: Endpoint | None = None,
    ) -> GradingEstimate:
        """What a request would take at most; nothing is asked. Tokens only with an endpoint.

        Raises:
            UnknownNameError, BadInputError: no such corpus or query; a number that cannot be.
        """
        info = describe(self._settings, self._ledger.answers, endpoint)
        name = self.annotator(info.model) if info.model else ""
        plan = self._plan(project, name, request)
        cost = None
        if info.set_up and plan.candidates:
            connection = connect(self._settings, endpoint)
            cost = self._cost(plan, connection)
        return GradingEstimate(
            request=request,
            annotator=name,
            candidates=len(plan.candidates),
            done=plan.done,
            judged=plan.judged,
            queries=len(plan.asked),
            without_anchors=plan.without_anchors,
            calls=len(plan.candidates),
            input_tokens=None if cost is None else cost.input_tokens,
            output_tokens=None if cost is None else cost.output_tokens,
            cost=None if cost is None else cost.cost,
        )

    def start(
        self,
        project: Project,
        request: GradingRequest,
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
    ) -> str:
        """Grade in the background; returns the job's id. A project has one run at a time in
        this process: while one is under way, it is that one's id.

        Raises:
            NoEndpointError: no model is set up; says how to.
            UnknownNameError, BadInputError: as :meth:`estimate`.
            CorpusBusyError: the project is being graded already; says in which process.
            StorageError: the home cannot be written to.
        """
        connection = connect(self._settings, endpoint, most_calls)
        name, place = self.annotator(connection.endpoint.model), (project.corpus, project.name)

        def begin() -> GradingWork:
            self._check(project, name, request)
            work = GradingWork(place, request, name, GradingProgress(0, 0))
            work.run = self._run(connection, project, request, work.note)
            return work

        return self._jobs.start_unless_running(GradingWork, lambda w: w.project == place, begin)[0]

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

        Raises:
            EndpointError: the endpoint refused or failed, and there is not a single answer.
            NoEndpointError, UnknownNameError, BadInputError, CorpusBusyError: as :meth:`start`.
        """
        connection = connect(self._settings, endpoint, most_calls)
        self._check(project, self.annotator(connection.endpoint.model), request)

        async def work(client: Client) -> GradingReport:
            return await self.grade(client, project, request, tell)

        return complete(connection, self._ledger.answers, work).value

    def job(self, job_id: str) -> GradingJob:
        """How far a job is; UnknownNameError."""
        return self._jobs.get(job_id, GradingWork).job(job_id)

    def cancel(self, job_id: str) -> None:
        """End a job soon; what is graded stays, and the next run goes on from there."""
        work = self._jobs.get(job_id, GradingWork)
        work.stopping = True
        self._jobs.cancel(job_id)

    def running(self, project: Project) -> str | None:
        """The id of a job that goes on in a project; None when there is none."""
        place = (project.corpus, project.name)
        return self._jobs.running(GradingWork, lambda work: work.project == place)

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

        Raises:
            UnknownNameError, BadInputError: as :meth:`estimate`.
            CorpusBusyError: the project is being graded already; nothing was asked.
            StorageError: the ledger cannot be read or written; what was stored stays.
        """
        name = self.annotator(client.usage.model)
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
        pool = pool_items(self._ledger.projects.pool(project.corpus, project.name))
        judgments = standing(self._ledger.judging, project)
        return draw_sample(pool, judgments, count, seed, annotator, known)

    def check(self, project: Project, annotator: str = "") -> ModelCheck:
        """People against a model, on the items that both graded.

        Args:
            annotator: the model's name; "" for the one that graded last.
        """
        judgments = standing(self._ledger.judging, project)
        models = models_of(judgments)
        name = annotator or (models[-1] if models else "")
        queries = self._queries.all(project, retired=True)
        aspects = {key: query.aspect or "" for key, query in queries.items()}
        return check_model(name, judgments, project.scale, aspects)

    # -- inside ----------------------------------------------------------------------------

    def _alone(self, project: Project) -> AbstractContextManager[None]:
        """Grade a project while nobody else does: two runs would pay for every answer twice."""
        what = f"The project '{project.name}' of corpus '{project.corpus}' is being graded"
        return self._ledger.locks.hold("grading", project.corpus, project.name, what=what)

    def _check(self, project: Project, annotator: str, request: GradingRequest) -> None:
        """Raise before anything is asked for what :meth:`grade` would refuse."""
        self._plan(project, annotator, request)
        with self._alone(project):
            pass

    def _run(
        self,
        connection: Connection,
        project: Project,
        request: GradingRequest,
        tell: TellGrading,
    ) -> Run[GradingReport]:
        async def work(client: Client) -> GradingReport:
            return await self.grade(client, project, request, tell)

        return Run(connection, self._ledger.answers, work)

    def _plan(self, project: Project, annotator: str, request: GradingRequest) -> GradingPlan:
        known = self._library.open(project.corpus).row_of
        pool = pool_items(self._ledger.projects.pool(project.corpus, project.name))
        judgments = standing(self._ledger.judging, project)
        queries = self._queries.all(project)
        return make_plan(project, annotator, request, pool, queries, judgments, known)

    def _cost(self, plan: GradingPlan, connection: Connection) -> Estimate:
        """Calls, tokens and cost of a plan, from a sample of its candidates."""
        sampled = plan.candidates[:: -(-len(plan.candidates) // SAMPLE)]
        factor = len(plan.candidates) / len(sampled)
        material = Material(plan, self._searcher(plan.project.corpus))

        known = estimator(connection, self._ledger.answers)
        sizes = [known.estimate(prompt) for prompt in material.prompts(sampled)]
        return known.total(
            len(plan.candidates),
            round(sum(size.input_tokens for size in sizes) * factor),
            round(sum(size.output_tokens for size in sizes) * factor),
        )
