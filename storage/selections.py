"""Selections of documents: files in the corpus's folder, named by size and digest, so that equal
selections share a name."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from storage.files import file_errors, write_whole

FOLDER = "selections"
_KEY = re.compile(r"[1-9][0-9]{0,8}-[0-9a-f]{16}")


def selection_key(corpus: str, doc_ids: Iterable[str]) -> str:
    """The name of a selection of a corpus.

    >>> selection_key("demo", ["b", "a", "b"]) == selection_key("demo", ["a", "b"])
    True
    """
    different = sorted(set(doc_ids))
    content = json.dumps([corpus, different], ensure_ascii=True).encode()
    return f"{len(different)}-{hashlib.sha256(content).hexdigest()[:16]}"


def write_selection(folder: Path, corpus: str, doc_ids: Iterable[str]) -> str:
    """Store a selection in a corpus's folder, unless it is there; returns its key."""
    different = sorted(set(doc_ids))
    key = selection_key(corpus, different)
    if read_selection(folder, corpus, key) is None:
        write_given(folder, key, json.dumps(different))
    return key


def write_given(folder: Path, key: str, content: bytes | str) -> None:
    """Keep the file of a selection as another home has it; a key that is none is passed over."""
    if _KEY.fullmatch(key):
        path = folder / FOLDER / f"{key}.json"
        with file_errors(path):
            path.parent.mkdir(exist_ok=True)
            write_whole(path, content)


def read_selection(folder: Path, corpus: str, key: str) -> list[str] | None:
    """The documents of a selection, sorted; None for an invalid, unknown or damaged one."""
    if not _KEY.fullmatch(key):
        return None
    try:
        doc_ids = json.loads((folder / FOLDER / f"{key}.json").read_bytes())
        is_whole = selection_key(corpus, doc_ids) == key
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return doc_ids if is_whole else None


def carry_selections(before: Path, after: Path) -> None:
    """Copy the selections of one folder to the folder that takes its place."""
    if (before / FOLDER).is_dir():
        shutil.copytree(before / FOLDER, after / FOLDER, dirs_exist_ok=True)
