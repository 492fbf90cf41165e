"""Writing scenarios for a corpus: checked, estimated, and done batch by batch, so that a stop at
any moment costs one batch at most."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.corpora.library import Library
from engine.corpora.registry import READERS_GRACE
from engine.corpora.scenario_store import Recipe, ScenarioSettings, ScenarioStore, Stored
from engine.errors import BadInputError
from engine.llm.connecting import Estimator
from engine.llm.tasks import ModelTask, TaskRun
from engine.llm.texts import estimate_tokens, parts_of
from engine.scenarios.distilled import distilled_recipe, load_writer
from engine.scenarios.scenario_prompts import WRITING, most_tokens, writing
from engine.scenarios.writers import ExtractWriter, ModelWriter, Scenarios, Writer, room_for_part
from engine.types.documents import Document
from engine.types.encoders import Encoder
from engine.types.models import Estimate, TaskReport
from engine.types.scenarios import Component, Scenario, ScenarioCounts, ScenarioRequest

BATCH = 32
"""Documents that are written together."""
SAMPLE = 2000
"""Documents whose lengths are measured, evenly spread over all."""
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
    """Writes and embeds what a request asks for.

    Args:
        held: gives the lock of the corpus.
        batch: documents that are written together.
    """

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
        factor = len(chosen) / len(sampled)
        tokens = room_for_part(known.known.room)
        calls = sent = answered = 0
        for document in _documents(store, sampled):
            for part in parts_of(document, tokens):
                calls += 1
                sent += estimate_tokens(part) + estimate_tokens(document.title)
                answered += most_tokens(part)
        blank = writing("", "")
        fixed_in, fixed_out = known.known.size(blank)  # of every question and answer
        cost = known.total(
            round(calls * factor),
            round((sent + calls * fixed_in) * factor),
            round((answered + calls * (fixed_out - blank.most_tokens)) * factor),
        )
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


def _documents(store: ScenarioStore, doc_ids: list[str]) -> Iterator[Document]:
    for start in range(0, len(doc_ids), READ_ROWS):
        yield from store.corpus.documents(doc_ids[start : start + READ_ROWS])


@dataclass(slots=True)
class _Batches:
    """Writes, embeds and stores; the caller holds the lock of the corpus.

    While one batch is embedded and stored, the next is being written.

    Attributes:
        counts: "scenarios" written and "embedded"; documents "written", "failed", "without_text".
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
        self, documents: Sequence[Document], written: Sequence[Scenarios], *, stopped: bool
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
