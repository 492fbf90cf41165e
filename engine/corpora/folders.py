"""Where the documents of a corpus lie, now that they can move.

A corpus begins in ``corpora/NAME``. What is derived anew for all of its documents is written to
the next numbered folder (``corpora/NAME.2``); one row of the registry says which of them is the
corpus, so a corpus changes over in a single transaction or not at all. No name holds a dot.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from filelock import FileLock, Timeout

from engine.lenses.definitions import lens_to_json
from engine.types.lenses import Lens
from storage.home import Home
from storage.ledger import Ledger
from storage.records import CorpusRow

READERS_GRACE = timedelta(hours=1)
"""How long a search may go on reading the corpus as it was before a change."""
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


def superseded(store: Path) -> None:
    """Note that a folder is no longer the corpus: readers have :data:`READERS_GRACE` from now."""
    os.utime(store)


def sweep(home: Home, row: CorpusRow, grace: timedelta = READERS_GRACE) -> None:
    """Remove folders of a corpus that nobody reads. The caller holds the corpus's lock.

    Those numbered higher than the corpus were never finished; lower ones were superseded.
    """
    current = store_of(home, row)
    for number in _numbers(home, row.name):
        folder = _folder(home, row.name, number)
        if folder == current:
            continue
        try:
            age = time.time() - folder.stat().st_mtime
        except OSError:
            continue  # gone meanwhile
        if number > _number(current) or age >= grace.total_seconds():
            shutil.rmtree(folder, ignore_errors=True)


def sweep_all(home: Home, ledger: Ledger) -> None:
    """:func:`sweep` every corpus that nobody is writing to."""
    for name in [row.name for row in ledger.corpora() if len(_numbers(home, row.name)) > 1]:
        with suppress(Timeout), FileLock(home.corpus_lock(name), blocking=False):
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
        self.ledger.put_corpus(replace(row, state="deleted", expected=expected, updated_at=now))
        store, bin_ = store_of(self.home, row), self.home.trash / row.name
        if store.exists():
            shutil.rmtree(bin_, ignore_errors=True)
            self.home.trash.mkdir(parents=True, exist_ok=True)
            shutil.move(store, bin_)
        sweep(self.home, row, timedelta(0))  # the folders are free for another of that name

    def holds(self, row: CorpusRow) -> bool:
        """True when a corpus was deleted and its documents are still there."""
        if row.state != "deleted":
            return False
        return (self.home.trash / row.name).exists() or store_of(self.home, row).exists()

    def take_back(self, row: CorpusRow) -> None:
        """Put a corpus back where it was."""
        bin_ = self.home.trash / row.name
        if bin_.exists():
            shutil.move(bin_, store_of(self.home, row))
        state = "ready" if row.documents >= row.expected else "indexing"
        self.ledger.put_corpus(replace(row, state=state, updated_at=datetime.now(UTC)))

    def empty(self) -> None:
        """Forget all deleted corpora for good."""
        for row in self.ledger.corpora():
            if row.state == "deleted":
                shutil.rmtree(store_of(self.home, row), ignore_errors=True)
                self.ledger.remove_corpus(row.name)
        shutil.rmtree(self.home.trash, ignore_errors=True)
