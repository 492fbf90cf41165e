"""Lock files for what one run at a time may do, among all threads and processes.

Locks of the operating system: a killed process holds none.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from storage.errors import CorpusBusyError, StorageError

WAIT_SECONDS = 0.5
"""Longer than it takes to see whether somebody holds a lock, which holds it for that moment."""
POLL_SECONDS = 0.01


@contextmanager
def alone(lock_file: Path, busy: str, remedy: str, wait: float = 0.0) -> Iterator[None]:
    """Hold a lock file exclusively.

    Args:
        busy: message of the error, such as ``The corpus 'c' is being indexed.``
        remedy: of the error.
        wait: seconds to wait for the holder.
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


class Locks:
    """Locks by name, each with the process that holds it: two small files per name in
    ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def alone(
        self, lock_file: Path, busy: str, remedy: str, wait: float = 0.0
    ) -> AbstractContextManager[None]:
        """:func:`alone`, on whatever machines share this ledger: the file's name is the lock's."""
        return alone(lock_file, busy, remedy, wait)

    @contextmanager
    def hold(self, *name: str, what: str) -> Iterator[None]:
        """Hold the lock of a name exclusively; ``what`` is for errors, such as "The corpus 'c' is
        being indexed"."""
        # A digest: names may differ in case only, and be longer than those of files.
        digest = hashlib.sha256("\x00".join(name).encode()).hexdigest()[:16]
        path = self._folder / f"{name[0]}-{digest}.lock"
        # Beside the lock: some systems let nobody read a file that is locked.
        holder = path.with_suffix(".process")
        with ExitStack() as held:
            try:
                held.enter_context(alone(path, f"{what}.", "", WAIT_SECONDS))
            except CorpusBusyError as error:
                raise busy_with(what, _process(holder)) from error
            with suppress(OSError):  # it only names who holds the lock
                holder.write_text(str(os.getpid()), encoding="ascii")
            yield


def _process(holder: Path) -> int | None:
    try:
        return int(holder.read_text(encoding="ascii"))
    except (OSError, ValueError):  # just begun
        return None


def busy_with(what: str, process: int | None, machine: str = "") -> CorpusBusyError:
    """The error of a lock that is held.

    Args:
        process: its id; None for unknown.
        machine: of the process; "" for this one.
    """
    if process == os.getpid() and not machine:
        return CorpusBusyError(
            f"{what} by another run here.", "Wait until it is done, or cancel it."
        )
    where = f" on {machine}" if machine else ""
    which = "" if process is None else f" (process {process}{where})"
    return CorpusBusyError(
        f"{what} by another program{which}.", "Wait until it is done, or cancel it there."
    )
