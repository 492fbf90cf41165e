"""Whether a run goes on: why it stopped, and letting go of what was under way."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from engine.callbacks import Ask
from engine.llm.errors import EndpointError, RefusedError
from engine.llm.usage import Stopped

GIVE_UP_AFTER = 8
"""Questions that fail one after the other, without one success, until the run stops."""
WATCH_SECONDS = 0.05


class Course:
    """The course of one run. For one event loop.

    Attributes:
        stopped: why no more questions go out; "" while they do.
        problem: what stopped the run, or else the last failure.

    Args:
        cancelled: asked many times a second; True ends the run.
    """

    def __init__(self, cancelled: Ask) -> None:
        self._cancelled = cancelled
        self._tasks: set[asyncio.Task[None]] = set()
        self._failures_in_a_row = 0
        self.problem: EndpointError | None = None
        self.stopped: Stopped = ""

    def look(self) -> None:
        """Stop if somebody has cancelled the run."""
        if self._cancelled():
            self.stop("cancelled")

    def stop(self, reason: Stopped, problem: EndpointError | None = None) -> None:
        """Ask nothing more; the first reason counts."""
        if not self.stopped:
            self.stopped, self.problem = reason, problem or self.problem

    def succeeded(self) -> None:
        """A question was answered."""
        self._failures_in_a_row = 0

    def failed(self, error: EndpointError) -> None:
        """A question was not answered; the run stops where asking on is no use."""
        self._failures_in_a_row += 1
        self.problem = error
        if isinstance(error, RefusedError) or self._failures_in_a_row >= GIVE_UP_AFTER:
            self.stop("endpoint", error)
            self._let_go()

    async def together(self, work: Sequence[Coroutine[Any, Any, None]]) -> None:
        """Run all at once; on a stop, those under way are let go."""
        tasks = {asyncio.create_task(one) for one in work}
        self._tasks |= tasks
        watcher = asyncio.create_task(self._watch())
        try:
            done, _ = await asyncio.wait(tasks)
            for task in done:
                if not task.cancelled():
                    task.result()  # a mistake of ours is not to be swallowed
        finally:
            for task in (watcher, *tasks):
                task.cancel()
            await asyncio.gather(watcher, *tasks, return_exceptions=True)
            self._tasks -= tasks

    def _let_go(self) -> None:
        current = asyncio.current_task()
        for task in self._tasks:
            if task is not current:
                task.cancel()

    async def _watch(self) -> None:
        while not self._cancelled():
            await asyncio.sleep(WATCH_SECONDS)
        self.stop("cancelled")
        self._let_go()
