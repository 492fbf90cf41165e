"""Opening the ledger's file: one process at a time, errors as ours, unchanged reads remembered.

DuckDB's own lock loses acknowledged rows when several processes write in turn, so every
access, reading too, holds an OS file lock around open, transaction and close. Threads of one
process that wait for each other share one opening (:mod:`storage.turns`).
"""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import duckdb
from filelock import FileLock, Timeout

from storage.errors import LedgerBusyError, StorageError, StorageFullError
from storage.migrations import MIGRATIONS, migrate, transaction, version_of
from storage.rows import Record, records
from storage.turns import Turns

Value = TypeVar("Value")
Signature = tuple[int, ...]
Stamp = Hashable
"""Equal while what was read from some tables is true still."""

POLL_SECONDS = 0.01
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,  # the queries are small: starting threads would cost more than they do
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FULL_WORDS = (*map(os.strerror, FULL), "not enough space on the disk")
# DuckDB's words when a program that knows nothing of our lock has the file open (Unix, Windows).
LOCKED_WORDS = ("Could not set lock on file", "used by another process")
COPIES = "ledger-copies"
"""The folder beside the ledger for its dated copies."""
READ_ONLY_WORDS = "attached in read-only mode"
PROTECTED = (errno.EACCES, errno.EPERM, errno.EROFS)
MOST_REMEMBERED = 512
"""Results of queries; the one used longest ago gives way."""
OPEN_SECONDS = 0.1
"""How long the file stays open at most for threads that wait for each other."""
PAUSE_SECONDS = 3 * POLL_SECONDS
"""Between two such times: other processes, which poll, find the file free."""
STAMPS = {
    **dict.fromkeys(
        ("judgment_events", "project_versions", "project_queries", "query_states", "pool_items"),
        "coalesce(max(id), 0)",  # rows are only ever appended
    ),
    "corpora": "coalesce(bit_xor(hash(corpora)), 0)",
}
"""Table -> what is another number after every write to it."""
_STAMPS = " UNION ALL ".join(
    f"SELECT '{table}', {stamp} FROM {table}"  # noqa: S608
    for table, stamp in STAMPS.items()
)


@dataclass(frozen=True)
class FileState:
    """What the file holds, as far as that can be told without reading it.

    Attributes:
        signature: times, sizes and identity of the file and its log.
        version: another number after every write that this process noticed.
        stamps: by table of :data:`STAMPS`.
    """

    signature: Signature
    version: int
    stamps: Mapping[str, int]

    def stamp(self, tables: Sequence[str], *numbers: int) -> Stamp:
        """Of some tables; of all there is when none are named.

        Args:
            numbers: what the stamps of these tables are by now.
        """
        file = self.signature[-1]  # one that was put in its place has numbers of its own
        return (file, *(numbers or map(self.stamps.get, tables))) if tables else self.version


