"""What one run knows of its endpoint: remembered, or tried out once on first use."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.errors import StorageError
from engine.llm.budget import Meter
from engine.llm.cache import AnswerStore
from engine.llm.capabilities import Capabilities, try_out
from engine.llm.course import Course
from engine.llm.errors import BudgetReachedError, EndpointError

if TYPE_CHECKING:
    from engine.llm.transport import Transport


class Learner:
    """Finds out what the model can do, when it is first needed. For one event loop."""

    def __init__(
        self, transport: Transport, store: AnswerStore, course: Course, meter: Meter
    ) -> None:
        self._transport, self._store = transport, store
        self._course, self._meter = course, meter
        self._known: Capabilities | None = None
        self._learning = asyncio.Lock()

    async def capabilities(self, *, sure: bool = False) -> Capabilities | None:
        """What the model can do; None when that could not be found out (the run stopped).

        Args:
            sure: try it out anew if that is in doubt. Where the trial fails, the run stops and
                what is in doubt is returned: kept answers are found by it.

        Raises:
            StorageError: the ledger cannot be read.
        """
        async with self._learning:
            self._course.look()
            if self._known is None:
                self._known = await asyncio.to_thread(self._remembered)
            if self._known is None or (sure and self._known.doubtful):
                await self._learn()
            return self._known

    async def renew(self) -> None:
        """Try out what the model can do even if that is known; it stays known on a failure."""
        async with self._learning:
            self._course.look()
            await self._learn()

    async def correct(self, known: Capabilities) -> None:
        """It can do less than was thought."""
        self._known = known
        await asyncio.to_thread(self._remember, known)

    async def doubt(self) -> None:
        """Have it tried out anew before the next run's first question: it may have changed.

        What is known stays until then, for the answers in the ledger are kept by it.
        """
        if self._known is not None:
            with suppress(StorageError):
                await asyncio.to_thread(self._remember, replace(self._known, doubtful=True))

    async def _learn(self) -> None:
        if not self._course.stopped:
            await self._course.together([self._try_out()])

    async def _try_out(self) -> None:
        try:
            self._known = await try_out(self._transport, self._meter)
        except BudgetReachedError as error:
            self._course.stop("budget", error)
        except EndpointError as error:
            self._course.stop("endpoint", error)
        else:
            await asyncio.to_thread(self._remember, self._known)

    def _remembered(self) -> Capabilities | None:
        endpoint = self._transport.endpoint
        text = self._store.capabilities(endpoint.address, endpoint.model)
        return None if text is None else Capabilities.from_json(text)

    def _remember(self, known: Capabilities) -> None:
        endpoint = self._transport.endpoint
        self._store.remember_capabilities(endpoint.address, endpoint.model, known.to_json())
