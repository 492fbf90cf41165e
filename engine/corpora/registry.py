"""Where corpora lie, who writes them, and their rows in the registry.

A corpus begins in ``corpora/NAME``. Another lens, and another corpus under the name of a deleted
one, are written to the next numbered folder (``corpora/NAME.2``); the row in the registry names the
folder, so a change is one transaction. Other folders are deleted later. A copy of the row lies
beside the documents, to rebuild the registry.

With an object store, corpora are copied before they are read, and published after a change.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from engine.config import Settings
from engine.errors import (
    BadInputError,
    CorpusBusyError,
    CorpusMissingError,
    SeedLensError,
    StorageError,
)
from engine.lenses.definitions import lens_from_json, lens_to_json
from engine.types.corpora import CorpusSource
from engine.types.encoders import EncoderSpec
from engine.types.lenses import Lens
from storage import removal
from storage.files import COPY, write_whole
from storage.home import Home, check_corpus_name, is_corpus_name
from storage.ledger import Ledger
from storage.records import CorpusRow
from storage.removal import changed_at, delete, delete_unused
from storage.vectors import DocumentTable

if TYPE_CHECKING:
    from storage.mirror import Copy

READERS_GRACE = timedelta(hours=1)
"""How long a search may go on reading the corpus as it was before a change."""
DELETED_KEPT = timedelta(days=1)  # How long a deleted corpus can be brought back
_STORE = "store"
_MANIFEST = "corpus.json"
_ROW = TypeAdapter(CorpusRow)
_SOURCES_FILE, _SOURCES = "sources.json", TypeAdapter(tuple[CorpusSource, ...])
WAIT_SECONDS = 10.0  # To write a corpus, for results that took long to make
log = logging.getLogger("seedlens")


def store_of(home: Home, row: CorpusRow) -> Path:
    """The folder that holds the documents of a corpus."""
    return _folder(home, row.name, int(json.loads(row.lens).get(_STORE, 1)))


def next_store(home: Home, row: CorpusRow) -> Path:
    """A folder for the corpus that was never used before."""
    return _folder(home, row.name, max(map(_number, folders_of(home, row.name)), default=1) + 1)


def registered(lens: Lens, store: Path) -> str:
    """The lens column of the registry: the lens, and the number of the folder."""
    number = _number(store)
    text = lens_to_json(lens)
    return text if number == 1 else json.dumps({**json.loads(text), _STORE: number})


def folders_of(home: Home, name: str) -> list[Path]:
    """All folders of a corpus, the newest first."""
    found = [home.corpus(name), *home.corpora.glob(f"{name}.*")]
    found = [path for path in found if path.is_dir() and (path.suffix[1:] or "1").isdecimal()]
    return sorted(found, key=_number, reverse=True)


def _names_of_folders(home: Home) -> set[str]:
    found = {path.name.partition(".")[0] for path in home.corpora.glob("*/")}
    return set(filter(is_corpus_name, found))


def sweep(home: Home, row: CorpusRow) -> None:
    """Remove unused folders of a corpus, under its lock. Those numbered higher than the corpus were
    never finished; lower ones were superseded. Where the corpus itself is missing, they stay: the
    ledger may be older than they are."""
    current = store_of(home, row)
    for folder in folders_of(home, row.name):
        if _number(folder) > _number(current):
            if row.state != "ready" or DocumentTable.is_stored(current):
                delete(folder)
        elif folder != current:
            delete_unused(folder, partial(changed_at, folder), READERS_GRACE)


def sweep_all(home: Home, ledger: Ledger) -> None:
    """Sweep all corpora that are not being written, in the store too; deleted ones go after a
    day."""
    rows = {row.name: row for row in ledger.corpora()}
    in_store = home.mirror.names() if home.mirror else set()
    for name in _names_of_folders(home) | {*rows} | in_store:
        known = rows.get(name)
        is_tidy = known and known.state == "ready" and len(folders_of(home, name)) == 1
        if is_tidy and name not in in_store:
            continue
        with suppress(CorpusBusyError), alone(ledger, name):
            row = ledger.corpus(name)
            if row is None:  # other folders stay: the ledger may be a new one
                for copy in folders_of(home, name):
                    if home.mirror and home.mirror.is_copy(copy):
                        delete_unused(copy, partial(changed_at, copy / COPY), DELETED_KEPT)
            elif row.state == "deleted" and removal.now() - row.updated_at >= DELETED_KEPT:
                for folder in folders_of(home, name):
                    delete(folder)
                if home.mirror is not None:
                    home.mirror.remove(name)
                ledger.remove_corpus(row)
            else:
                sweep(home, row)
                if home.mirror is not None:
                    home.mirror.sweep(name, row.generation)
    for folder in home.trash.glob("[!.]*"):  # of an earlier version
        delete_unused(folder, partial(changed_at, folder), DELETED_KEPT)


def _folder(home: Home, name: str, number: int) -> Path:
    first = home.corpus(name)
    return first if number == 1 else first.with_name(f"{name}.{number}")


def _number(store: Path) -> int:
    return int(store.suffix[1:] or 1)


def home_of(settings: Settings) -> Home:
    """The home that is set, with the store that its corpora lie in."""
    if not settings.store:
        return Home(settings.home)
    if not settings.ledger_url.get_secret_value():
        raise BadInputError(
            "SEEDLENS_STORE is set, and SEEDLENS_LEDGER_URL is not: which corpora there are, and "
            "who writes them, is in a ledger that all servers share.",
            "Set SEEDLENS_LEDGER_URL=postgresql://USER:PASSWORD@HOST:PORT/DATABASE as well.",
        )
    from storage.mirror import Mirror
    from storage.object_store import ObjectStore

    home = Home(settings.home)
    store, megabytes = ObjectStore(settings.store), settings.mirror_megabytes
    return replace(home, mirror=Mirror(store, home.corpora, home.uploads, megabytes))


# -- reading ------------------------------------------------------------------------------


def bring(home: Home, ledger: Ledger, rows: Sequence[CorpusRow], documents: bool) -> None:
    """Copy corpora; StorageFullError without room for all of them."""
    found = [copied(home, ledger, row, documents) for row in rows]
    for row in (row for row, copy in found if copy is not None):
        # It may have given way to those after it.
        copy = home.mirror.copy_in(store_of(home, row)) if home.mirror else None
        if home.mirror and (copy is None or copy.documents < documents):
            raise home.mirror.no_room(row.name)


def copied(
    home: Home, ledger: Ledger, row: CorpusRow, documents: bool
) -> tuple[CorpusRow, Copy | None]:
    """Copy a corpus as it is now, with its ``documents`` where they fit; returns its row, and the
    copy, None for a local corpus."""
    mirror = home.mirror
    if mirror is None or not row.generation:
        _check_own(home, row)
        return row, None
    copy = mirror.current(store_of(home, row), row.generation, documents)
    if copy is not None:
        return row, copy
    with mirror.lock(row.name):
        now = ledger.listed_corpus(row.name)  # it may have changed until we had the lock
        if now is None or not now.generation:
            raise CorpusMissingError(f"The corpus '{row.name}' was deleted just now.")
        folder = store_of(home, now)
        return now, mirror.refresh(now.name, folder, now.generation, documents, writing=False)


def _check_own(home: Home, row: CorpusRow) -> None:
    if home.mirror is None and row.generation:
        raise StorageError(
            f"The corpus '{row.name}' is in an object store.",
            "Set SEEDLENS_STORE to it, as it is on the servers that share this ledger.",
        )
    if home.mirror is not None and home.mirror.copy_in(store_of(home, row)) is not None:
        raise no_documents(row)  # the copy is of one of that name that was deleted


def no_documents(row: CorpusRow) -> CorpusMissingError:
    """The error for a corpus of which nothing is stored."""
    return CorpusMissingError(
        f"The corpus '{row.name}' has no documents yet.",
        "Try again when its import has stored some; import it again if none runs.",
    )


# -- writing ------------------------------------------------------------------------------


def alone(
    ledger: Ledger, name: str, wait: float = 0.0, doing: str = "indexed"
) -> AbstractContextManager[None]:
    """Hold the lock of the process that writes a corpus; ``doing`` is for the error."""
    check_corpus_name(name)
    title = ledger.corpus_titles().get(name, name)
    return ledger.locks.hold(
        "corpus", name, what=f"The corpus '{title}' is being {doing}", wait=wait
    )


@contextmanager
def writing(
    home: Home, ledger: Ledger, name: str, *, wait: float = 0.0, documents: bool = True
) -> Iterator[None]:
    """Write a corpus :func:`alone`, then publish it; without ``documents`` only files beside them
    are written."""
    mirror = home.mirror
    with alone(ledger, name, wait, "indexed" if documents else "written to"):
        row = ledger.listed_corpus(name)
        if mirror is None:
            if row is not None:
                _check_own(home, row)
            yield
            return
        with mirror.lock(name):
            if row is not None and row.generation:
                mirror.refresh(name, store_of(home, row), row.generation, documents, writing=True)
            else:  # copies are of a deleted corpus; other folders have an import to go on with
                for copy in filter(mirror.copy_in, folders_of(home, name)):
                    delete(copy)

        def end() -> None:
            row = ledger.listed_corpus(name)
            if row is not None and (row.generation or row.state == "ready"):
                publish(home, ledger, row)

        try:
            yield
        except StorageError:
            raise
        except Exception:
            with suppress(SeedLensError):  # the first error counts
                end()
            raise
        end()


def publish(home: Home, ledger: Ledger, row: CorpusRow) -> None:
    """Put a corpus into the registry as it is in its folder, under :func:`writing`."""
    mirror = home.mirror
    if mirror is None:
        ledger.put_corpus(row)
        return
    from storage.mirror import Copy

    folder = store_of(home, row)
    try:
        generation = mirror.publish(row.name, folder, Path(home.located(row.source)))
    except StorageError as error:
        raise type(error)(
            f"{error.message} What was written to the corpus '{row.name}' is here, in {folder}, "
            "and no other server sees it yet.",
            f"{error.remedy} The same command again goes on where it stopped. So do the next "
            "import into it here, seedlens doctor, and the app when it starts.".strip(),
        ) from error
    with mirror.lock(row.name):
        held = mirror.copy_in(folder)
        before = held.generation.id if held else row.generation
        if not ledger.put_generation(replace(row, generation=generation.id), before):
            raise StorageError(
                f"The corpus '{row.name}' was written by another program meanwhile.",
                "Run the same command again.",
            )
        copy = Copy(generation, held.documents if held else True)
        mirror.note(folder, copy)
        mirror.make_room(folder, copy)


def adding(home: Home, ledger: Ledger, name: str) -> AbstractContextManager[None]:
    """Write files beside documents; without an object store it does not wait for imports."""
    if home.mirror is not None:
        return writing(home, ledger, name, wait=WAIT_SECONDS, documents=False)
    busy = f"The corpus '{name}' is being written to"
    return ledger.locks.hold("beside", name, what=busy, wait=WAIT_SECONDS)


def publish_all(home: Home, ledger: Ledger) -> None:
    """Publish corpora and changes that only this home has."""
    if home.mirror is None:
        return
    for row in ledger.listed_corpora():
        folder = store_of(home, row)
        copy = home.mirror.copy_in(folder)
        own = row.state == "ready" and not row.generation and DocumentTable.is_stored(folder)
        if copy.writing if copy else own:
            with suppress(CorpusBusyError), writing(home, ledger, row.name):
                log.info("Bringing the corpus '%s' into %s.", row.name, home.mirror.store.name)


def register(home: Home, ledger: Ledger, row: CorpusRow) -> None:
    """Put a corpus into the registry and write its manifest, under :func:`writing`."""
    write_manifest(home, row)
    publish(home, ledger, row)


def check_unlisted(home: Home, name: str) -> None:
    """Raise BadInputError where a folder has documents and a manifest under a name."""
    row = _found_manifest(home, name)
    if row is not None and DocumentTable.is_stored(store_of(home, row)):
        raise BadInputError(
            f"The home has a corpus '{name}' already, which its ledger does not know.",
            "To have it listed again: seedlens doctor --rebuild. Or use another name.",
        )


def manifest_sources(home: Home) -> set[str]:
    """The sources of all corpora that have a manifest."""
    files = home.corpora.glob(f"*/{_MANIFEST}")
    rows = (_read_manifest(file.parent.name, file) for file in files)
    return {home.located(row.source) for row in rows if row is not None}


def rebuild(home: Home, ledger: Ledger) -> tuple[list[str], list[str]]:
    """Register corpora that a lost or older ledger does not know as they are now. Returns names of
    those that were registered, and of those without a manifest, to be imported again."""
    found, unknown = [], []
    for name in sorted(_names_of_folders(home) | (home.mirror.names() if home.mirror else set())):
        with alone(ledger, name):
            known, row = ledger.corpus(name), _in_store(home, name) or _found_manifest(home, name)
            is_known = known is not None and not _is_behind(home, known, row)
            if is_known or (row is not None and row.state == "deleted"):
                continue
            try:
                if row is not None and not row.generation:
                    row = replace(row, documents=DocumentTable.open(store_of(home, row)).count())
            except StorageError:  # the others can still be registered
                row = None
            if row is None:
                unknown.append(name)
            else:
                ledger.put_generation(row, known.generation if known else "")
                found.append(name)
    return found, unknown


def _is_behind(home: Home, known: CorpusRow, found: CorpusRow | None) -> bool:
    """Whether the home or the store has a newer corpus than the row of an older ledger."""
    if known.generation:
        is_other = found is not None and found.generation not in ("", known.generation)
        return known.state == "ready" and is_other
    if found is not None and found.updated_at > known.updated_at:
        return True
    return known.state == "ready" and not DocumentTable.is_stored(store_of(home, known))


def sources_of(store: Path) -> tuple[CorpusSource, ...]:
    """The services whose documents are in a folder, in the order of their first imports."""
    try:
        return _SOURCES.validate_json((store / _SOURCES_FILE).read_bytes())
    except (OSError, ValueError):
        return ()


def write_sources(store: Path, sources: Iterable[CorpusSource]) -> None:
    """Replace the services of a folder."""
    if found := tuple(sources):
        write_whole(store / _SOURCES_FILE, _SOURCES.dump_json(found, indent=1))


def write_manifest(home: Home, row: CorpusRow) -> None:
    """Write a corpus's row beside its documents."""
    store = store_of(home, row)
    if store.is_dir():
        with suppress(OSError):  # the ledger has it
            write_whole(store / _MANIFEST, _ROW.dump_json(row, indent=1))


def _in_store(home: Home, name: str) -> CorpusRow | None:
    """The manifest of the newest generation of a corpus in the store; None without one."""
    newest = home.mirror.newest(name) if home.mirror is not None else None
    if newest is None or home.mirror is None:
        return None
    row = _read_manifest(name, home.mirror.read(newest, _MANIFEST) or b"")
    return row and replace(row, generation=newest.id)


def _found_manifest(home: Home, name: str) -> CorpusRow | None:
    """The manifest in the newest folder of a corpus that has one; None where none has."""
    for folder in folders_of(home, name):
        if row := _read_manifest(name, folder / _MANIFEST):
            return replace(row, lens=registered(lens_from_json(row.lens), folder))
    return None


def _read_manifest(name: str, manifest: Path | bytes) -> CorpusRow | None:
    """The row of a manifest; None where it cannot be read."""
    try:
        content = manifest.read_bytes() if isinstance(manifest, Path) else manifest
        row = replace(_ROW.validate_json(content), name=name, generation="")
        lens_from_json(row.lens), EncoderSpec.from_json(row.encoder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return row
