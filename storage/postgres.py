"""The ledger on a PostgreSQL server, and locks across machines.

A lock is an advisory lock on a separate connection: the server closes it when the process or
machine is gone.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import QueuePool, create_engine, text

from storage import migrations
from storage.database import MOST_CONNECTIONS, Database
from storage.errors import CorpusBusyError, StorageError, StorageFullError
from storage.locks import WAIT_SECONDS, Locks, busy_with

WRITERS = 0x5EED1E25
"""The advisory lock of whoever writes."""
POLL_SECONDS = 0.1
LOOK_SECONDS = 1.0
"""Between two looks at the server: whether a lock is held still, whether an import is to stop."""
OLDEST = 140000
"""The server's version: 14."""
SECONDS_TO_CONNECT = 10
log = logging.getLogger("seedlens.storage")
# A machine that is gone without a word is given up after half a minute, on both sides.
_KEEPALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 4}
_AT_SERVER = {
    **{f"tcp_{name}": str(value) for name, value in _KEEPALIVE.items()},
    # A plan for any value would read all events to find the last ones.
    "plan_cache_mode": "force_custom_plan",
}
_ADDRESS = re.compile(r"postgres(ql)?://([^@/?#\s]*@)?[^@/?#\s]*(/[^@?#\s]*)?(\?[^@#\s]*)?")
"""Each sign that parts a password from the rest has to be encoded in it."""
# Before a server takes connections, or while it ends them, it says so.
_SOON = ("starting up", "shutting down", "recovery mode", "not yet accepting", "too many clients")
_IS_HELD = """
    locktype = 'advisory' AND granted AND objsubid = 1
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (l.classid::bigint << 32) | l.objid::bigint ="""
_HOLDER = f"""
    SELECT a.application_name FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
    WHERE {_IS_HELD} :key"""  # noqa: S608


class PostgresDatabase(Database):
    """The server behind a ledger.

    Args:
        url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``.
        wait_seconds: for other accesses, or for the server to come back.
    """

    def __init__(self, url: str, wait_seconds: float) -> None:
        given = _parameters(url)
        # Whoever shows what this object holds does not show the password.
        self._connect = _Connecting(lambda: psycopg.connect(**given, autocommit=True), wait_seconds)
        self._hidden: Callable[[str], str]
        self._hidden = lambda text: text.replace(given.get("password") or "\0", "***")
        engine = create_engine(
            "postgresql+psycopg://",
            creator=self._connect,
            poolclass=QueuePool,
            pool_size=MOST_CONNECTIONS,
            max_overflow=0,
            pool_timeout=max(wait_seconds, 0.1),
            pool_pre_ping=True,
            isolation_level="AUTOCOMMIT",
            pool_reset_on_return=None,
        )
        super().__init__(_shown(given), engine, wait_seconds, psycopg.Error)
        self._is_prepared = False

    def prepare(self) -> None:
        if self._is_prepared:
            return
        with self.engine.connect() as connection:
            server: Any = connection.connection.driver_connection
            encoding = server.info.parameter_status("server_encoding")
            if server.info.server_version < OLDEST or encoding != "UTF8":
                raise StorageError(
                    f"The database {self.name} cannot hold a ledger: it has to be of PostgreSQL 14 "
                    "or later, in UTF-8.",
                    "Make one with: CREATE DATABASE seedlens ENCODING 'UTF8' TEMPLATE template0",
                )
            migrations.migrate(connection, self.name, _BEGIN)
        self._is_prepared = True

    def _begin(self, driver: Any, *, durable: bool) -> None:
        lasting = "" if durable else "SET LOCAL synchronous_commit = off; "
        # Several statements cannot be prepared.
        driver.execute(f"BEGIN; {lasting}{_LOCKED}", prepare=False)

    @contextmanager
    def driver_errors(self) -> Iterator[None]:
        """Errors of psycopg itself as those for people."""
        try:
            yield
        except psycopg.Error as error:
            raise self.explained(error) from error

    def own_connection(self) -> psycopg.Connection[Any]:
        """A connection beside those of transactions, for a lock that lasts."""
        with self.driver_errors():
            return self._connect()

    def copy(self, target: Path) -> None:
        from storage.ledger_copy import copy_ledger
        from storage.sqlite import SqliteDatabase

        try:
            with tempfile.TemporaryDirectory(prefix=".ledger-", dir=target.parent) as folder:
                file = SqliteDatabase(Path(folder) / target.name, self.wait_seconds)
                copy_ledger(self, file)
                file.engine.dispose()
                (Path(folder) / target.name).replace(target)
        except OSError as error:
            raise StorageError(
                f"The ledger cannot be copied to {target}: {error.strerror or error}.",
                "Check the disk and the permissions of the folder.",
            ) from error

    def explained(self, error: Exception) -> StorageError:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        detail = self._hidden(lines[0])[:300]
        if isinstance(error, psycopg.Error):
            error._pgconn = None  # it holds the password
        if isinstance(error, errors.LockNotAvailable):
            return self.busy()
        if isinstance(error, errors.DiskFull):
            return StorageFullError(
                f"There is no room to write to the ledger {self.name}: {detail}",
                "Free some space on the server's disk and try again. What was stored before is "
                "intact.",
            )
        if isinstance(
            error, (psycopg.DataError, psycopg.IntegrityError, UnicodeEncodeError, OverflowError)
        ):
            return StorageError(
                f"The ledger {self.name} cannot hold this value: {detail}",
                "Correct the value. Nothing was changed.",
            )
        if isinstance(error, psycopg.OperationalError):
            return StorageError(
                f"The ledger {self.name} cannot be reached: {detail}",
                "Check that the server runs, and the user, password and database in "
                "SEEDLENS_LEDGER_URL. What was acknowledged before is stored.",
            )
        return StorageError(
            f"The ledger {self.name} cannot be read or written: {detail}",
            "Check what the server's log says, and that the user may use the tables of the "
            "database.",
        )


