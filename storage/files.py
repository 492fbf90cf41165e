"""Files that are whole or not there, and their sizes."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from storage.errors import StorageError, StorageFullError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of the system where a disk or a quota is full."""
COPY = "generation.json"  # Beside the files of a corpus: what in an object store it is a copy of.
PARTIAL = re.compile(r"\..+\.[0-9A-Fa-f]{8}")
"""Names that :func:`temporary_sibling` gives; boto3 adds eight more digits."""


@contextmanager
def temporary_sibling(path: Path) -> Iterator[Path]:
    """A path to write a file to; it replaces ``path`` when the block ends without an error."""
    partial = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}")
    try:
        yield partial
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


@contextmanager
def file_errors(
    path: Path, remedy: str = "Check the disk and the permissions of the home."
) -> Iterator[None]:
    """Raise errors of writing ``path`` as StorageError, or StorageFullError."""
    try:
        yield
    except OSError as error:
        kind = StorageFullError if error.errno in NO_ROOM else StorageError
        raise kind(f"{path} cannot be written: {error.strerror or error}.", remedy) from error


def write_whole(
    path: Path, content: bytes | str | Iterable[str], *, private: bool = False, synced: bool = False
) -> None:
    """Write a file atomically: readers find the old one or the new one.

    Args:
        content: text (UTF-8, line ends unchanged), in pieces or whole.
        private: readable by the owner only.
        synced: on disk when this returns.
    """
    with temporary_sibling(path) as partial:
        if private:
            partial.touch(0o600)
        with partial.open("wb") as handle:
            for piece in [content] if isinstance(content, (bytes, str)) else content:
                handle.write(piece if isinstance(piece, bytes) else piece.encode())
            if synced:
                handle.flush()
                os.fsync(handle.fileno())


def digest_of(path: Path) -> str:
    """The SHA-256 of a file's content, in hex digits."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def folder_bytes(path: Path) -> int:
    """Bytes of a file, or of all files below a folder; files that vanish meanwhile count 0."""
    total = 0
    for file in [path] if path.is_file() else path.rglob("*"):
        with suppress(OSError):
            total += file.stat().st_size if file.is_file() else 0
    return total
