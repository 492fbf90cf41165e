"""When a run of questions stops: cancelled, refused, out of budget, or failing without end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from engine.llm.budget import Stopped
from engine.llm.endpoint_errors import EndpointError, RefusedError
from engine.types.callbacks import Ask

GIVE_UP_AFTER = 8
"""Questions that fail one after the other, without one success, until the run stops."""
WATCH_SECONDS = 0.05
"""Between two looks at whether the run was cancelled."""


class RunControl:
    """When one run stops, and what stops with it. For one event loop.

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

    def check_cancelled(self) -> None:
        """Stop if the run was cancelled."""
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
            self._cancel_tasks()

    async def run_all(self, work: Sequence[Coroutine[Any, Any, None]]) -> None:
        """Run all at once; on a stop, those under way are cancelled."""
        tasks = {asyncio.create_task(one) for one in work}
        self._tasks |= tasks
        watcher = asyncio.create_task(self._watch())
        try:
            done, _ = await asyncio.wait(tasks)
            for task in done:
                if not task.cancelled():
                    task.result()  # raise what is no error of the endpoint
        finally:
            for task in (watcher, *tasks):
                task.cancel()
            await asyncio.gather(watcher, *tasks, return_exceptions=True)
            self._tasks -= tasks

    def _cancel_tasks(self) -> None:
        current = asyncio.current_task()
        for task in self._tasks:
            if task is not current:
                task.cancel()

    async def _watch(self) -> None:
        while not self._cancelled():
            await asyncio.sleep(WATCH_SECONDS)
        self.stop("cancelled")
        self._cancel_tasks()
