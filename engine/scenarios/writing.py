"""Scenarios of a corpus: what there is, and writing them batch by batch."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from engine.config import Settings
from engine.corpora.folders import READERS_GRACE
from engine.corpora.library import Library
from engine.corpora.scenario_store import Recipe, ScenarioSettings, ScenarioStore, Stored
from engine.corpora.sharing import writing
from engine.errors import BadInputError, UnknownNameError
from engine.llm.connecting import Estimator
from engine.llm.tasks import ModelTask, TaskRun, TaskRunner
from engine.permissions import check_operator, leads_only, limited
from engine.scenarios.distilled import distilled_recipe, load_writer
from engine.scenarios.scenario_prompts import WRITING
from engine.scenarios.teaching import Lesson, lessons
from engine.scenarios.writers import (
    ExtractWriter,
    ModelWriter,
    Outcome,
    Writer,
    prompts_for,
    room_for_part,
)
from engine.types.documents import Document
from engine.types.encoders import Encoder
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
READ_ROWS = 256


def filled(
    store: ScenarioStore, request: ScenarioRequest
) -> tuple[ScenarioRequest, ScenarioSettings]:
    """A request, checked, with what it leaves open as the corpus is set to; and what it sets."""
    if request.limit is not None and request.limit < 1:
        raise BadInputError(f"The limit is {request.limit}.", "Ask for at least 1 document.")
    if request.source == "distilled" and not Path(request.folder).expanduser().is_dir():
        raise BadInputError(
            f"There is no folder '{request.folder}' with a distilled model.",
            "Train one with: seedlens distill scenarios NAME --base MODEL --out FOLDER",
        )
    now = store.settings
    settings = ScenarioSettings(
        request.component or now.component,
        now.weight if request.weight is None else request.weight,
    )
    return replace(request, component=settings.component, weight=settings.weight), settings


class WriteScenarios(ModelTask[ScenarioCounts]):
    """Writes and embeds what a request asks for."""

    phase = "writing"

    def __init__(
        self,
        request: ScenarioRequest,
        library: Library,
        held: Callable[[], AbstractContextManager[None]],
        batch: int,
    ) -> None:
        self.request, self.key = request, request.corpus
        self.busy = f"Scenarios are being written for '{request.corpus}'."
        self.asks = request.source == "generated"
        self._library, self._held, self._batch = library, held, batch
        filled(self._store(), request)

    def _store(self) -> ScenarioStore:
        return ScenarioStore(self._library.open(self.request.corpus))

    def held(self) -> AbstractContextManager[None]:
        return self._held()

    def estimate(self, known: Estimator) -> Estimate:
        store = self._store()
        request, settings = filled(store, self.request)
        recipe = _recipe_of(store, request, known.model)
        pending = store.pending(recipe)
        chosen = pending[: request.limit]
        rewritten = set(chosen)
        others = store.elsewise(settings.component)
        estimate = Estimate(
            items=len(chosen),
            counts={
                "done": len(store.hashes) - len(pending),
                "embedded": sum(s.scenarios for d, s in others.items() if d not in rewritten),
            },
        )
        if recipe.source != "generated" or not chosen:
            return estimate
        sampled = chosen[:: -(-len(chosen) // SAMPLE)]
        tokens = room_for_part(known.known.room)
        prompts = [
            prompt
            for start in range(0, len(sampled), READ_ROWS)
            for document in store.corpus.documents(sampled[start : start + READ_ROWS])
            for prompt in prompts_for(document, tokens)
        ]
        calls = round(len(prompts) * len(chosen) / len(sampled))
        cost = known.estimate(prompts, calls)
        return replace(cost, items=estimate.items, counts=estimate.counts)

    async def run(self, run: TaskRun) -> TaskReport[ScenarioCounts]:
        store = self._store()
        request, settings = filled(store, self.request)
        store.set(settings)
        encoder = self._library.encoder(store.corpus)
        batches = _Batches(store, encoder, settings.component, run, self._batch)
        try:
            writer = await asyncio.to_thread(self._writer, run, store)
            pending = store.pending(writer.recipe)[: request.limit]
            await batches.write(writer, pending)
            if not run.stopped:
                await asyncio.to_thread(batches.embed, store.elsewise(settings.component))
        finally:
            await asyncio.to_thread(batches.finish)
        names = ("written", "scenarios", "embedded", "without_text")
        return TaskReport(
            result=ScenarioCounts(*(batches.counts[name] for name in names)),
            failed=batches.counts["failed"],
            left=len(pending) - batches.settled,
            model=writer.recipe.model,
        )

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


@dataclass(slots=True)
class _Batches:
    """Writes, embeds and stores; the caller holds the lock of the corpus.

    While one batch is embedded and stored, the next is being written.
    """

    store: ScenarioStore
    encoder: Encoder
    component: Component
    run: TaskRun
    batch: int
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def settled(self) -> int:
        """Documents that need not be asked about any more in this run."""
        return sum(self.counts[name] for name in ("written", "failed", "without_text"))

    async def write(self, writer: Writer, doc_ids: Sequence[str]) -> None:
        """Write scenarios for these documents."""
        known = self.store.stored()
        saving: asyncio.Task[None] | None = None
        self._tell(len(doc_ids))
        try:
            for start in range(0, len(doc_ids), self.batch):
                if self.run.cancelled() or writer.stopped:
                    break
                group = doc_ids[start : start + self.batch]
                documents = await asyncio.to_thread(self.store.corpus.documents, group)
                written = await writer.write(documents)
                if saving is not None:
                    await saving
                    self._tell(len(doc_ids))
                by_document = self._count(documents, written, stopped=bool(writer.stopped))
                saving = asyncio.create_task(
                    asyncio.to_thread(self._save, by_document, writer.recipe, known)
                )
        finally:
            if saving is not None:
                await saving
        self._tell(len(doc_ids))

    def _count(
        self, documents: Sequence[Document], written: Sequence[Outcome], *, stopped: bool
    ) -> dict[str, Sequence[Scenario]]:
        """The scenarios that there are; what there is not is counted by the reason."""
        by_document: dict[str, Sequence[Scenario]] = {}
        for document, scenarios in zip(documents, written, strict=True):
            if scenarios:
                by_document[document.doc_id] = scenarios
            elif scenarios is not None:
                self.counts["without_text"] += 1
            elif not stopped:  # else it was not asked about
                self.counts["failed"] += 1
        return by_document

    def _save(
        self,
        by_document: Mapping[str, Sequence[Scenario]],
        recipe: Recipe,
        known: Mapping[str, Stored],
    ) -> None:
        if by_document:
            self.store.put(by_document, recipe, self.component, self.encoder, known)
        self.counts["written"] += len(by_document)
        self.counts["scenarios"] += sum(map(len, by_document.values()))

    def embed(self, others: Mapping[str, Stored]) -> None:
        """Embed scenarios again that were embedded by another component; nothing is written."""
        doc_ids = list(others)
        for start in range(0, len(doc_ids), self.batch):
            if self.run.cancelled():
                return
            group = doc_ids[start : start + self.batch]
            by_recipe: dict[Recipe, dict[str, Sequence[Scenario]]] = {}
            for doc_id, scenarios in self.store.of(group).items():
                by_recipe.setdefault(others[doc_id].recipe, {})[doc_id] = scenarios
            for recipe, by_document in by_recipe.items():
                self.store.put(by_document, recipe, self.component, self.encoder, others)
                self.counts["embedded"] += sum(map(len, by_document.values()))
            self._tell(len(doc_ids), start + len(group), "embedding")

    def finish(self) -> None:
        """Compact and index what was stored, if anything was."""
        if self.counts["written"] or self.counts["embedded"]:
            self.store.finish(READERS_GRACE)

    def _tell(self, total: int, done: int | None = None, phase: str = "writing") -> None:
        done = self.settled if done is None else done
        failed, made = self.counts["failed"], self.counts["scenarios"]
        self.run.progress(done, total, failed=failed, made=made, phase=phase)


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
        held = partial(self._writing, request.corpus)
        return WriteScenarios(request, self._library, held, self.batch)

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
