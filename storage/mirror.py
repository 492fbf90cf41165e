"""Corpora in an object store, and the copies of them that a home works with.

A *generation* is one state of a corpus: an object that lists its files, which are never
overwritten. The ledger names the current one, so that updating one row changes the corpus for all
servers::

    corpora/NAME/generations/ID.json           the list
    corpora/NAME/TABLES/documents.lance/...    files of Lance tables, which never change, by path
    corpora/NAME/files/SHA256                  all other files, by content

A server downloads missing files and opens the copy. Where the documents do not fit, Lance reads
them in the store.
"""

from __future__ import annotations

import json
import secrets
import shutil
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath

from pydantic import TypeAdapter

from storage.errors import StorageError, StorageFullError
from storage.files import COPY, digest_of, file_errors, write_whole
from storage.locks import alone
from storage.object_store import CONNECTIONS, ObjectStore, TakenError
from storage.removal import changed_at, delete
from storage.vectors import DocumentTable, Remote

FORMAT = 2  # Version of the layout in the store
MOST_SOURCE_BYTES = 200 * 2**20
"""Uploads of up to this size are stored with the corpus that was made of them."""
UNUSED_KEPT = timedelta(days=1)
"""How long objects stay that no current generation lists: another server may be reading them."""
LOCK_SECONDS = 600.0
TOUCH_SECONDS = 60.0


@dataclass(frozen=True, slots=True, order=True)
class StoredFile:
    """A file by its path in the corpus's folder."""

    path: str
    bytes: int
    sha256: str = ""  # "" for files of tables, which never change, except manifests of versions

    @property
    def table(self) -> str:
        """The table that it belongs to; "" for none."""
        name, _, rest = self.path.partition(".lance/")
        return name if rest else ""

    @property
    def version(self) -> int:
        """The version of a table whose files it lists; 0 for other files."""
        path = PurePosixPath(self.path)
        if not self.table or path.parent.name != "_versions":
            return 0
        # Counted down, in 20 digits, or as it is.
        return 2**64 - 1 - int(path.stem) if len(path.stem) == 20 else int(path.stem)

    def is_in(self, folder: Path) -> bool:
        """Whether a folder has it, by size and, where replaceable, content."""
        path = folder / self.path
        try:
            same = path.stat().st_size == self.bytes
            return same and (not self.sha256 or digest_of(path) == self.sha256)
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class Generation:
    """One state of a corpus."""

    name: str
    id: str
    tables: str  # the store's folder with its tables
    files: tuple[StoredFile, ...]
    # the corpus's upload, by path in the folder of uploads; () for another source, or a large one
    source: tuple[StoredFile, ...] = ()

    @property
    def bytes(self) -> int:
        """Size of all files together."""
        return sum(file.bytes for file in self.files)

    def has(self, table: str) -> bool:
        """Whether it has a table."""
        return any(file.table == table for file in self.files)

    def key(self, file: StoredFile) -> str:
        """The key of a file in the store."""
        place = f"{self.tables}/{file.path}" if file.table else f"files/{file.sha256}"
        return f"corpora/{self.name}/{place}"

    def keys(self) -> set[str]:
        """The keys of all its objects."""
        return {_lists(self.name, self.id), *map(self.key, (*self.files, *self.source))}


@dataclass(frozen=True, slots=True)
class Copy:
    """The generation of which a folder of the home is a copy."""

    generation: Generation
    documents: bool  # False where they are read in the store
    writing: bool = False  # a process is changing the copy, or was when it ended

    @property
    def files(self) -> list[StoredFile]:
        """The files that the folder has."""
        files = self.generation.files
        return [one for one in files if self.documents or one.table != DocumentTable.name]

    @property
    def bytes(self) -> int:
        """Size of these files together."""
        return sum(file.bytes for file in self.files)


_GENERATION, _COPY = TypeAdapter(Generation), TypeAdapter(Copy)


