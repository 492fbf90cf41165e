"""What each person had a language model do today, whichever program asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from sqlalchemy import select

from storage.database import LedgerTables
from storage.tables import first, table, upsert

DAYS_KEPT = 7


@dataclass(frozen=True, slots=True)
class Spent:
    """Requests, and tokens of what was asked and answered."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class SpentRow:
    """What a person spent on a day."""

    person: str
    day: date
    calls: int
    input_tokens: int
    output_tokens: int


SPENT = table("spent", SpentRow, key=("person", "day"))
_SUMS = (SPENT.c.calls, SPENT.c.input_tokens, SPENT.c.output_tokens)


class Spending(LedgerTables):
    """The requests of a day by person; errors as in :class:`storage.ledger.Ledger`."""

    def of(self, person: str) -> Spent:
        """What a person spent today."""
        today = (SPENT.c.person == person, SPENT.c.day == date.today())
        return self._database.first(Spent, select(*_SUMS).where(*today)) or Spent()

    def add(
        self,
        person: str,
        calls: int,
        input_tokens: int,
        output_tokens: int,
        check: Callable[[Spent], object] = lambda _: None,
    ) -> None:
        """A person spends more.

        Args:
            check: given what they spent before; what it raises leaves everything as it was. No
                other thread or process spends meanwhile.
        """
        row = SpentRow(person, date.today(), calls, input_tokens, output_tokens)
        today = (SPENT.c.person == person, SPENT.c.day == row.day)
        with self._database.write(durable=False) as connection:
            before = first(connection, Spent, select(*_SUMS).where(*today)) or Spent()
            check(before)
            sums = [getattr(before, c.name) + getattr(row, c.name) for c in _SUMS]
            upsert(connection, SPENT, [SpentRow(person, row.day, *sums)])
            oldest = row.day - timedelta(days=DAYS_KEPT)
            connection.execute(SPENT.delete().where(SPENT.c.day < oldest))
