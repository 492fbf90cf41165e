"""Runs for callers that are not asynchronous: pages and the command line.

A run has an event loop of its own, in the thread of its caller or in one of its own.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from engine.jobs.runner import in_foreground
from engine.jobs.threads import RunState, standing_of
from engine.llm.budget import RoundProgress, Usage
from engine.llm.cache import AnswerStore
from engine.llm.client import Client, open_client
from engine.llm.endpoints import Connection
from engine.types.callbacks import Ask, never, tell_nobody

Value = TypeVar("Value")
Work = Callable[[Client], Awaitable[Value]]
"""What a run does with its client; it returns what it has when ``client.stopped`` is set."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Value]):
    """What a run returned, and what it took. ``usage.stopped`` says whether it is partial."""

    value: Value
    usage: Usage


class Run(Generic[Value]):
    """Work with a model, under way in a thread. Safe to look at from any thread.

    Attributes:
        progress: of the current round; None before the first.
    """

    def __init__(
        self,
        connection: Connection,
        store: AnswerStore,
        work: Work[Value],
        tell: Callable[[RoundProgress], None] = tell_nobody,
        cancelled: Ask = never,
    ) -> None:
        self._connection, self._store, self._work = connection, store, work
        self._tell, self._cancelled = tell, cancelled
        self._flag = threading.Event()
        # Not the thread's own state: an interrupted join() makes that wrong before Python 3.13.
        self._ended = threading.Event()
        self._outcome: Outcome[Value] | None = None
        self._error: BaseException | None = None
        self.progress: RoundProgress | None = None
        # A daemon: closing the program cancels what is under way; what was answered is kept.
        self._thread = threading.Thread(target=self._main, name="seedlens-llm", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """End it soon; requests under way are dropped. The outcome is what there is until then."""
        self._flag.set()

    @property
    def done(self) -> bool:
        """Whether :meth:`result` returns at once."""
        return self._ended.is_set()

    def result(self, timeout: float | None = None) -> Outcome[Value]:
        """The outcome; waits for it.

        Raises:
            TimeoutError: it is not there after ``timeout`` seconds; the run goes on.
            EndpointError: the endpoint refused or failed, and there is not a single answer.
            StorageError: the ledger cannot be read.
        """
        self._ended.wait(timeout)
        if self._error is not None:
            raise self._error
        if self._outcome is None:
            raise TimeoutError(f"the run is not done after {timeout} s")
        return self._outcome

    def _main(self) -> None:
        try:
            self._outcome = ask_model(
                self._connection, self._store, self._work, self._advance, self._stop
            )
        except BaseException as error:  # raised again by result()
            self._error = error
        finally:
            self._ended.set()

    def _stop(self) -> bool:
        return self._flag.is_set() or self._cancelled()

    def _advance(self, progress: RoundProgress) -> None:
        self.progress = progress
        self._tell(progress)


@dataclass(frozen=True, slots=True)
class Ending(Generic[Value]):
    """How a run stands: its outcome when it is done and has one."""

    state: RunState
    outcome: Outcome[Value] | None = None
    error: str = ""
    remedy: str = ""


def ending(run: Run[Value]) -> Ending[Value]:
    """How a run stands now; never raises."""
    now = standing_of(run.done, lambda: run.result(0), lambda outcome: outcome.usage.stopped)
    return Ending(now.state, now.report, now.error, now.remedy)


def ask_model(
    connection: Connection,
    store: AnswerStore,
    work: Work[Value],
    tell: Callable[[RoundProgress], None] = tell_nobody,
    cancelled: Ask = never,
) -> Outcome[Value]:
    """Run ``work`` with a model in this thread, for a job that has a thread already.

    Raises:
        EndpointError: the endpoint refused or failed, and there is not a single answer.
        StorageError: the ledger cannot be read.
    """

    async def run() -> Outcome[Value]:
        async with open_client(connection, store, cancelled, tell) as client:
            value = await work(client)
            usage = client.usage
            client.raise_if_nothing_came()
        return Outcome(value, usage)

    return asyncio.run(run())


def complete(
    connection: Connection,
    store: AnswerStore,
    work: Work[Value],
    tell: Callable[[RoundProgress], None] = tell_nobody,
    cancelled: Ask = never,
) -> Outcome[Value]:
    """:func:`ask_model` for a command: Ctrl-C cancels it.

    The outcome is what there is until then. A second Ctrl-C is a KeyboardInterrupt.
    """
    return in_foreground(
        lambda stop: ask_model(connection, store, work, tell, lambda: stop() or cancelled())
    )
