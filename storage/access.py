"""Opening the ledger's file: one process at a time, errors as ours, unchanged reads remembered.

DuckDB's own lock loses acknowledged rows when several processes write in turn, so every
access, reading too, holds an OS file lock around open, transaction and close.
"""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import duckdb
from filelock import FileLock, Timeout

from storage.errors import LedgerBusyError, StorageError, StorageFullError
from storage.migrations import MIGRATIONS, migrate, schema_version, transaction
from storage.rows import Record, records

Value = TypeVar("Value")
Signature = tuple[int, int, int]

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
"""Results of queries."""


class LedgerFile:
    """The file behind a ledger; see :class:`storage.ledger.Ledger` for arguments and errors."""

    def __init__(self, path: Path, wait_seconds: float) -> None:
        self._path = path
        self._wait_seconds = wait_seconds
        self._memory: dict[Hashable, tuple[Signature, Any]] = {}
        # To attach the file to it takes 2 ms, to start DuckDB with the file 22 ms.
        self._engine: duckdb.DuckDBPyConnection | None = None
        self._memory_lock = threading.Lock()
        self._turn = threading.Lock()
        self._checked = False

    def remembered(
        self, key: Hashable, read: Callable[[duckdb.DuckDBPyConnection], Value]
    ) -> Value:
        """What ``read`` finds, from memory while nobody has written to the file since."""
        signature = self._signature()
        with self._memory_lock:
            held = self._memory.get(key)
        if held is not None and held[0] == signature:
            return cast(Value, held[1])
        with self.access() as connection:
            value = read(connection)
            # Still under the lock: what was read belongs to this state of the file.
            signature = self._signature()
        with self._memory_lock:
            if len(self._memory) >= MOST_REMEMBERED:
                self._memory.clear()
            self._memory[key] = (signature, value)
        return value

    def records(
        self,
        make: Callable[..., Record],
        sql: str,
        values: Mapping[str, Any] | Sequence[Any] = (),
    ) -> list[Record]:
        """The rows of a query as records, remembered; columns as :func:`storage.rows.names`."""
        given = values.values() if isinstance(values, Mapping) else values
        return list(self.remembered((sql, *given), lambda c: records(make, c.execute(sql, values))))

    def _signature(self) -> Signature:
        """Changes with every write: time, size and identity of the file."""
        try:
            status = self._path.stat()
        except OSError:  # missing, or unreadable: opening it will say which
            return (0, 0, 0)
        return (status.st_mtime_ns, status.st_size, status.st_ino)

    @contextmanager
    def access(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """One transaction on the up-to-date ledger, alone among all threads and processes."""
        deadline = time.monotonic() + self._wait_seconds
        try:
            with ExitStack() as held:
                writable = self._lock(held)
                if writable:
                    if not self._path.exists():
                        self._create(deadline)
                    self._back_up(deadline)
                with self._attached(self._path, deadline, read_only=not writable) as connection:
                    if writable:
                        migrate(connection)
                    else:
                        self._check_current(connection)
                    with transaction(connection):
                        yield connection
        except Timeout as e:
            raise self._busy() from e
        except (duckdb.Error, OSError) as e:
            raise self._explained(e) from e

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
                if self._lock(held):
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

    def _lock(self, held: ExitStack) -> bool:
        """Lock the ledger against all others, until ``held`` is closed.

        Returns:
            False when its folder cannot be written to: then it can be read, not locked.
        """
        # Threads wait for each other here: the file's lock is asked for again and again, and with
        # many who ask, it stays free for most of the time.
        if not self._turn.acquire(timeout=self._wait_seconds):
            raise Timeout(f"{self._path}.lock")
        held.callback(self._turn.release)
        # A lock object of its own per access, so that threads exclude one another in any case.
        lock = FileLock(f"{self._path}.lock", timeout=self._wait_seconds)
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
        version = schema_version(connection)
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
            version = schema_version(connection)
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


class LedgerTables:
    """Some tables of a ledger, by the file behind it."""

    def __init__(self, file: LedgerFile) -> None:
        self._file = file