_LOCKED = f"SELECT pg_advisory_xact_lock({WRITERS})"
_BEGIN = f"BEGIN; {_LOCKED}"


@dataclass
class _Connecting:
    """Makes connections; waits for a server that was there before, or is starting."""

    opened: Callable[[], psycopg.Connection[Any]]
    wait_seconds: float
    _met: bool = False

    def __call__(self) -> psycopg.Connection[Any]:
        deadline = time.monotonic() + self.wait_seconds
        while True:
            try:
                connection = self.opened()
            except psycopg.OperationalError as error:
                words = str(error)
                soon = any(part in words for part in _SOON)
                hope = soon or (self._met and "FATAL" not in words)
                if not hope or time.monotonic() >= deadline:
                    raise
                time.sleep(POLL_SECONDS)
                continue
            self._met = True
            lock_timeout = str(max(1, int(self.wait_seconds * 1000)))
            settings = {**_AT_SERVER, "lock_timeout": lock_timeout}
            for name, value in settings.items():
                connection.execute("SELECT set_config(%s, %s, false)", [name, value])
            return connection


class ServerLocks(Locks):
    """Locks by name on all machines; those in ``folder``, among the programs of this machine,
    outlast a restart of the server."""

    def __init__(self, folder: Path, server: PostgresDatabase) -> None:
        super().__init__(folder)
        self._server = server

    @contextmanager
    def alone(self, lock_file: Path, busy: str, remedy: str, wait: float = 0.0) -> Iterator[None]:
        taken = partial(CorpusBusyError, busy, remedy)
        with (
            super().alone(lock_file, busy, remedy, wait),
            self.held(("file", lock_file.name), wait, lambda _: taken()),
        ):
            yield

    @contextmanager
    def hold(self, *name: str, what: str) -> Iterator[None]:
        with (
            super().hold(*name, what=what),
            self.held(name, WAIT_SECONDS, partial(self._by_whom, what)),
        ):
            yield

    @contextmanager
    def held(
        self,
        name: tuple[str, ...],
        wait: float = 0.0,
        busy: Callable[[int], CorpusBusyError] = lambda _: CorpusBusyError("It is held."),
    ) -> Iterator[None]:
        """Hold an advisory lock only.

        Args:
            busy: lock's key -> the error when it is held after the wait.
        """
        key, deadline = key_of(name), time.monotonic() + wait
        connection = self._server.own_connection()
        try:
            with self._server.driver_errors():
                while not _taken(connection, key):
                    if time.monotonic() >= deadline:
                        raise busy(key)
                    time.sleep(POLL_SECONDS)
        except BaseException:
            connection.close()
            raise
        hold = _Hold(self._server, connection, key)
        try:
            yield
        finally:
            hold.end()

    def _by_whom(self, what: str, key: int) -> CorpusBusyError:
        """Who holds a lock, by the name of the holder's connection."""
        with self._server.read() as connection:
            row = connection.execute(text(_HOLDER), {"key": key}).first()
        # "seedlens MACHINE PROCESS", as connections are named
        parts = row[0].split(" ") if row else []
        _, machine, process = parts if len(parts) == 3 else ("", "", "")
        here = machine == socket.gethostname()[:32]
        number = int(process) if process.isdecimal() else None
        return busy_with(what, number, "" if here else machine)


