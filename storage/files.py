"""Files that are whole or not there, and their sizes."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says where a disk or a quota is full."""
_PIECE = 2**20
_HALF = re.compile(r"\..+\.[0-9A-Fa-f]{8}")
"""Names of files that :func:`beside` gives; what copies objects adds eight more digits."""


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """A path to write a file to, which takes the place of another when the block ends; where that
    raises, what was there stays."""
    half = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}")
    try:
        yield half
        half.replace(path)
    except BaseException:
        half.unlink(missing_ok=True)
        raise


def halves(folder: Path) -> Iterator[Path]:
    """Files below a folder that somebody is writing by :func:`beside`, or was when killed."""
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names if _HALF.fullmatch(name))


def write_whole(
    path: Path,
    content: bytes | str | Iterable[str],
    *,
    private: bool = False,
    synced: bool = False,
) -> None:
    """Write a file beside its place and move it there: whoever reads finds the old one or the
    new one, never a part, also after a crash.

    Args:
        content: text (written in UTF-8 with its line ends as they are), in pieces or whole.
        private: nobody but the owner may read it.
        synced: it is on the disk when this returns.

    Raises:
        OSError: it cannot be written; what was there stays.
    """
    pieces = [content] if isinstance(content, (bytes, str)) else content

    def opened(name: str, flags: int) -> int:
        return os.open(name, flags, 0o600 if private else 0o666)

    with beside(path) as half, open(half, "xb", opener=opened) as handle:
        for piece in pieces:
            handle.write(piece if isinstance(piece, bytes) else piece.encode())
        if synced:
            handle.flush()
            os.fsync(handle.fileno())


def digest_of(path: Path) -> str:
    """The SHA-256 of a file's content, in hex digits."""
    digest = hashlib.sha256()
    with path.open("rb") as content:
        while piece := content.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def folder_bytes(path: Path) -> int:
    """Bytes of a file, or of all files below a folder; files that vanish meanwhile count 0."""
    total = 0
    for file in [path] if path.is_file() else path.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:
            continue
    return total
