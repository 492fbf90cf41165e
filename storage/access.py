"""The ledger as a file of DuckDB: one process at a time, errors as ours.

DuckDB's own lock loses acknowledged rows when several processes write in turn, so every
access, reading too, holds an OS file lock around open, transaction and close. Threads of one
process that wait for each other share one opening (:mod:`storage.turns`).
"""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb
from filelock import FileLock, Timeout

from storage.database import APPENDED, Database, Stamp, State
from storage.errors import LedgerBusyError, StorageError, StorageFullError
from storage.migrations import MIGRATIONS, migrate, transaction, version_of
from storage.turns import Turns

Signature = tuple[int, ...]

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
OPEN_SECONDS = 0.1
"""How long the file stays open at most for threads that wait for each other."""
PAUSE_SECONDS = 3 * POLL_SECONDS
"""Between two such times: other processes, which poll, find the file free."""
STAMPS = {
    **dict.fromkeys(APPENDED, "coalesce(max(id), 0)"),
    "corpora": "coalesce(bit_xor(hash(corpora)), 0)",
}
"""Table -> what is another number after every write to it."""
_STAMPS = " UNION ALL ".join(
    f"SELECT '{table}', {stamp} FROM {table}"  # noqa: S608
    for table, stamp in STAMPS.items()
)


