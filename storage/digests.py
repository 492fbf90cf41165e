"""Digests of the files of a corpus's tables, beside them: what a disk changes in a file is seen by
nobody else, since Lance reads the bytes as they are.

Only files that never change are listed: rows, indexes, and which rows are deleted. A file has one
name for ever, so a list that is older or newer than the tables says nothing false.
"""

from __future__ import annotations

import json
from pathlib import Path

from storage.files import digest_of, write_whole

FILE = "digests.json"
_FIXED = ("data", "_indices", "_deletions")


def write_digests(folder: Path) -> None:
    """List the files that are there now; only those that are new are read. The caller is the only
    writer of the corpus.

    Raises:
        OSError: a file cannot be read, or the list not be written; the list stays as it was.
    """
    known = read_digests(folder)
    now = {path: known.get(path) or digest_of(folder / path) for path in _fixed(folder)}
    if now != known:
        write_whole(folder / FILE, json.dumps(now))


def read_digests(folder: Path) -> dict[str, str]:
    """SHA-256, in hex digits, by path in the folder of a corpus; of what no list has, nothing is
    known, and of a list that cannot be read, neither."""
    try:
        listed = json.loads((folder / FILE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return listed if isinstance(listed, dict) else {}


def find_changed(folder: Path) -> tuple[list[str], int]:
    """Read all files of the tables of a corpus, while others may use it.

    Returns:
        those that are not as they were written, by path, and how many no list has.
    """
    known = read_digests(folder)
    paths = _fixed(folder)
    return [p for p in paths if p in known and not _is(folder / p, known[p])], len(
        [p for p in paths if p not in known]
    )


def _is(file: Path, digest: str) -> bool:
    try:
        return digest_of(file) == digest
    except FileNotFoundError:  # of a former version, which somebody deleted just now
        return True
    except OSError:  # the disk cannot read it
        return False


def _fixed(folder: Path) -> list[str]:
    tables = (table / part for table in folder.glob("*.lance") for part in _FIXED)
    found = (file for part in tables for file in part.rglob("*") if file.is_file())
    return sorted(file.relative_to(folder).as_posix() for file in found)
