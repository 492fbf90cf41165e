"""Imports of all machines that share a ledger on a server: what each said last, whether it runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import NamedTuple

from storage.errors import StorageError
from storage.postgres import PostgresLedger
from storage.server_locks import ServerLocks, key_of

LOOK_SECONDS = 1.0
"""Between two looks whether an import is to stop."""
_ALL = """
    SELECT name, content, stop, EXISTS (
        SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND (classid::bigint << 32) | objid::bigint = lock)
    FROM import_jobs"""


class SharedJob(NamedTuple):
    """A job as the server knows it.

    Attributes:
        content: what was noted of it last, a text owned by the engine.
        stopping: somebody asked it to stop.
        runs: its process is there.
    """

    content: str
    stopping: bool
    runs: bool


class SharedJobs:
    """The jobs of all machines, by id; methods raise as those of the ledger."""

    def __init__(self, server: PostgresLedger, locks: ServerLocks) -> None:
        self._server, self._locks, self.alone = server, locks, locks.alone
        self._looked: dict[str, tuple[float, bool]] = {}
        self._asked: tuple[datetime, float] | None = None
        """The server's time, and this process's steady clock then."""

    def now(self) -> datetime:
        """The time by the server's clock: those of machines may be minutes apart."""
        if self._asked is None:
            with self._server.apart() as session:
                ((then,),) = session.execute("SELECT clock_timestamp()").fetchall()
            self._asked = (then, time.monotonic())
        then, at = self._asked
        return then + timedelta(seconds=time.monotonic() - at)

    def all(self) -> dict[str, SharedJob]:
        """Every job that was noted and not removed."""
        with self._server.apart() as session:
            return {id_: SharedJob(*rest) for id_, *rest in session.execute(_ALL).fetchall()}

    def put(self, id_: str, content: str) -> None:
        """Note what there is to say of a job."""
        with self._server.apart() as session:
            session.execute(
                """INSERT INTO import_jobs (name, content, stop, lock) VALUES (?, ?, false, ?)
                   ON CONFLICT (name) DO UPDATE SET content = excluded.content""",
                [id_, content, key_of(_lock(id_))],
            )

    def remove(self, id_: str) -> None:
        """Forget a job; one that is not there is none."""
        with self._server.apart() as session:
            session.execute("DELETE FROM import_jobs WHERE name = ?", [id_])

    def ask_to_stop(self, id_: str, stop: bool = True) -> None:
        """Have a job stop, wherever it runs; or let it go on after all."""
        with self._server.apart() as session:
            session.execute("UPDATE import_jobs SET stop = ? WHERE name = ?", [stop, id_])

    def is_to_stop(self, id_: str) -> bool:
        """Whether somebody asked for that, by a look each second; False while nobody knows."""
        at, asked = self._looked.get(id_, (-LOOK_SECONDS, False))
        if time.monotonic() - at >= LOOK_SECONDS:
            with suppress(StorageError), self._server.apart() as session:
                sql = "SELECT stop FROM import_jobs WHERE name = ?"
                row = session.execute(sql, [id_]).fetchone()
                asked = bool(row and row[0])
            self._looked[id_] = (time.monotonic(), asked)
        return asked

    @contextmanager
    def running(self, id_: str) -> Iterator[None]:
        """This process works on a job: others see that until it ends, however it does."""
        with self._locks.held(_lock(id_)):
            yield


def _lock(id_: str) -> tuple[str, ...]:
    return ("import", id_)
