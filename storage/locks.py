"""What one process at a time may do to a file or folder, by the lock file beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from storage.errors import CorpusBusyError


@contextmanager
def alone(lock_file: Path, busy: str, remedy: str) -> Iterator[None]:
    """Hold a lock file, and let no other thread or process hold it meanwhile.

    Args:
        busy: says in an error what goes on, ``The corpus 'c' is being indexed.``
        remedy: and what to do about it.

    Raises:
        CorpusBusyError: somebody holds it. Nothing is waited for.
    """
    lock = FileLock(lock_file, blocking=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise CorpusBusyError(busy, remedy) from error
    try:
        yield
    finally:
        lock.release()
