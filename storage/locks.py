"""Locks and jobs: rows of the ledger that their process renews, and lock files of this machine.

A row ends with its process: at once on the same machine, after :data:`TERM` for other machines.
"""

from __future__ import annotations

import logging
import os
import platform
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
from filelock import FileLock, Timeout
from sqlalchemy import select

from storage.database import LedgerTables
from storage.errors import CorpusBusyError, StorageError
from storage.records import Packed
from storage.tables import columns_of, first, insert, records, table, upsert

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
    except psutil.Error as error:
        return not isinstance(error, psutil.NoSuchProcess)


def _busy_with(what: str, row: LockRow) -> CorpusBusyError:
    where, there = "run here", ""
    if (row.machine, row.process) != (MACHINE, os.getpid()):
        on = "" if row.machine == MACHINE else f" on {row.machine}"
        where, there = f"program (process {row.process}{on})", " there"
    return CorpusBusyError(
        f"{what} by another {where}.", f"Wait until it is done, or cancel it{there}."
    )


# -- jobs ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job."""

    job_id: str
    about: str  # what it works on; one job at a time does
    state: str  # ``running``, or how it ended
    content: Packed  # JSON owned by the engine
    owner: str
    machine: str
    process: int  # 0 until it was started
    stop: bool  # it is to stop
    started: datetime
    renewed: datetime  # the last sign of life

    @property
    def is_alive(self) -> bool:
        """Whether it runs, as far as can be seen from this machine."""
        return self.state == "running" and is_alive(self.machine, self.process, self.renewed)


JOBS = table("jobs", JobRow, key=("job_id",))


class Jobs(LedgerTables):
    """The jobs of all machines that share a ledger."""

    def start(self, row: JobRow, check: Callable[[Sequence[JobRow]], object]) -> None:
        """Add a job, or replace it, unless ``check`` of those that run raises."""
        with self._database.write() as connection:
            rows = records(connection, JobRow, select(*columns_of(JOBS, JobRow)))
            check([one for one in rows if one.is_alive])
            upsert(connection, JOBS, [row])

    def all(self) -> list[JobRow]:
        """All jobs, the latest first."""
        query = select(*columns_of(JOBS, JobRow)).order_by(
            JOBS.c.started.desc(), JOBS.c.job_id.desc()
        )
        return self._database.records(JobRow, query)

    def find(self, id_: str) -> JobRow | None:
        """The job of that id; None when there is none."""
        query = select(*columns_of(JOBS, JobRow)).where(JOBS.c.job_id == id_)
        return self._database.first(JobRow, query)

    def change(self, id_: str, **values: object) -> bool:
        """Change columns of a job, which is a sign of life; returns whether it is to stop."""
        changed = JOBS.update().where(JOBS.c.job_id == id_)
        with self._database.write(durable=False) as connection:
            connection.execute(changed.values(renewed=datetime.now(UTC), **values))
            return bool(connection.scalar(select(JOBS.c.stop).where(JOBS.c.job_id == id_)))

    def stop(self, id_: str) -> None:
        """Ask a job to stop."""
        with self._database.write() as connection:
            connection.execute(JOBS.update().where(JOBS.c.job_id == id_).values(stop=True))

    def remove(self, id_: str) -> None:
        """Forget a job; one that is not there is none."""
        with self._database.write() as connection:
            connection.execute(JOBS.delete().where(JOBS.c.job_id == id_))
