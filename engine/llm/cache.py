"""Answers kept between runs: looked up by the round, written in the background."""

from __future__ import annotations

import asyncio
import logging
from collections import ChainMap
from collections.abc import Collection, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from engine.errors import StorageError
from engine.llm.endpoints import Endpoint
from engine.llm.messages import Reply
from storage.answers import AnswerRow, Answers

log = logging.getLogger("seedlens.llm")
MOST_READ = 50_000
"""Answers of the ledger that a run holds in memory."""
GATHER_SECONDS = 0.5
"""Answers of this long are written together; a kill costs no more than these."""


class AnswerCache:
    """A store as one run uses it, off the event loop; an answer that cannot be written still
    counts.

    Which answers the ledger has is read once: what others write during the run is not seen.
    """

    def __init__(self, store: Answers, endpoint: Endpoint) -> None:
        self._store, self._endpoint = store, endpoint
        self._heads: NDArray[np.uint64] | None = None  # of the keys that the ledger had
        self._own: dict[str, str] = {}  # of this run, written already or not
        self._read: dict[str, str] = {}
        self._known = ChainMap(self._own, self._read)
        self._reading = asyncio.Lock()
        self._waiting: list[AnswerRow] = []
        self._writer: asyncio.Task[None] | None = None
        self._write_now = asyncio.Event()
        # answers that could not be written (a full disk, say); they count in this run
        self.lost = 0

    async def find(self, keys: Collection[str]) -> dict[str, Reply]:
        """Replies that are there, by key. Raises StorageError, before anything was paid for."""
        async with self._reading:
            answers = {key: self._known[key] for key in keys if key in self._known}
            if others := await self._listed([key for key in keys if key not in answers]):
                read = await asyncio.to_thread(self._store.find, others)
                if len(self._read) + len(read) > MOST_READ:
                    self._read.clear()
                self._read |= read
                answers |= {key: read[key] for key in others if key in read}
        return {key: Reply.from_json(answer) for key, answer in answers.items()}

    def own(self, key: str) -> Reply | None:
        """The reply that came in during this run."""
        return Reply.from_json(self._own[key]) if key in self._own else None

    async def _listed(self, keys: Sequence[str]) -> list[str]:
        if self._heads is None:
            place = self._endpoint.address, self._endpoint.model
            self._heads = await asyncio.to_thread(self._store.heads, *place)
        if not len(self._heads) or not keys:
            return []
        heads = np.array([int(key[:16], 16) for key in keys], dtype=np.uint64)
        places = np.minimum(np.searchsorted(self._heads, heads), len(self._heads) - 1)
        listed = self._heads[places] == heads
        return [key for key, there in zip(keys, listed.tolist(), strict=True) if there]

    def put(self, row: AnswerRow) -> None:
        """Write an answer soon."""
        self._waiting.append(row)
        self._own[row.key] = row.answer
        if self._writer is None or self._writer.done():
            self._write_now.clear()
            self._writer = asyncio.create_task(self._write())

    async def flush(self) -> None:
        """Return when everything is written."""
        while self._writer is not None and (self._waiting or not self._writer.done()):
            self._write_now.set()
            # Shielded: a run that is cancelled keeps the answers that it has paid for.
            await asyncio.shield(self._writer)
            if self._waiting:
                self._writer = asyncio.create_task(self._write())

    async def _write(self) -> None:
        while self._waiting:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._write_now.wait(), GATHER_SECONDS)
            rows, self._waiting = self._waiting, []
            try:
                await asyncio.to_thread(self._store.add, rows)
            except StorageError as error:
                self.lost += len(rows)
                log.warning("Answers could not be kept: %s", error)
