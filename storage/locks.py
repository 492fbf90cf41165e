"""Locks: rows of the ledger, for all machines that share it, and files, for this machine.

The holder of a row renews it. It ends with the process: at once on the same machine, after
:data:`TERM` for other machines.
"""

from __future__ import annotations

import logging
import os
import platform
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
from filelock import FileLock, Timeout
from sqlalchemy import select

from storage.database import LedgerTables
from storage.errors import CorpusBusyError, StorageError
from storage.tables import columns_of, first, insert, table

WAIT_SECONDS = 0.5
POLL_SECONDS = 0.05
RENEW_SECONDS = 5.0
TERM = timedelta(seconds=60)  # How long a lock or job of another machine counts without a renewal
MACHINE = platform.node()
log = logging.getLogger("seedlens.storage")


@contextmanager
def alone(lock_file: Path, busy: str, remedy: str, wait: float = 0.0) -> Iterator[None]:
    """Hold a lock file exclusively, among the programs of this machine.

    CorpusBusyError with the words ``busy`` and ``remedy`` after ``wait`` seconds.
    """
    lock = FileLock(lock_file, timeout=wait)
    try:
        lock_file.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(poll_interval=POLL_SECONDS)
    except Timeout as error:
        raise CorpusBusyError(busy, remedy) from error
    except OSError as error:
        raise StorageError(
            f"{lock_file} cannot be written to: {error.strerror or error}.",
            "Check its permissions, and free some space on that disk.",
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def repeating(work: Callable[[], object], seconds: float) -> Iterator[None]:
    """Call ``work`` every so many seconds in a thread, until the block ends."""
    done = threading.Event()

    def repeat() -> None:
        while not done.wait(seconds):
            with suppress(StorageError):  # the next call may succeed
                work()

    thread = threading.Thread(target=repeat, name="seedlens-renew", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@dataclass(frozen=True, slots=True)
class LockRow:
    """A lock that is held."""

    name: str
    token: str  # of the holder
    machine: str
    process: int
    renewed: datetime


LOCKS = table("locks", LockRow, key=("name",))


class Locks(LedgerTables):
    """Locks by name in one ledger."""

    @contextmanager
    def hold(self, *name: str, what: str, wait: float = WAIT_SECONDS) -> Iterator[None]:
        """Hold the lock of a name exclusively; ``what`` is for the error after ``wait`` seconds,
        such as "The corpus 'c' is being indexed"."""
        key, token = "\x1f".join(name), secrets.token_hex(8)
        deadline = time.monotonic() + wait
        while (holder := self._take(key, token)) is not None:
            if time.monotonic() >= deadline:
                raise _busy_with(what, holder)
            time.sleep(POLL_SECONDS)
        own = LOCKS.c.name == key, LOCKS.c.token == token

        def renew() -> None:
            with self._database.write(durable=False) as connection:
                still = LOCKS.update().where(*own).values(renewed=datetime.now(UTC))
                if not connection.execute(still).rowcount:
                    log.warning("Another program took the lock %r.", key)

        try:
            with repeating(renew, RENEW_SECONDS):
                yield
        finally:
            with suppress(StorageError), self._database.write(durable=False) as connection:
                connection.execute(LOCKS.delete().where(*own))

    def _take(self, name: str, token: str) -> LockRow | None:
        """Take a lock, or return who holds it."""
        row = LockRow(name, token, MACHINE, os.getpid(), datetime.now(UTC))
        query = select(*columns_of(LOCKS, LockRow)).where(LOCKS.c.name == name)
        with self._database.write() as connection:
            holder = first(connection, LockRow, query)
            if holder is not None and is_alive(holder.machine, holder.process, holder.renewed):
                return holder
            connection.execute(LOCKS.delete().where(LOCKS.c.name == name))
            insert(connection, LOCKS, [row])
        return None


def is_alive(machine: str, process: int, renewed: datetime) -> bool:
    """Whether a process is running, given its last renewal; process 0 is one that is starting.

    On this machine a suspended process counts as running.
    """
    if machine != MACHINE or not process:
        return datetime.now(UTC) - renewed <= TERM
    try:
        found = psutil.Process(process)
        begun = datetime.fromtimestamp(found.create_time(), UTC)
        # Else its number was given out again.
        is_same = begun - timedelta(seconds=2) <= renewed
        return is_same and found.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _busy_with(what: str, row: LockRow) -> CorpusBusyError:
    where, there = "run here", ""
    if (row.machine, row.process) != (MACHINE, os.getpid()):
        on = "" if row.machine == MACHINE else f" on {row.machine}"
        where, there = f"program (process {row.process}{on})", " there"
    return CorpusBusyError(
        f"{what} by another {where}.", f"Wait until it is done, or cancel it{there}."
    )
