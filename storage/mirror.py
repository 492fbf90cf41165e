"""Corpora in an object store, and the copies of them that a home works with.

A *generation* is one state of a corpus: an object that lists its files, which are never
overwritten. The ledger names the current one, so that updating one row changes the corpus for all
servers::

    corpora/NAME/generations/ID.json           the list
    corpora/NAME/TABLES/documents.lance/...    files of Lance tables, which never change, by path
    corpora/NAME/files/SHA256                  all other files, by content
    corpora/NAME/selections/KEY.json           selections of documents

A server downloads missing files and opens the copy. Where the documents do not fit, Lance reads
them in the store.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pydantic import TypeAdapter

from storage.errors import StorageError, StorageFullError
from storage.files import COPY, digest_of, file_errors, write_whole
from storage.locks import alone
from storage.object_store import CONNECTIONS, ObjectStore, StoredObject, TakenError
from storage.removal import changed_at, delete, delete_unused
from storage.selections import FOLDER as SELECTIONS
from storage.selections import write_given
from storage.vectors import DocumentTable, Remote

FORMAT = 2
"""Version of the layout in the store; lists of version 1 are read too."""
MOST_SOURCE_BYTES = 200 * 2**20
"""Uploads of up to this size are stored with the corpus that was made of them."""
UNUSED_KEPT = timedelta(days=1)
"""How long objects stay that no current generation lists: another server may be reading them."""
LOCK_SECONDS = 600.0
TOUCH_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file by its path in the corpus's folder."""

    path: str
    bytes: int
    sha256: str = ""  # "" for files of tables, which never change, except manifests of versions

    @property
    def table(self) -> str:
        """The folder of the table that it belongs to; "" for none."""
        first = PurePosixPath(self.path).parts[0]
        return first if first.endswith(".lance") else ""

    @property
    def is_of_documents(self) -> bool:
        """Whether it belongs to the table of documents."""
        return self.table == f"{DocumentTable.name}.lance"

    @property
    def is_manifest(self) -> bool:
        """Whether it lists the files of one version of a table."""
        return bool(self.table) and PurePosixPath(self.path).parent.name == "_versions"


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
        return any(file.table == f"{table}.lance" for file in self.files)

    def key(self, file: StoredFile) -> str:
        """Where a file lies in the store."""
        place = f"{self.tables}/{file.path}" if file.table else f"files/{file.sha256}"
        return f"corpora/{self.name}/{place}"

    def files_of(self, documents: bool) -> list[StoredFile]:
        """All files, or all but those of the documents."""
        return [file for file in self.files if documents or not file.is_of_documents]


@dataclass(frozen=True, slots=True)
class Copy:
    """The generation of which a folder of the home is a copy."""

    generation: Generation
    documents: bool  # False where they are read in the store
    writing: bool = False  # a process is changing the copy, or was when it ended

    @property
    def files(self) -> list[StoredFile]:
        """The files that the folder has."""
        return self.generation.files_of(self.documents)


_GENERATION, _COPY = TypeAdapter(Generation), TypeAdapter(Copy)


class Places(NamedTuple):
    """The folders of a home that copies are about, and the lock file of a corpus."""

    root: Path
    corpora: Path
    uploads: Path
    corpus_lock: Callable[[str], Path]


