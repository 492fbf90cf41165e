"""What servers that share a ledger know of people: logins that were ended, what a model was asked.

Days and ages go by the clock of PostgreSQL, which is one for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from storage.ended_logins import SECONDS, EndedLogins
from storage.postgres import PostgresLedger
from storage.server_locks import key_of
from storage.spending import DAYS_KEPT, Spending, Spent


class ServerLogins(EndedLogins):
    """Digests of logins that were ended, in a table; methods raise as those of the ledger."""

    def __init__(self, file: Path, server: PostgresLedger) -> None:
        super().__init__(file)
        self._server = server

    def add(self, digests: Iterable[str], now: float | None = None) -> None:
        del now
        new = list(digests)
        with self._lock:
            self._here |= dict.fromkeys(new, 0)
        with self._server.apart() as session:
            session.execute(
                """INSERT INTO ended_logins (digest, ended) SELECT unnest(?::VARCHAR[]), now()
                   ON CONFLICT DO NOTHING""",
                [new],
            )
            sql = "DELETE FROM ended_logins WHERE ended < now() - make_interval(secs => ?)"
            session.execute(sql, [SECONDS])

    def has_any(self, digests: Iterable[str]) -> bool:
        asked = list(digests)
        if not self._here.keys().isdisjoint(asked):
            return True
        with self._server.apart() as session:
            sql = "SELECT EXISTS (SELECT 1 FROM ended_logins WHERE digest = ANY(?::VARCHAR[]))"
            row = session.execute(sql, [asked]).fetchone()
        return bool(row and row[0])


class ServerSpending(Spending):
    """The requests of a day by person, in a table; methods raise as those of the ledger."""

    def __init__(self, folder: Path, server: PostgresLedger) -> None:
        super().__init__(folder)
        self._server = server

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._lock, self._server.apart() as session:
            session.execute("SELECT pg_advisory_xact_lock(?)", [key_of(("spending",))])
            yield

    def of(self, person: str) -> Spent:
        with self._server.apart() as session:
            row = session.execute(
                """SELECT coalesce(sum(calls), 0), coalesce(sum(input_tokens), 0),
                       coalesce(sum(output_tokens), 0)
                   FROM spending WHERE day = current_date AND person = ?""",
                [person],
            ).fetchone()
        return Spent(*map(int, row or (0, 0, 0)))

    def add(self, person: str, calls: int, input_tokens: int, output_tokens: int) -> None:
        with self._server.apart() as session:
            session.execute(
                """INSERT INTO spending (day, person, calls, input_tokens, output_tokens)
                   VALUES (current_date, ?, ?, ?, ?)""",
                [person, calls, input_tokens, output_tokens],
            )
            sql = "DELETE FROM spending WHERE day < current_date - ?::INTEGER"
            session.execute(sql, [DAYS_KEPT])
