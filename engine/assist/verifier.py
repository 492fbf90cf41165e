"""The facade over everything that needs a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from engine.assist.explaining import explanation
from engine.assist.model import Model
from engine.assist.model_results import helped, reranking
from engine.assist.model_systems import MODEL_SYSTEMS, find_model_system
from engine.assist.ranking_jobs import RankingWork, Task
from engine.assist.rerank_estimates import Estimates, priced, priced_search
from engine.assist.reranking import (
    DEFAULT_DEPTH,
    Finished,
    Plan,
    model_report,
    rerank_one,
    usage_report,
)
from engine.assist.starting import assignment_of, plan_for, prepared, searching
from engine.config import Settings
from engine.errors import BadInputError, UnknownNameError
from engine.jobs.threads import Jobs
from engine.llm.budget import RoundProgress
from engine.llm.client import Client
from engine.llm.connecting import HOW, connect, describe, try_endpoint
from engine.llm.endpoint_errors import EndpointError
from engine.llm.endpoints import Connection, Endpoint, find_endpoint
from engine.llm.run import Outcome, complete
from engine.rerank import DEFAULT_MODE, MODES
from engine.search.searcher import FirstStage, Searcher
from engine.types.callbacks import Ask, never, tell_nobody
from engine.types.reranking import (
    CostEstimate,
    EndpointInfo,
    GeneratedExplanation,
    Reranking,
    RerankJob,
)
from engine.types.searches import Query
from storage.ledger import Ledger


class Verifier:
    """A language model over one home. Safe to share between threads.

    Where an ``endpoint`` is taken, None is the one of the environment; see :meth:`find_endpoint`.

    Attributes:
        how: ways to connect a model, a line each.
        modes: name -> one line for people.
        systems: those that need a model, beside ``Explorer.systems``.

    Args:
        searcher: gives the search engine of a corpus by name.
    """

    how = HOW
    modes: Mapping[str, str] = {mode.name: mode.description for mode in MODES.values()}
    systems = tuple(MODEL_SYSTEMS)

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        searcher: Callable[[str], Searcher],
    ) -> None:
        self._settings, self._answers = settings, ledger.answers
        self._searcher = searcher
        self._jobs = Jobs()
        self._estimates = Estimates()

    # -- the endpoint --------------------------------------------------------------------

    @property
    def most_calls(self) -> int | None:
        """Requests that one run may send by the settings; None for no limit."""
        return self._settings.llm_max_calls

    def find_endpoint(
        self, session: Mapping[str, str], secrets: Mapping[str, str]
    ) -> Endpoint | None:
        """The endpoint that was set up, None where none was.

        Args:
            session, secrets: settings by the names ``OPENAI_BASE_URL``, ``OPENAI_API_KEY`` and
                ``SEEDLENS_LLM_MODEL``: what a person entered on a page, and what ``secrets.toml``
                says. They come before the environment, in this order, and are not kept.

        Raises:
            NoEndpointError: settings that cannot be used.
        """
        return find_endpoint(self._settings, secrets, session)

    def endpoint(self, endpoint: Endpoint | None = None) -> EndpointInfo:
        """Which endpoint would be asked, without asking it; or why none can be. Never raises
        for settings."""
        return describe(self._settings, self._answers, endpoint)

    def check(self, endpoint: Endpoint | None = None) -> EndpointInfo:
        """Ask the endpoint something tiny, and remember what it can do.

        The ``problem`` says what is wrong where it does not answer.
        """
        found = self.endpoint(endpoint)
        if not found.set_up:
            return found
        try:
            try_endpoint(self.connection(endpoint), self._answers)
        except EndpointError as error:
            return replace(found, tried=False, problem=str(error))
        return self.endpoint(endpoint)

    def connection(
        self, endpoint: Endpoint | None = None, most_calls: int | None = None
    ) -> Connection:
        """The connection that was set up, with the budget of the settings.

        Args:
            most_calls: at most so many requests, whatever the settings allow.

        Raises:
            NoEndpointError: none is set up; says how to.
        """
        return connect(self._settings, endpoint, most_calls)

    def model(
        self,
        connection: Connection,
        tell: Callable[[RoundProgress], None] = tell_nobody,
        cancelled: Ask = never,
    ) -> Model:
        """A connection with this home's answers, for :mod:`engine.evaluate.model_runs`."""
        return Model(connection, self._answers, tell, cancelled)

    # -- reranking -----------------------------------------------------------------------

    def estimate(
        self,
        query: Query,
        mode: str = DEFAULT_MODE,
        depth: int = DEFAULT_DEPTH,
        endpoint: Endpoint | None = None,
    ) -> CostEstimate:
        """What reranking will cost; nothing is asked. Tokens only with an endpoint.

        One of :attr:`systems` is not reranked: mode and depth do not count then.

        Raises:
            UnknownNameError, BadInputError: as a search, or no such mode or depth.
        """
        plan, info = plan_for(query, mode, depth), self.endpoint(endpoint)
        corpus = self._searcher(query.corpus).corpus.identity

        def make() -> CostEstimate:
            connection = self.connection(endpoint) if info.set_up else None
            given = assignment_of(*self._staged(query))
            if plan is None:
                return priced_search(query.system, given, connection, self._answers)
            return priced(plan, given, connection, self._answers)

        return self._estimates.get((replace(query, k=1, offset=0), plan, info, corpus), make)

    def start(
        self,
        query: Query,
        mode: str = DEFAULT_MODE,
        depth: int = DEFAULT_DEPTH,
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
    ) -> str:
        """Rerank in the background; returns the job's id, of one under way where there is one.

        A query on one of :attr:`systems` is searched instead: mode and depth do not count then.

        Raises:
            NoEndpointError: none is set up; says how to.
            UnknownNameError, BadInputError: as a search, or no such mode or depth.
        """
        task, begin = self._prepared(query, mode, depth, endpoint, most_calls)
        return self._jobs.start_unless_running(
            RankingWork,  # type: ignore[type-abstract]
            lambda work: work.task == task,
            begin,
        )[0]

    def running(
        self,
        query: Query,
        mode: str = DEFAULT_MODE,
        depth: int = DEFAULT_DEPTH,
        endpoint: Endpoint | None = None,
    ) -> str | None:
        """The id of a job under way that ranks the same with the same model and key.

        Whoever began it: a page that is opened anew goes on with it. Raises as :meth:`start`.
        """
        place = self.connection(endpoint).endpoint
        corpus = self._searcher(query.corpus).corpus.identity
        return self._running(Task(query, plan_for(query, mode, depth), place, corpus))

    def recall(
        self,
        query: Query,
        mode: str = DEFAULT_MODE,
        depth: int = DEFAULT_DEPTH,
        endpoint: Endpoint | None = None,
    ) -> str | None:
        """The id of a job that is under way, or done from answers in the ledger alone.

        None where the model would have to be asked; nothing is sent. Raises as :meth:`start`.
        """
        task, begin = self._prepared(query, mode, depth, endpoint, most_calls=0)
        running = self._running(task)
        if running is not None or not self.endpoint(endpoint).tried:
            return running  # an endpoint that was not tried out would be, and that asks it
        job = begin()
        try:
            outcome: Outcome[Any] = job.run.result()
        except EndpointError:
            return None
        return None if outcome.usage.stopped else self._jobs.add(job)

    def state(self, job_id: str) -> RerankJob:
        """How far a reranking is, the best order so far included.

        Raises:
            UnknownNameError: there is no such job, or its corpus has changed since.
        """
        return self._job(job_id).job(job_id)

    def result(self, job_id: str, k: int | None = None, offset: int = 0) -> Reranking:
        """A page of the best order so far, ``k`` results from ``offset`` on; raises as state."""
        job = self._job(job_id)
        query = job.stage.query
        return job.reranking(replace(query, k=query.k if k is None else k, offset=offset))

    def cancel(self, job_id: str) -> None:
        """End a job soon; what was answered is kept and its order so far stays usable."""
        self._jobs.cancel(job_id)

    def rerank(
        self,
        query: Query,
        mode: str = DEFAULT_MODE,
        depth: int = DEFAULT_DEPTH,
        *,
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
        tell: Callable[[RoundProgress], None] = tell_nobody,
    ) -> Reranking:
        """Rerank now. Ctrl-C ends it, and the result is the best order so far.

        Raises:
            EndpointError: the endpoint refused or failed, and there is not a single answer.
            NoEndpointError, UnknownNameError, BadInputError: as :meth:`start`.
        """
        plan = Plan(mode, depth)
        connection = self.connection(endpoint, most_calls)
        searcher, stage = self._first(query)

        async def work(client: Client) -> Finished:
            return await rerank_one(client, assignment_of(searcher, stage), plan)

        done = complete(connection, self._answers, work, tell)
        return reranking(
            searcher,
            stage,
            done.value.reranked.order,
            model_report(plan, done.usage, [done.value]),
            confidence=done.value.reranked.confidence,
            depth=depth,
            partial=bool(done.usage.stopped),
        )

    # -- what else a model helps with ------------------------------------------------------

    def search(
        self,
        query: Query,
        *,
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
        tell: Callable[[RoundProgress], None] = tell_nobody,
    ) -> Reranking:
        """Search with one of :attr:`systems`; moves are against ``dense``. Raises as rerank."""
        find_model_system(query.system)
        connection = self.connection(endpoint, most_calls)
        searcher, stage = self._staged(query)
        work = searching(searcher, stage, query)
        done = complete(connection, self._answers, work, tell)
        report = usage_report(query.system, 0, 1, done.value.unanswered, done.usage)
        return helped(searcher, stage, done.value, report, query)

    def explain_with_model(
        self, query: Query, doc_id: str, endpoint: Endpoint | None = None
    ) -> GeneratedExplanation:
        """Why a document is similar to the seed in what is asked for, in a model's words.

        Every quote is looked up in the documents. To be shown as generated.

        Raises:
            EndpointError: none is set up, it failed, or its answer has no evidence.
            UnknownNameError: no such document.
        """
        connection = self.connection(endpoint)
        searcher = self._searcher(query.corpus)
        return explanation(searcher, query, doc_id, connection, self._answers)

    # -- inside --------------------------------------------------------------------------

    def _running(self, task: Task) -> str | None:
        return self._jobs.running(RankingWork, lambda work: work.task == task)  # type: ignore[type-abstract]

    def _job(self, job_id: str) -> RankingWork:
        job = self._jobs.get(job_id, RankingWork)  # type: ignore[type-abstract]
        if self._searcher(job.task.query.corpus).corpus.identity != job.task.corpus:
            raise UnknownNameError(
                "The corpus has changed since this was ranked.", "Start it again: answers are kept."
            )
        return job

    def _prepared(
        self,
        query: Query,
        mode: str,
        depth: int,
        endpoint: Endpoint | None,
        most_calls: int | None,
    ) -> tuple[Task, Callable[[], RankingWork]]:
        connection = self.connection(endpoint, most_calls)
        plan = plan_for(query, mode, depth)
        estimate = self.estimate(query, mode, depth, endpoint)
        return prepared(*self._staged(query), query, plan, estimate, connection, self._answers)

    def _staged(self, query: Query) -> tuple[Searcher, FirstStage]:
        """The ranking that a model begins with."""
        by_itself = query.system in MODEL_SYSTEMS
        return self._first(replace(query, system="dense") if by_itself else query)

    def _first(self, query: Query) -> tuple[Searcher, FirstStage]:
        if query.system in MODEL_SYSTEMS:
            raise BadInputError(
                f"The system '{query.system}' asks a model already and cannot be reranked here.",
                "Rerank another system; seedlens evaluate can rerank this one too.",
            )
        searcher = self._searcher(query.corpus)
        return searcher, searcher.first_stage(query)
