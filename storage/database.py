"""The database of a ledger: transactions, one writer at a time, errors for people, and a cache of
reads.

Either a SQLite file (:mod:`storage.sqlite`) or a PostgreSQL server (:mod:`storage.postgres`), with
the same tables and statements.
"""

from __future__ import annotations

import errno
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Engine, QueuePool, Select, Table, create_engine, func, select
from sqlalchemy.exc import SQLAlchemyError, TimeoutError

from storage.errors import LedgerBusyError, StorageError, StorageFullError
from storage.tables import METADATA, Record, first, put, records

Value = TypeVar("Value")
MOST_CONNECTIONS = 8  # Of a process; more threads wait for each other
MOST_REMEMBERED = 512  # Results of queries
_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED", "55P03")
_FULL = "SQLITE_FULL SQLITE_IOERR_WRITE SQLITE_IOERR_SHMSIZE SQLITE_IOERR_FSYNC ENOSPC EDQUOT 53100"
_VALUE = "SQLITE_CONSTRAINT SQLITE_TOOBIG 22 23 DataError UnicodeEncodeError OverflowError"
_KINDS = {
    ("SQLITE_READONLY",): (
        "cannot be written to",
        "Nothing was stored. It can be searched. To store something, change its permissions, or "
        "set SEEDLENS_HOME to a copy of the home.",
    ),
    tuple(_FULL.split()): (
        "has no room on its disk",
        "Free some space on that disk and try again. What was stored before is intact.",
    ),
    tuple(_VALUE.split()): ("cannot hold this value", "Correct the value. Nothing was changed."),
    ("OperationalError", "ConnectionTimeout", "08", "28", "3D", "53300", "57P"): (
        "cannot be reached",
        "Check that the server runs, and the user, password and database in SEEDLENS_LEDGER_URL. "
        "What was acknowledged before is stored.",
    ),
}
"""How the codes of SQLite, PostgreSQL (SQLSTATE) and the system, or the names of errors, begin ->
what happened, and what to do."""


class _Thread(threading.local):
    """What a thread is doing with a ledger."""

    connection: Connection | None = None  # in use
    writes = False  # it is that of a transaction


