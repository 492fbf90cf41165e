"""The ledger on a PostgreSQL server, for several machines: the statements are those of the file.

Whoever writes is alone among all processes, by an advisory lock that ends with its transaction;
who only reads shuts out nobody. A connection that breaks before anything was asked of it, as when
the server was restarted, is replaced by another.
"""

from __future__ import annotations

import os
import re
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from storage.access import LedgerFile
from storage.database import APPENDED, Database, Stamp, State
from storage.errors import LedgerBusyError, StorageError, StorageFullError
from storage.ledger_copy import copy_ledger
from storage.migrations import MIGRATIONS, migrate, transaction

WRITERS = 0x5EED1E25
"""The advisory lock of whoever writes."""
MOST_CONNECTIONS = 8
"""Of a process, for the ledger; more threads wait for each other."""
POLL_SECONDS = 0.1
OLDEST = 140000
"""The server's version: 14."""
SECONDS_TO_CONNECT = 10
# A machine that is gone without a word is given up after half a minute, on both sides.
_KEEPALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 4}
_AT_SERVER = "".join(
    f"SELECT set_config('{name}', '{value}', false);"
    for name, value in {
        **{f"tcp_{name}": str(value) for name, value in _KEEPALIVE.items()},
        # A plan for any value would read all events to find the last ones.
        "plan_cache_mode": "force_custom_plan",
    }.items()
)
_ADDRESS = re.compile(r"postgres(ql)?://([^@/?#\s]*@)?[^@/?#\s]*(/[^@?#\s]*)?(\?[^@#\s]*)?")
"""Each sign that parts a password from the rest has to be encoded in it."""
# Before a server takes connections, or while it ends them, it says so.
_SOON = ("starting up", "shutting down", "recovery mode", "not yet accepting", "too many clients")
_PARTS = re.compile(r"'(?:[^']|'')*'|\$([a-z_]+)|\?|\b(?:BLOB|DOUBLE|TINYINT)\b")
_TYPES = {"BLOB": "BYTEA", "DOUBLE": "DOUBLE PRECISION", "TINYINT": "SMALLINT"}
_STAMPS = {
    **{table: f"(SELECT coalesce(max(id), 0) FROM {table})" for table in APPENDED},  # noqa: S608
    "corpora": "(SELECT coalesce(bit_xor(hashtextextended(c::text, 0)), 0) FROM corpora AS c)",
}
_STATE = f"""
    SELECT (SELECT max(version) FROM schema_version WHERE to_regclass('spent') IS NOT NULL),
        'judgment_events'::regclass::oid::bigint,
        pg_current_snapshot()::text, {", ".join(_STAMPS.values())}"""  # noqa: S608
"""Two snapshots that are written the same see the same. No version where the last of
:data:`_OF_OURS` is not there yet."""
_OF_OURS = (
    *(f"CREATE INDEX IF NOT EXISTS {table}_by_id ON {table} (id)" for table in APPENDED),
    # As every table of DuckDB has it.
    "ALTER TABLE answers ADD COLUMN IF NOT EXISTS rowid BIGINT GENERATED ALWAYS AS IDENTITY",
    "CREATE INDEX IF NOT EXISTS answers_by_rowid ON answers (rowid)",
    # Of no use after a crash: then items are leased anew.
    "CREATE UNLOGGED TABLE IF NOT EXISTS leases (name VARCHAR PRIMARY KEY, content BYTEA NOT NULL)",
    "CREATE TABLE IF NOT EXISTS import_jobs (name VARCHAR PRIMARY KEY, content VARCHAR NOT NULL, "
    "stop BOOLEAN NOT NULL, lock BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS ended_logins (digest VARCHAR PRIMARY KEY, "
    "ended_at TIMESTAMPTZ NOT NULL)",
    "CREATE TABLE IF NOT EXISTS spent (person VARCHAR NOT NULL, day DATE NOT NULL, "
    "calls BIGINT NOT NULL, input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL, "
    "PRIMARY KEY (person, day))",
)
"""What the tables have here beyond the schema."""


