"""Corpora that several homes share: read as they are now, and written so that all have it.

Where there is no object store a corpus is in its home, and all of this is next to nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.config import Settings
from engine.corpora.folders import store_of
from engine.errors import (
    BadInputError,
    CorpusMissingError,
    SeedLensError,
    StorageError,
    StorageFullError,
)
from storage.digests import find_changed, read_digests, write_digests
from storage.errors import CorpusBusyError
from storage.home import Home
from storage.ledger import Ledger
from storage.records import CorpusRow
from storage.vectors import DocumentTable, Remote

if TYPE_CHECKING:
    from storage.mirror import Copy, Generation, Part

WAIT_SECONDS = 10.0
"""For whoever writes a corpus, when what is to be added to it took long to make."""
log = logging.getLogger("seedlens")


def home_of(settings: Settings) -> Home:
    """The home that is set, with the store that its corpora lie in.

    Raises:
        BadInputError: there is a store without a ledger that others can share.
        StorageError: the store's address is none, or its package is missing.
    """
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

    megabytes = settings.mirror_megabytes
    most = None if megabytes is None else megabytes * 2**20
    return Home(settings.home, Mirror(ObjectStore(settings.store), settings.home, most))


def to_search(home: Home, ledger: Ledger, row: CorpusRow) -> tuple[CorpusRow, Remote | None]:
    """See to it that a corpus can be opened here as it is now.

    Returns:
        its row, which may be a newer one; and where its documents are, None when they are here.

    Raises:
        CorpusMissingError: it has no documents yet, or was deleted just now.
        StorageError: the store cannot be read, or is not set.
    """
    found = _copied(home, ledger, row, "all")
    if found is None or home.mirror is None:
        return row, None
    return found[0], home.mirror.remote(found[1])


def generation_of(home: Home, ledger: Ledger, row: CorpusRow) -> Generation | None:
    """What there is of a corpus in the store, its small files brought here; None where no store has
    it. Raises as :func:`to_search`."""
    found = _copied(home, ledger, row, "notes")
    return found[1].generation if found else None


def bring(home: Home, ledger: Ledger, rows: Sequence[CorpusRow], part: Part = "all") -> None:
    """Copy so much of corpora into the home, with all their selections, and have it there at once;
    StorageFullError where it has no room."""
    found = [copied for row in rows if (copied := _copied(home, ledger, row, part))]
    for row, _ in found:
        folder = store_of(home, row)
        if home.mirror is None:
            continue
        home.mirror.find_selections(row.name, folder)
        copy = home.mirror.copy_in(folder)  # it may have given way to those after it
        if copy is None or not copy.has(part):
            raise StorageFullError(
                f"The corpus '{row.name}' has no room in {home.root}.",
                "Free some space, or set SEEDLENS_MIRROR_MEGABYTES to more.",
            )


def _copied(
    home: Home, ledger: Ledger, row: CorpusRow, part: Part
) -> tuple[CorpusRow, Copy] | None:
    mirror = home.mirror
    if mirror is None or not row.generation:
        _check_own(home, row)
        return None
    copy = mirror.current(store_of(home, row), row.generation, part)
    if copy is not None:
        return row, copy
    with mirror.lock(row.name):
        now = ledger.listed_corpus(row.name)  # it may be another one since the lock was asked for
        if now is None or not now.generation:
            raise CorpusMissingError(f"The corpus '{row.name}' was deleted just now.")
        folder = store_of(home, now)
        return now, mirror.refresh(now.name, folder, now.generation, part, writing=False)


def digests_of(home: Home, row: CorpusRow) -> dict[str, str]:
    """SHA-256 of the files of a corpus's tables as they were written, by path in its folder."""
    folder = store_of(home, row)
    copy = None if home.mirror is None else home.mirror.copy_in(folder)
    if copy is None:
        return read_digests(folder)
    return {file.path: file.sha256 for file in copy.files if file.table}