class _Hold:
    """A held lock, taken again when the server was away."""

    def __init__(
        self, server: PostgresDatabase, connection: psycopg.Connection[Any], key: int
    ) -> None:
        self._server, self._connection, self._key = server, connection, key
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="seedlens-lock", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._done.set()
        self._thread.join()
        with suppress(psycopg.Error):  # closing alone is noticed later
            self._connection.execute("SELECT pg_advisory_unlock(%s)", [self._key])
        self._connection.close()

    def _watch(self) -> None:
        held = True
        while not self._done.wait(LOOK_SECONDS):
            try:
                if held:
                    self._connection.execute("SELECT 1")
                else:  # who looked whether it is free had it for a moment, perhaps
                    held = _taken(self._connection, self._key)
            except psycopg.Error:
                self._connection.close()
                held = False
                with suppress(StorageError, psycopg.Error):
                    self._connection = self._server.own_connection()
                    held = _taken(self._connection, self._key)
                    if not held:
                        log.warning("The ledger was away, and another program took what was held.")


def key_of(name: tuple[str, ...]) -> int:
    """The number of an advisory lock."""
    digest = hashlib.sha256("\x00".join(name).encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _taken(connection: psycopg.Connection[Any], key: int) -> bool:
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", [key]).fetchone()
    return bool(row and row[0])


class SharedJob(NamedTuple):
    """An import on the server."""

    content: str  # its last note, a text owned by the engine
    stopping: bool  # asked to stop
    runs: bool  # its process is alive


class SharedJobs:
    """The imports of all machines, by id; methods raise as those of the ledger."""

    def __init__(self, server: PostgresDatabase, locks: ServerLocks) -> None:
        self._server, self._locks, self.alone = server, locks, locks.alone
        self._looked: dict[str, tuple[float, bool]] = {}

    def all(self) -> dict[str, SharedJob]:
        """Every job that was noted and not removed."""
        held = f"SELECT 1 FROM pg_locks AS l WHERE {_IS_HELD} lock"  # noqa: S608
        sql = f"SELECT name, content, stop, EXISTS ({held}) FROM import_jobs"  # noqa: S608
        return {id_: SharedJob(*rest) for id_, *rest in self._execute(sql)}

    def put(self, id_: str, content: str) -> None:
        """Note what there is to say of a job."""
        self._execute(
            """INSERT INTO import_jobs (name, content, stop, lock)
               VALUES (:id, :content, false, :lock)
               ON CONFLICT (name) DO UPDATE SET content = excluded.content RETURNING name""",
            id=id_,
            content=content,
            lock=key_of(_lock(id_)),
        )

    def remove(self, id_: str) -> None:
        """Forget a job; one that is not there is none."""
        self._execute("DELETE FROM import_jobs WHERE name = :id RETURNING name", id=id_)

    def ask_to_stop(self, id_: str, stop: bool = True) -> None:
        """Have a job stop, wherever it runs; or let it go on after all."""
        sql = "UPDATE import_jobs SET stop = :stop WHERE name = :id RETURNING name"
        self._execute(sql, stop=stop, id=id_)

    def is_to_stop(self, id_: str) -> bool:
        """Whether somebody asked for that, by a look each second; False while nobody knows."""
        at, asked = self._looked.get(id_, (-LOOK_SECONDS, False))
        if time.monotonic() - at >= LOOK_SECONDS:
            with suppress(StorageError):
                rows = self._execute("SELECT stop FROM import_jobs WHERE name = :id", id=id_)
                asked = bool(rows and rows[0][0])
            self._looked[id_] = (time.monotonic(), asked)
        return asked

    @contextmanager
    def running(self, id_: str) -> Iterator[None]:
        """This process works on a job: others see that until it ends, however it does."""
        with self._locks.held(_lock(id_)):
            yield

    def _execute(self, sql: str, **values: Any) -> list[Any]:
        with self._server.read() as connection:
            return list(connection.execute(text(sql), values))


def _lock(id_: str) -> tuple[str, ...]:
    return ("import", id_)


def _parameters(url: str) -> dict[str, Any]:
    """Parameters for libpq; an address is never shown, as it holds the password."""
    found: dict[str, Any] = {}
    if _ADDRESS.fullmatch(url):
        with suppress(psycopg.ProgrammingError):
            found = conninfo_to_dict(url)
    if not found:
        raise StorageError(
            "SEEDLENS_LEDGER_URL is not the address of a PostgreSQL database.",
            "Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, and in the password %40 for @, "
            "%2F for /, %3F for ?, %23 for #, %25 for %.",
        )
    defaults = {
        **_KEEPALIVE,
        "tcp_user_timeout": 30_000,
        "connect_timeout": SECONDS_TO_CONNECT,
        "target_session_attrs": "read-write",
        "application_name": f"seedlens {socket.gethostname()[:32]} {os.getpid()}",
    }
    return {**defaults, **found, "client_encoding": "utf8"}


def _shown(given: Mapping[str, Any]) -> str:
    """An address without user and password."""
    hosts = str(given.get("host") or "").split(",")
    ports = str(given.get("port") or "").split(",")
    places = [
        f"{host}:{port}" if port else host
        for host, port in zip(hosts, ports * len(hosts), strict=False)
    ]
    return f"postgresql://{','.join(places)}/{given.get('dbname') or ''}"
