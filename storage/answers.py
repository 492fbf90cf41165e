"""Answers of language models in the ledger, by content, and what is known of endpoints."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Index, func, select

from storage.database import Database, LedgerTables
from storage.documents import Documents
from storage.tables import pieces, table


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One readable answer."""

    key: str  # 64 hex digits over all that the answer depends on; the question is not stored
    endpoint: str  # endpoint, model, prompt: covered by the key
    model: str
    prompt: str
    answer: str  # JSON owned by the engine
    input_tokens: int
    output_tokens: int
    time: datetime


ANSWERS = table("answers", AnswerRow, number="rowid")
Index("answers_by_key", ANSWERS.c.key, unique=True)
Index("answers_by_model", ANSWERS.c.endpoint, ANSWERS.c.model)


class Answers(LedgerTables):
    """The answers of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._capabilities = Documents[str](database, "capabilities", str)

    def find(self, keys: Collection[str]) -> dict[str, str]:
        """The answers that are there, by key."""
        found: dict[str, str] = {}
        with self._database.read() as connection:
            for piece in pieces(sorted(keys)):
                query = select(ANSWERS.c.key, ANSWERS.c.answer).where(ANSWERS.c.key.in_(piece))
                found.update((key, answer) for key, answer in connection.execute(query))
        return found

    def heads(self, endpoint: str, model: str) -> NDArray[np.uint64]:
        """The first 16 digits of the keys of a model's answers, ascending: an index in memory."""
        own = (ANSWERS.c.endpoint == endpoint, ANSWERS.c.model == model)
        head = func.substr(ANSWERS.c.key, 1, 16)

        def read(connection: Connection) -> NDArray[np.uint64]:
            joined = connection.scalar(select(func.aggregate_strings(head, "")).where(*own))
            heads = np.frombuffer(bytes.fromhex(joined or ""), dtype=">u8").astype(np.uint64)
            return np.sort(heads)

        stamp = select(*(of(ANSWERS.c.rowid) for of in (func.max, func.count)))
        return self._database.remembered(("heads", endpoint, model), stamp, read)

    def add(self, rows: Sequence[AnswerRow]) -> None:
        """Store answers, all or none; of two for one key, the first stays."""
        self._insert(ANSWERS, rows, skip_known=True)

    def forget(self) -> None:
        """Remove all answers."""
        with self._database.write() as connection:
            connection.execute(ANSWERS.delete())

    def capabilities(self, endpoint: str, model: str) -> str | None:
        """What was remembered of a model there (JSON owned by the engine), or None."""
        return self._capabilities.value(model, endpoint)

    def remember_capabilities(self, endpoint: str, model: str, capabilities: str) -> None:
        """Remember what a model there can do, in place of what was remembered before."""
        self._capabilities.put(model, capabilities, scope=endpoint)
