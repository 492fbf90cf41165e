"""What all servers that share a ledger know of people: logins that were ended, what was spent."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from storage.ended_logins import SECONDS, EndedLogins
from storage.errors import StorageError
from storage.postgres import PostgresLedger, Session
from storage.server_locks import key_of
from storage.spending import DAYS_KEPT, Spending, Spent

LOOK_SECONDS = 1.0
"""Between two looks for logins that were ended at other servers."""
UNKNOWN_SECONDS = 60.0
"""After so long without an answer of the ledger's server nobody knows which logins were ended."""
_COMMITTED = 60
"""Seconds after which a row that was written is seen for sure."""


class ServerEndedLogins(EndedLogins):
    """Ended logins of all servers, beside those of this home.

    Whoever asks never waits for the server: a thread looks there, each :data:`LOOK_SECONDS`.

    Args:
        file: of this home.
    """

    def __init__(self, file: Path, server: PostgresLedger) -> None:
        super().__init__(file)
        self._server = server
        self._ended: set[str] = set()
        self._looked: float | None = None
        self._begun = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, digests: Iterable[str], now: float | None = None) -> None:
        digests = list(digests)
        super().add(digests, now)
        with self._server.apart() as session:
            session.execute(
                """INSERT INTO ended_logins (digest, ended_at)
                   SELECT unnest(?::VARCHAR[]), clock_timestamp() ON CONFLICT DO NOTHING""",
                [digests],
            )
            # Twice as long as a cookie lasts: the server's clock may have been ahead.
            session.execute(
                "DELETE FROM ended_logins WHERE ended_at < clock_timestamp() - ? * interval '1 s'",
                [2 * SECONDS],
            )

    def has_any(self, digests: Iterable[str]) -> bool:
        asked = set(digests)
        if super().has_any(asked):
            return True
        with self._begun:
            if self._thread is None:
                self._look()
                self._thread = threading.Thread(target=self._watch, name="logins", daemon=True)
                self._thread.start()
        if self._looked is None or time.monotonic() - self._looked > UNKNOWN_SECONDS:
            raise StorageError(
                f"Which logins were ended is not known: the ledger {self._server.name} does not "
                "answer.",
                "Check that the server runs.",
            )
        return not asked.isdisjoint(self._ended)

    def _watch(self) -> None:
        while True:
            time.sleep(LOOK_SECONDS)
            try:
                self._look()
            except StorageError:  # whoever could end a login needs the server, too
                continue

    def _look(self) -> None:
        at, newest = time.monotonic(), _COMMITTED + LOOK_SECONDS
        since = None if self._looked is None else at - self._looked + newest
        with self._server.apart() as session:
            rows = session.execute(
                """SELECT digest FROM ended_logins
                   WHERE ?::float8 IS NULL
                       OR ended_at > clock_timestamp() - ?::float8 * interval '1 s'""",
                [since, since],
            ).fetchall()
        self._ended |= {digest for (digest,) in rows}
        self._looked = at


class ServerSpending(Spending):
    """What each person had a model do today by the server's calendar, whichever server asked."""

    def __init__(self, folder: Path, server: PostgresLedger) -> None:
        super().__init__(folder)
        self._server = server
        self._here = threading.local()

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._server.apart() as session:
            session.execute("SELECT pg_advisory_xact_lock(?)", [key_of(("spending",))])
            self._here.session = session
            try:
                yield
            finally:
                self._here.session = None

    def of(self, person: str) -> Spent:
        row = self._execute(
            """SELECT calls, input_tokens, output_tokens FROM spent
               WHERE person = ? AND day = current_date""",
            [person],
        )
        return Spent(*row) if row else Spent()

    def add(self, person: str, calls: int, input_tokens: int, output_tokens: int) -> None:
        self._execute(
            """INSERT INTO spent AS s (person, day, calls, input_tokens, output_tokens)
               VALUES (?, current_date, ?, ?, ?)
               ON CONFLICT (person, day) DO UPDATE SET
                   calls = s.calls + excluded.calls,
                   input_tokens = s.input_tokens + excluded.input_tokens,
                   output_tokens = s.output_tokens + excluded.output_tokens
               RETURNING calls, input_tokens, output_tokens""",
            [person, calls, input_tokens, output_tokens],
        )
        self._execute("DELETE FROM spent WHERE day < current_date - ?::int RETURNING 1, 1, 1",
                      [DAYS_KEPT])  # fmt: skip

    def _execute(self, sql: str, values: list[Any]) -> tuple[Any, ...] | None:
        session: Session | None = getattr(self._here, "session", None)
        if session is not None:
            return session.execute(sql, values).fetchone()
        with self._server.apart() as own:
            return own.execute(sql, values).fetchone()
