"""Selections of documents, named by size and digest, so that equal selections share a name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from storage.ledger import SELECTION, Ledger

FOLDER = "selections"  # Of earlier versions: files in the folder of the corpus.


def selection_key(corpus: str, doc_ids: Iterable[str]) -> str:
    """The name of a selection of a corpus.

    >>> selection_key("demo", ["b", "a", "b"]) == selection_key("demo", ["a", "b"])
    True
    """
    different = sorted(set(doc_ids))
    content = json.dumps([corpus, different], ensure_ascii=True).encode()
    return f"{len(different)}-{hashlib.sha256(content).hexdigest()[:16]}"


class Selections:
    """The selections of one corpus in the ledger, and in its folder those of earlier versions."""

    def __init__(self, ledger: Ledger, corpus: str, folder: Path) -> None:
        self._corpus, self._files = corpus, folder / FOLDER
        self._stored = ledger.documents(SELECTION, list[str])

    def add(self, doc_ids: Iterable[str]) -> str:
        """Store a selection, unless it is there; returns its key."""
        different = sorted(set(doc_ids))
        key = selection_key(self._corpus, different)
        if different and self._stored.get(key, self._corpus) is None:
            self._stored.put(key, different, scope=self._corpus)
        return key

    def get(self, key: str) -> list[str] | None:
        """The documents of a selection, sorted; None for an unknown one."""
        stored = self._stored.value(key, self._corpus)
        return self._in_file(key) if stored is None else stored

    def _in_file(self, key: str) -> list[str] | None:
        with suppress(OSError, ValueError, TypeError, RecursionError):
            doc_ids: list[str] = json.loads((self._files / f"{key}.json").read_bytes())
            if selection_key(self._corpus, doc_ids) == key:
                return doc_ids
        return None

    def take_files(self) -> None:
        """Bring files of earlier versions into the ledger, before the folder is left."""
        for file in self._files.glob("*.json"):
            self.add(self._in_file(file.stem) or ())