class Session:
    """A connection as :class:`storage.database.Connection` has it."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self._cursor: psycopg.Cursor[Any] = psycopg.RawCursor(connection)

    def execute(self, sql: str, values: Any = None, /) -> Session:
        text, names = _translated(sql)
        given = [values[name] for name in names] if isinstance(values, Mapping) else values
        self._cursor.execute(cast(Any, text), given or None)
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        if self._cursor.description is None:
            return (self._cursor.rowcount,)
        return cast("tuple[Any, ...] | None", self._cursor.fetchone())

    def fetchall(self) -> list[Any]:
        if self._cursor.description is None:
            return [(self._cursor.rowcount,)]
        return self._cursor.fetchall()

    def begin(self) -> None:
        self.execute("BEGIN")

    def commit(self) -> None:
        self.execute("COMMIT")

    def rollback(self) -> None:
        with suppress(psycopg.OperationalError):  # it is broken, which undoes as much
            self.execute("ROLLBACK")


@lru_cache(maxsize=512)
def _translated(sql: str) -> tuple[str, tuple[str, ...]]:
    """DuckDB's signs for parameters and its names of types as PostgreSQL's; the names of values."""
    names: list[str] = []

    def one(found: re.Match[str]) -> str:
        word = found[0]
        if word.startswith("'"):
            return word
        if word in _TYPES:
            return _TYPES[word]
        if word == "?" or found[1] not in names:
            names.append(found[1] or "")
        return f"${len(names) if word == '?' else names.index(found[1]) + 1}"

    return _PARTS.sub(one, sql), tuple(names)


class PostgresLedger(Database):
    """The server behind a ledger; see :class:`storage.ledger.Ledger` for errors.

    Args:
        url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``.
        wait_seconds: how long an access waits for others, or for the server to come back.
    """

    def __init__(self, url: str, wait_seconds: float) -> None:
        given = _parameters(url)
        super().__init__(_shown(given))
        # Whoever shows what this object holds does not show the password.
        self._opened: Callable[[], psycopg.Connection[Any]]
        self._opened = lambda: psycopg.connect(**given, autocommit=True)
        self._hidden: Callable[[str], str]
        self._hidden = lambda text: text.replace(given.get("password") or "\0", "***")
        self._wait_seconds = wait_seconds
        self._idle: list[Session] = []
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._met = False
        self._here = threading.local()

    @property
    def state(self) -> State:
        state = getattr(self._here, "state", None)
        if state is None:
            raise RuntimeError("the ledger is not accessed")
        return cast(State, state)

    def stamp(self, tables: Sequence[str]) -> Stamp | None:
        del tables
        return None

    def wrote(self, table: str, stamp: int, then: Callable[[], None]) -> None:
        del table, stamp  # the next access asks the server
        self._here.then = then

    @contextmanager
    def access(self, *, writes: bool = True) -> Iterator[Session]:
        deadline = time.monotonic() + self._wait_seconds
        if not self._free.acquire(timeout=self._wait_seconds):
            raise self._busy()
        self._here.then = None
        try:
            with self.explained():
                with self._begun(deadline, writes) as session:
                    yield session
                if self._here.then is not None:
                    self._here.then()
        finally:
            self._here.state = None
            self._free.release()

    @contextmanager
    def apart(self) -> Iterator[Session]:
        """A transaction beside the access that a thread may have, which shuts out nobody."""
        with self.explained():
            session = self._ready(time.monotonic() + self._wait_seconds, writes=False)
            self._here.state = None
            try:
                with transaction(session):
                    yield session
            finally:
                self._put_back(session)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Errors as ours."""
        try:
            yield
        except (psycopg.Error, UnicodeEncodeError) as error:
            raise self._explained(error) from error

    @contextmanager
    def _begun(self, deadline: float, writes: bool) -> Iterator[Session]:
        """A connection that works, with the state noted; for who writes, alone and in a
        transaction."""
        session = self._ready(deadline, writes)
        try:
            yield session
            if writes:
                session.commit()
        except psycopg.Error:
            session.connection.close()  # what it is good for still, who knows
            raise
        except BaseException:
            if writes:
                session.rollback()
            raise
        finally:
            self._put_back(session)

    def _ready(self, deadline: float, writes: bool) -> Session:
        while True:
            try:
                session, fresh = self._idle.pop(), False
            except IndexError:
                session, fresh = self.connect(deadline), True
            try:
                if writes:
                    # Several statements cannot be prepared.
                    session.connection.execute(
                        f"BEGIN; SELECT pg_advisory_xact_lock({WRITERS})", prepare=False
                    )
                if self._note_state(session):
                    return session
                if writes:
                    session.rollback()
                self._migrate(session)
                self._idle.append(session)
            except BaseException as error:
                session.connection.close()
                broken = isinstance(error, psycopg.OperationalError) and not isinstance(
                    error, errors.LockNotAvailable
                )
                if not broken or (fresh and time.monotonic() >= deadline):
                    raise

    def _note_state(self, session: Session) -> bool:
        """What the ledger holds now; False when its schema is not of this version."""
        row = None
        with suppress(errors.UndefinedTable):
            row = session.execute(_STATE).fetchone()
        if row is None or row[0] != len(MIGRATIONS):
            return False
        stamps = dict(zip(_STAMPS, row[3:], strict=True))
        self._here.state = State((row[1],), row[2], stamps)
        return True

    def _migrate(self, session: Session) -> None:
        encoding = session.connection.info.parameter_status("server_encoding")
        if session.connection.info.server_version < OLDEST or encoding != "UTF8":
            raise StorageError(
                f"The database {self.name} cannot hold a ledger: it has to be of PostgreSQL 14 or "
                "later, in UTF-8.",
                "Make one with: CREATE DATABASE seedlens ENCODING 'UTF8' TEMPLATE template0",
            )
        session.execute(f"SELECT pg_advisory_lock({WRITERS})")
        with transaction(session):
            session.execute(
                "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL, "
                "name VARCHAR NOT NULL, applied_at TIMESTAMP NOT NULL)"
            )
        migrate(session, self.name)
        for statement in _OF_OURS:
            session.execute(statement)
        session.execute(f"SELECT pg_advisory_unlock({WRITERS})")

    def _put_back(self, session: Session) -> None:
        if session.connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE:
            self._idle.append(session)
        else:
            session.connection.close()

    def connect(self, deadline: float = 0.0) -> Session:
        """A new connection; waits for a server that was there before, or is about to come."""
        while True:
            try:
                connection = self._opened()
            except psycopg.OperationalError as error:
                said = str(error)
                soon = any(words in said for words in _SOON)
                hope = soon or (self._met and "FATAL" not in said)
                if not hope or time.monotonic() >= deadline:
                    raise
                time.sleep(POLL_SECONDS)
                continue
            self._met = True
            milliseconds = max(1, int(self._wait_seconds * 1000))
            connection.execute(
                f"{_AT_SERVER} SELECT set_config('lock_timeout', '{milliseconds}', false)"
            )
            return Session(connection)

    def copy(self, target: Path) -> None:
        try:
            with tempfile.TemporaryDirectory(prefix=".ledger-", dir=target.parent) as folder:
                half = Path(folder) / target.name
                copy_ledger(self, LedgerFile(half, self._wait_seconds), str(target))
                half.replace(target)
        except OSError as error:
            raise StorageError(
                f"The ledger cannot be copied to {target}: {error.strerror or error}.",
                "Check the disk and the permissions of the folder.",
            ) from error

    def _busy(self) -> LedgerBusyError:
        return LedgerBusyError(
            f"The ledger {self.name} stayed locked by another process for "
            f"{self._wait_seconds:g} s; nothing was changed.",
            "Try again.",
        )

    def _explained(self, error: psycopg.Error | UnicodeEncodeError) -> StorageError:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        detail = self._hidden(lines[0])[:300]
        if isinstance(error, psycopg.Error):
            error._pgconn = None  # it holds the password
        if isinstance(error, errors.LockNotAvailable):
            return self._busy()
        if isinstance(error, errors.DiskFull):
            return StorageFullError(
                f"There is no room to write to the ledger {self.name}: {detail}",
                "Free some space on the server's disk and try again. What was stored before is "
                "intact.",
            )
        if isinstance(error, (psycopg.DataError, psycopg.IntegrityError, UnicodeEncodeError)):
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


def _parameters(url: str) -> dict[str, Any]:
    """What libpq is told of an address, which is never shown: it holds the password."""
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
