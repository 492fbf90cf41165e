"""The facade over everything that needs a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from engine.callbacks import Ask, never, tell_nobody
from engine.config import Settings
from engine.errors import BadInputError
from engine.lab.shelf import Shelf
from engine.library import Library
from engine.llm.client import Client
from engine.llm.connection import Connection
from engine.llm.errors import EndpointError
from engine.llm.run import Outcome, complete
from engine.llm.usage import RoundProgress
from engine.rerank import DEFAULT_MODE, MODES
from engine.searching import FirstStage, Searcher
from engine.types import (
    CostEstimate,
    EndpointInfo,
    GapJob,
    GapRequest,
    GeneratedExplanation,
    Query,
    Reranking,
    RerankJob,
)
from engine.verify.endpoints import Values, connect, describe, try_endpoint
from engine.verify.estimating import priced, questions
from engine.verify.evaluating import Model
from engine.verify.explaining import explanation
from engine.verify.gap_work import GapWork
from engine.verify.jobs import Jobs, RankingWork
from engine.verify.reranking import (
    DEFAULT_DEPTH,
    Finished,
    Plan,
    model_report,
    rerank_one,
    usage_report,
)
from engine.verify.results import helped, reranking
from engine.verify.starting import assignment_of, searching, start_rerank, start_search
from engine.verify.systems import HOPS, MODEL_SYSTEMS, find_model_system
from engine.verify.trials import Trials
from storage.ledger import Ledger

ESTIMATES_KEPT = 256


class Verifier:
    """A language model over one home. Safe to share between threads.

    ``session`` and ``secrets`` are settings by the names ``OPENAI_BASE_URL``, ``OPENAI_API_KEY``
    and ``SEEDLENS_LLM_MODEL``: what a person entered on the page, and what ``secrets.toml``
    says. They come before the environment, in this order, and are not kept.

    Attributes:
        modes: name -> one line for people.
        systems: those that need a model, beside ``Explorer.systems``.
        trials: measuring with a model: evaluations, and the gap.

    Args:
        searcher: gives the search engine of a corpus by name.
    """

    modes: Mapping[str, str] = {mode.name: mode.description for mode in MODES.values()}
    systems = tuple(MODEL_SYSTEMS)

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        library: Library,
        searcher: Callable[[str], Searcher],
    ) -> None:
        self._settings, self._answers = settings, ledger.answers
        self._searcher = searcher
        self._jobs = Jobs()
        shelf = Shelf(ledger, library)
        self.trials = Trials(ledger, shelf, searcher, self.connection, self._jobs)
        self._estimates: dict[tuple[object, ...], CostEstimate] = {}

    # -- the endpoint --------------------------------------------------------------------

    def endpoint(self, session: Values = None, secrets: Values = None) -> EndpointInfo:
        """Which endpoint would be asked, without asking it; or why none can be. Never raises
        for settings."""
        return describe(self._settings, self._answers, session, secrets)

    def check(self, session: Values = None, secrets: Values = None) -> EndpointInfo:
        """Ask the endpoint something tiny, and remember what it can do.

        The ``problem`` says what is wrong where it does not answer.
        """
        found = self.endpoint(session, secrets)
        if not found.set_up:
            return found
        try:
            try_endpoint(self.connection(session, secrets), self._answers)
        except EndpointError as error:
            return replace(found, tried=False, problem=str(error))
        return self.endpoint(session, secrets)

    def connection(
        self, session: Values = None, secrets: Values = None, most_calls: int | None = None
    ) -> Connection:
        """The connection that was set up, with the budget of the settings.

        Args:
            most_calls: in place of the settings' limit.

        Raises:
            NoEndpointError: none is set up; says how to.
        """
        return connect(self._settings, session, secrets, most_calls)

    def model(
        self,
        connection: Connection,
        tell: Callable[[RoundProgress], None] = tell_nobody,
        cancelled: Ask = never,
    ) -> Model:
        """A connection with this home's answers, for :mod:`engine.verify.evaluating`."""
        return Model(connection, self._answers, tell, cancelled)

    # -- reranking -----------------------------------------------------------------------

    def estimate(
        self,
        query: Query,
        mode: str = DEFAULT_MODE,
        depth: int = DEFAULT_DEPTH,
        session: Values = None,
        secrets: Values = None,
    ) -> CostEstimate:
        """What reranking would cost at most; nothing is asked. Tokens only with an endpoint.

        For one of :attr:`systems`, its calls alone.

        Raises:
            UnknownNameError, BadInputError: as a search, or no such mode or depth.
        """
        if query.system in MODEL_SYSTEMS:
            hops = HOPS if query.system == "multi-hop" else 1
            return CostEstimate(query.system, 0, hops, hops, exact=True)
        plan = Plan(mode, depth)
        info = self.endpoint(session, secrets)
        key = (replace(query, k=1, offset=0), plan, info)
        if key not in self._estimates:
            searcher, stage = self._first(query)
            assignment = assignment_of(searcher, stage)
            if info.set_up:
                found = priced(plan, assignment, self.connection(session, secrets), self._answers)
            else:
                found = questions(plan, len(assignment.doc_ids))
            while len(self._estimates) >= ESTIMATES_KEPT:
                self._estimates.pop(next(iter(self._estimates)), None)
            self._estimates[key] = found
        return self._estimates[key]

    def start(
        self,
        query: Query,
        mode: str = DEFAULT_MODE,
        depth: int = DEFAULT_DEPTH,
        session: Values = None,
        secrets: Values = None,
        most_calls: int | None = None,
    ) -> str:
        """Rerank in the background; returns the job's id.

        A query on one of :attr:`systems` is searched instead: mode and depth do not count then.

        Raises:
            NoEndpointError: none is set up; says how to.
            UnknownNameError, BadInputError: as a search, or no such mode or depth.
        """
        return self._jobs.add(self._begin(query, mode, depth, session, secrets, most_calls))

    def recall(
        self,
        query: Query,
        mode: str = DEFAULT_MODE,
        depth: int = DEFAULT_DEPTH,
        session: Values = None,
        secrets: Values = None,
    ) -> str | None:
        """The id of a job that is done, from answers in the ledger alone.

        None where the model would have to be asked; nothing is sent. Raises as :meth:`start`.
        """
        job = self._begin(query, mode, depth, session, secrets, most_calls=0)
        try:
            outcome: Outcome[Any] = job.run.result()
        except EndpointError:
            return None
        return None if outcome.usage.stopped else self._jobs.add(job)

    def state(self, job_id: str) -> RerankJob:
        """How far a reranking is, the best order so far included; UnknownNameError."""
        return self._jobs.get(job_id, RankingWork).job(job_id)

    def result(self, job_id: str, k: int | None = None, offset: int = 0) -> Reranking:
        """A page of the best order so far, at any time; ``k`` results from ``offset`` on."""
        job = self._jobs.get(job_id, RankingWork)
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
        session: Values = None,
        secrets: Values = None,
        most_calls: int | None = None,
        tell: Callable[[RoundProgress], None] = tell_nobody,
    ) -> Reranking:
        """Rerank now. Ctrl-C ends it, and the result is the best order so far.

        Raises:
            EndpointError: the endpoint refused or failed, and there is not a single answer.
            NoEndpointError, UnknownNameError, BadInputError: as :meth:`start`.
        """
        plan = Plan(mode, depth)
        connection = self.connection(session, secrets, most_calls)
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
        session: Values = None,
        secrets: Values = None,
        most_calls: int | None = None,
        tell: Callable[[RoundProgress], None] = tell_nobody,
    ) -> Reranking:
        """Search with one of :attr:`systems`; moves are against ``dense``. Raises as rerank."""
        find_model_system(query.system)
        connection = self.connection(session, secrets, most_calls)
        searcher, stage = self._first(replace(query, system="dense"))
        work = searching(searcher, stage, query)
        done = complete(connection, self._answers, work, tell)
        report = usage_report(query.system, 0, 1, done.value.unanswered, done.usage)
        return helped(searcher, stage, done.value, report, query)

    def explain_with_model(
        self, query: Query, doc_id: str, session: Values = None, secrets: Values = None
    ) -> GeneratedExplanation:
        """Why a document is similar to the seed in what is asked for, in a model's words.

        Every quote is looked up in the documents. To be shown as generated.

        Raises:
            EndpointError: none is set up, it failed, or its answer has no evidence.
            UnknownNameError: no such document.
        """
        connection = self.connection(session, secrets)
        searcher = self._searcher(query.corpus)
        return explanation(searcher, query, doc_id, connection, self._answers)

    # -- the gap -------------------------------------------------------------------------

    def start_gap(
        self,
        request: GapRequest,
        session: Values = None,
        secrets: Values = None,
        most_calls: int | None = None,
    ) -> str:
        """Measure the retrieval-verification gap in the background; returns the job's id.

        Raises:
            NoEndpointError: none is set up; says how to.
            UnknownNameError, BadInputError: no such collection, system or verifier; sizes.
        """
        return self.trials.start_gap(request, session, secrets, most_calls)

    def gap_state(self, job_id: str) -> GapJob:
        """How far a gap is, and the gap itself when it is there; UnknownNameError."""
        return self._jobs.get(job_id, GapWork).job(job_id)

    def _begin(
        self,
        query: Query,
        mode: str,
        depth: int,
        session: Values,
        secrets: Values,
        most_calls: int | None,
    ) -> RankingWork:
        connection = self.connection(session, secrets, most_calls)
        estimate = self.estimate(query, mode, depth, session, secrets)
        if query.system in MODEL_SYSTEMS:
            first = self._first(replace(query, system="dense"))
            return start_search(*first, query, estimate, connection, self._answers)
        plan = Plan(mode, depth)
        return start_rerank(*self._first(query), plan, estimate, connection, self._answers)

    def _first(self, query: Query) -> tuple[Searcher, FirstStage]:
        if query.system in MODEL_SYSTEMS:
            raise BadInputError(
                f"The system '{query.system}' asks a model already and cannot be reranked here.",
                "Rerank another system; seedlens evaluate can rerank this one too.",
            )
        searcher = self._searcher(query.corpus)
        return searcher, searcher.first_stage(query)
