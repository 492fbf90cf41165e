"""Where the documents of a corpus lie, now that they can move.

A corpus begins in ``corpora/NAME``. What is derived anew for all of its documents is written to
the next numbered folder (``corpora/NAME.2``); one row of the registry says which of them is the
corpus, so a corpus changes over in a single transaction or not at all. No name holds a dot.
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
from storage.errors import CorpusBusyError
from storage.home import COPY, CorpusNameError, Home
from storage.ledger import Ledger
from storage.records import CorpusRow
from storage.removal import Removal, changed_at, never_used
from storage.vectors import DocumentTable

READERS_GRACE = timedelta(hours=1)
"""How long a search may go on reading the corpus as it was before a change."""
DELETED_KEPT = timedelta(days=1)
"""How long a deleted corpus can be brought back at least, whatever is started meanwhile."""
ELSEWHERE_KEPT = timedelta(days=7)
"""How long it is remembered that a corpus was deleted of which another server has the documents:
longer than that server needs to remove them."""
_STORE = "store"


def store_of(home: Home, row: CorpusRow) -> Path:
    """The folder that holds the documents of a corpus."""
    number = json.loads(row.lens).get(_STORE, 1)
    return _folder(home, row.name, int(number))


def next_store(home: Home, row: CorpusRow) -> Path:
    """A folder for the corpus that was never used before."""
    return _folder(home, row.name, max(_numbers(home, row.name), default=1) + 1)


def registered(lens: Lens, store: Path) -> str:
    """The lens column of the registry: the lens, and which folder was made with it."""
    number = _number(store)
    text = lens_to_json(lens)
    return text if number == 1 else json.dumps({**json.loads(text), _STORE: number})


def folders_of(home: Home, name: str) -> list[Path]:
    """All folders of a corpus, the one that was made last first."""
    return [_folder(home, name, number) for number in sorted(_numbers(home, name), reverse=True)]


def superseded(store: Path) -> None:
    """Note that a folder is no longer the corpus: readers have :data:`READERS_GRACE` from now."""
    os.utime(store)


def sweep(home: Home, row: CorpusRow, grace: timedelta = READERS_GRACE) -> None:
    """Remove folders of a corpus that nobody reads. The caller holds the corpus's lock.

    Those numbered higher than the corpus were never finished; lower ones were superseded. Where the
    corpus itself is not there, the ledger may be older than they are, and they stay.
    """
    current = store_of(home, row)
    for number in _numbers(home, row.name):
        folder = _folder(home, row.name, number)
        if number > _number(current):
            if row.state == "ready" and not DocumentTable.is_stored(current):
                continue
            Removal(home).remove(folder, never_used)
        elif number < _number(current):
            Removal(home).remove(folder, partial(changed_at, folder), grace)


def sweep_all(home: Home, ledger: Ledger) -> None:
    """:func:`sweep` every corpus that nobody is writing to."""
    for name in [row.name for row in ledger.corpora() if len(_numbers(home, row.name)) > 1]:
        with suppress(CorpusBusyError), ledger.locks.alone(home.corpus_lock(name), "", ""):
            row = ledger.corpus(name)  # only now: it may have changed over until we had the lock
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
    """The trash of one home. Whoever puts in or takes out holds the corpus's lock."""

    home: Home
    ledger: Ledger

    def put(self, row: CorpusRow) -> None:
        """Take a corpus off the list, and its documents out of the way."""
        # Noted first: a crash in between leaves the documents where take_back finds them.
        # What was searchable comes back so, however an addition to it ended.
        expected = row.documents if row.state == "ready" else row.expected
        now = datetime.now(UTC)
        if self.home.mirror is not None and row.generation:
            # Before all else: by a mark of an earlier time it would be gone at once.
            self.home.mirror.mark_deleted(row.name)
        self.ledger.put_corpus(replace(row, state="deleted", expected=expected, updated_at=now))
        store, bin_ = store_of(self.home, row), self.home.trash / row.name
        if self.home.mirror is not None and row.generation:
            self.home.mirror.forget(row.name, store)  # the store has all of it
        elif store.exists():
            self._give_up(bin_)  # one of that name that was deleted before
            self.home.trash.mkdir(parents=True, exist_ok=True)
            shutil.move(store, bin_)
        sweep(self.home, row, timedelta(0))  # the folders are free for another of that name

    def holds(self, row: CorpusRow) -> bool:
        """True when a corpus was deleted and its documents are still there."""
        if row.state != "deleted":
            return False
        return (
            bool(row.generation)
            or (self.home.trash / row.name).exists()
            or store_of(self.home, row).exists()
        )

    def take_back(self, row: CorpusRow) -> None:
        """Put a corpus back where it was."""
        if self.home.mirror is not None and row.generation:
            self.home.mirror.unmark_deleted(row.name)
        bin_ = self.home.trash / row.name
        if bin_.exists():
            # Not moved into a folder that is there: LanceDB makes those that it is told to open.
            bin_.rename(store_of(self.home, row))
        state = "ready" if row.documents >= row.expected else "indexing"
        self.ledger.put_corpus(replace(row, state=state, updated_at=datetime.now(UTC)))

    def give_up(self, row: CorpusRow) -> None:
        """The name of a deleted corpus is taken by another: it cannot be brought back."""
        if self.home.mirror is not None and row.generation:
            self.home.mirror.unmark_deleted(row.name)
        self.ledger.remove_corpus(row)
        self._give_up(self.home.trash / row.name)
        for folder in folders_of(self.home, row.name):  # a crash may have left them there
            self._give_up(folder)

    def _give_up(self, folder: Path) -> None:
        if folder.exists():
            self.home.trash.mkdir(parents=True, exist_ok=True)
            os.utime(folder)
            name = folder.name.partition(".")[0]
            shutil.move(folder, self.home.trash / f"{name}.{secrets.token_hex(4)}")

    def empty(self) -> None:
        """Forget for good what was deleted more than :data:`DELETED_KEPT` ago."""
        folders = [p for p in self.home.trash.glob("*") if not p.name.startswith(".")]
        deleted = [row for row in self.ledger.corpora() if row.state == "deleted"]
        own = (store_of(self.home, row) for row in deleted)
        for folder in (*folders, *own, *self._copies_of_none()):
            with suppress(CorpusNameError):  # nothing of ours
                file = self.home.corpus_lock(folder.name.partition(".")[0])
                lock = self.ledger.locks.alone(file, "", "")
                since = partial(self._unused_since, folder)
                Removal(self.home).remove(folder, since, DELETED_KEPT, lock)
        for row in deleted:
            # What never got to the store is on the server that imported it, which needs the row.
            elsewhere = self.home.mirror is not None and not row.generation
            young = elsewhere and datetime.now(UTC) - row.updated_at < ELSEWHERE_KEPT
            if not self.holds(row) and not young:
                self.ledger.remove_corpus(row)

    def _copies_of_none(self) -> list[Path]:
        """Copies of corpora that were deleted for good, on whatever server."""
        if self.home.mirror is None:
            return []
        copies = [file.parent for file in self.home.corpora.glob(f"*/{COPY}")]
        known = {row.name for row in self.ledger.corpora()}
        return [copy for copy in copies if copy.name.partition(".")[0] not in known]

    def _unused_since(self, folder: Path) -> datetime | None:
        """When a corpus was deleted that lies in a folder; None when it is one now."""
        row = self.ledger.corpus(folder.name.partition(".")[0])
        in_trash = folder.parent == self.home.trash
        if row is not None and row.state == "deleted":
            own = self.home.trash / row.name if in_trash else store_of(self.home, row)
            if folder == own:
                return row.updated_at
        if in_trash:
            return changed_at(folder)
        copy = None if row or self.home.mirror is None else self.home.mirror.copy_in(folder)
        return None if copy is None or copy.writing else changed_at(folder / COPY)
