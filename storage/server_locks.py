"""Locks and leases of a ledger on a server: they hold on all machines that share it.

A lock is an advisory lock of PostgreSQL on a connection of its own: of a process that was killed,
or whose machine is gone, the server closes the connection, and with it goes the lock.
"""

from __future__ import annotations

import hashlib
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from storage.errors import CorpusBusyError, StorageError
from storage.leases import Leases
from storage.locks import POLL_SECONDS, WAIT_SECONDS, Locks, busy_with
from storage.postgres import PostgresLedger, Session

WATCH_SECONDS = 1.0
"""Between two looks whether the connection of a lock is there still."""
log = logging.getLogger("seedlens.storage")
_HOLDER = """
    SELECT a.application_name FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND (l.classid::bigint << 32) | l.objid::bigint = ?"""


class ServerLocks(Locks):
    """Locks by name on all machines.

    Args:
        folder: for locks among the programs of this machine, which outlast a restart of the server.
    """

    def __init__(self, folder: Path, server: PostgresLedger) -> None:
        super().__init__(folder)
        self._server = server

    @contextmanager
    def alone(self, lock_file: Path, busy: str, remedy: str, wait: float = 0.0) -> Iterator[None]:
        taken = partial(CorpusBusyError, busy, remedy)
        with (
            super().alone(lock_file, busy, remedy, wait),
            self.held(("file", lock_file.name), wait, lambda *_: taken()),
        ):
            yield

    @contextmanager
    def hold(self, *name: str, what: str) -> Iterator[None]:
        with (
            super().hold(*name, what=what),
            self.held(name, WAIT_SECONDS, partial(_by_whom, what)),
        ):
            yield

    @contextmanager
    def held(
        self,
        name: tuple[str, ...],
        wait: float = 0.0,
        busy: Callable[[Session, int], CorpusBusyError] = lambda *_: CorpusBusyError("It is held."),
    ) -> Iterator[None]:
        """Hold an advisory lock, and nothing on this machine.

        Args:
            busy: the error for when somebody else holds it after the wait.
        """
        key, deadline = key_of(name), time.monotonic() + wait
        with self._server.explained():
            session = self._server.connect()
            try:
                while not _taken(session, key):
                    if time.monotonic() >= deadline:
                        raise busy(session, key)
                    time.sleep(POLL_SECONDS)
            except BaseException:
                session.connection.close()
                raise
        hold = _Hold(self._server, session, key)
        try:
            yield
        finally:
            hold.end()


class _Hold:
    """A lock that is taken, and is taken again when the server was away."""

    def __init__(self, server: PostgresLedger, session: Session, key: int) -> None:
        self._server, self._session, self._key = server, session, key
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="seedlens-lock", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Give it back."""
        self._done.set()
        self._thread.join()
        with suppress(StorageError), self._server.explained():  # closing alone is noticed later
            self._session.execute("SELECT pg_advisory_unlock(?)", [self._key])
        self._session.connection.close()

    def _watch(self) -> None:
        held = True
        while not self._done.wait(WATCH_SECONDS):
            try:
                with self._server.explained():
                    if held:
                        self._session.execute("SELECT 1")
                    else:  # who looked whether it is free had it for a moment, perhaps
                        held = _taken(self._session, self._key)
            except StorageError:
                self._session.connection.close()
                held = False
                with suppress(StorageError), self._server.explained():
                    self._session = self._server.connect()
                    held = _taken(self._session, self._key)
                    if not held:
                        log.warning("The ledger was away, and another program took what was held.")


class ServerLeases(Leases):
    """Leases of all machines, in a table of their own."""

    def __init__(self, folder: Path, server: PostgresLedger) -> None:
        super().__init__(folder)
        self._server = server

    @contextmanager
    def _kept(self, file: Path) -> Iterator[tuple[bytes, Callable[[bytes], object]]]:
        with self._server.apart() as session:
            session.execute("SELECT pg_advisory_xact_lock(?)", [key_of(("leases", file.name))])
            found = session.execute("SELECT content FROM leases WHERE name = ?", [file.name])
            row = found.fetchone()
            yield bytes(row[0]) if row else b"", partial(_keep, session, file.name)


def _keep(session: Session, name: str, content: bytes) -> None:
    session.execute(
        """INSERT INTO leases (name, content) VALUES (?, ?)
           ON CONFLICT (name) DO UPDATE SET content = excluded.content""",
        [name, content],
    )


def key_of(name: tuple[str, ...]) -> int:
    digest = hashlib.sha256("\x00".join(name).encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _taken(session: Session, key: int) -> bool:
    row = session.execute("SELECT pg_try_advisory_lock(?)", [key]).fetchone()
    return bool(row and row[0])


def _by_whom(what: str, session: Session, key: int) -> CorpusBusyError:
    """By whom a lock is held, as the connection of its holder says it."""
    row = session.execute(_HOLDER, [key]).fetchone()
    _, machine, process = ("seedlens", "", "") if row is None else _parts(row[0])
    here = machine == socket.gethostname()[:32]
    return busy_with(what, int(process) if process else None, "" if here else machine)


def _parts(application: str) -> tuple[str, str, str]:
    """``seedlens MACHINE PROCESS``, as :mod:`storage.postgres` names its connections."""
    name, _, rest = application.partition(" ")
    machine, _, process = rest.rpartition(" ")
    return (name, machine, process) if process.isdecimal() else (name, "", "")
