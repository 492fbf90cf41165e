"""Deleted corpora, until they are forgotten for good."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from engine.stores import store_of, sweep
from storage.home import Home
from storage.ledger import Ledger
from storage.records import CorpusRow


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
