"""The database of a ledger: transactions, one writer at a time, and a cache of reads.

Either a SQLite file (:mod:`storage.sqlite`) or a PostgreSQL server (:mod:`storage.postgres`), with
the same tables and statements.
"""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Engine, Select, Table
from sqlalchemy.exc import SQLAlchemyError, TimeoutError

from storage.errors import LedgerBusyError, StorageError
from storage.tables import Record, first, insert, records

Value = TypeVar("Value")
MOST_CONNECTIONS = 8
"""Of a process; more threads wait for each other."""
MOST_REMEMBERED = 512
"""Results of queries; the one used longest ago gives way."""


class Database(ABC):
    """The database behind a ledger; see :class:`storage.ledger.Ledger` for errors.

    Args:
        name: for error messages.
        engine: in autocommit mode except within :meth:`write`.
        wait_seconds: how long a transaction waits for others.
        driver_error: base class of the driver's errors.
    """

    def __init__(
        self, name: str, engine: Engine, wait_seconds: float, driver_error: type[Exception]
    ) -> None:
        self.name = name
        self.engine = engine
        self.wait_seconds = wait_seconds
        self._driver_error = driver_error
        self._writer = threading.Lock()
        self._memory: dict[Hashable, tuple[Hashable, Any]] = {}
        self._memory_lock = threading.Lock()
        weakref.finalize(self, engine.dispose)

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
    def explained(self, error: Exception) -> StorageError:
        """An error of the database as one for people."""

    @abstractmethod
    def copy(self, target: Path) -> None:
        """Copy the ledger, as of one moment, to a SQLite file, while others go on using it."""

    def is_protected(self) -> bool:
        """Whether it can only be read."""
        return False

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that only reads, and waits for nobody."""
        with self._errors():
            self.prepare()
            with self.engine.connect() as connection:
                yield connection

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Connection]:
        """A transaction, exclusive among all threads and processes that write.

        It is on disk when it ends; an error rolls it back.

        Args:
            durable: False for what may be lost when the machine, not the program, fails.
        """
        if not self._writer.acquire(timeout=max(0.0, self.wait_seconds)):
            raise self.busy()
        try:
            with self._errors():
                self.prepare()
                with self.engine.connect() as connection:
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
        self, key: Hashable, stamp: Select[Any], read: Callable[[Connection], Value]
    ) -> Value:
        """The cached result of ``read``, the same object while ``stamp`` gives the same row."""
        with self.read() as connection:
            now = (self.place, *connection.execute(stamp).one())
            with self._memory_lock:
                held = self._memory.pop(key, None)
                if held is not None and held[0] == now:
                    self._memory[key] = held  # the latest used goes last
                    return cast(Value, held[1])
            value = read(connection)
            with self._memory_lock:
                self._memory[key] = (now, value)
                while len(self._memory) > MOST_REMEMBERED:
                    self._memory.pop(next(iter(self._memory)))
        return value


class LedgerTables:
    """Some tables of a ledger, by the database behind it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _insert(self, table: Table, rows: Iterable[Any], *, skip_known: bool = False) -> int:
        """:func:`storage.tables.insert` in a transaction, which is skipped without rows."""
        rows = list(rows)
        if not rows:
            return 0
        with self._database.write() as connection:
            return insert(connection, table, rows, skip_known=skip_known)
