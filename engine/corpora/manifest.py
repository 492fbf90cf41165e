"""A corpus's row of the registry, beside its documents: to rebuild the registry from."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

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
_ROW = TypeAdapter(CorpusRow)


def register(home: Home, ledger: Ledger, row: CorpusRow) -> None:
    """Put a corpus into the registry and its manifest beside its documents, for all servers.

    The caller is :func:`engine.corpora.sharing.writing` it.
    """
    _write(home, row)
    publish(home, ledger, row)


def write_missing(home: Home, ledger: Ledger) -> None:
    """Write the manifests of corpora that earlier versions imported."""
    for row in ledger.corpora():
        if row.state == "ready" and _found(home, row.name) is None:
            _write(home, row)


def has_manifest(home: Home, name: str) -> bool:
    """Whether documents and a manifest lie under a name, whatever the ledger has of it."""
    row = _found(home, name)
    return row is not None and DocumentTable.is_stored(store_of(home, row))


def sources(home: Home) -> set[str]:
    """The sources of all corpora that have a manifest."""
    rows = (_read(file) for file in home.corpora.glob(f"*/{_FILE}"))
    return {home.located(row.source) for row in rows if row is not None}


def rebuild(home: Home, ledger: Ledger) -> tuple[list[str], list[str]]:
    """Register corpora again that a lost or older ledger does not know, or not as they are now.

    Returns names of those that are registered now, and of those without a manifest (imported again
    under their name, they are whole).
    """
    found, unknown = [], []
    names = {path.name.partition(".")[0] for path in home.corpora.glob("*") if path.is_dir()}
    names |= {*home.mirror.names()} if home.mirror is not None else set()
    for name in sorted(filter(is_corpus_name, names)):
        busy = f"The corpus '{name}' is being indexed by another process."
        with ledger.locks.alone(home.corpus_lock(name), busy, "Wait until it is done."):
            known = ledger.corpus(name)
            if known is not None and not _is_behind(home, known):
                continue
            row = _in_store(home, name) or _found(home, name)
            try:
                if row is None:
                    raise StorageError(f"The corpus '{name}' has no manifest.")
                if not row.generation:
                    row = replace(row, documents=DocumentTable.open(store_of(home, row)).count())
            except StorageError:  # the others can be registered all the same
                unknown.append(name)
                continue
            ledger.put_generation(row, known.generation if known else "")
            found.append(name)
    return found, unknown


def _is_behind(home: Home, row: CorpusRow) -> bool:
    """Whether a row is older than what lies in the home or the store, as in a copy of the ledger
    from before an import, a change of the lens, or another corpus of that name."""
    if row.generation:
        is_lost = home.mirror is not None and not home.mirror.has(row.name, row.generation)
        return row.state == "ready" and is_lost
    found = _found(home, row.name)
    if found is not None and found.updated_at > row.updated_at:
        return True
    # The documents of one that was deleted are in the trash, unless it was brought back.
    is_stored = DocumentTable.is_stored(store_of(home, row))
    return is_stored if row.state == "deleted" else row.state == "ready" and not is_stored


def _write(home: Home, row: CorpusRow) -> None:
    store = store_of(home, row)
    if store.is_dir():
        with suppress(OSError):  # the ledger has it
            write_whole(store / _FILE, _ROW.dump_json(row, indent=1))


def _in_store(home: Home, name: str) -> CorpusRow | None:
    """The manifest of the newest generation of a corpus in the store; None without one."""
    newest = home.mirror.newest(name) if home.mirror is not None else None
    if newest is None or home.mirror is None:
        return None
    own = [file for file in newest.files if file.path == _FILE]
    row = _parsed(name, home.mirror.store.get(newest.key(own[0]))) if own else None
    return row and replace(row, generation=newest.id)


def _found(home: Home, name: str) -> CorpusRow | None:
    """The manifest in the newest folder of a corpus that has one; None where none has."""
    for folder in folders_of(home, name):
        if row := _read(folder / _FILE, name):
            return replace(row, lens=registered(lens_from_json(row.lens), folder))
    return None


def _read(file: Path, name: str = "") -> CorpusRow | None:
    with suppress(OSError):
        return _parsed(name or file.parent.name, file.read_bytes())
    return None


def _parsed(name: str, content: bytes) -> CorpusRow | None:
    """The row of a manifest; None where it cannot be read."""
    try:
        row = replace(_ROW.validate_json(content), name=name, generation="")
        lens_from_json(row.lens), EncoderSpec.from_json(row.encoder)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return row
