"""Runs for callers that are not asynchronous: pages and the command line.

A run has a thread with an event loop of its own. Whoever started it looks at its progress,
cancels it, or waits for the outcome.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from engine.callbacks import Ask, never, tell_nobody
from engine.llm.cache import AnswerStore
from engine.llm.client import Client, open_client
from engine.llm.connection import Connection
from engine.llm.usage import RoundProgress, Usage

Value = TypeVar("Value")
Work = Callable[[Client], Awaitable[Value]]
"""What a run does with its client; it returns what it has when ``client.stopped`` is set."""
POLL_SECONDS = 0.1


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
            self._outcome = asyncio.run(self._run())
        except BaseException as error:  # raised again by result()
            self._error = error
        finally:
            self._ended.set()

    async def _run(self) -> Outcome[Value]:
        def cancelled() -> bool:
            return self._flag.is_set() or self._cancelled()

        def tell(progress: RoundProgress) -> None:
            self.progress = progress
            self._tell(progress)

        async with open_client(self._connection, self._store, cancelled, tell) as client:
            value = await self._work(client)
            usage = client.usage
            client.raise_if_nothing_came()
        return Outcome(value, usage)


def complete(
    connection: Connection,
    store: AnswerStore,
    work: Work[Value],
    tell: Callable[[RoundProgress], None] = tell_nobody,
    cancelled: Ask = never,
) -> Outcome[Value]:
    """Run ``work`` to its end. Ctrl-C cancels it, and the outcome is what there is until then.

    A second Ctrl-C is a KeyboardInterrupt. Raises as :meth:`Run.result`.
    """
    run = Run(connection, store, work, tell, cancelled)
    try:
        # In short steps: a long wait would keep Ctrl-C waiting on some systems.
        while not run._ended.wait(POLL_SECONDS):
            pass
    except KeyboardInterrupt:
        run.cancel()
    return run.result()
