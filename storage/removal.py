"""The one way in which files and folders of a home are deleted.

Several programs may work in one home, and the clock may be wrong. So what is to go is locked and
looked at again, has to be old enough twice, is moved aside in one step, and only then deleted.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from storage.errors import CorpusBusyError, StorageError
from storage.files import halves, write_whole
from storage.home import Home

RESPITE = timedelta(days=1)
"""Longest time between finding something old enough and deleting it: a clock that jumps ahead
makes everything old at once, and people see it before anything is gone."""
ASIDE = ".removing-"
_MARKS = "removals.json"

Since = Callable[[], datetime | None]
"""Asked under the lock: since when something is of no use; None while it is of use."""


def now() -> datetime:
    """The time by the clock, which may be wrong."""
    return datetime.now(UTC)


def never_used() -> datetime:
    """The :data:`Since` of what was never finished."""
    return datetime.fromtimestamp(0, UTC)


def changed_at(path: Path) -> datetime | None:
    """When a file or folder was changed; None when it is not there."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError:
        return None


def delete(path: Path) -> bool:
    """Move something aside in one step, then delete it: nobody finds half of it.

    Returns:
        False when it is not there, or cannot be moved.
    """
    aside = path.with_name(f"{ASIDE}{secrets.token_hex(6)}")
    try:
        path.rename(aside)
    except OSError:
        return False
    _delete_aside(aside)
    return True


class Removal:
    """Deletes what is of no use any more in one home."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def remove(
        self,
        path: Path,
        since: Since,
        kept: timedelta = timedelta(0),
        lock: AbstractContextManager[None] | None = None,
    ) -> bool:
        """Delete a file or folder of the home, unless somebody uses it or it is too young.

        Something is deleted when two calls, ``kept`` apart but :data:`RESPITE` at most, have both
        found that it has been of no use for ``kept``. With 0 one call is enough.

        Args:
            kept: how long it stays at least, once it is of no use.
            lock: of who uses it; None where the caller holds that lock.

        Returns:
            Whether it was deleted; False too when somebody holds the lock, or when the home
            cannot be written to.
        """
        if not path.exists():
            return False
        try:
            with ExitStack() as held:
                if lock is not None:
                    held.enter_context(lock)
                unused = since()
                return unused is not None and self._is_due(path, unused, kept) and delete(path)
        except (CorpusBusyError, StorageError, OSError, Timeout):
            return False

    def finish(self) -> None:
        """Delete what processes that were killed had moved aside, or began to restore or to write;
        others may be at work on theirs, so it stays as long as anything does."""
        root = self._home.root
        asides = [path for depth in ("", "*/", "*/*/") for path in root.glob(f"{depth}{ASIDE}*")]
        for left in (*asides, *halves(root)):
            self.remove(left, partial(changed_at, left), RESPITE)

    def _is_due(self, path: Path, unused: datetime, kept: timedelta) -> bool:
        if kept <= timedelta(0):
            return True
        at = now()
        if at - unused < kept:
            return False
        file = self._home.root / _MARKS
        key = path.relative_to(self._home.root).as_posix()
        with FileLock(f"{file}.lock", timeout=5):
            marks = self._marks(file)
            began, noticed = marks.get(key, ("", at.isoformat()))
            if began == unused.isoformat():
                elapsed = at - datetime.fromisoformat(noticed)
                if elapsed >= min(kept, RESPITE):
                    del marks[key]
                    write_whole(file, json.dumps(marks))
                    return True
                if elapsed >= timedelta(0):
                    return False
            marks[key] = (unused.isoformat(), at.isoformat())
            write_whole(file, json.dumps(marks))
        return False

    def _marks(self, file: Path) -> dict[str, tuple[str, str]]:
        """What was found old enough before: path -> (unused since, found at)."""
        try:
            stored = json.loads(file.read_text(encoding="utf-8"))
            marks = {str(key): (str(began), str(at)) for key, (began, at) in stored.items()}
            for _, at in marks.values():
                datetime.fromisoformat(at)
        except (OSError, ValueError, TypeError, AttributeError):
            return {}  # whatever was in it is found once more, a day later
        return {key: mark for key, mark in marks.items() if (self._home.root / key).exists()}


def _delete_aside(aside: Path) -> None:
    if aside.is_dir() and not aside.is_symlink():
        shutil.rmtree(aside, ignore_errors=True)
    else:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
