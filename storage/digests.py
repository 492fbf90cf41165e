"""Digests of the files of a corpus's tables, beside them: what a disk changes in a file is seen by
nobody else, since Lance reads the bytes as they are.

Only files that never change are listed: rows, indexes, which rows are deleted, and which files a
version consists of. A file has one name as long as its table is there, so a list that is older or
newer than the tables says nothing false.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from storage.files import digest_of, write_whole

FILE = "digests.json"
_VERSION = ".manifest"
_FIXED = ("data/*", "_indices/**/*", "_deletions/*", f"_versions/*{_VERSION}")


def write_digests(folder: Path) -> None:
    """List the files that are there now; only those that are new are read, and small ones. The
    caller is the only writer of the corpus.

    Raises:
        OSError: a file cannot be read, or the list not be written; the list stays as it was.
    """
    known = read_digests(folder)
    # A table that was made anew counts its versions from the beginning.
    same = {path: digest for path, digest in known.items() if not path.endswith(_VERSION)}
    now = {path: same.get(path) or digest_of(folder / path) for path in _fixed(folder)}
    if now != known:
        write_whole(folder / FILE, json.dumps(now))


def has_version(table: Path) -> bool:
    """Whether a table in the folder of a corpus was ever there: of one that was being created when
    its process was killed or its disk was full there are files, and no version."""
    return any((table / "_versions").glob(f"*{_VERSION}"))


def read_digests(folder: Path) -> dict[str, str]:
    """SHA-256, in hex digits, by path in the folder of a corpus; of what no list has, nothing is
    known, and of a list that cannot be read, neither."""
    try:
        listed = json.loads((folder / FILE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return listed if isinstance(listed, dict) else {}


def find_changed(
    folder: Path, known: Mapping[str, str], of: Sequence[str] | None = None
) -> tuple[list[str], int]:
    """Read files of the tables of a corpus, while others may use it.

    Args:
        known: digests of files as they were written.
        of: the files; None for all.

    Returns:
        those that are not as they were written, by path, and how many are not known.
    """
    paths = _fixed(folder) if of is None else of
    changed = [path for path in paths if path in known and not _is(folder / path, known[path])]
    return changed, sum(path not in known for path in paths)


def _is(file: Path, digest: str) -> bool:
    try:
        return digest_of(file) == digest
    except FileNotFoundError:  # of a former version, which somebody deleted just now
        return True
    except OSError:  # the disk cannot read it
        return False


def _fixed(folder: Path) -> list[str]:
    files = (file for kind in _FIXED for file in folder.glob(f"*.lance/{kind}") if file.is_file())
    found = (file for file in files if not file.name.startswith("."))  # those are being written
    return sorted(file.relative_to(folder).as_posix() for file in found)
