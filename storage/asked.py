"""Questions that were asked of a corpus, with their answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from storage.database import LedgerTables
from storage.rows import Packed, insert, names


@dataclass(frozen=True, slots=True)
class AskedRow:
    """A question and its answer.

    Attributes:
        asked_id: given by whoever asks.
        owner: who asked; "" where nobody logs in.
        state: how the answer ended.
        answer: JSON owned by the engine.
    """

    asked_id: str
    owner: str
    corpus: str
    question: str
    state: str
    answer: Packed
    time: datetime


class Asked(LedgerTables):
    """The table of questions of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    def put(self, row: AskedRow) -> None:
        """Keep a question; one that is there already stays as it is."""
        with self._file.access() as connection:
            insert(connection, "asked", [row], "ON CONFLICT DO NOTHING")

    def find(self, asked_id: str) -> AskedRow | None:
        """The question of this id; None when there is none."""
        sql = f"SELECT {names(AskedRow)} FROM asked WHERE asked_id = ?"  # noqa: S608
        return next(iter(self._file.records(AskedRow, sql, [asked_id])), None)

    def latest(self, owner: str, most: int) -> list[AskedRow]:
        """The last questions of somebody, the newest first, without their answers."""
        sql = f"""
            SELECT {names(AskedRow, without="answer")} FROM asked WHERE owner = ?
            ORDER BY time DESC LIMIT ?"""  # noqa: S608
        return self._file.records(AskedRow, sql, [owner, most])

    def remove(self, asked_id: str) -> None:
        """Forget a question; one that is not there is none."""
        with self._file.access() as connection:
            connection.execute("DELETE FROM asked WHERE asked_id = ?", [asked_id])
