"""The facade over scenarios: what they will cost, writing them, and what there is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from functools import partial

from engine.config import Settings
from engine.corpora.library import Library
from engine.corpora.scenario_store import ScenarioStore
from engine.corpora.sharing import writing
from engine.errors import UnknownNameError
from engine.jobs.runner import JobRunner, in_foreground
from engine.llm.budget import Usage
from engine.llm.client import open_client
from engine.llm.connecting import connect, describe
from engine.llm.endpoints import Connection, Endpoint
from engine.llm.run import finish
from engine.permissions import check_operator, leads_only
from engine.scenarios.plans import estimated, filled, own_writer, recipe_of
from engine.scenarios.teaching import Lesson, lessons
from engine.scenarios.writers import ModelWriter, Writer
from engine.scenarios.writing import BATCH, Runner, TellScenarios
from engine.types.callbacks import Ask, tell_nobody
from engine.types.people import ForPerson
from engine.types.scenarios import (
    COMPONENTS,
    Component,
    Scenario,
    ScenarioEstimate,
    ScenarioProgress,
    ScenarioReport,
    ScenarioRequest,
    ScenarioState,
)
from storage.home import Home
from storage.ledger import Ledger


class Scenarios(ForPerson):
    """Scenarios of one home. Safe to share between threads.

    Attributes:
        components: what can be embedded of a scenario.
        jobs: runs in the background, by corpus: ``Job[ScenarioProgress, ScenarioReport]``.
        batch: documents that are written together; what a kill can cost at most.
    """

    components: tuple[Component, ...] = COMPONENTS

    def __init__(self, home: Home, ledger: Ledger, settings: Settings, library: Library) -> None:
        self._home, self._ledger, self._answers = home, ledger, ledger.answers
        self._settings, self._library = settings, library
        self.jobs = JobRunner()
        self.batch = BATCH

    # -- what there is -----------------------------------------------------------------

    def status(self, corpus: str) -> ScenarioState:
        """What there is for a corpus; UnknownNameError when there is no such corpus."""
        return self._store(corpus).state()

    def of_document(self, corpus: str, doc_id: str) -> tuple[Scenario, ...]:
        """The scenarios of a document as it is now, () when there are none.

        Raises:
            UnknownNameError: no such corpus or document.
        """
        store = self._store(corpus)
        if doc_id not in store.corpus.row_of:
            raise UnknownNameError(f"There is no document '{doc_id}' in corpus '{corpus}'.")
        return store.of([doc_id]).get(doc_id, ())

    @leads_only
    def lessons(self, corpus: str, limit: int | None = None) -> list[Lesson]:
        """What a small model can learn from; see :mod:`engine.scenarios.distillation`.

        Raises:
            UnknownNameError: no such corpus.
            BadInputError: a language model has written for fewer than two of its documents.
        """
        return lessons(self._store(corpus), limit)

    # -- changing it -------------------------------------------------------------------

    @leads_only
    def set_weight(self, corpus: str, weight: float) -> None:
        """Set what documents count for against their best scenario; holds from the next search.

        Raises:
            BadInputError: not between 0 and 1.
            CorpusBusyError: another process is writing to the corpus.
        """
        with self._writing(corpus):
            store = self._store(corpus)
            store.set(replace(store.settings, weight=weight))

    @leads_only
    def remove(self, corpus: str) -> None:
        """Remove all scenarios of a corpus. Answers of models stay in the ledger.

        Raises:
            CorpusBusyError: another process is writing to the corpus.
        """
        with self._writing(corpus):
            self._store(corpus).remove()

    # -- writing -----------------------------------------------------------------------

    @leads_only
    def estimate(
        self, request: ScenarioRequest, endpoint: Endpoint | None = None
    ) -> ScenarioEstimate:
        """What a request would take at most; nothing is asked. Tokens only with an endpoint.

        Raises:
            UnknownNameError, BadInputError: no such corpus, component, weight or limit.
        """
        store = self._store(request.corpus)
        request = self._filled(store, request)
        connection, model = None, ""
        if request.source == "generated":
            info = describe(self._settings, self._answers, endpoint)
            model = info.model
            if info.set_up:
                connection = connect(self._settings, endpoint, person=self.person)
        recipe = recipe_of(store, request, model)
        return estimated(store, request, recipe, connection, self._answers)

    @leads_only
    def start(
        self,
        request: ScenarioRequest,
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
        owner: str = "",
    ) -> str:
        """Write in the background; returns the id of the job, which :attr:`jobs` keeps.

        What is being written already is not begun again: it is that job's id.

        Args:
            owner: who asks for it.

        Raises:
            NoEndpointError: a model is to write, and none is set up; says how to.
            CorpusBusyError: other scenarios are being written for the corpus.
            UnknownNameError, BadInputError: as :meth:`estimate`.
        """
        work = self._prepared(request, endpoint, most_calls)
        return self.jobs.start(
            request.corpus, work, ScenarioProgress(), request=request, owner=owner,
            busy=f"Scenarios are being written for '{request.corpus}'.",
        )  # fmt: skip

    @leads_only
    def run(
        self,
        request: ScenarioRequest,
        *,
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
        tell: TellScenarios = tell_nobody,
    ) -> ScenarioReport:
        """Write now. Ctrl-C ends it after the batch at hand; a second one is a KeyboardInterrupt.

        Raises:
            EndpointError: the endpoint refused or failed, and there is not a single answer.
            CorpusBusyError: another process is writing to the corpus.
            NoEndpointError, UnknownNameError, BadInputError: as :meth:`start`.
        """
        work = self._prepared(request, endpoint, most_calls)
        return in_foreground(lambda cancelled: work(tell, cancelled))

    # -- inside ------------------------------------------------------------------------

    def _filled(self, store: ScenarioStore, request: ScenarioRequest) -> ScenarioRequest:
        if request.source == "distilled":
            check_operator(self.person)  # it names a folder of this machine, and loads a model
        return filled(store, request)[0]

    def _prepared(
        self, request: ScenarioRequest, endpoint: Endpoint | None, most_calls: int | None
    ) -> Callable[[TellScenarios, Ask], ScenarioReport]:
        self._filled(self._store(request.corpus), request)
        connection = None
        if request.source == "generated":
            announced = self.estimate(request, endpoint)
            connection = connect(self._settings, endpoint, most_calls, self.person).within(
                announced
            )
        return partial(self._perform, request, connection)

    def _perform(
        self,
        request: ScenarioRequest,
        connection: Connection | None,
        tell: TellScenarios,
        cancelled: Ask,
    ) -> ScenarioReport:
        started = time.perf_counter()
        with self._writing(request.corpus):
            store = self._store(request.corpus)
            request, settings = filled(store, request)
            store.set(settings)
            encoder, component = self._library.encoder(store.corpus), settings.component
            runner = Runner(store, encoder, component, tell, cancelled, self.batch)
            try:
                pending, usage = finish(self._write(runner, request, connection, cancelled))
                if not usage.stopped and not cancelled():
                    runner.embed(store.elsewise(component))
            finally:
                runner.finish()
        left = pending - runner.counts.settled
        return ScenarioReport(
            request=request,
            **asdict(runner.counts),
            left=left,
            seconds=time.perf_counter() - started,
            stopped="cancelled" if cancelled() and (left or usage.stopped) else usage.stopped,
            notes=usage.notes,
            **usage.taken,
        )

    async def _write(
        self,
        runner: Runner,
        request: ScenarioRequest,
        connection: Connection | None,
        cancelled: Ask,
    ) -> tuple[int, Usage]:
        """Write what is pending; returns how much that was, and the model's usage."""

        async def write(writer: Writer) -> int:
            pending = runner.store.pending(writer.recipe)[: request.limit]
            await runner.write(writer, pending)
            return len(pending)

        if connection is None:
            writer = await asyncio.to_thread(own_writer, runner.store, request)
            return await write(writer), Usage(model=writer.recipe.model)
        model, tell = connection.endpoint.model, runner.tell
        async with open_client(connection, self._answers, cancelled) as client:

            def with_usage(progress: ScenarioProgress) -> None:
                used = client.usage.input_tokens + client.usage.output_tokens
                tell(replace(progress, calls=client.usage.calls, tokens=used))

            runner.tell = with_usage
            pending = await write(ModelWriter(client, model))
            client.raise_if_nothing_came()
        return pending, replace(client.usage, model=model)

    def _store(self, corpus: str) -> ScenarioStore:
        return ScenarioStore(self._library.open(corpus))

    def _writing(self, corpus: str) -> AbstractContextManager[None]:
        self._library.corpus(corpus)  # no lock file for a corpus that is not there
        return writing(
            self._home,
            self._ledger,
            corpus,
            f"The corpus '{corpus}' is being indexed, or scenarios are being written for it.",
            "Wait until that is done, or cancel it.",
            documents=False,
        )
