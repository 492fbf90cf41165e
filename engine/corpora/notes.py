"""What the registry says of a corpus, beside its documents: of use when the ledger is lost."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime

from engine.corpora.folders import folders_of, registered, store_of
from engine.corpora.sharing import publish
from engine.errors import StorageError
from engine.lenses.definitions import lens_from_json
from engine.types.encoders import EncoderSpec
from storage.files import write_whole
from storage.home import Home, is_corpus_name
from storage.ledger import Ledger
from storage.records import CorpusRow
from storage.vectors import DocumentTable

_FILE = "corpus.json"


def register(home: Home, ledger: Ledger, row: CorpusRow) -> None:
    """Put a corpus into the registry, noted beside its documents, for all homes.

    The caller is :func:`engine.corpora.sharing.writing` it.
    """
    _note(home, row)
    publish(home, ledger, row)


def note_all(home: Home, ledger: Ledger) -> None:
    """Make the notes of corpora that earlier versions imported."""
    for row in ledger.corpora():
        if row.state == "ready" and _noted(home, row.name) is None:
            _note(home, row)


def is_noted(home: Home, name: str) -> bool:
    """Whether documents lie under a name, with a note of what they are; whatever the ledger knows
    of them."""
    row = _noted(home, name)
    return row is not None and DocumentTable.is_stored(store_of(home, row))


def noted_sources(home: Home) -> set[str]:
    """What the corpora in a home were made of by their notes, whatever the ledger knows of them."""
    found = set()
    for file in home.corpora.glob(f"*/{_FILE}"):
        with suppress(OSError):
            if row := _read(file.parent.name, file.read_bytes()):
                found.add(home.located(row.source))
    return found


def rebuild(home: Home, ledger: Ledger) -> tuple[list[str], list[str]]:
    """Register corpora again that the ledger does not know, or not where they are by now, as when
    it was lost.

    Returns:
        names of those that are registered now, and of those whose folder does not say what they
        are (imported again under their name, they are whole).

    Raises:
        CorpusBusyError: somebody is writing to one of them.
    """
    found, unknown = [], []
    names = {path.name.partition(".")[0] for path in home.corpora.glob("*") if path.is_dir()}
    if home.mirror is not None:
        names |= {*home.mirror.names()}
    for name in sorted(filter(is_corpus_name, names)):
        busy = f"The corpus '{name}' is being indexed by another process."
        with ledger.locks.alone(home.corpus_lock(name), busy, "Wait until it is done."):
            known = ledger.corpus(name)
            if known is not None and not _is_behind(home, known):
                continue
            row = _noted_in_store(home, name) or _noted(home, name)
            if row is None:
                unknown.append(name)
            elif row.generation and home.mirror is not None:
                deleted = home.mirror.deleted_for(name) is not None
                state = "deleted" if deleted else row.state
                ledger.put_generation(replace(row, state=state), known.generation if known else "")
                found += [] if deleted else [name]
            else:
                try:
                    documents = DocumentTable.open(store_of(home, row)).count()
                except StorageError:  # the others can be registered all the same
                    unknown.append(name)
                    continue
                ledger.put_corpus(replace(row, documents=documents))
                found.append(name)
    return found, unknown


def _is_behind(home: Home, row: CorpusRow) -> bool:
    """Whether a row is of before what lies in the home or the store, as in a copy of the ledger:
    from before the lens was changed it knows the folder of before, from before an import the
    generation of before, and of a name that was used again the corpus of before."""
    if row.generation:
        if row.state != "ready" or home.mirror is None:
            return False
        return not home.mirror.has(row.name, row.generation)
    noted = _noted(home, row.name)
    if noted is not None and noted.updated_at > row.updated_at:
        return True
    # The documents of one that was deleted are in the trash, unless it was brought back.
    is_stored = DocumentTable.is_stored(store_of(home, row))
    return is_stored if row.state == "deleted" else row.state == "ready" and not is_stored


def _note(home: Home, row: CorpusRow) -> None:
    store = store_of(home, row)
    if store.is_dir():
        times = {"created_at": row.created_at.isoformat(), "updated_at": row.updated_at.isoformat()}
        with suppress(OSError):  # the ledger has it
            write_whole(store / _FILE, json.dumps(asdict(row) | times, indent=1))


def _noted_in_store(home: Home, name: str) -> CorpusRow | None:
    """What was noted with the newest generation of a corpus in the store; None without one."""
    newest = home.mirror.newest(name) if home.mirror is not None else None
    if newest is None or home.mirror is None:
        return None
    note = next((file for file in newest.files if file.path == _FILE), None)
    row = None if note is None else _read(name, home.mirror.store.get(newest.key(note)))
    return row and replace(row, generation=newest.id)


def _noted(home: Home, name: str) -> CorpusRow | None:
    """What was noted in the newest folder of a corpus that has a note; None where none has."""
    for folder in folders_of(home, name):
        with suppress(OSError):
            if row := _read(name, (folder / _FILE).read_bytes()):
                return replace(row, lens=registered(lens_from_json(row.lens), folder))
    return None


def _read(name: str, note: bytes) -> CorpusRow | None:
    """What a note says; None where it cannot be read."""
    try:
        row = json.loads(note)
        times = {
            at: datetime.fromisoformat(row[at]).astimezone(UTC)
            for at in ("created_at", "updated_at")
        }
        lens_from_json(row["lens"]), EncoderSpec.from_json(row["encoder"])
        return CorpusRow(**row | times | {"name": name, "generation": ""})
    except (
        ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError,
    ):  # fmt: skip
        return None
