"""How often a service is asked, by all processes of a home together."""

from __future__ import annotations

import math
import os
import time
from contextlib import suppress
from pathlib import Path

from filelock import FileLock


class Pace:
    """When the next request is due, for all processes that share a file.

    Args:
        file: whose time of change is when the next request is due; None for this process alone.
        seconds: between two requests.
    """

    def __init__(self, file: Path | None, seconds: float) -> None:
        self._file, self._seconds = file, seconds
        self._due = 0.0

    def until_due(self, most: float = math.inf) -> float:
        """Take the next turn if it comes within ``most`` seconds; returns the seconds until it."""
        now = time.time()
        if self._file is None or not self._seconds:
            return self._own_turn(now, most)
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{self._file}.lock", timeout=5):
                at = max(now, self._file.stat().st_mtime if self._file.exists() else 0.0)
                if at - now <= most:
                    self._file.touch()
                    os.utime(self._file, (at, at + self._seconds))
        except OSError:  # also that the lock is not to be had
            return self._own_turn(now, most)
        return at - now

    def _own_turn(self, now: float, most: float) -> float:
        at = max(now, self._due)
        if at - now <= most:
            self._due = at + self._seconds
        return at - now

    def postpone(self, seconds: float) -> None:
        """Let no request begin for some time."""
        self._due = time.time() + seconds
        if self._file is not None and self._seconds:
            with suppress(OSError):
                self._file.touch()
                os.utime(self._file, (self._due, self._due))
