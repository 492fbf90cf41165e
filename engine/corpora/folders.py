"""The folder of a corpus, and the trash.

A corpus begins in ``corpora/NAME``. What is derived for all of its documents (another lens) is
written to the next numbered folder (``corpora/NAME.2``); its row in the registry says which folder
is the corpus, so a change is one transaction. No name holds a dot.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from engine.lenses.definitions import lens_to_json
from engine.types.lenses import Lens
from storage import removal
from storage.errors import CorpusBusyError
from storage.files import COPY
from storage.home import Home, is_corpus_name
from storage.ledger import Ledger
from storage.records import CorpusRow
from storage.removal import changed_at, delete, delete_unused
from storage.vectors import DocumentTable

READERS_GRACE = timedelta(hours=1)
"""How long a search may go on reading the corpus as it was before a change."""
DELETED_KEPT = timedelta(days=1)  # How long a deleted corpus can be brought back
_STORE = "store"


def store_of(home: Home, row: CorpusRow) -> Path:
    """The folder that holds the documents of a corpus."""
    return _folder(home, row.name, int(json.loads(row.lens).get(_STORE, 1)))


def next_store(home: Home, row: CorpusRow) -> Path:
    """A folder for the corpus that was never used before."""
    return _folder(home, row.name, max(_numbers(home, row.name), default=1) + 1)


def registered(lens: Lens, store: Path) -> str:
    """The lens column of the registry: the lens, and the number of the folder."""
    number = _number(store)
    text = lens_to_json(lens)
    return text if number == 1 else json.dumps({**json.loads(text), _STORE: number})


def folders_of(home: Home, name: str) -> list[Path]:
    """All folders of a corpus, the newest first."""
    return [_folder(home, name, number) for number in sorted(_numbers(home, name), reverse=True)]


def sweep(home: Home, row: CorpusRow, grace: timedelta = READERS_GRACE) -> None:
    """Remove folders of a corpus that nobody reads. The caller holds the corpus's lock. Those
    numbered higher than the corpus were never finished; lower ones were superseded. Where the
    corpus itself is not there, the ledger may be older than they are, and they stay."""
    current = store_of(home, row)
    for folder in folders_of(home, row.name):
        if _number(folder) > _number(current):
            if row.state != "ready" or DocumentTable.is_stored(current):
                delete(folder)
        elif folder != current:
            delete_unused(folder, partial(changed_at, folder), grace)


def sweep_all(home: Home, ledger: Ledger) -> None:
    """:func:`sweep` every corpus that nobody is writing to."""
    for name in [row.name for row in ledger.corpora() if len(_numbers(home, row.name)) > 1]:
        with suppress(CorpusBusyError), ledger.locks.alone(home.corpus_lock(name), "", ""):
            row = ledger.corpus(name)  # it may have changed until we had the lock
            if row is not None:
                sweep(home, row)


def _folder(home: Home, name: str, number: int) -> Path:
    first = home.corpus(name)
    return first if number == 1 else first.with_name(f"{name}.{number}")


def _number(store: Path) -> int:
    return int(store.suffix[1:] or 1)


def _numbers(home: Home, name: str) -> list[int]:
    """Numbers of the folders that are there."""
    first = home.corpus(name)
    others = (p.suffix[1:] for p in home.corpora.glob(f"{name}.*") if p.is_dir())
    return [*([1] if first.is_dir() else []), *(int(n) for n in others if n.isdecimal())]


@dataclass(frozen=True, slots=True)
class Trash:
    """Deleted corpora of one home. The caller holds the corpus's lock."""

    home: Home
    ledger: Ledger

    def put(self, row: CorpusRow) -> None:
        """Take a corpus off the list, and move its documents to the trash."""
        # The row first: a crash in between leaves the documents where take_back finds them.
        # What could be searched comes back so, however an addition to it ended.
        expected = row.documents if row.state == "ready" else row.expected
        now = datetime.now(UTC)
        self.ledger.put_corpus(replace(row, state="deleted", expected=expected, updated_at=now))
        store = store_of(self.home, row)
        if self.home.mirror is not None and row.generation:
            self.home.mirror.forget(row.name, store)  # the store has all of it
        elif store.exists():
            self._give_up(self._place(row))  # one of that name that was deleted before
            self.home.trash.mkdir(parents=True, exist_ok=True)
            shutil.move(store, self._place(row))
        sweep(self.home, row, timedelta(0))  # the folders are free for another of that name

    def holds(self, row: CorpusRow) -> bool:
        """Whether a corpus was deleted and its documents are still there."""
        there = (self._place(row), store_of(self.home, row))
        return row.state == "deleted" and (bool(row.generation) or any(p.exists() for p in there))

    def take_back(self, row: CorpusRow) -> None:
        """Put a corpus back where it was."""
        if self._place(row).exists():
            # Not moved into a folder that is there: LanceDB makes those that it is told to open.
            self._place(row).rename(store_of(self.home, row))
        state = "ready" if row.documents >= row.expected else "indexing"
        self.ledger.put_corpus(replace(row, state=state, updated_at=datetime.now(UTC)))

    def give_up(self, row: CorpusRow) -> None:
        """The name of a deleted corpus is taken by another: it cannot be brought back."""
        self.ledger.remove_corpus(row)
        # A crash may have left its documents in its folders.
        for folder in (self._place(row), *folders_of(self.home, row.name)):
            self._give_up(folder)

    def empty(self) -> None:
        """Forget for good what was deleted more than :data:`DELETED_KEPT` ago."""
        for folder in self.home.trash.glob("[!.]*"):
            self._delete(folder, partial(self._deleted_at, folder))
        for row in self.ledger.corpora():
            if row.state == "deleted" and removal.now() - row.updated_at >= DELETED_KEPT:
                self._forget(row)
        known = {row.name for row in self.ledger.corpora()}
        for file in self.home.corpora.glob(f"*/{COPY}") if self.home.mirror else ():
            if file.parent.name.partition(".")[0] not in known:
                self._delete(file.parent, partial(self._copied_at, file))

    def _forget(self, row: CorpusRow) -> None:
        lock = self.home.corpus_lock(row.name)
        with suppress(CorpusBusyError), self.ledger.locks.alone(lock, "", ""):
            if self.ledger.corpus(row.name) == row:  # it may have changed until we had the lock
                delete(store_of(self.home, row))
                if self.home.mirror is not None:
                    self.home.mirror.remove(row.name)
                self.ledger.remove_corpus(row)

    def _delete(self, folder: Path, unused_since: partial[datetime | None]) -> None:
        name = folder.name.partition(".")[0]
        if is_corpus_name(name):
            lock = self.ledger.locks.alone(self.home.corpus_lock(name), "", "")
            delete_unused(folder, unused_since, DELETED_KEPT, lock)

    def _deleted_at(self, folder: Path) -> datetime | None:
        """When what lies in the trash was put there."""
        row = self.ledger.corpus(folder.name)
        is_own = row is not None and row.state == "deleted"
        return row.updated_at if row is not None and is_own else changed_at(folder)

    def _copied_at(self, file: Path) -> datetime | None:
        """When a copy was last used of a corpus that another server deleted for good."""
        row = self.ledger.corpus(file.parent.name.partition(".")[0])
        copy = None if row or self.home.mirror is None else self.home.mirror.copy_in(file.parent)
        return None if copy is None or copy.writing else changed_at(file)

    def _place(self, row: CorpusRow) -> Path:
        return self.home.trash / row.name

    def _give_up(self, folder: Path) -> None:
        if folder.exists():
            self.home.trash.mkdir(parents=True, exist_ok=True)
            os.utime(folder)
            name = folder.name.partition(".")[0]
            shutil.move(folder, self.home.trash / f"{name}.{secrets.token_hex(4)}")
