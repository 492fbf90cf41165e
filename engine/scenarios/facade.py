"""The facade over scenarios: what they will cost, writing them, and what there is."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

from engine.config import Settings
from engine.corpora.library import Library
from engine.corpora.registry import writing
from engine.corpora.scenario_store import ScenarioStore
from engine.errors import UnknownNameError
from engine.llm.tasks import TaskRunner
from engine.permissions import check_operator, leads_only, limited
from engine.scenarios.teaching import Lesson, lessons
from engine.scenarios.writing import BATCH, WriteScenarios
from engine.types.scenarios import (
    COMPONENTS,
    Component,
    Scenario,
    ScenarioCounts,
    ScenarioRequest,
    ScenarioState,
)
from storage.home import Home
from storage.ledger import Ledger


@limited(leads_only, "estimate", "run", "start")
class Scenarios(TaskRunner[ScenarioRequest, ScenarioCounts]):
    """Scenarios of one home. Safe to share between threads.

    ``items`` of an estimate are documents to write for, ``counts["done"]`` those that have theirs,
    ``counts["embedded"]`` scenarios that only have to be embedded again.

    What names a corpus raises UnknownNameError when there is none; what changes one raises
    CorpusBusyError while another process writes to it.

    Attributes:
        components: what can be embedded of a scenario.
        jobs: runs in the background, by corpus: :data:`ScenarioJob`.
        batch: documents that are written together; what a kill can cost at most.
    """

    components: tuple[Component, ...] = COMPONENTS

    def __init__(self, home: Home, ledger: Ledger, settings: Settings, library: Library) -> None:
        super().__init__(settings, ledger.answers)
        self._home, self._ledger, self._library = home, ledger, library
        self.batch = BATCH

    # -- what there is -----------------------------------------------------------------

    def status(self, corpus: str) -> ScenarioState:
        """What there is for a corpus."""
        return self._store(corpus).state()

    def of_document(self, corpus: str, doc_id: str) -> tuple[Scenario, ...]:
        """The scenarios of a document as it is now, () when there are none."""
        store = self._store(corpus)
        if doc_id not in store.corpus.row_of:
            raise UnknownNameError(f"There is no document '{doc_id}' in corpus '{corpus}'.")
        return store.of([doc_id]).get(doc_id, ())

    @leads_only
    def lessons(self, corpus: str, limit: int | None = None) -> list[Lesson]:
        """What a small model can learn from; see :mod:`engine.scenarios.distillation`."""
        return lessons(self._store(corpus), limit)

    # -- changing it -------------------------------------------------------------------

    @leads_only
    def set_weight(self, corpus: str, weight: float) -> None:
        """Set what documents count for against their best scenario, 0 to 1; holds from the next
        search."""
        with self._writing(corpus):
            store = self._store(corpus)
            store.set(replace(store.settings, weight=weight))

    @leads_only
    def remove(self, corpus: str) -> None:
        """Remove all scenarios of a corpus. Answers of models stay in the ledger."""
        with self._writing(corpus):
            self._store(corpus).remove()

    # -- inside ------------------------------------------------------------------------

    def _task(self, request: ScenarioRequest) -> WriteScenarios:
        if request.source == "distilled":
            check_operator(self.person)  # it names a folder of this machine, and loads a model
        held = partial(self._writing, request.corpus)
        return WriteScenarios(request, self._library, held, self.batch)

    def _store(self, corpus: str) -> ScenarioStore:
        return ScenarioStore(self._library.open(corpus))

    def _writing(self, corpus: str) -> AbstractContextManager[None]:
        self._library.corpus(corpus)  # no lock file for a corpus that is not there
        return writing(self._home, self._ledger, corpus, documents=False)
