"""Scenarios of a corpus: what there is, and writing them batch by batch."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path

from engine.config import Settings
from engine.corpora.library import Library
from engine.corpora.registry import READERS_GRACE, writing
from engine.corpora.scenario_store import Recipe, ScenarioSettings, ScenarioStore
from engine.errors import BadInputError, UnknownNameError, check_between
from engine.llm.messages import Prompt
from engine.llm.tasks import Estimator, ModelTask, TaskRun, TaskRunner
from engine.permissions import check_operator, leads_only, limited
from engine.scenarios.distillation import Lesson, distilled_recipe, lessons, load_writer
from engine.scenarios.writers import (
    WRITING,
    ExtractWriter,
    ModelWriter,
    Writer,
    Written,
    prompts_for,
    room_for_part,
)
from engine.types.models import Estimate, TaskReport
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

BATCH = 32  # Documents that are written together
SAMPLE = 2000  # Documents whose lengths are measured, evenly spread over all


def settings_for(store: ScenarioStore, request: ScenarioRequest) -> ScenarioSettings:
    """What a request, which is checked, sets of a corpus: what it leaves open stays as it is."""
    check_between("The limit", request.limit, 1)
    if request.source == "distilled" and not Path(request.folder).expanduser().is_dir():
        raise BadInputError(
            f"There is no folder '{request.folder}' with a distilled model.",
            "Train one with: seedlens distill scenarios NAME --base MODEL --out FOLDER",
        )
    now = store.settings
    weight = now.weight if request.weight is None else request.weight
    return ScenarioSettings(request.component or now.component, weight)


class WriteScenarios(ModelTask[ScenarioCounts]):
    """Writes and embeds what a request asks for."""

    phase = "writing"

    def __init__(self, request: ScenarioRequest, facade: Scenarios) -> None:
        self.request, self.key = request, request.corpus
        self.busy = f"Scenarios are being written for '{request.corpus}'."
        self.asks = request.source == "generated"
        self._facade, self._batch = facade, facade.batch
        # "scenarios" written and "embedded"; documents "written", "failed" and "without_text"
        self._counts: Counter[str] = Counter()
        settings_for(self._store(), request)

    def _store(self) -> ScenarioStore:
        return self._facade._store(self.request.corpus)

    def held(self) -> AbstractContextManager[None]:
        return self._facade._writing(self.request.corpus)

    def estimate(self, known: Estimator) -> Estimate:
        store, request = self._store(), self.request
        recipe = _recipe_of(store, request, known.model)
        pending = store.pending(recipe)
        chosen = pending[: request.limit]
        rewritten = set(chosen)
        others = store.elsewise(settings_for(store, request).component)
        estimate = Estimate(
            items=len(chosen),
            counts={
                "done": len(store.hashes) - len(pending),
                "embedded": sum(s.scenarios for d, s in others.items() if d not in rewritten),
            },
        )
        if recipe.source != "generated" or not chosen:
            return estimate
        tokens = room_for_part(known.known.room)

        def ask(sampled: Sequence[str]) -> list[Prompt[Written]]:
            return [p for d in store.corpus.documents(sampled) for p in prompts_for(d, tokens)]

        return replace(known.of_items(chosen, ask, SAMPLE), counts=estimate.counts)

    async def run(self, run: TaskRun) -> TaskReport[ScenarioCounts]:
        store, counts = self._store(), self._counts
        settings = settings_for(store, self.request)
        store.set(settings)
        put = partial(
            store.put,
            component=settings.component,
            encoder=self._facade._library.encoder(store.corpus),
        )
        try:
            writer = await asyncio.to_thread(self._writer, run, store)
            pending = store.pending(writer.recipe)[: self.request.limit]
            await self._write(run, store, writer, pending, put)
            if not run.stopped:
                await asyncio.to_thread(self._embed, run, store, settings.component, put)
        finally:
            if counts["written"] or counts["embedded"]:
                await asyncio.to_thread(store.finish, READERS_GRACE)
        names = ("written", "scenarios", "embedded", "without_text")
        return TaskReport(
            result=ScenarioCounts(*(counts[name] for name in names)),
            failed=counts["failed"],
            left=len(pending) - self._settled,
            model=writer.recipe.model,
        )

    @property
    def _settled(self) -> int:
        """Documents that need not be asked about any more in this run."""
        return sum(self._counts[name] for name in ("written", "failed", "without_text"))

    async def _write(
        self,
        run: TaskRun,
        store: ScenarioStore,
        writer: Writer,
        doc_ids: Sequence[str],
        put: Callable[..., None],
    ) -> None:
        """Write, embed and store; while one batch is stored, the next is being written."""
        counts, known = self._counts, store.stored()

        def save(written: Mapping[str, Sequence[Scenario]]) -> None:
            if written:
                put(written, writer.recipe, known=known)
            counts["written"] += len(written)
            counts["scenarios"] += sum(map(len, written.values()))

        def tell() -> None:
            failed, made = counts["failed"], counts["scenarios"]
            run.progress(self._settled, len(doc_ids), failed=failed, made=made, phase="writing")

        saving: asyncio.Task[None] | None = None
        tell()
        try:
            for group in run.groups(doc_ids, self._batch):
                documents = await asyncio.to_thread(store.corpus.documents, group)
                outcomes = await writer.write(documents)
                if saving is not None:
                    await saving
                    tell()
                counts["without_text"] += sum(outcome == () for outcome in outcomes)
                if not run.stopped:  # else some were not asked about
                    counts["failed"] += sum(outcome is None for outcome in outcomes)
                both = zip(documents, outcomes, strict=True)
                written = {document.doc_id: outcome for document, outcome in both if outcome}
                saving = asyncio.create_task(asyncio.to_thread(save, written))
        finally:
            if saving is not None:
                await saving
        tell()

    def _embed(
        self, run: TaskRun, store: ScenarioStore, component: Component, put: Callable[..., None]
    ) -> None:
        """Embed scenarios again that were embedded by another component; nothing is written."""
        others = store.elsewise(component)
        doc_ids = list(others)
        for start in range(0, len(doc_ids), self._batch):
            if run.cancelled():
                return
            group = doc_ids[start : start + self._batch]
            by_recipe: dict[Recipe, dict[str, Sequence[Scenario]]] = {}
            for doc_id, scenarios in store.of(group).items():
                by_recipe.setdefault(others[doc_id].recipe, {})[doc_id] = scenarios
            for recipe, by_document in by_recipe.items():
                put(by_document, recipe, known=others)
                self._counts["embedded"] += sum(map(len, by_document.values()))
            run.progress(start + len(group), len(doc_ids), phase="embedding")

    def _writer(self, run: TaskRun, store: ScenarioStore) -> Writer:
        if run.client is not None:
            return ModelWriter(run.client, run.model)
        if self.request.source == "extractive":
            return ExtractWriter(store.corpus)
        return load_writer(Path(self.request.folder))


def _recipe_of(store: ScenarioStore, request: ScenarioRequest, model: str) -> Recipe:
    """How a request writes; ``model`` is the endpoint's, for requests that ask one."""
    if request.source == "generated":
        return Recipe("generated", model, WRITING)
    if request.source == "extractive":
        return ExtractWriter(store.corpus).recipe
    return distilled_recipe(Path(request.folder))


@limited(leads_only, "estimate", "run", "start")
class Scenarios(TaskRunner[ScenarioRequest, ScenarioCounts]):
    """Scenarios of one home. Safe to share between threads.

    ``items`` of an estimate are documents to write for, ``counts["done"]`` those that have theirs,
    ``counts["embedded"]`` scenarios that only have to be embedded again.

    What names a corpus raises UnknownNameError when there is none; what changes one raises
    CorpusBusyError while another process writes to it.
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
        return WriteScenarios(request, self)

    def _store(self, corpus: str) -> ScenarioStore:
        return ScenarioStore(self._library.open(corpus))

    def _writing(self, corpus: str) -> AbstractContextManager[None]:
        self._library.corpus(corpus)  # no lock file for a corpus that is not there
        return writing(self._home, self._ledger, corpus, documents=False)