class LedgerFile(Database):
    """The file behind a ledger; see :class:`storage.ledger.Ledger` for arguments and errors."""

    def __init__(self, path: Path, wait_seconds: float) -> None:
        super().__init__(str(path))
        self._path = path
        self._wait_seconds = wait_seconds
        # To attach the file to it takes 2 ms, to start DuckDB with the file 22 ms.
        self._engine: duckdb.DuckDBPyConnection | None = None
        self._checked = False
        self._turns = Turns(self._open, OPEN_SECONDS, PAUSE_SECONDS)
        self._state: State | None = None
        self._seen: tuple[int, Mapping[str, int]] = (0, {})
        """Identity and stamps of the file when it was looked at last."""
        self._ledgers = 0
        """How often another ledger was found in the place of the one before."""
        self._is_open = False
        self._versions = itertools.count()
        self._wrote: tuple[dict[str, int], Callable[[], None]] | None = None

    @property
    def state(self) -> State:
        if self._state is None:
            raise RuntimeError("the file is not open")
        return self._state

    def stamp(self, tables: Sequence[str]) -> Stamp | None:
        state = self._state
        if state is None:
            return None
        # While it is open here, nobody else writes to it, and what this process wrote is noted.
        same = self._is_open or state.signature == self._signature()
        return state.stamp(tables) if same else None

    def _signature(self) -> Signature:
        """Changes with every write: time, size and identity of the log and the file."""
        # The log first: it is emptied after the file was written.
        return (*_status(Path(f"{self._path}.wal")), *_status(self._path), self._ledgers)

    def _look(self, stamps: Mapping[str, int]) -> None:
        """Keep in mind what the file holds. A copy that was put in its place is another file, or
        has less than there was: what is added to it has ids that others had."""
        identity = _status(self._path)[-1]
        before, there = self._seen
        if identity != before or any(stamps[table] < there.get(table, 0) for table in APPENDED):
            self._ledgers += 1
        self._seen = (identity, stamps)
        self._state = State(self._signature(), next(self._versions), stamps)

    @contextmanager
    def access(self, *, writes: bool = True) -> Iterator[duckdb.DuckDBPyConnection]:
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
            self._attached(self._path, deadline, read_only=not writable, leaves_log=True)
        )
        if self._state is None or self._state.signature != self._signature():
            if writable:
                migrate(connection)
            else:
                self._check_current(connection)
            self._look(_stamps(connection))
        self._is_open = writable  # and locked
        return connection

    def wrote(self, table: str, stamp: int, then: Callable[[], None]) -> None:
        self._wrote = ({table: stamp}, then)

    def _stamps_after(self, connection: duckdb.DuckDBPyConnection) -> Mapping[str, int]:
        wrote = self._wrote
        return _stamps(connection) if wrote is None else {**self.state.stamps, **wrote[0]}

    def _note(self, stamps: Mapping[str, int]) -> None:
        """Keep in mind what the file holds after a transaction, which may have written."""
        if self._signature() != self.state.signature:
            self._look(stamps)

    def _closed(self, _: object, error: BaseException | None, __: object) -> None:
        # What the log held is in the file now, which says the same; after an error, who knows.
        same = error is None and self._state is not None
        self._state = replace(self.state, signature=self._signature()) if same else None
        self._is_open = False

    def copy(self, target: Path) -> None:
        half = target.with_name(f"{target.name}.new")
        log, own_log = Path(f"{self._path}.wal"), Path(f"{half}.wal")
        with self.access():
            pass  # it is there, sound and up to date
        try:
            with ExitStack() as held:
                if self._lock(held, time.monotonic() + self._wait_seconds):
                    # What a process that was killed left in the log goes into the file.
                    self.checkpoint()
                shutil.copyfile(self._path, half)
                if log.exists():  # in a folder that cannot be written to
                    shutil.copyfile(log, own_log)
                    LedgerFile(half, self._wait_seconds).checkpoint()
            half.replace(target)
        except Timeout as e:
            raise self._busy() from e
        except (duckdb.Error, OSError) as e:
            half.unlink(missing_ok=True)
            own_log.unlink(missing_ok=True)
            raise self._explained(e) from e

    def checkpoint(self) -> None:
        """Write into the file what its log holds; nobody else has it open."""
        with self._attached(self._path, time.monotonic() + self._wait_seconds) as connection:
            connection.execute("CHECKPOINT")

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
        with self._attached(self._path, deadline, leaves_log=True) as connection:
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
        log = Path(f"{self._path}.wal")
        if log.exists():  # of a ledger that is lost: DuckDB would open none beside it
            log.replace(f"{log}.left")
        new.replace(self._path)
        self._checked = True

    @contextmanager
    def _attached(
        self, path: Path, deadline: float, *, read_only: bool = False, leaves_log: bool = False
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """The file as the default database; afterwards no program finds it open.

        Waits for programs that have it open without taking our lock. An error may leave DuckDB
        unusable: it is started anew then.

        Args:
            leaves_log: where a full disk keeps what the log holds from being written into the file,
                it stays in the log, where the next opening finds it.
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
            try:
                engine.execute("DETACH ledger")  # writes what the log holds into the file
            except duckdb.Error as error:
                # All that was committed is in the log: what was read and stored is as good.
                if not (leaves_log and _is_full(error)):
                    raise
                engine.close()
                return
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
        if _is_full(error):
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
            f"backup in its place ({self._path.parent / COPIES} has copies of the last days) and "
            f"move {self._path.name}.wal away, if it is there; or move both away to start a new "
            "one.",
        )


def _is_full(error: Exception) -> bool:
    return any(words in str(error) for words in FULL_WORDS)


def _start(folder: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB without a file of its own, which may read and write those of a folder."""
    engine = duckdb.connect(":memory:", config=CONFIG)
    name = str(folder).replace("'", "''")
    engine.execute(f"SET allowed_directories = ['{name}']")
    engine.execute("SET enable_external_access = false")
    return engine


def parts_beside_tables(path: Path) -> list[str]:
    """Names of views, macros and triggers in the file of a ledger, of which SeedLens makes none.

    They would stand for its tables and functions, or change what is written. Nothing in the file
    is run to find them.

    Raises:
        StorageError: the file cannot be read.
    """
    engine, name = _start(path.parent.absolute()), str(path.absolute()).replace("'", "''")
    try:
        engine.execute(f"ATTACH '{name}' AS ledger (READ_ONLY)")
        found = engine.execute("""
            SELECT view_name FROM duckdb_views() WHERE database_name = 'ledger' AND NOT internal
            UNION ALL SELECT function_name FROM duckdb_functions() WHERE database_name = 'ledger'
            UNION ALL SELECT trigger_name FROM duckdb_triggers() WHERE database_name = 'ledger'
        """)
        return sorted(str(row[0]) for row in found.fetchall())
    except duckdb.Error as error:
        raise StorageError(f"The ledger {path} cannot be read: {error}") from error
    finally:
        engine.close()


def _status(path: Path) -> Signature:
    try:
        status = path.stat()
    except OSError:  # missing, or unreadable: opening it will say which
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def _stamps(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    return dict(connection.execute(_STAMPS).fetchall())
