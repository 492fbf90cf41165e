"""Files that came in through the browser."""

from __future__ import annotations

import hashlib
import io
import os
import re
import zipfile
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from engine.errors import BadInputError
from engine.types.limits import MEGABYTE, UPLOAD_BYTES
from storage.files import file_errors, write_whole
from storage.home import Home
from storage.locks import alone
from storage.removal import changed_at, delete_unused

NAME_LENGTH, NAME_BYTES = 120, 200
"""Characters and bytes of an uploaded file's name that are kept; file systems allow 255 bytes."""
WAIT_SECONDS = 10.0
KEPT_DAYS = 30
"""How long an upload stays that no corpus was made of: somebody may still be looking at it."""


def save_upload(home: Home, name: str, content: bytes) -> Path:
    """Keep an uploaded file under ``uploads/<beginning of its SHA-256>/<its name>``. The same
    content under the same name is stored once."""
    if len(content) > UPLOAD_BYTES:
        raise BadInputError(
            f"The file {name[:80]!r} has more than {UPLOAD_BYTES // MEGABYTE} MB.",
            "Put it on the server, and import it by its path.",
        )
    path = home.uploads / hashlib.sha256(content).hexdigest()[:16] / safe_name(name)
    busy = "Uploads are being removed by another process."
    with (
        alone(_lock(home), busy, "Try again.", WAIT_SECONDS),
        file_errors(path, f"Free some space in {home.uploads}."),
    ):
        if path.exists():
            os.utime(path)  # of use again
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content, private=True)
    return path


def save_papers(home: Home, files: Sequence[tuple[str, bytes]]) -> Path:
    """Keep several uploaded PDFs as one zip, ``papers.zip``; returns where it lies. The same files
    in the same order make the same zip."""
    packed = io.BytesIO()
    names: set[str] = set()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files:
            stem, ending = os.path.splitext(safe_name(name))  # noqa: PTH122 - a name, not a path
            free, number = stem, 1
            while free.casefold() in names:
                number += 1
                free = f"{stem}-{number}"
            names.add(free.casefold())
            archive.writestr(zipfile.ZipInfo(f"{free}{ending}"), content)
    return save_upload(home, "papers.zip", packed.getvalue())


def sweep_uploads(home: Home, sources: Callable[[], Collection[str]]) -> None:
    """Remove uploads that are older than ``KEPT_DAYS`` days and of no use any more."""
    for folder in home.uploads.glob("*/"):
        since = partial(_unused_since, folder, sources)
        delete_unused(folder, since, timedelta(days=KEPT_DAYS), alone(_lock(home), "", ""))


def _unused_since(folder: Path, sources: Callable[[], Collection[str]]) -> datetime | None:
    """When an upload was used last; None where a corpus was made of it."""
    files = list(folder.iterdir())
    used = {Path(source).resolve() for source in sources()}
    if not used.isdisjoint(path.resolve() for path in files):
        return None
    return max(filter(None, map(changed_at, files)), default=changed_at(folder))


def _lock(home: Home) -> Path:
    return home.uploads / ".lock"


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
    ending = _cut(ending, NAME_LENGTH, NAME_BYTES)
    return _cut(stem, NAME_LENGTH - len(ending), NAME_BYTES - len(ending.encode())) + ending


def _cut(text: str, characters: int, most: int) -> str:
    """The beginning of a text that has so many characters and bytes at most."""
    return text[:characters].encode()[:most].decode(errors="ignore")