class Mirror:
    """Copies of corpora in a home; thread- and process-safe.

    Args:
        most_bytes: of all copies; None for as much as the disk has.
    """

    def __init__(self, store: ObjectStore, places: Places, most_bytes: int | None) -> None:
        self.store, self._places, self._most = store, places, most_bytes
        self._read: dict[Path, tuple[tuple[int, int], Copy]] = {}
        self._direct: set[str] = set()
        self._generation = lru_cache(maxsize=64)(self._fetched)

    def lock(self, name: str, wait: float = LOCK_SECONDS) -> AbstractContextManager[None]:
        """Alone among the processes of this machine with the copy of a corpus."""
        file = self._places.corpus_lock(name).with_suffix(".copy")
        busy = f"The corpus '{name}' is being copied from {self.store.name}."
        return alone(file, busy, "Try again when that is done.", wait)

    # -- copies --------------------------------------------------------------------------

    def copy_in(self, folder: Path) -> Copy | None:
        """The copy in a folder; None where there is none, or it cannot be read."""
        file = folder / COPY
        try:
            found = file.stat()
            stamp = (found.st_ino, found.st_mtime_ns)
            known = self._read.get(folder)
            if known is None or known[0] != stamp:
                known = self._read[folder] = (stamp, _parsed_copy(file.read_bytes()))
            return known[1]
        except (OSError, ValueError):
            return None

    def note(self, folder: Path, copy: Copy) -> None:
        """Record the generation that a folder is a copy of."""
        with file_errors(folder / COPY):
            write_whole(folder / COPY, _COPY.dump_json(copy))

    def current(self, folder: Path, id_: str, documents: bool) -> Copy | None:
        """The copy in a folder if it is of this generation, with the documents if wanted and
        fitting."""
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
        """Make a folder a copy of a generation; the caller holds :meth:`lock`.

        Files of the former generation stay until the next one, for its readers.

        Args:
            writing: the caller will change the copy, so there must be room for it.
        """
        copy = self.copy_in(folder)
        if copy is None or copy.generation.id != id_ or (documents and not copy.documents):
            generation = self._generation(name, id_)
            if copy is None and folder.exists():
                delete(folder)  # of an import that another server did again
            wanted = documents or (copy is not None and copy.documents)
            documents = self._fits(folder, generation, wanted, needed=documents and writing)
            former = set() if copy is None else {file.path for file in copy.files}
            copy = Copy(generation, documents, writing)
            self._download(folder, copy)
            self._drop(folder, {file.path for file in copy.files}, former)
            self.note(folder, copy)
        elif writing and not copy.writing:
            copy = replace(copy, writing=True)
            self.note(folder, copy)
        return copy

    def forget(self, name: str, folder: Path) -> None:
        """Delete the copy of a corpus that was deleted."""
        with self.lock(name):
            if self.copy_in(folder) is not None:
                delete(folder)

    def remote(self, copy: Copy) -> Remote | None:
        """Where the documents lie that a copy lacks; None where it has them."""
        if copy.documents:
            return None
        generation = copy.generation
        uri, options = self.store.lance(f"corpora/{generation.name}/{generation.tables}")
        manifests = [file for file in generation.files if file.is_manifest and file.is_of_documents]
        newest = max(manifests, key=_version)
        return Remote(uri, tuple(options.items()), _version(newest), newest.sha256)

    def _download(self, folder: Path, copy: Copy) -> None:
        """Download missing files; manifests last, in the order of their versions."""
        generation = copy.generation
        wanted = [file for file in copy.files if not _is_there(folder, file)]

        def fetch(file: StoredFile, target: Path) -> None:
            self.store.fetch(generation.key(file), target, file.bytes)

        folder.mkdir(parents=True, exist_ok=True)
        _at_once(partial(fetch, f, folder / f.path) for f in wanted if not f.is_manifest)
        for file in sorted((file for file in wanted if file.is_manifest), key=_version):
            fetch(file, folder / file.path)
        for file in generation.source:
            if not (self._places.uploads / file.path).exists():
                fetch(file, self._places.uploads / file.path)

    def _drop(self, folder: Path, kept: set[str], former: set[str]) -> None:
        """Delete other files, except those of the former generation."""
        for path in _paths(folder):
            if path not in kept and (path not in former or StoredFile(path, 0).is_manifest):
                delete(folder / path)
        tables = {StoredFile(path, 0).table for path in kept}
        for gone in (table for table in folder.glob("*.lance") if table.name not in tables):
            delete(gone)

    # -- room ------------------------------------------------------------------------------

    def _fits(self, folder: Path, generation: Generation, documents: bool, needed: bool) -> bool:
        """Make room for a generation; False where its documents stay in the store."""
        if self.make_room(folder, generation.files_of(documents)):
            return documents
        if documents and not needed and self.make_room(folder, generation.files_of(False)):
            self._direct.add(generation.id)
            return False
        raise StorageFullError(
            f"The corpus '{generation.name}' ({generation.bytes / 1e6:,.0f} MB) has no room in "
            f"{self._places.root}.",
            "Free some space, or set SEEDLENS_MIRROR_MEGABYTES to more.",
        )

    def make_room(self, folder: Path, files: Sequence[StoredFile]) -> bool:
        """Delete the least recently used copies until these files fit; False, deleting nothing,
        where they cannot."""
        lacking = sum(file.bytes for file in files if not _is_there(folder, file))
        own, free = sum(file.bytes for file in files), shutil.disk_usage(self._places.root).free
        most = float("inf") if self._most is None else self._most
        copies = (
            (file.parent, self.copy_in(file.parent))
            for file in self._places.corpora.glob(f"*/{COPY}")
        )
        others = {at: copy for at, copy in copies if copy is not None and at != folder}
        sizes = {at: sum(file.bytes for file in copy.files) for at, copy in others.items()}
        held = sum(sizes.values())
        movable = sum(sizes[at] for at, copy in others.items() if not copy.writing)
        if lacking > free + movable or own + held - movable > most:
            return False
        for at in sorted(others, key=lambda at: str(changed_at(at / COPY))):
            if lacking <= free and own + held <= most:
                break
            lock = self.lock(others[at].generation.name, wait=0.0)
            if delete_unused(at, partial(self._unused_since, at), timedelta(0), lock):
                free, held = free + sizes[at], held - sizes[at]
        return lacking <= free and own + held <= most

    def _unused_since(self, folder: Path) -> datetime | None:
        copy = self.copy_in(folder)
        return None if copy is None or copy.writing else changed_at(folder / COPY)

    # -- generations -----------------------------------------------------------------------

    def publish(self, name: str, folder: Path, source: Path | None) -> Generation:
        """Write a folder to the store as a generation; the same one where nothing changed. The
        caller holds the corpus's lock and puts the result into the ledger.

        Args:
            source: the corpus's upload: a file or a folder.
        """
        copy = self.copy_in(folder)
        base = copy.generation if copy else None
        contents: dict[str, bytes] = {}
        files = self._listed(folder, copy, contents)
        if base is not None and files == base.files:
            return base
        id_ = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(4)}"
        upload = base.source if base else self._source_files(source)
        new = Generation(name, id_, base.tables if base else _drawn(), files, upload)
        try:
            self._upload(folder, new, base, contents)
        except TakenError:  # by a version that a killed process had begun to publish
            if copy is not None and not copy.documents:
                raise
            new = replace(new, tables=_drawn())
            self._upload(folder, new, None, contents)
        fields = {"format": FORMAT, **_GENERATION.dump_python(new)}
        self.store.put(_list_key(name, id_), json.dumps(fields).encode())
        return new

    def _listed(
        self, folder: Path, copy: Copy | None, contents: dict[str, bytes]
    ) -> tuple[StoredFile, ...]:
        """The files of a folder; contents of replaceable ones are added to ``contents``."""
        known = {} if copy is None else {file.path: file for file in copy.generation.files}
        found = []
        for path in _paths(folder):
            file = StoredFile(path, (folder / path).stat().st_size)
            if not file.table:
                contents[path] = (folder / path).read_bytes()
                digest = hashlib.sha256(contents[path]).hexdigest()
                file = StoredFile(path, len(contents[path]), digest)
            elif file.is_manifest:
                file = replace(file, sha256=digest_of(folder / path))
            found.append(file if not file.table or file.is_manifest else known.get(path, file))
        if copy is not None and not copy.documents:
            found += [file for file in known.values() if file.is_of_documents]
        return tuple(sorted(found, key=lambda file: file.path))

    def _source_files(self, source: Path | None) -> tuple[StoredFile, ...]:
        uploads = self._places.uploads.resolve()
        if source is None or uploads not in source.parents:
            return ()
        paths = [source] if source.is_file() else sorted(filter(Path.is_file, source.rglob("*")))
        if sum(path.stat().st_size for path in paths) > MOST_SOURCE_BYTES:
            return ()
        return tuple(
            StoredFile(path.relative_to(uploads).as_posix(), path.stat().st_size, digest_of(path))
            for path in paths
        )

    def _upload(
        self, folder: Path, new: Generation, base: Generation | None, contents: dict[str, bytes]
    ) -> None:
        """Upload missing files; manifests last, and none over another."""
        there = set() if base is None else {(file.path, file.sha256) for file in base.files}
        missing = [file for file in new.files if (file.path, file.sha256) not in there]
        work: list[Callable[[], None]] = []
        for file in missing:
            if file.path in contents:
                work.append(partial(self.store.put, new.key(file), contents[file.path]))
            elif not file.is_manifest:
                work.append(partial(self.store.send, folder / file.path, new.key(file)))
        source = [(self._places.uploads / file.path, file) for file in new.source if base is None]
        work += [partial(self.store.send, at, new.key(f)) for at, f in source if at.is_file()]
        _at_once(work)
        for file in (file for file in missing if file.is_manifest):
            self.store.create(new.key(file), (folder / file.path).read_bytes())

    def _fetched(self, name: str, id_: str) -> Generation:
        content = self.store.get(_list_key(name, id_))
        try:
            fields = json.loads(content)
            if fields["format"] <= FORMAT:
                return _GENERATION.validate_python(fields)
        except (ValueError, KeyError) as error:
            raise StorageError(
                f"The list of files of the corpus '{name}' in the store cannot be read.",
                "Restore it from a copy of the store, or import the corpus again.",
            ) from error
        raise StorageError(
            f"The corpus '{name}' in the store was written by a newer SeedLens.",
            "Upgrade SeedLens on this machine.",
        )

    def newest(self, name: str) -> Generation | None:
        """The generation of a corpus that was written last."""
        prefix = _list_key(name, "").removesuffix(".json")
        ids = [
            one.key.removeprefix(prefix).removesuffix(".json") for one in self.store.objects(prefix)
        ]
        return self._generation(name, max(ids)) if ids else None

    def has(self, name: str, id_: str) -> bool:
        """Whether there is a generation of a corpus."""
        return any(True for _ in self.store.objects(_list_key(name, id_)))

    # -- selections ----------------------------------------------------------------------------

    def share_selection(self, name: str, folder: Path, key: str) -> None:
        """Let other servers find a selection of documents of a corpus."""
        path = folder / SELECTIONS / f"{key}.json"
        self.store.put(f"corpora/{name}/{SELECTIONS}/{key}.json", path.read_bytes())

    def find_selection(self, name: str, folder: Path, key: str) -> None:
        """Fetch a selection that another server stored, if there is one."""
        with suppress(StorageError):
            content = self.store.get(f"corpora/{name}/{SELECTIONS}/{key}.json")
            write_given(folder, key, content)

    def find_selections(self, name: str, folder: Path) -> None:
        """Fetch all selections of a corpus that are not in its folder."""
        for one in self.store.objects(f"corpora/{name}/{SELECTIONS}/"):
            path = PurePosixPath(one.key)
            if folder.is_dir() and not (folder / SELECTIONS / path.name).exists():
                self.find_selection(name, folder, path.stem)

    # -- removing --------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """The corpora of which there is anything in the store."""
        return self.store.folders("corpora/")

    def remove(self, name: str) -> None:
        """Remove all objects of a corpus."""
        self._remove(name, [one.key for one in self.store.objects(f"corpora/{name}/")])

    def sweep(self, name: str, current: str) -> None:
        """Remove unused objects. The caller holds the corpus's lock.

        Args:
            current: the generation in the ledger; "" before the first one.
        """
        objects = list(self.store.objects(f"corpora/{name}/"))
        if current and all(one.key != _list_key(name, current) for one in objects):
            return  # only its list names the files of the corpus
        used = self._used(name, current, objects)
        unused = [one for one in objects if one.key not in used and one.age > UNUSED_KEPT]
        selections = f"corpora/{name}/{SELECTIONS}/"
        self._remove(name, [one.key for one in unused if not one.key.startswith(selections)])

    def _remove(self, name: str, keys: Iterable[str]) -> None:
        """Lists first, so that none is without its files."""
        lists = _list_key(name, "").removesuffix(".json")
        self.store.remove(sorted(keys, key=lambda key: not key.startswith(lists)))

    def _used(self, name: str, current: str, objects: Sequence[StoredObject]) -> set[str]:
        """Keys of the current generation, and of those that were current until lately."""
        prefix = _list_key(name, "").removesuffix(".json")
        lists = sorted((o for o in objects if o.key.startswith(prefix)), key=lambda o: o.age)
        used: set[str] = set()
        superseded = timedelta(0)  # for so long
        for one in lists:
            id_ = one.key.removeprefix(prefix).removesuffix(".json")
            if id_ == current or superseded <= UNUSED_KEPT:
                generation = self._generation(name, id_)
                used |= {one.key, *map(generation.key, (*generation.files, *generation.source))}
            superseded = one.age
        return used