class Mirror:
    """Copies of corpora in a home; thread- and process-safe.

    `corpora`, `uploads`: folders of the home. `megabytes`: of all copies; None for as much as the
    disk has.
    """

    def __init__(
        self, store: ObjectStore, corpora: Path, uploads: Path, megabytes: int | None
    ) -> None:
        self.store, self._corpora, self._uploads = store, corpora, uploads
        self._most = float("inf") if megabytes is None else megabytes * 2**20
        self._direct: set[str] = set()  # generations whose documents have no room here
        self._generation = lru_cache(maxsize=64)(self._fetched)

    def lock(self, name: str, wait: float = LOCK_SECONDS) -> AbstractContextManager[None]:
        """Lock the copy of a corpus among the processes of this machine."""
        file = self._corpora / f"{name}.copy"
        busy = f"The corpus '{name}' is being copied from {self.store.name}."
        return alone(file, busy, "Try again when that is done.", wait)

    # -- copies --------------------------------------------------------------------------

    def copy_in(self, folder: Path) -> Copy | None:
        """The copy in a folder; None without one."""
        try:
            found = (folder / COPY).stat()
            return _read_copy(folder / COPY, found.st_ino, found.st_mtime_ns)
        except (OSError, ValueError):
            return None

    def is_copy(self, folder: Path) -> bool:
        """Whether the store has all that is in a folder."""
        copy = self.copy_in(folder)
        return copy is not None and not copy.writing

    def note(self, folder: Path, copy: Copy) -> None:
        """Record the generation that a folder is a copy of."""
        with file_errors(folder / COPY):
            write_whole(folder / COPY, _COPY.dump_json(copy))

    def current(self, folder: Path, id_: str, documents: bool) -> Copy | None:
        """The copy in a folder if it is of this generation, with the documents that fit."""
        copy = self.copy_in(folder)
        if copy is None or copy.generation.id != id_:
            return None
        if documents and not copy.documents and id_ not in self._direct:
            return None
        with suppress(OSError):  # the time only orders copies by their last use
            if time.time() - (folder / COPY).stat().st_mtime > TOUCH_SECONDS:
                (folder / COPY).touch()
        return copy

    def refresh(self, name: str, folder: Path, id_: str, documents: bool, *, writing: bool) -> Copy:
        """Make a folder a copy of a generation, under :meth:`lock`; ``writing`` to change it.

        Files of the former generation stay until the next one, for its readers.
        """
        former = self.copy_in(folder)
        had = former is not None and former.documents
        if former is not None and former.generation.id == id_ and (had or not documents):
            if writing and not former.writing:
                former = replace(former, writing=True)
                self.note(folder, former)
            return former
        generation = self._generation(name, id_)
        if former is None and folder.exists():
            delete(folder)  # of an import that another server did again
        copy = Copy(generation, documents or had, writing)
        if not self.make_room(folder, copy):
            without = replace(copy, documents=False)
            if not copy.documents or (documents and writing) or not self.make_room(folder, without):
                raise self.no_room(name)
            copy = without
            self._direct.add(id_)
        self._download(folder, copy)
        # Other files go, except those of the former generation.
        kept = {file.path for file in copy.files}
        before = {file.path for file in former.files if not file.version} if former else set()
        tables = {file.table for file in copy.files}
        others = (table for table in folder.glob("*.lance") if table.stem not in tables)
        for gone in (*(folder / path for path in {*_paths(folder)} - kept - before), *others):
            delete(gone)
        self.note(folder, copy)
        return copy

    def no_room(self, name: str) -> StorageFullError:
        """The error for a corpus whose copy does not fit."""
        return StorageFullError(
            f"The corpus '{name}' has no room in {self._corpora.parent}.",
            "Free some space, or set SEEDLENS_MIRROR_MEGABYTES to more.",
        )

    def remote(self, copy: Copy) -> Remote | None:
        """The place of the documents that a copy lacks; None where it has them."""
        if copy.documents:
            return None
        generation = copy.generation
        uri, options = self.store.lance(f"corpora/{generation.name}/{generation.tables}")
        documents = (file for file in generation.files if file.table == DocumentTable.name)
        newest = max(documents, key=lambda file: file.version)
        return Remote(uri, tuple(options.items()), newest.version, newest.sha256)

    def _download(self, folder: Path, copy: Copy) -> None:
        """Download missing files; manifests last, in the order of their versions."""
        generation = copy.generation

        def fetch(file: StoredFile, target: Path) -> None:
            self.store.fetch(generation.key(file), target / file.path, file.bytes)

        folder.mkdir(parents=True, exist_ok=True)
        wanted = [file for file in copy.files if not file.is_in(folder)]
        _at_once(partial(fetch, file, folder) for file in wanted if not file.version)
        for file in sorted(wanted, key=lambda file: file.version):
            if file.version:
                fetch(file, folder)
        for file in generation.source:
            if not (self._uploads / file.path).exists():
                fetch(file, self._uploads)

    def make_room(self, folder: Path, copy: Copy) -> bool:
        """Delete the copies used longest ago until this one fits; False where it cannot."""
        found = {at.parent: self.copy_in(at.parent) for at in self._corpora.glob(f"*/{COPY}")}
        others = {at: one for at, one in found.items() if one is not None and at != folder}
        movable = [at for at, one in others.items() if not one.writing]
        lacking = sum(file.bytes for file in copy.files if not file.is_in(folder))
        held = sum(one.bytes for one in others.values())
        free = shutil.disk_usage(self._corpora.parent).free
        room = min(free - lacking, self._most - copy.bytes - held)
        if room + sum(others[at].bytes for at in movable) < 0:
            return False
        for at in sorted(movable, key=lambda at: str(changed_at(at / COPY))):
            if room < 0:
                with suppress(StorageError), self.lock(others[at].generation.name, wait=0.0):
                    room += others[at].bytes * (self.is_copy(at) and delete(at))
        return room >= 0

    # -- generations -----------------------------------------------------------------------

    def publish(self, name: str, folder: Path, source: Path) -> Generation:
        """Write a folder to the store as a generation; the same one where nothing changed.

        The caller holds the corpus's lock and puts the result into the ledger. ``source``: the
        corpus's upload, a file or a folder.
        """
        copy = self.copy_in(folder)
        files = [_listed(folder, path) for path in _paths(folder)]
        drawn = f"tables-{secrets.token_hex(6)}"
        if copy is None:
            base, tables, upload = None, drawn, self._source_files(source)
        else:
            base, tables, upload = copy.generation, copy.generation.tables, copy.generation.source
            if not copy.documents:
                files += [file for file in base.files if file.table == DocumentTable.name]
            if sorted(files) == sorted(base.files):
                return base
        id_ = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(4)}"
        new = Generation(name, id_, tables, tuple(sorted(files)), upload)
        try:
            self._upload(folder, new, base)
        except TakenError:  # by a version that a killed process had begun to publish
            if copy is not None and not copy.documents:
                raise
            new = replace(new, tables=drawn)
            self._upload(folder, new, None)
        fields = {"format": FORMAT, **_GENERATION.dump_python(new)}
        self.store.put(_lists(name, id_), json.dumps(fields).encode())
        return new

    def _source_files(self, source: Path) -> tuple[StoredFile, ...]:
        uploads = self._uploads.resolve()
        if uploads not in source.parents:
            return ()
        paths = [source] if source.is_file() else sorted(filter(Path.is_file, source.rglob("*")))
        if sum(path.stat().st_size for path in paths) > MOST_SOURCE_BYTES:
            return ()
        return tuple(_listed(uploads, path.relative_to(uploads).as_posix()) for path in paths)

    def _upload(self, folder: Path, new: Generation, base: Generation | None) -> None:
        """Upload missing files; manifests last, and none over another."""
        there = set() if base is None else base.keys()
        files = [(folder / file.path, file) for file in new.files]
        files += [(self._uploads / file.path, file) for file in new.source if base is None]
        missing = [(path, file) for path, file in files if new.key(file) not in there]
        _at_once(
            partial(self.store.send, path, new.key(file))
            for path, file in missing
            if not file.version and (path.is_file() or file not in new.source)
        )
        for path, file in missing:
            if file.version:
                self.store.create(new.key(file), path.read_bytes())

    def _fetched(self, name: str, id_: str) -> Generation:
        fields = json.loads(self.store.get(_lists(name, id_)))
        if fields["format"] > FORMAT:
            raise StorageError(
                f"The corpus '{name}' in the store was written by a newer SeedLens.",
                "Upgrade SeedLens on this machine.",
            )
        return _GENERATION.validate_python(fields)

    def ages(self, name: str) -> dict[str, timedelta]:
        """The generations of a corpus that are in the store, the newest first, and their ages."""
        found = [*self.store.objects(_lists(name))]  # by key
        return {PurePosixPath(one.key).stem: one.age for one in reversed(found)}

    def newest(self, name: str) -> Generation | None:
        """The generation of a corpus that was written last."""
        return next((self._generation(name, id_) for id_ in self.ages(name)), None)

    def read(self, generation: Generation, path: str) -> bytes | None:
        """The content of a file of a generation; None without it."""
        found = next((file for file in generation.files if file.path == path), None)
        return None if found is None else self.store.get(generation.key(found))

    # -- removing --------------------------------------------------------------------------------

    def names(self) -> set[str]:
        """The corpora of which there is anything in the store."""
        return self.store.folders("corpora/")

    def remove(self, name: str) -> None:
        """Remove all objects of a corpus."""
        self._remove(name, (one.key for one in self.store.objects(f"corpora/{name}/")))

    def sweep(self, name: str, current: str) -> None:
        """Remove objects that neither the current generation ("" before the first) nor one that was
        current until lately lists, under the corpus's lock."""
        objects, ages = list(self.store.objects(f"corpora/{name}/")), self.ages(name)
        if current and current not in ages:
            return  # only its list names the files of the corpus
        used: set[str] = set()
        superseded = timedelta(0)  # for so long
        for id_, age in ages.items():
            if id_ == current or superseded <= UNUSED_KEPT:
                used |= self._generation(name, id_).keys()
            superseded = age
        self._remove(name, (o.key for o in objects if o.key not in used and o.age > UNUSED_KEPT))

    def _remove(self, name: str, keys: Iterable[str]) -> None:
        """Lists first, so that none is without its files."""
        self.store.remove(sorted(keys, key=lambda key: not key.startswith(_lists(name))))


