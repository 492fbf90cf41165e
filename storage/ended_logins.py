"""Logins that somebody ended, kept beyond a restart: a copy of their cookie opens nothing."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from filelock import FileLock, Timeout

from storage.errors import StorageError
from storage.files import write_whole

SECONDS = 31 * 24 * 3600
"""After this long no cookie proves a login any more: 30 days, and one of grace."""
DAY = 24 * 3600
WAIT_SECONDS = 10.0
_LINE = re.compile(r"(\d{1,12}) ([0-9a-f]{64})")
_Signature = tuple[int, int, int]


class EndedLogins:
    """Digests of logins that were ended, in one small file. Safe to share between threads and
    processes.

    Args:
        file: made, with its folder, when the first login is ended.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._here: dict[str, int] = {}
        self._read: tuple[_Signature, dict[str, int]] = ((0, 0, 0), {})
        self._lock = threading.Lock()

    def add(self, digests: Iterable[str], now: float | None = None) -> None:
        """Logins were ended; those that cannot prove anything any more are dropped.

        Args:
            digests: SHA-256 in hex, of what names a login without proving it.
            now: seconds since 1970; None for the clock's.

        Raises:
            StorageError: they could not be written; until this process ends they count.
        """
        at = int(time.time() if now is None else now)
        new = dict.fromkeys(digests, at)
        with self._lock:
            self._here |= new
            try:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                with FileLock(f"{self._file}.lock", timeout=WAIT_SECONDS):
                    before = self._load()
                    # Old by the clock now, and by what it was a day ago: it may have jumped.
                    reached = max((t for t in before.values() if t <= at - DAY), default=0)
                    kept = {d: t for d, t in before.items() if t > reached - SECONDS}
                    self._write(kept | new)
            except (OSError, Timeout) as error:
                raise StorageError(
                    f"Ended logins cannot be written to {self._file}: {_reason(error)}.",
                    "Check its permissions and the room on that disk. Until SeedLens is "
                    "restarted they count.",
                ) from error

    def has_any(self, digests: Iterable[str]) -> bool:
        """Whether one of these was ended, by this process or another.

        Raises:
            StorageError: the file is damaged or cannot be read, so nobody knows.
        """
        asked = set(digests)
        if not asked.isdisjoint(self._here):
            return True
        return not asked.isdisjoint(self._known())

    def _known(self) -> dict[str, int]:
        """What the file holds, read again when somebody wrote to it."""
        try:
            status = self._file.stat()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._unreadable(_reason(error)) from error
        signature = (status.st_mtime_ns, status.st_size, status.st_ino)
        if self._read[0] != signature:
            self._read = (signature, self._load())
        return self._read[1]

    def _load(self) -> dict[str, int]:
        try:
            lines = self._file.read_text(encoding="ascii").splitlines()
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise self._unreadable(_reason(error)) from error
        ended: dict[str, int] = {}
        for number, line in enumerate(lines, start=1):
            match = _LINE.fullmatch(line)
            if match is None:
                raise self._unreadable(f"line {number:,} is damaged")
            ended[match[2]] = int(match[1])
        return ended

    def _write(self, known: dict[str, int]) -> None:
        lines = (f"{at} {digest}\n" for digest, at in known.items())
        write_whole(self._file, lines, private=True, synced=True)

    def _unreadable(self, why: str) -> StorageError:
        return StorageError(
            f"The logins that were ended cannot be read from {self._file}: {why}.",
            "Change cookie_secret in secrets.toml, which ends all logins, and remove the file.",
        )


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