def damaged(
    home: Home, row: CorpusRow, changed: Sequence[str] = (), lost: Sequence[str] = ()
) -> StorageError:
    """The error of a corpus of which the disk has changed or lost files."""
    files = lost or changed
    more = f" and {len(files) - 1:,} more" if len(files) > 1 else ""
    what = "is not there" if lost else "changed after it was written"
    remedy = (
        "Delete it on Library and import its source again, or restore a backup from before. Until "
        "then, seedlens backup --only irreplaceable keeps the rest."
    )
    if home.mirror is not None and row.generation:
        remedy = f"Remove {store_of(home, row)}: it is copied again from {home.mirror.store.name}."
    return StorageError(f"The corpus '{row.name}' is damaged: {files[0]}{more} {what}.", remedy)


@contextmanager
def writing(
    home: Home,
    ledger: Ledger,
    name: str,
    busy: str,
    remedy: str,
    *,
    wait: float = 0.0,
    documents: bool = True,
) -> Iterator[None]:
    """Write a corpus, alone on whatever machines share it; at the end all have what was written.

    Args:
        busy, remedy, wait: as :func:`storage.locks.alone`.
        documents: False where only what lies beside them is written.

    Raises:
        CorpusBusyError: somebody else writes it.
        StorageFullError: it has no room here.
        StorageError: the store cannot be read or written, or files of it that would be written anew
            are damaged.
    """
    with ledger.locks.alone(home.corpus_lock(name), busy, remedy, wait):
        _begin(home, ledger, name, "all" if documents else "tables")
        if documents:
            _check_sound(home, ledger, name)
        try:
            yield
        except StorageError:
            raise
        except Exception:
            with suppress(SeedLensError):  # what was written before is for all; the error counts
                _end(home, ledger, name)
            raise
        _end(home, ledger, name)


def publish(home: Home, ledger: Ledger, row: CorpusRow) -> None:
    """Put a corpus into the registry, as it is in its folder now; in one step for all homes.

    The caller is :func:`writing` it.

    Raises:
        StorageError: the store cannot be written to, the disk has changed or lost files of the
            copy, or somebody else wrote the corpus meanwhile.
    """
    mirror = home.mirror
    if mirror is None:
        ledger.put_corpus(row)
        return
    from storage.mirror import ChangedFilesError, Copy

    folder = store_of(home, row)
    _check_copy(home, row)
    try:
        generation = mirror.publish(row.name, folder, Path(home.located(row.source)))
    except ChangedFilesError as error:
        raise damaged(home, row, error.paths) from error
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
                "What it wrote stands. Run the same command again.",
            )
        mirror.note(folder, Copy(generation, held.part if held else "all"))
        mirror.make_room(folder)


@contextmanager
def adding(home: Home, ledger: Ledger, name: str) -> Iterator[None]:
    """Write a file beside the documents of a corpus, whole, and let all homes have it; as
    :func:`writing`, but where the corpus is in this home alone, only others who do so wait, not
    those who import."""
    busy = f"The corpus '{name}' is being written to by another process."
    remedy = "Do the same again when that is done."
    if home.mirror is None:
        lock = home.corpus_lock(name).with_suffix(".beside.lock")
        with ledger.locks.alone(lock, busy, remedy, WAIT_SECONDS):
            yield
        return
    with writing(home, ledger, name, busy, remedy, wait=WAIT_SECONDS, documents=False):
        yield


def publish_all(home: Home, ledger: Ledger) -> None:
    """Bring corpora into the store that were imported here before there was one, and what was
    written to a corpus here and did not get there.

    Raises:
        StorageError: the store cannot be written to.
    """
    if home.mirror is None:
        return
    for row in ledger.listed_corpora():
        folder = store_of(home, row)
        copy = home.mirror.copy_in(folder)
        own = row.state == "ready" and not row.generation and DocumentTable.is_stored(folder)
        if copy.writing if copy else own:
            with suppress(CorpusBusyError), writing(home, ledger, row.name, "", ""):
                log.info("Bringing the corpus '%s' into %s.", row.name, home.mirror.store.name)


