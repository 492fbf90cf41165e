"""Locks: records of the ledger that their process renews, and lock files of this machine.

A record ends with its process: at once on the same machine, after :data:`TERM` for other machines.
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

from storage.database import Database
from storage.documents import Documents, Stored
from storage.errors import CorpusBusyError, StorageError

WAIT_SECONDS = 0.5
POLL_SECONDS = 0.05
RENEW_SECONDS = 5.0
TERM = timedelta(seconds=60)
"""How long a lock or an import of another machine counts without a renewal."""
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
class Holder:
    """The process that holds a lock."""

    machine: str
    process: int


class Locks:
    """Locks by name in one ledger; a record's owner is a token of its holder."""

    def __init__(self, database: Database) -> None:
        self._stored = Documents[Holder](database, "lock", Holder)

    @contextmanager
    def hold(self, *name: str, what: str, wait: float = WAIT_SECONDS) -> Iterator[None]:
        """Hold the lock of a name exclusively; ``what`` is for the error after ``wait`` seconds,
        such as "The corpus 'c' is being indexed"."""
        key, token, me = "\x1f".join(name), secrets.token_hex(8), Holder(MACHINE, os.getpid())
        deadline = time.monotonic() + wait
        while (holder := self._take(key, token, me)) is not None:
            if time.monotonic() >= deadline:
                on = "" if holder.machine == MACHINE else f" on {holder.machine}"
                other = f"program (process {holder.process}{on})"
                raise CorpusBusyError(
                    f"{what} by another {'run here' if holder == me else other}.",
                    f"Wait until it is done, or cancel it{'' if holder == me else ' there'}.",
                )
            time.sleep(POLL_SECONDS)

        def renewed(stored: Stored[Holder] | None) -> Holder | None:
            if stored is not None and stored.owner == token:
                return stored.value
            log.warning("Another program took the lock %r.", key)
            return None

        try:
            with repeating(lambda: self._stored.change(key, renewed, durable=False), RENEW_SECONDS):
                yield
        finally:
            with suppress(StorageError):
                self._stored.remove(key, owner=token, durable=False)

    def _take(self, key: str, token: str, me: Holder) -> Holder | None:
        """Take a lock, or return who holds it."""
        holder: Holder | None = None

        def take(stored: Stored[Holder] | None) -> Holder | None:
            nonlocal holder
            if stored and is_alive(stored.value.machine, stored.value.process, stored.time):
                holder = stored.value
            return None if holder else me

        self._stored.change(key, take, token)  # durable: a server may be killed and come back
        return holder


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
    except psutil.Error as error:
        return not isinstance(error, psutil.NoSuchProcess)
