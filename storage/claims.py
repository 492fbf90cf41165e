"""What one run at a time may do, among all threads and processes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from storage.errors import CorpusBusyError, StorageError


class Claims:
    """Claims on things by name, as OS file locks: a process that is killed holds none.

    Args:
        folder: holds a small file per name; made with the first claim.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def hold(self, *name: str, what: str) -> Iterator[None]:
        """Hold the claim on a name, and let nobody else have it meanwhile.

        Args:
            what: says in an error what goes on, like "The corpus 'c' is being indexed".

        Raises:
            CorpusBusyError: somebody holds it; says which process. Nothing is waited for.
            StorageError: the folder cannot be written to.
        """
        # A digest: names may differ in case only, and be longer than those of files.
        digest = hashlib.sha256("\x00".join(name).encode()).hexdigest()[:16]
        path = self._folder / f"{name[0]}-{digest}.lock"
        # Beside the lock: some systems let nobody read a file that is locked.
        holder = path.with_suffix(".process")
        lock = FileLock(path, blocking=False)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except Timeout as error:
            raise _busy(what, holder) from error
        except OSError as error:
            raise StorageError(
                f"{path} cannot be written to: {error.strerror or error}.",
                "Check its permissions, and free some space on that disk.",
            ) from error
        try:
            with suppress(OSError):  # it only names who holds the lock
                holder.write_text(str(os.getpid()), encoding="ascii")
            yield
        finally:
            lock.release()


def _busy(what: str, holder: Path) -> CorpusBusyError:
    try:
        process = int(holder.read_text(encoding="ascii"))
    except (OSError, ValueError):  # just begun
        process = None
    if process == os.getpid():
        return CorpusBusyError(
            f"{what} by another run here.", "Wait until it is done, or cancel it."
        )
    which = "" if process is None else f" (process {process})"
    return CorpusBusyError(
        f"{what} by another program{which}.", "Wait until it is done, or cancel it there."
    )
