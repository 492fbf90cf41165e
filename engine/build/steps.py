"""Running one step of a build: the model it asks, the lock it holds, and its report."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager

import numpy as np

from engine.annotate.annotation import Annotation
from engine.build.build_store import BuildStore
from engine.build.clustering import collapse
from engine.build.expanding import expand
from engine.build.labelling import Made, TellStep, Work, label
from engine.build.verbalising import Vocabularies, verbalise
from engine.errors import BadInputError
from engine.llm.budget import Usage
from engine.llm.client import Client, open_client
from engine.llm.endpoints import Connection
from engine.numeric import FloatArray
from engine.types.builds import BUILD_STEPS, BuildLens, BuildStep, StepReport
from engine.types.callbacks import Ask
from engine.types.encoders import Passage
from storage.home import Home
from storage.ledger import Ledger
from storage.locks import alone


def check_step(store: BuildStore, lens: BuildLens, step: BuildStep) -> None:
    """Raise BadInputError for a step that there is not, or that has nothing to rest on."""
    if step not in BUILD_STEPS:
        raise BadInputError(f"There is no step '{step}'.", f"Use {', '.join(BUILD_STEPS)}.")
    if step == "collapse" and not store.shown_labels(lens):
        raise BadInputError(
            f"No document of '{lens.name}' has a label yet.", "Run the step 'label' first."
        )
    if step == "verbalise" and not store.active(lens):
        if store.clustering(lens) is None:
            raise BadInputError(f"'{lens.name}' has no clusters.", "Run the step 'collapse' first.")
        raise BadInputError(
            f"No cluster of '{lens.name}' becomes a query: each is too small, too large or "
            "dropped.",
            "Change these sizes, or merge, split or take back some clusters.",
        )
    if step == "expand" and not store.asked(lens):
        raise BadInputError(f"'{lens.name}' has no query.", "Run the step 'verbalise' first.")


class Runner:
    """Runs steps, one of a build at a time in all processes."""

    def __init__(
        self,
        home: Home,
        ledger: Ledger,
        store: BuildStore,
        annotation: Annotation,
        vocabularies: Vocabularies,
    ) -> None:
        self._home, self._ledger, self._store = home, ledger, store
        self._annotation, self._vocabularies = annotation, vocabularies

    def run(
        self,
        lens: BuildLens,
        step: BuildStep,
        author: str,
        connection: Connection | None,
        tell: TellStep,
        cancelled: Ask,
    ) -> StepReport:
        """One step, from where it was left.

        Raises:
            EndpointError: the endpoint refused or failed, and there is not a single answer.
            CorpusBusyError: another run of a step of this build is under way.
            BadInputError: clusters were edited while they were being made.
        """
        started = time.perf_counter()
        with self._running(lens):
            check_step(self._store, lens, step)
            made, usage = asyncio.run(
                self._perform(lens, step, author, connection, tell, cancelled)
            )
        stopped = "cancelled" if cancelled() and (made.left or usage.stopped) else usage.stopped
        return StepReport(
            step=step,
            made=made.made,
            failed=made.failed,
            left=made.left,
            seconds=time.perf_counter() - started,
            stopped=stopped,
            notes=tuple(dict.fromkeys((*made.notes, *usage.notes))),
            **usage.taken,
        )

    async def _perform(
        self,
        lens: BuildLens,
        step: BuildStep,
        author: str,
        connection: Connection | None,
        tell: TellStep,
        cancelled: Ask,
    ) -> tuple[Made, Usage]:
        if connection is None:
            work = Work(self._store, lens, step, author, None, "", tell, cancelled)
            return await collapse(work, self._embed), Usage()
        async with open_client(connection, self._ledger.answers, cancelled) as client:
            model = client.usage.model or connection.endpoint.model
            work = Work(self._store, lens, step, author, client, model, tell, cancelled)
            made = await self._step(work, client)
            client.raise_if_nothing_came()
        return made, client.usage

    async def _step(self, work: Work, client: Client) -> Made:
        if work.step == "label":
            return await label(work, client)
        if work.step == "collapse":
            return await collapse(work, self._embed)
        if work.step == "verbalise":
            corpus = self._store.corpus(work.lens)
            return await verbalise(work, client, self._vocabularies.of(corpus))
        return await expand(work, client, self._annotation, self._ledger)

    def _embed(self, texts: Sequence[str]) -> FloatArray:
        """Texts as the embedded model reads them, whatever model the corpus has."""
        encoder = self._store.library.embedded()
        encoded = encoder.encode([Passage("", text, ()) for text in texts])
        return np.stack([one.vector for one in encoded])

    def _running(self, lens: BuildLens) -> AbstractContextManager[None]:
        # No name of a corpus or a build holds a dot.
        path = self._home.corpus_lock(lens.corpus).with_name(f"{lens.corpus}.{lens.name}.lock")
        busy = f"Another step of '{lens.name}' is under way."
        return alone(path, busy, "Wait until it is done, or cancel it.")
