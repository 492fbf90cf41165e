"""Questions that were asked of a corpus, with their answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Index, select

from storage.database import LedgerTables
from storage.records import Packed
from storage.tables import columns_of, insert, table


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


ASKED = table("asked", AskedRow, key=("asked_id",))
Index("asked_by_owner", ASKED.c.owner, ASKED.c.time)


class Asked(LedgerTables):
    """The table of questions of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    def put(self, row: AskedRow) -> None:
        """Keep a question; one that is there already stays as it is."""
        with self._database.write() as connection:
            insert(connection, ASKED, [row], skip_known=True)

    def find(self, asked_id: str) -> AskedRow | None:
        """The question of this id; None when there is none."""
        query = select(*columns_of(ASKED, AskedRow)).where(ASKED.c.asked_id == asked_id)
        return self._database.first(AskedRow, query)

    def latest(self, owner: str, most: int) -> list[AskedRow]:
        """The last questions of somebody, the newest first, without their answers."""
        query = select(*columns_of(ASKED, AskedRow, without="answer"))
        query = query.where(ASKED.c.owner == owner).order_by(ASKED.c.time.desc()).limit(most)
        return self._database.records(AskedRow, query)

    def remove(self, asked_id: str) -> None:
        """Forget a question; one that is not there is none."""
        with self._database.write() as connection:
            connection.execute(ASKED.delete().where(ASKED.c.asked_id == asked_id))