def _parsed_copy(content: bytes) -> Copy:
    """Also of format 1, whose copies had parts: "notes", "tables" or "all"."""
    fields = json.loads(content)
    if fields.get("part") == "notes":
        raise ValueError("A copy of the small files alone is none.")
    return _COPY.validate_python({"documents": fields.get("part") == "all", **fields})


def _paths(folder: Path) -> list[str]:
    """Files of a corpus in its folder, without selections, hints and temporary files."""
    found = []
    for file in folder.rglob("*"):
        path = file.relative_to(folder)
        apart = path.parts[0] in (COPY, SELECTIONS) or path.name == "latest_version_hint.json"
        if not apart and not any(part.startswith(".") for part in path.parts) and file.is_file():
            found.append(path.as_posix())
    return found


def _is_there(folder: Path, file: StoredFile) -> bool:
    """Whether a folder has a file, by size and, where replaceable, content."""
    path = folder / file.path
    try:
        same = path.stat().st_size == file.bytes
        fixed = file.table and not file.is_manifest
        return same and bool(fixed or digest_of(path) == file.sha256)
    except OSError:
        return False


def _version(manifest: StoredFile) -> int:
    """The number in a manifest's name: counted down, in 20 digits, or as it is."""
    stem = PurePosixPath(manifest.path).stem
    return 2**64 - 1 - int(stem) if len(stem) == 20 else int(stem)


def _at_once(work: Iterable[Callable[[], None]]) -> None:
    """Run in threads; raises the first error when all that had begun are done."""
    with ThreadPoolExecutor(CONNECTIONS, "seedlens-store") as pool:
        running = [pool.submit(one) for one in work]
        try:
            for one in running:
                one.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _drawn() -> str:
    return f"tables-{secrets.token_hex(6)}"


def _list_key(name: str, id_: str) -> str:
    return f"corpora/{name}/generations/{id_}.json"