@lru_cache(maxsize=64)
def _read_copy(file: Path, _inode: int, _changed: int) -> Copy:
    return _COPY.validate_json(file.read_bytes())


def _paths(folder: Path) -> list[str]:
    """Files of a corpus in its folder, without hints and temporary files."""
    found = []
    for file in folder.rglob("*"):
        path = file.relative_to(folder)
        apart = path.parts[0] == COPY or path.name == "latest_version_hint.json"
        if not apart and not any(part.startswith(".") for part in path.parts) and file.is_file():
            found.append(path.as_posix())
    return found


def _listed(folder: Path, path: str) -> StoredFile:
    file = StoredFile(path, (folder / path).stat().st_size)
    is_fixed = file.table and not file.version
    return file if is_fixed else replace(file, sha256=digest_of(folder / path))


def _at_once(work: Iterable[Callable[[], None]]) -> None:
    """Run in threads; raises the first error when all that had begun are done."""
    with ThreadPoolExecutor(CONNECTIONS, "seedlens-store") as pool:
        for _ in pool.map(lambda one: one(), work):  # an error cancels those that had not begun
            pass


def _lists(name: str, id_: str = "") -> str:
    """The key of the list of a generation; without ``id_``, with which those of a corpus begin."""
    return f"corpora/{name}/generations/" + (f"{id_}.json" if id_ else "")
