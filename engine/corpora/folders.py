"""The folders of a corpus, and when they are deleted.

A corpus begins in ``corpora/NAME``. What is derived for all of its documents (another lens), and
another corpus under the name of a deleted one, is written to the next numbered folder
(``corpora/NAME.2``); its row in the registry says which folder is the corpus, so a change is one
transaction. Folders that no row names, and those of deleted corpora, go some time later.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import timedelta
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


def names_of_folders(home: Home) -> list[str]:
    """The corpora that have a folder, whatever the ledger has of them."""
    found = {path.name.partition(".")[0] for path in home.corpora.glob("*") if path.is_dir()}
    return sorted(filter(is_corpus_name, found))


def in_trash(home: Home, row: CorpusRow) -> Path:
    """Where earlier versions moved the documents of a deleted corpus."""
    return home.trash / row.name


def sweep(home: Home, row: CorpusRow) -> None:
    """Remove folders of a corpus that nobody reads. The caller holds the corpus's lock. Those
    numbered higher than the corpus were never finished; lower ones were superseded. Where the
    corpus itself is not there, the ledger may be older than they are, and they stay."""
    current = store_of(home, row)
    for folder in folders_of(home, row.name):
        if _number(folder) > _number(current):
            if row.state != "ready" or DocumentTable.is_stored(current):
                delete(folder)
        elif folder != current:
            delete_unused(folder, partial(changed_at, folder), READERS_GRACE)


def sweep_all(home: Home, ledger: Ledger) -> None:
    """:func:`sweep` every corpus that nobody is writing to; corpora that were deleted more than
    :data:`DELETED_KEPT` ago go for good."""
    for name in {*names_of_folders(home), *(row.name for row in ledger.corpora())}:
        with suppress(CorpusBusyError), ledger.locks.alone(home.corpus_lock(name), "", ""):
            row = ledger.corpus(name)
            if row is None:
                _sweep_copies(home, name)
            elif row.state == "deleted" and removal.now() - row.updated_at >= DELETED_KEPT:
                forget(home, ledger, row)
            else:
                sweep(home, row)
    held = {in_trash(home, row) for row in ledger.corpora() if row.state == "deleted"}
    for folder in {*home.trash.glob("[!.]*")} - held:
        delete_unused(folder, partial(changed_at, folder), DELETED_KEPT)


def forget(home: Home, ledger: Ledger, row: CorpusRow) -> None:
    """Remove all of a deleted corpus. The caller holds the corpus's lock."""
    for folder in (in_trash(home, row), *folders_of(home, row.name)):
        delete(folder)
    if home.mirror is not None:
        home.mirror.remove(row.name)
    ledger.remove_corpus(row)


def _sweep_copies(home: Home, name: str) -> None:
    """Remove copies of a corpus that another server deleted for good, unless they have changes
    that the store lacks."""
    for folder in folders_of(home, name) if home.mirror else ():
        copy = home.mirror.copy_in(folder) if home.mirror else None
        if copy is not None and not copy.writing:
            delete_unused(folder, partial(changed_at, folder / COPY), DELETED_KEPT)


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