def sweep_store(home: Home, ledger: Ledger) -> None:
    """Remove from the store what nothing needs, and corpora that were deleted long ago."""
    mirror = home.mirror
    if mirror is None:
        return
    from storage.mirror import STAYS

    for name in mirror.names():
        with suppress(CorpusBusyError), ledger.locks.alone(home.corpus_lock(name), "", ""):
            row = ledger.corpus(name)
            if row is not None and row.state == "deleted" and row.generation:
                age = mirror.deleted_for(name)
                if age is None:
                    mirror.mark_deleted(name)
                if age is None or age <= STAYS:
                    continue
                ledger.remove_corpus(row)
                row = ledger.corpus(name)
            mirror.sweep(name, None if row is None else row.generation)


def _begin(home: Home, ledger: Ledger, name: str, part: Part) -> None:
    row = ledger.listed_corpus(name)
    if home.mirror is None:
        if row is not None:
            _check_own(home, row)
    elif row is None or not row.generation:
        # What lies under the name is of a corpus that was deleted, or of an import to go on with.
        home.mirror.forget(name, home.corpus(name) if row is None else store_of(home, row))
    else:
        with home.mirror.lock(name):
            folder = store_of(home, row)
            copy = home.mirror.copy_in(folder)
            if copy is not None and copy.generation.id == row.generation:  # else it is made anew
                _check_copy(home, row)
            home.mirror.refresh(name, folder, row.generation, part, writing=True)


def _check_copy(home: Home, row: CorpusRow) -> None:
    """Raise StorageError where what the disk did to a copy would take the place of what the store
    has."""
    folder = store_of(home, row)
    copy = None if home.mirror is None else home.mirror.copy_in(folder)
    if copy is None:
        return
    if copy.has("all") and not DocumentTable.is_stored(folder):
        raise damaged(home, row, lost=[f"{DocumentTable.name}.lance"])
    files = [file for file in copy.files if file.table and not file.is_version]
    sizes = {file.path: _size(folder / file.path) for file in files}
    changed = [file.path for file in files if sizes[file.path] not in (None, file.bytes)]
    if changed:
        raise damaged(home, row, changed)
    if None in sizes.values():  # most have only given way to others
        from storage.fragments import missing  # late: it loads another copy of Lance

        if lost := missing(folder, digests_of(home, row)):
            raise damaged(home, row, lost=lost)


def _size(file: Path) -> int | None:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return None


def _check_sound(home: Home, ledger: Ledger, name: str) -> None:
    """Raise StorageError where compacting would make sound files of damaged ones."""
    row = ledger.listed_corpus(name)
    known = {} if row is None else digests_of(home, row)
    if row is None or not known:
        return
    from storage.fragments import small  # late: it loads another copy of Lance

    folder = store_of(home, row)
    changed, _ = find_changed(folder, known, small(folder))
    if changed:
        raise damaged(home, row, changed)


def _end(home: Home, ledger: Ledger, name: str) -> None:
    row = ledger.listed_corpus(name)
    if row is None:
        return
    if home.mirror is None:
        with suppress(OSError):  # what was written is there; what is not listed is not checked
            write_digests(store_of(home, row))
    elif row.generation or row.state == "ready":
        publish(home, ledger, row)


def _check_own(home: Home, row: CorpusRow) -> None:
    if home.mirror is None and row.generation:
        raise StorageError(
            f"The corpus '{row.name}' is in an object store.",
            "Set SEEDLENS_STORE to it, as it is on the servers that share this ledger.",
        )
    if home.mirror is not None and home.mirror.copy_in(store_of(home, row)) is not None:
        raise CorpusMissingError(  # the copy is of one of that name that was deleted
            f"The corpus '{row.name}' has no documents yet.",
            "Try again when its import has stored some; import it again if none runs.",
        )