class LedgerFile:
    """The file behind a ledger; see :class:`storage.ledger.Ledger` for arguments and errors."""

    def __init__(self, path: Path, wait_seconds: float) -> None:
        self._path = path
        self._wait_seconds = wait_seconds
        self._memory: dict[Hashable, tuple[Stamp, Any]] = {}
        # To attach the file to it takes 2 ms, to start DuckDB with the file 22 ms.
        self._engine: duckdb.DuckDBPyConnection | None = None
        self._memory_lock = threading.Lock()
        self._checked = False
        self._turns = Turns(self._open, OPEN_SECONDS, PAUSE_SECONDS)
        self._state: FileState | None = None
        self._is_open = False
        self._versions = itertools.count()
        self._wrote: tuple[dict[str, int], Callable[[], None]] | None = None

    def remembered(
        self,
        key: Hashable,
        read: Callable[[duckdb.DuckDBPyConnection], Value],
        tables: Sequence[str] = (),
    ) -> Value:
        """What ``read`` finds, from memory while it is true still.

        Args:
            tables: all that it depends on, of :data:`STAMPS`; none when that is not known, and
                it is read again after any write to the file.
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
        given = values.values() if isinstance(values, Mapping) else values
        return list(
            self.remembered((sql, *given), lambda c: records(make, c.execute(sql, values)), tables)
        )

    @property
    def state(self) -> FileState:
        """The state of the file; to be asked within an access only."""
        if self._state is None:
            raise RuntimeError("the file is not open")
        return self._state

    def stamp(self, tables: Sequence[str]) -> Stamp | None:
        """Of these tables as they are now; None when only an access can tell."""
        state = self._state
        if state is None:
            return None
        # While it is open here, nobody else writes to it, and what this process wrote is noted.
        same = self._is_open or state.signature == self._signature()
        return state.stamp(tables) if same else None

    def _signature(self) -> Signature:
        """Changes with every write: time, size and identity of the log and the file."""
        # The log first: it is emptied after the file was written.
        return (*_status(Path(f"{self._path}.wal")), *_status(self._path))

    @contextmanager
    def access(self, *, writes: bool = True) -> Iterator[duckdb.DuckDBPyConnection]:
        """One transaction on the up-to-date ledger, alone among all threads and processes.

        What it wrote is on the disk when it ends.

        Args:
            writes: False when it only reads, which takes less.
        """
        deadline = time.monotonic() + self._wait_seconds
        try:
            with self._turns.take(deadline) as connection:
                with transaction(connection):
                    self._wrote = None
                    yield connection
                    stamps = self._stamps_after(connection) if writes else None
                if stamps is not None:
                    self._note(stamps)
                if self._wrote is not None:
                    self._wrote[1]()
        except TimeoutError as e:
            raise self._busy() from e
        except (duckdb.Error, OSError) as e:
            raise self._explained(e) from e

    def _open(self, held: ExitStack, deadline: float) -> duckdb.DuckDBPyConnection:
        """Lock the file and open it, until ``held`` is closed."""
        writable = self._lock(held, deadline)
        if writable:
            if not self._path.exists():
                self._create(deadline)
            self._back_up(deadline)
            held.push(self._closed)
        connection = held.enter_context(
            self._attached(self._path, deadline, read_only=not writable)
        )
        if self._state is None or self._state.signature != self._signature():
            if writable:
                migrate(connection)
            else:
                self._check_current(connection)
            self._state = FileState(self._signature(), next(self._versions), _stamps(connection))
        self._is_open = writable  # and locked
        return connection

    def wrote(self, table: str, stamp: int, then: Callable[[], None]) -> None:
        """Say, within an access, that this table alone was written to.

        Args:
            stamp: what it is by now.
            then: called when it is stored, before any other access.
        """
        self._wrote = ({table: stamp}, then)

    def _stamps_after(self, connection: duckdb.DuckDBPyConnection) -> Mapping[str, int]:
        wrote = self._wrote
        return _stamps(connection) if wrote is None else {**self.state.stamps, **wrote[0]}

    def _note(self, stamps: Mapping[str, int]) -> None:
        """Keep in mind what the file holds after a transaction, which may have written."""
        signature = self._signature()
        if signature != self.state.signature:
            self._state = FileState(signature, next(self._versions), stamps)

    def _closed(self, _: object, error: BaseException | None, __: object) -> None:
        # What the log held is in the file now, which says the same; after an error, who knows.
        same = error is None and self._state is not None
        self._state = replace(self.state, signature=self._signature()) if same else None
        self._is_open = False

    def copy(self, target: Path) -> None:
        """Copy the ledger, whole and as of one moment, while others go on using it.

        Raises:
            LedgerBusyError, StorageFullError, StorageError: as every access; an old ``target``
                stays.
        """
        half = target.with_name(f"{target.name}.new")
        with self.access():
            pass  # it is there, sound and up to date
        try:
            with ExitStack() as held:
                if self._lock(held, time.monotonic() + self._wait_seconds):
                    # What a process that was killed left in the log goes into the file.
                    with self._attached(self._path, time.monotonic() + self._wait_seconds) as last:
                        last.execute("CHECKPOINT")
                shutil.copyfile(self._path, half)
            half.replace(target)
        except Timeout as e:
            raise self._busy() from e
        except (duckdb.Error, OSError) as e:
            half.unlink(missing_ok=True)
            raise self._explained(e) from e

    def _lock(self, held: ExitStack, deadline: float) -> bool:
        """Lock the ledger against all others, until ``held`` is closed.

        Returns:
            False when its folder cannot be written to: then it can be read, not locked.
        """
        # Another thread may release it than took it.
        timeout = max(0.0, deadline - time.monotonic())
        lock = FileLock(f"{self._path}.lock", timeout=timeout, thread_local=False)
        try:
            held.enter_context(lock.acquire(poll_interval=POLL_SECONDS))
        except Timeout:
            raise
        except OSError as e:
            if e.errno not in PROTECTED or not os.access(self._path, os.R_OK):
                raise
            return False
        return True

    def _check_current(self, connection: duckdb.DuckDBPyConnection) -> None:
        version = version_of(connection)
        if version != len(MIGRATIONS):
            raise StorageError(
                f"The ledger {self._path} is of another version of SeedLens, and its folder cannot "
                "be written to.",
                "Open it once where it can be written to, or copy the home.",
            )

    def _back_up(self, deadline: float) -> None:
        """Copy a ledger of an older schema aside, once, before it is brought up to date."""
        if self._checked:
            return
        with self._attached(self._path, deadline) as connection:
            version = version_of(connection)
            if 0 < version < len(MIGRATIONS):
                connection.execute("CHECKPOINT")
        if 0 < version < len(MIGRATIONS):
            backup = self._path.with_name(f"{self._path.name}.schema-{version}")
            half = backup.with_name(f"{backup.name}.new")
            shutil.copyfile(self._path, half)
            half.replace(backup)
        self._checked = True

    def _create(self, deadline: float) -> None:
        """Make the file beside its place and move it there: a crash never leaves half of one."""
        new = self._path.with_name(f"{self._path.name}.new")
        for stale in (new, new.with_name(f"{new.name}.wal")):
            stale.unlink(missing_ok=True)
        with self._attached(new, deadline) as connection:
            migrate(connection)
        new.replace(self._path)
        self._checked = True

    @contextmanager
    def _attached(
        self, path: Path, deadline: float, *, read_only: bool = False
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """The file as the default database; afterwards no program finds it open.

        Waits for programs that have it open without taking our lock. An error may leave DuckDB
        unusable: it is started anew then.
        """
        engine = self._engine or _start(self._path.parent.absolute())
        self._engine = None
        name = str(path.absolute()).replace("'", "''")
        try:
            while True:
                try:
                    engine.execute(f"ATTACH '{name}' AS ledger{' (READ_ONLY)' * read_only}")
                    break
                except duckdb.IOException as e:
                    locked = any(words in str(e) for words in LOCKED_WORDS)
                    if not locked or time.monotonic() >= deadline:
                        raise
                    time.sleep(POLL_SECONDS)
            engine.execute("USE ledger")
            yield engine
            engine.execute("USE memory")
            engine.execute("DETACH ledger")  # writes what the log holds into the file
        except BaseException:
            engine.close()
            raise
        self._engine = engine

    def _busy(self) -> LedgerBusyError:
        return LedgerBusyError(
            f"The ledger {self._path} stayed locked by another process for "
            f"{self._wait_seconds:g} s; nothing was changed.",
            "Try again. If it stays so, close other programs that have this file open.",
        )

    def _explained(self, error: duckdb.Error | OSError) -> StorageError:
        if READ_ONLY_WORDS in str(error):
            return StorageError(
                f"The home {self._path.parent} cannot be written to: nothing was stored.",
                "It can be searched. To store something, change its permissions, or set "
                "SEEDLENS_HOME to a copy of it.",
            )
        detail = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        if any(words in str(error) for words in LOCKED_WORDS):
            return self._busy()
        if any(words in str(error) for words in FULL_WORDS):
            return StorageFullError(
                f"There is no room to write to the ledger {self._path}: {detail}",
                "Free some space on that disk and try again. What was stored before is intact.",
            )
        if isinstance(error, (duckdb.InvalidInputException, duckdb.DataError)):
            return StorageError(
                f"The ledger {self._path} cannot hold this value: {detail}",
                "Correct the value. Nothing was changed.",
            )
        return StorageError(
            f"The ledger {self._path} cannot be read or written: {detail}",
            "SeedLens left the file as it is. Check its permissions; if it is damaged, put a "
            f"backup in its place ({self._path.parent / COPIES} has copies of the last days), or "
            "move it away to start a new one.",
        )


def _start(folder: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB without a file of its own, which may read and write those of a folder."""
    engine = duckdb.connect(":memory:", config=CONFIG)
    name = str(folder).replace("'", "''")
    engine.execute(f"SET allowed_directories = ['{name}']")
    engine.execute("SET enable_external_access = false")
    return engine


def _status(path: Path) -> Signature:
    try:
        status = path.stat()
    except OSError:  # missing, or unreadable: opening it will say which
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def _stamps(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    return dict(connection.execute(_STAMPS).fetchall())


class LedgerTables:
    """Some tables of a ledger, by the file behind it."""

    def __init__(self, file: LedgerFile) -> None:
        self._file = file
