"""Files from the browser, kept in the home until they are imported."""

from __future__ import annotations

import hashlib
import io
import os
import re
import zipfile
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, count
from pathlib import Path

from engine.errors import BadInputError
from engine.types.limits import MEGABYTE, UPLOAD_BYTES
from storage.files import file_errors, write_whole
from storage.home import Home
from storage.locks import alone
from storage.removal import changed_at, delete_unused

NAME_BYTES = 200  # Of an uploaded file's name that are kept; file systems allow 255
WAIT_SECONDS = 10.0
KEPT_DAYS = 30  # How long an upload stays that no corpus was made of


def save_upload(home: Home, name: str, content: bytes) -> Path:
    """Keep an uploaded file, once, as ``uploads/<beginning of its SHA-256>/<its name>``."""
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
    """Keep several uploaded PDFs, by name and content, as ``papers.zip``; returns its path."""
    packed, names = io.BytesIO(), set[str]()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files:
            path = Path(safe_name(name))
            others = (f"{path.stem}-{number}" for number in count(2))
            free = next(n for n in chain([path.stem], others) if n.casefold() not in names)
            names.add(free.casefold())
            archive.writestr(zipfile.ZipInfo(f"{free}{path.suffix}"), content)
    return save_upload(home, "papers.zip", packed.getvalue())


def sweep_uploads(home: Home, sources: Callable[[], Collection[str]]) -> None:
    """Remove uploads that are older than ``KEPT_DAYS`` days and among no ``sources``."""
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
    """A file name without folders; its ending, which tells the format, is kept.

    >>> safe_name("../../etc/Papers of 2020.CSV")
    'Papers of 2020.CSV'
    >>> safe_name("..")
    'upload'
    """
    last = re.split(r"[/\\]", name)[-1]
    plain = Path(re.sub(r"[^\w .()+-]", "_", last).strip(" .") or "upload")
    ending = plain.suffix.encode()[-NAME_BYTES // 2 :].decode(errors="ignore")
    stem = plain.stem.encode()[: NAME_BYTES - len(ending.encode())].decode(errors="ignore")
    return stem + ending