class Database(ABC):
    """The database behind a ledger; see :class:`storage.ledger.Ledger` for errors.

    Args:
        name: for error messages.
        connect: makes a connection of the driver, in autocommit mode.
        wait_seconds: how long a transaction waits for others.
        driver_error: base class of the driver's errors.
    """

    remedy = ""  # What to do about an error of no known kind

    def __init__(
        self,
        name: str,
        url: str,
        connect: Callable[[], Any],
        wait_seconds: float,
        driver_error: type[Exception],
        **options: Any,
    ) -> None:
        self.name = name
        self.wait_seconds = wait_seconds
        self.engine: Engine = create_engine(
            url,
            creator=connect,
            poolclass=QueuePool,
            pool_size=MOST_CONNECTIONS,
            max_overflow=0,
            pool_timeout=max(wait_seconds, 0.1),
            isolation_level="AUTOCOMMIT",
            pool_reset_on_return=None,
            **options,
        )
        self._driver_error = driver_error
        self._writer = threading.Lock()
        self._thread = _Thread()
        self._memory: dict[Hashable, tuple[Hashable, Any]] = {}
        self._memory_lock = threading.Lock()
        weakref.finalize(self, self.engine.dispose)

    @property
    def place(self) -> Hashable:
        """Another value when another ledger was put in the place of this one."""
        return None

    @abstractmethod
    def prepare(self) -> None:
        """Make the tables, or bring them up to date, where that was not done yet."""

    @abstractmethod
    def _begin(self, driver: Any, *, durable: bool) -> None:
        """Begin a transaction that is alone among all that write, on a connection of the driver."""

    @abstractmethod
    def copy(self, target: Path) -> None:
        """Copy the ledger, as of one moment, to a SQLite file, while others go on using it."""

    def is_protected(self) -> bool:
        """Whether it can only be read."""
        return False

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that only reads, and waits for nobody; within :meth:`write` its own."""
        if self._thread.connection is not None:
            yield self._thread.connection
            return
        with self._errors(), self._connected(writes=False) as connection:
            yield connection

    @contextmanager
    def _connected(self, *, writes: bool) -> Iterator[Connection]:
        self.prepare()
        thread = self._thread
        before = thread.connection, thread.writes
        with self.engine.connect() as connection:
            thread.connection, thread.writes = connection, writes
            try:
                yield connection
            finally:
                thread.connection, thread.writes = before

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Connection]:
        """A transaction, exclusive among all threads and processes that write.

        It is on disk when it ends; an error rolls it back. Within another one of the same thread
        it is a part of that.

        Args:
            durable: False for what may be lost when the machine, not the program, fails.
        """
        if self._thread.connection is not None and self._thread.writes:
            yield self._thread.connection
            return
        if not self._writer.acquire(timeout=max(0.0, self.wait_seconds)):
            raise self.busy()
        try:
            with self._errors(), self._connected(writes=True) as connection:
                # Without SQLAlchemy, which takes longer for it than SQLite.
                driver: Any = connection.connection.driver_connection
                try:
                    self._begin(driver, durable=durable)
                    yield connection
                    driver.execute("COMMIT")
                except BaseException:
                    with suppress(self._driver_error):  # it may not have begun, or be undone
                        driver.execute("ROLLBACK")
                    raise
        finally:
            self._writer.release()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError as error:
            raise self.busy() from error
        except (SQLAlchemyError, self._driver_error, UnicodeEncodeError, OverflowError) as error:
            cause = cast(Exception, getattr(error, "orig", error))
            if isinstance(cause, ValueError) and not isinstance(cause, UnicodeError):
                raise cause from None  # of a caller
            raise self.explained(cause) from cause

    def explained(self, error: Exception) -> StorageError:
        """An error of the database as one for people."""
        code = str(
            getattr(error, "sqlite_errorname", None)
            or getattr(error, "sqlstate", None)
            or errno.errorcode.get(getattr(error, "errno", None) or 0)
            or type(error).__name__
        )
        if code.startswith(_BUSY):
            return self.busy()
        detail = (str(error).strip().splitlines() or [code])[0][:300]
        if hasattr(error, "_pgconn"):
            error._pgconn = None  # it holds the password
        known = (words for codes, words in _KINDS.items() if code.startswith(codes))
        problem, remedy = next(known, ("cannot be read or written", self.remedy))
        kind = StorageFullError if code.startswith(tuple(_FULL.split())) else StorageError
        return kind(f"The ledger {self.name} {problem}: {detail}", remedy)

    def busy(self) -> LedgerBusyError:
        """Others wrote all the while."""
        return LedgerBusyError(
            f"The ledger {self.name} stayed locked by another process for "
            f"{self.wait_seconds:g} s; nothing was changed.",
            "Try again. If it stays so, close other programs that have it open.",
        )

    def records(
        self, make: Callable[..., Record], query: Select[Any], **values: object
    ) -> list[Record]:
        """The rows of a query, with the values of its parameters, as records."""
        with self.read() as connection:
            return records(connection, make, query, **values)

    def first(
        self, make: Callable[..., Record], query: Select[Any], **values: object
    ) -> Record | None:
        """The first row of a query as a record; None without one."""
        with self.read() as connection:
            return first(connection, make, query, **values)

    def values(self, query: Select[Any], **values: object) -> Sequence[Any]:
        """The first column of a query."""
        with self.read() as connection:
            return connection.scalars(query, values).all()

    def remembered(
        self, key: Hashable, stamp: Select[Any], read: Callable[[Connection], Value], **values: str
    ) -> Value:
        """The cached result of ``read``, the same object while ``stamp`` gives the same row."""
        with self.read() as connection:
            now = (self.place, *connection.execute(stamp, values).one())
            with self._memory_lock:
                held = self._memory.get(key)
            if held is None or held[0] != now:
                held = (now, read(connection))
                with self._memory_lock:
                    self._memory[key] = held
                    if len(self._memory) > MOST_REMEMBERED:
                        self._memory.pop(next(iter(self._memory)))
        return cast(Value, held[1])


class LedgerTables:
    """Some tables of a ledger, by the database behind it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _insert(self, table: Table, rows: Iterable[Any], *, skip_known: bool = False) -> int:
        """:func:`storage.tables.put` in a transaction, which is skipped without rows."""
        rows = list(rows)
        if not rows:
            return 0
        with self._database.write() as connection:
            return put(connection, table, rows, "skip" if skip_known else "")


ROWS_AT_ONCE = 2000
OF_PROCESSES = ("lock", "lease")  # Kinds of documents that mean nothing elsewhere
_PEOPLE = ("ended login", "spent")  # Kinds of documents that are there also where nobody worked yet


def copied_tables() -> list[Table]:
    """The tables that are copied."""
    return [table for table in METADATA.sorted_tables if table.name != "schema_version"]


def copy_ledger(source: Database, target: Database) -> dict[str, int]:
    """Copy all rows in one transaction, locking both; returns the number of rows by table."""
    with source.write() as there, target.write() as here:
        if held := [table.name for table in copied_tables() if _is_used(here, table)]:
            raise StorageError(
                f"The ledger {target.name} is not empty: {', '.join(held)} have rows.",
                "Copy to one that nobody has used. Nothing was changed.",
            )
        return {table.name: _copy(there, here, table) for table in copied_tables()}


def _is_used(connection: Connection, table: Table) -> bool:
    query = select(func.count()).select_from(table)
    if "kind" in table.c:
        query = query.where(table.c.kind.not_in((*_PEOPLE, *OF_PROCESSES)))
    return bool(connection.scalar(query))


def _copy(source: Connection, target: Connection, table: Table) -> int:
    query, gone = select(table).order_by(*table.primary_key.columns), table.delete()
    if "kind" in table.c:
        copied = table.c.kind.not_in(OF_PROCESSES)
        query, gone = query.where(copied), gone.where(copied)
    target.execute(gone)
    pieces = source.execute(query).mappings().partitions(ROWS_AT_ONCE)
    return sum(put(target, table, rows) for rows in pieces)
