"""Running one step of a build: the model it asks, the lock it holds, and its report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.build.clustering import collapse
from engine.build.expanding import expand
from engine.build.labelling import TellStep, Work, label
from engine.build.opened_build import OpenBuild
from engine.build.verbalising import verbalise
from engine.errors import BadInputError
from engine.llm.budget import Usage
from engine.llm.client import open_client
from engine.llm.endpoints import Connection
from engine.llm.run import finish
from engine.numeric import FloatArray
from engine.types.builds import BUILD_STEPS, BuildStep, StepReport
from engine.types.callbacks import Ask
from engine.types.encoders import Passage
from storage.home import Home
from storage.ledger import Ledger


def check_step(build: OpenBuild, step: BuildStep) -> None:
    """Raise BadInputError for a step that there is not, or that has nothing to rest on."""
    name = build.spec.name
    if step not in BUILD_STEPS:
        raise BadInputError(f"There is no step '{step}'.", f"Use {', '.join(BUILD_STEPS)}.")
    if step == "collapse" and not build.shown_labels():
        raise BadInputError(
            f"No document of '{name}' has a label yet.", "Run the step 'label' first."
        )
    if step == "verbalise" and not build.active():
        if build.clustering() is None:
            raise BadInputError(f"'{name}' has no clusters.", "Run the step 'collapse' first.")
        raise BadInputError(
            f"No cluster of '{name}' becomes a query: each is too small, too large or dropped.",
            "Change these sizes, or merge, split or take back some clusters.",
        )
    if step == "expand" and not build.asked():
        raise BadInputError(f"'{name}' has no query.", "Run the step 'verbalise' first.")


def run_step(
    home: Home,
    ledger: Ledger,
    build: OpenBuild,
    step: BuildStep,
    author: str,
    connection: Connection | None,
    tell: TellStep,
    cancelled: Ask,
) -> StepReport:
    """One step, from where it was left; one of a build at a time in all processes.

    Raises:
        EndpointError: the endpoint refused or failed, and there is not a single answer.
        CorpusBusyError: another run of a step of this build is under way.
        BadInputError: clusters were edited while they were being made.
    """
    started, spec = time.perf_counter(), build.spec
    # No name of a corpus or a build holds a dot.
    lock = home.corpus_lock(spec.corpus).with_name(f"{spec.corpus}.{spec.name}.lock")
    busy = f"Another step of '{spec.name}' is under way."
    work = Work(build, step, author, None, "", tell, cancelled)
    with ledger.locks.alone(lock, busy, "Wait until it is done, or cancel it."):
        check_step(build, step)
        report, usage = finish(_perform(work, connection, ledger))
    return replace(
        report,
        seconds=time.perf_counter() - started,
        stopped="cancelled" if cancelled() and (report.left or usage.stopped) else usage.stopped,
        notes=tuple(dict.fromkeys((*report.notes, *usage.notes))),
        **usage.taken,
    )


async def _perform(
    work: Work, connection: Connection | None, ledger: Ledger
) -> tuple[StepReport, Usage]:
    def embed(texts: Sequence[str]) -> FloatArray:
        """Texts as the embedded model reads them, whatever model the corpus has."""
        encoder = work.build.library.embedded()
        encoded = encoder.encode([Passage("", text, ()) for text in texts])
        return np.stack([one.vector for one in encoded])

    if connection is None:
        return await collapse(work, embed), Usage()
    async with open_client(connection, ledger.answers, work.cancelled) as client:
        work.client, work.model = client, client.usage.model or connection.endpoint.model
        if work.step == "label":
            report = await label(work, client)
        elif work.step == "collapse":
            report = await collapse(work, embed)
        elif work.step == "verbalise":
            report = await verbalise(work, client)
        else:
            report = await expand(work, client, ledger)
        client.raise_if_nothing_came()
    return report, client.usage
