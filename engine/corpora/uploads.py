"""Files that came in through the browser."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from engine.errors import StorageError
from storage.files import write_whole
from storage.home import Home

NAME_LENGTH = 120
"""Characters of an uploaded file's name that are kept; file systems allow 255 bytes."""
KEPT_DAYS = 30
"""How long an upload stays that no corpus was made of: somebody may still be looking at it."""


def save_upload(home: Home, name: str, content: bytes) -> Path:
    """Keep an uploaded file under ``uploads/<beginning of its SHA-256>/<its name>``.

    The same content under the same name is stored once.

    Raises:
        StorageError: it could not be written.
    """
    path = home.uploads / hashlib.sha256(content).hexdigest()[:16] / safe_name(name)
    with suppress(OSError):  # not there, or somebody else's: it is written anew
        if path.stat().st_size == len(content):
            os.utime(path)  # of use again
            return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content, private=True)
    except OSError as error:
        raise StorageError(
            f"The file {name[:80]!r} could not be stored: {error.strerror or error}.",
            f"Free some space in {home.uploads}, or give the path of the file instead.",
        ) from error
    return path


def sweep_uploads(home: Home, sources: Collection[str]) -> None:
    """Remove uploads that are older than ``KEPT_DAYS`` days and of no use any more.

    Args:
        sources: files that corpora were made of; they stay, for these can be imported again.
    """
    oldest = time.time() - KEPT_DAYS * 24 * 3600
    used = {Path(source).resolve() for source in sources}
    for folder in home.uploads.glob("*/"):
        with suppress(OSError):  # another app may sweep it just now
            files = [path.resolve() for path in folder.iterdir()]
            newest = max((path.stat().st_mtime for path in files), default=folder.stat().st_mtime)
            if newest < oldest and used.isdisjoint(files):
                shutil.rmtree(folder, ignore_errors=True)


def safe_name(name: str) -> str:
    """A file name that leads nowhere else; its ending, which tells the format, is kept.

    >>> safe_name("../../etc/Papers of 2020.CSV")
    'Papers of 2020.CSV'
    >>> safe_name("..")
    'upload'
    """
    last = re.split(r"[/\\]", name)[-1]
    plain = re.sub(r"[^\w .()+-]", "_", last).strip(" .") or "upload"
    stem, ending = os.path.splitext(plain)  # noqa: PTH122 - a name, not a path
    return stem[: NAME_LENGTH - len(ending)] + ending[:NAME_LENGTH]
