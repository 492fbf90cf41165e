"""Answers kept between runs: looked up by the round, written in the background."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection

from engine.errors import StorageError
from engine.llm.messages import Reply
from storage.answers import AnswerRow, Answers

log = logging.getLogger("seedlens.llm")


class AnswerCache:
    """A store as one run uses it, off the event loop; an answer that cannot be written still
    counts."""

    def __init__(self, store: Answers) -> None:
        self._store = store
        self._own: dict[str, str] = {}  # of this run, written already or not
        self._waiting: list[AnswerRow] = []
        self._writer: asyncio.Task[None] | None = None
        # answers that could not be written (a full disk, say); they count in this run
        self.lost = 0

    async def find(self, keys: Collection[str]) -> dict[str, Reply]:
        """Replies that are there, by key. Raises StorageError, before anything was paid for."""
        others = [key for key in keys if key not in self._own]
        stored = await asyncio.to_thread(self._store.find, others) if others else {}
        own = {key: self._own[key] for key in keys if key in self._own}
        return {key: Reply.from_json(answer) for key, answer in {**stored, **own}.items()}

    def own(self, key: str) -> Reply | None:
        """The reply that came in during this run."""
        return Reply.from_json(self._own[key]) if key in self._own else None

    def put(self, row: AnswerRow) -> None:
        """Write an answer, together with those that come in while others are written."""
        self._waiting.append(row)
        self._own[row.key] = row.answer
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())

    async def flush(self) -> None:
        """Return when everything is written."""
        if self._writer is not None:
            # Shielded: a run that is cancelled keeps the answers that it has paid for.
            await asyncio.shield(self._writer)

    async def _write(self) -> None:
        while self._waiting:
            rows, self._waiting = self._waiting, []
            try:
                await asyncio.to_thread(self._store.add, rows)
            except StorageError as error:
                self.lost += len(rows)
                log.warning("Answers could not be kept: %s", error)
