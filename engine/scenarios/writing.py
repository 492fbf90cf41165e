"""One run over a corpus: batch by batch, so that a stop at any moment costs one batch at most."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from engine.corpora.folders import READERS_GRACE
from engine.corpora.scenario_store import Recipe, ScenarioStore, Stored
from engine.scenarios.writers import Scenarios, Writer
from engine.types.callbacks import Ask
from engine.types.documents import Document
from engine.types.encoders import Encoder
from engine.types.scenarios import (
    Component,
    Scenario,
    ScenarioProgress,
)

BATCH = 32
"""Documents that are written together."""
TellScenarios = Callable[[ScenarioProgress], None]


@dataclass(slots=True)
class Counts:
    """What a run has done so far; of documents, but for ``scenarios`` and ``embedded``."""

    written: int = 0
    scenarios: int = 0
    embedded: int = 0
    failed: int = 0
    without_text: int = 0

    @property
    def settled(self) -> int:
        return self.written + self.failed + self.without_text


@dataclass(slots=True)
class Runner:
    """Writes, embeds and stores; see :class:`.store.ScenarioStore` for whose lock is held.

    While one batch is embedded and stored, the next is being written.

    Attributes:
        cancelled: asked before every batch; True ends the run, to be resumed later.
        tell: told after every batch.
    """

    store: ScenarioStore
    encoder: Encoder
    component: Component
    tell: TellScenarios
    cancelled: Ask
    batch: int = BATCH
    counts: Counts = field(default_factory=Counts)
    _started: float = field(default_factory=time.perf_counter)

    async def write(self, writer: Writer, doc_ids: Sequence[str]) -> None:
        """Write scenarios for these documents."""
        known = self.store.stored()
        saving: asyncio.Task[None] | None = None
        self._tell(len(doc_ids))
        try:
            for start in range(0, len(doc_ids), self.batch):
                if self.cancelled() or writer.stopped:
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
                self.counts.without_text += 1
            elif not stopped:  # else it was not asked about
                self.counts.failed += 1
        return by_document

    def _save(
        self,
        by_document: Mapping[str, Sequence[Scenario]],
        recipe: Recipe,
        known: Mapping[str, Stored],
    ) -> None:
        if by_document:
            self.store.put(by_document, recipe, self.component, self.encoder, known)
        self.counts.written += len(by_document)
        self.counts.scenarios += sum(map(len, by_document.values()))

    def embed(self, others: Mapping[str, Stored]) -> None:
        """Embed scenarios anew that were embedded by another component; nothing is written."""
        doc_ids = list(others)
        for start in range(0, len(doc_ids), self.batch):
            if self.cancelled():
                return
            group = doc_ids[start : start + self.batch]
            by_recipe: dict[Recipe, dict[str, Sequence[Scenario]]] = {}
            for doc_id, scenarios in self.store.of(group).items():
                by_recipe.setdefault(others[doc_id].recipe, {})[doc_id] = scenarios
            for recipe, by_document in by_recipe.items():
                self.store.put(by_document, recipe, self.component, self.encoder, others)
                self.counts.embedded += sum(map(len, by_document.values()))
            self._tell(len(doc_ids), start + len(group), "embedding")

    def finish(self, grace: timedelta = READERS_GRACE) -> None:
        """Compact and index what was stored, if anything was."""
        if self.counts.written or self.counts.embedded:
            self.store.finish(grace)

    def _tell(self, total: int, done: int | None = None, step: str = "writing") -> None:
        counts = self.counts
        self.tell(
            ScenarioProgress(
                done=counts.settled if done is None else done,
                total=total,
                scenarios=counts.scenarios,
                failed=counts.failed,
                seconds=time.perf_counter() - self._started,
                step=step,
            )
        )
