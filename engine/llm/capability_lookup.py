"""What the model of a run can do: remembered, tried out once, or doubted."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.errors import StorageError
from engine.llm.budget import Meter
from engine.llm.capabilities import Capabilities, remembered, try_out
from engine.llm.endpoint_errors import BudgetReachedError, EndpointError
from engine.llm.run_control import RunControl
from storage.answers import Answers

if TYPE_CHECKING:
    from engine.llm.transport import Transport


class CapabilityLookup:
    """What the model can do: remembered, or else tried out. For one event loop."""

    def __init__(
        self, transport: Transport, store: Answers, control: RunControl, meter: Meter
    ) -> None:
        self._transport, self._store = transport, store
        self._control, self._meter = control, meter
        self._known: Capabilities | None = None
        self._lock = asyncio.Lock()
        self._doubtful = False

    async def capabilities(self, *, sure: bool = False) -> Capabilities | None:
        """What the model can do; None when that could not be found out (the run stopped).

        Args:
            sure: try it out anew if that is in doubt. Where the trial fails, the run stops and
                what is in doubt is returned: kept answers are found by it.

        Raises:
            StorageError: the ledger cannot be read.
        """
        async with self._lock:
            self._control.check_cancelled()
            if self._known is None:
                self._known = await asyncio.to_thread(
                    remembered, self._store, self._transport.endpoint
                )
                if self._known is not None:
                    self._transport.streams = self._known.streams
                    self._transport.stream_usage = self._known.stream_usage
            if self._known is None or (sure and self._known.doubtful):
                await self._try_out()
            return self._known

    async def try_out(self) -> None:
        """Try out what the model can do even if that is known; it stays known on a failure."""
        async with self._lock:
            self._control.check_cancelled()
            await self._try_out()

    def mark_doubtful(self) -> None:
        """Have it tried out anew before the next run's first question: it may have changed.

        What is known stays until then, for the answers in the ledger are kept by it.
        """
        self._doubtful = True

    async def close(self) -> None:
        """Remember what this run has found out besides: doubts, and how streams were refused."""
        if self._known is None:
            return
        now = replace(
            self._known,
            streams=self._transport.streams,
            stream_usage=self._transport.stream_usage,
            doubtful=self._known.doubtful or self._doubtful,
        )
        if now != self._known:
            with suppress(StorageError):
                await asyncio.to_thread(self._remember, now)

    async def _try_out(self) -> None:
        if not self._control.stopped:
            await self._control.run_all([self._trial()])

    async def _trial(self) -> None:
        try:
            self._known = await try_out(self._transport, self._meter)
        except BudgetReachedError as error:
            self._control.stop("budget", error)
        except EndpointError as error:
            self._control.stop("endpoint", error)
        else:
            self._doubtful = False
            await asyncio.to_thread(self._remember, self._known)

    def _remember(self, known: Capabilities) -> None:
        endpoint = self._transport.endpoint
        self._store.remember_capabilities(endpoint.address, endpoint.model, known.to_json())
