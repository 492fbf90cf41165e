"""What the ledger's tables need of the database behind them, and what was read of it remembered.

There are two: a DuckDB file (:mod:`storage.access`) and a PostgreSQL server
(:mod:`storage.postgres`). The statements are the same: SQL that both understand, with DuckDB's
signs for parameters.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from storage.rows import Record, records

Value = TypeVar("Value")
Stamp = Hashable
"""Equal while what was read from some tables is true still."""
APPENDED = ("judgment_events", "project_versions", "project_queries", "query_states", "pool_items")
"""Tables whose rows are only ever appended: the last id tells whether they were written to."""
MOST_REMEMBERED = 512
"""Results of queries; the one used longest ago gives way."""
LONGEST_REMEMBERED = 2_000
"""Characters of a text in what is asked; longer ones come from outside, in links and messages."""


class Connection(Protocol):
    """What is used of a connection; DuckDB's own are such."""

    def execute(self, sql: str, values: Any = None, /) -> Connection:
        """Run a statement; ``?`` and ``$name`` stand for values."""

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row of the result; of an INSERT without RETURNING, how many there were."""

    def fetchall(self) -> list[Any]:
        """All rows of the result."""

    def begin(self) -> Any:
        """Begin a transaction."""

    def commit(self) -> Any:
        """End it, and keep what it did."""

    def rollback(self) -> Any:
        """End it, as if it had not been."""


@dataclass(frozen=True)
class State:
    """What the database holds, as far as that can be told without reading it.

    Attributes:
        signature: of a file, times, sizes and identity; of a server's tables, their identity. The
            last one is another for a database that was put in the place of this one.
        version: another after every write.
        stamps: by table, what is another number after every write to it.
    """

    signature: tuple[int, ...]
    version: Hashable
    stamps: Mapping[str, int]

    def stamp(self, tables: Sequence[str], *numbers: int) -> Stamp:
        """Of some tables; of all there is when none are named.

        Args:
            numbers: what the stamps of these tables are by now.
        """
        place = self.signature[-1]
        return (place, *(numbers or map(self.stamps.get, tables))) if tables else self.version


class Database(ABC):
    """The database behind a ledger; see :class:`storage.ledger.Ledger` for errors.

    Args:
        name: what errors call it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._memory: dict[Hashable, tuple[Stamp, Any]] = {}
        self._memory_lock = threading.Lock()

    @property
    @abstractmethod
    def state(self) -> State:
        """What it holds; to be asked within an access only."""

    @abstractmethod
    def stamp(self, tables: Sequence[str]) -> Stamp | None:
        """Of these tables as they are now; None when only an access can tell."""

    @abstractmethod
    def access(self, *, writes: bool = True) -> AbstractContextManager[Connection]:
        """One transaction on the up-to-date ledger, alone among all threads and processes.

        What it wrote is on the disk when it ends.

        Args:
            writes: False when it only reads, which takes less, and shuts out nobody.
        """

    @abstractmethod
    def wrote(self, table: str, stamp: int, then: Callable[[], None]) -> None:
        """Say, within an access, that this table alone was written to.

        Args:
            stamp: what it is by now.
            then: called when it is stored.
        """

    @abstractmethod
    def copy(self, target: Path) -> None:
        """Copy the ledger, whole and as of one moment, to a DuckDB file, while others go on using
        it.

        Raises:
            LedgerBusyError, StorageFullError, StorageError: as every access; an old ``target``
                stays.
        """

    def remembered(
        self,
        key: Hashable,
        read: Callable[[Connection], Value],
        tables: Sequence[str] = (),
    ) -> Value:
        """What ``read`` finds, from memory while it is true still.

        Args:
            tables: all that it depends on, of those with a stamp; none when that is not known, and
                it is read again after any write.
        """
        held = self._recall(key)
        if held is not None and held[0] == self.stamp(tables):
            return cast(Value, held[1])
        with self.access(writes=False) as connection:
            stamp, held = self.state.stamp(tables), self._recall(key)
            if held is not None and held[0] == stamp:  # another thread read it meanwhile
                return cast(Value, held[1])
            value = read(connection)
            with self._memory_lock:
                self._memory[key] = (stamp, value)
                while len(self._memory) > MOST_REMEMBERED:
                    self._memory.pop(next(iter(self._memory)))
        return value

    def _recall(self, key: Hashable) -> tuple[Stamp, Any] | None:
        with self._memory_lock:
            held = self._memory.pop(key, None)
            if held is not None:
                self._memory[key] = held  # the latest used goes last
        return held

    def records(
        self,
        make: Callable[..., Record],
        sql: str,
        values: Mapping[str, Any] | Sequence[Any] = (),
        tables: Sequence[str] = (),
    ) -> list[Record]:
        """The rows of a query as records, remembered; columns as :func:`storage.rows.names`."""
        given = tuple(values.values() if isinstance(values, Mapping) else values)
        if any(isinstance(one, str) and len(one) > LONGEST_REMEMBERED for one in given):
            with self.access(writes=False) as connection:
                return list(records(make, connection.execute(sql, values)))
        return list(
            self.remembered((sql, *given), lambda c: records(make, c.execute(sql, values)), tables)
        )


class LedgerTables:
    """Some tables of a ledger, by the database behind it."""

    def __init__(self, file: Database) -> None:
        self._file = file
