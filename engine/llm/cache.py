"""Answers kept between runs: looked up by the round, written in the background."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Protocol

from engine.errors import StorageError
from engine.llm.messages import Reply
from storage.answers import AnswerRow

log = logging.getLogger("seedlens.llm")
GATHER_SECONDS = 0.2
"""Answers of this long are written together; a kill costs no more than these."""


class AnswerStore(Protocol):
    """Where answers are kept; :class:`storage.answers.Answers` is one."""

    def find(self, keys: Collection[str]) -> dict[str, str]: ...

    def add(self, rows: Sequence[AnswerRow]) -> None: ...

    def capabilities(self, endpoint: str, model: str) -> str | None: ...

    def remember_capabilities(
        self, endpoint: str, model: str, capabilities: str | None
    ) -> None: ...


class AnswerCache:
    """A store as one run uses it: off the event loop, and never in the way of an answer.

    Attributes:
        lost: answers that could not be written (a full disk, say); they count in this run.
    """

    def __init__(self, store: AnswerStore) -> None:
        self._store = store
        self._waiting: list[AnswerRow] = []
        self._own: dict[str, str] = {}  # of this run, written already or not
        self._writer: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self.lost = 0

    async def find(self, keys: Collection[str]) -> dict[str, Reply]:
        """Replies that are there, by key. Raises StorageError, before anything was paid for."""
        found = {key: self._own[key] for key in keys if key in self._own}
        if others := [key for key in keys if key not in found]:
            found |= await asyncio.to_thread(self._store.find, others)
        return {key: Reply.from_json(answer) for key, answer in found.items()}

    def put(self, row: AnswerRow) -> None:
        """Write an answer soon."""
        self._waiting.append(row)
        self._own[row.key] = row.answer
        if self._writer is None or self._writer.done():
            self._hurry.clear()
            self._writer = asyncio.create_task(self._write())

    async def flush(self) -> None:
        """Return when everything is written."""
        while self._writer is not None and (self._waiting or not self._writer.done()):
            self._hurry.set()
            # Shielded: a run that is cancelled keeps the answers that it has paid for.
            await asyncio.shield(self._writer)
            if self._waiting:
                self._writer = asyncio.create_task(self._write())

    async def _write(self) -> None:
        while self._waiting:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), GATHER_SECONDS)
            rows, self._waiting = self._waiting, []
            try:
                await asyncio.to_thread(self._store.add, rows)
            except StorageError as error:
                self.lost += len(rows)
                log.warning("Answers could not be kept: %s", error)
