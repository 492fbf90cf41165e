"""Deleting files and folders of a home: each is moved aside in one step, then deleted."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from storage.errors import StorageError
from storage.files import PARTIAL

LEFTOVERS_KEPT = timedelta(days=1)
"""How long what a killed process left stays: another process may still be at work on it."""
ASIDE = ".removing-"


def now() -> datetime:
    """The current time."""
    return datetime.now(UTC)


def changed_at(path: Path) -> datetime | None:
    """When a file or folder was changed; None when it is not there."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError:
        return None


def delete(path: Path) -> bool:
    """Move aside atomically, then delete; False when missing or not movable."""
    aside = path.with_name(f"{ASIDE}{secrets.token_hex(6)}")
    try:
        path.rename(aside)
    except OSError:
        return False
    _delete_aside(aside)
    return True


def _delete_aside(aside: Path) -> None:
    if aside.is_dir() and not aside.is_symlink():
        shutil.rmtree(aside, ignore_errors=True)
    else:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def delete_unused(
    path: Path,
    unused_since: Callable[[], datetime | None],
    kept: timedelta,
    lock: AbstractContextManager[None] | None = None,
) -> bool:
    """Delete what was not used for ``kept``; False when it stays, as where it cannot be locked.

    Args:
        unused_since: called under the lock; None while the path is in use.
        lock: of the path's users; None where the caller holds it.
    """
    try:
        with lock or nullcontext():
            since = unused_since()
            return since is not None and now() - since >= kept and delete(path)
    except (StorageError, OSError):
        return False


def delete_leftovers(root: Path) -> None:
    """Delete what killed processes had moved aside, or began to restore or to write."""
    asides = [path for depth in ("", "*/", "*/*/") for path in root.glob(f"{depth}{ASIDE}*")]
    files = (Path(place, name) for place, _, names in os.walk(root) for name in names)
    for left in (*asides, *(file for file in files if PARTIAL.fullmatch(file.name))):
        delete_unused(left, partial(changed_at, left), LEFTOVERS_KEPT)
