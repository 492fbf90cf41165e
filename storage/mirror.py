"""Corpora in an object store, and the copies of them that a home works with.

What a corpus is at one time is a generation: an object that lists its files, each with its size and
digest. The ledger says which generation is the corpus; to point it at another is the one step by
which a corpus changes for everybody. Nothing that a generation lists is ever written again:

    corpora/NAME/generations/ID.json    the list
    corpora/NAME/TABLES/documents.lance/...    files of Lance tables, which never change, by path
    corpora/NAME/files/SHA256    all other files, by their content

So a table can also be opened where it lies, and whoever is killed while writing leaves objects that
no list names.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import Literal

from storage.digests import find_changed
from storage.errors import StorageError, StorageFullError
from storage.files import digest_of, write_whole
from storage.home import COPY, Home
from storage.locks import alone
from storage.object_store import CONNECTIONS, ObjectStore, StoredObject, TakenError
from storage.removal import Removal, changed_at, delete
from storage.selections import FOLDER as SELECTIONS
from storage.selections import write_given
from storage.vectors import DocumentTable, Remote

FORMAT = 1
"""Counts the ways in which corpora lie in a store."""
Part = Literal["notes", "tables", "all"]
"""What there is of a generation: small files alone; also all tables but the documents; all."""
_PARTS: tuple[Part, ...] = ("notes", "tables", "all")
MOST_SOURCE_BYTES = 200 * 2**20
"""Uploads of up to this size go along with the corpus that they became."""
STAYS = timedelta(days=1)
"""How long what is of no use any more stays in a store at least: somebody may be reading it."""
DELETED = "deleted"
"""The object that says, by its age, when a corpus was deleted."""
LOCK_SECONDS = 600.0
"""For another program of this machine that copies the same corpus."""
TOUCH_SECONDS = 60.0
_VERSIONS, _HINT = "_versions", "latest_version_hint.json"
_DOCUMENTS = f"{DocumentTable.name}.lance"


class ChangedFilesError(StorageError):
    """Files of a folder are not as they were written; the store has got none of them.

    Args:
        paths: of those files, in the folder.
    """

    def __init__(self, folder: Path, paths: Sequence[str]) -> None:
        super().__init__(f"{folder / paths[0]} changed after it was written.")
        self.paths = paths


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a corpus: its path in the corpus's folder, its size, its digest."""

    path: str
    bytes: int
    sha256: str

    @property
    def table(self) -> str:
        """The folder of the table that it is of; "" for a file of none."""
        first = PurePosixPath(self.path).parts[0]
        return first if first.endswith(".lance") else ""

    @property
    def part(self) -> Part:
        """From which part on a copy has it."""
        return {"": _PARTS[0], _DOCUMENTS: _PARTS[2]}.get(self.table, _PARTS[1])

    @property
    def is_version(self) -> bool:
        """Whether it says what a version of a table consists of."""
        return bool(self.table) and PurePosixPath(self.path).parent.name == _VERSIONS


@dataclass(frozen=True, slots=True)
class Generation:
    """What a corpus is at one time.

    Attributes:
        tables: the folder of the store that its tables lie in.
        files: in its own folder, by path.
        source: the upload that it was made of, by path in the folder of uploads; () where it was
            made of something else, or is too large.
    """

    name: str
    id: str
    tables: str
    files: tuple[StoredFile, ...]
    source: tuple[StoredFile, ...] = ()

    @property
    def bytes(self) -> int:
        """Of all its files together."""
        return sum(file.bytes for file in self.files)

    def has(self, table: str) -> bool:
        """Whether it has a table."""
        return any(file.table == f"{table}.lance" for file in self.files)

    def key(self, file: StoredFile) -> str:
        """Where a file lies in the store."""
        place = f"{self.tables}/{file.path}" if file.table else f"files/{file.sha256}"
        return f"corpora/{self.name}/{place}"

    @property
    def documents_version(self) -> tuple[int, str]:
        """The version of the table of documents, and its digest."""
        files = ((PurePosixPath(f.path), f.sha256) for f in self.files if f.is_version)
        return max((_version(p.stem), s) for p, s in files if p.parts[0] == _DOCUMENTS)


@dataclass(frozen=True, slots=True)
class Copy:
    """What a folder of the home is a copy of.

    Attributes:
        part: what there is of it.
        writing: a program is changing it, or was when it ended: there may be more in the folder.
    """

    generation: Generation
    part: Part
    writing: bool = False

    @property
    def files(self) -> list[StoredFile]:
        """Those that the folder has."""
        return _files_of(self.generation, self.part)

    def has(self, part: Part) -> bool:
        """Whether it is that much."""
        return _PARTS.index(self.part) >= _PARTS.index(part)


class Mirror:
    """Copies of corpora in a home. Safe to share between threads and processes.

    Args:
        most_bytes: that copies may take; None for as much as the disk has.

    Attributes:
        store: where the corpora are.
    """

    def __init__(self, store: ObjectStore, root: Path, most_bytes: int | None) -> None:
        self.store = store
        self._home, self._most = Home(root), most_bytes
        self._read: dict[Path, tuple[tuple[int, int], Copy]] = {}
        self._direct: set[str] = set()
        self._generation = lru_cache(maxsize=64)(self._fetched)

    def lock(self, name: str) -> AbstractContextManager[None]:
        """Alone among the programs of this machine with the copy of a corpus."""
        file = self._home.corpus_lock(name).with_suffix(".copy")
        busy = f"The corpus '{name}' is being copied from {self.store.name}."
        return alone(file, busy, "Try again when that is done.", LOCK_SECONDS)

    # -- copies --------------------------------------------------------------------------

    def copy_in(self, folder: Path) -> Copy | None:
        """What a folder is a copy of; None where it is none, or that cannot be read."""
        file = folder / COPY
        try:
            found = file.stat()
            stamp = (found.st_ino, found.st_mtime_ns)
            known = self._read.get(folder)
            if known is None or known[0] != stamp:
                noted = json.loads(file.read_bytes())
                generation = _parsed(noted["generation"])
                known = (stamp, Copy(generation, noted["part"], bool(noted["writing"])))
                self._read[folder] = known
            return known[1]
        except (OSError, ValueError, KeyError, TypeError, StorageError):
            return None

    def note(self, folder: Path, copy: Copy) -> None:
        """Say what a folder is a copy of."""
        noted = {
            "generation": _fields(copy.generation), "part": copy.part, "writing": copy.writing,
        }  # fmt: skip
        try:
            write_whole(folder / COPY, json.dumps(noted))
        except OSError as error:
            raise StorageError(
                f"{folder / COPY} cannot be written: {error.strerror or error}.",
                "Check the disk and the permissions of the home.",
            ) from error

    def current(self, folder: Path, id_: str, part: Part) -> Copy | None:
        """The copy in a folder, where it is of this generation and has this part of it.

        "all" is also met by a copy without the documents, where they have no room here.
        """
        copy = self.copy_in(folder)
        if copy is None or copy.generation.id != id_:
            return None
        if not copy.has(part) and not (copy.has("tables") and id_ in self._direct):
            return None
        with suppress(OSError):  # it only says which copy was of use last
            if time.time() - (folder / COPY).stat().st_mtime > TOUCH_SECONDS:
                os.utime(folder / COPY)
        return copy

    def refresh(self, name: str, folder: Path, id_: str, part: Part, *, writing: bool) -> Copy:
        """Make a folder a copy of a generation. The caller holds :meth:`lock`.

        Searches that read the copy as it was before can finish: what they read goes when another
        generation comes.

        Args:
            part: at least; what is there already of this generation stays.
            writing: the caller is going to change the copy, so it needs what it asks for.

        Raises:
            StorageFullError: there is no room for it; for the documents, only for who writes.
            StorageError: the store cannot be read, or was written by a newer SeedLens.
        """
        before = self.copy_in(folder)
        if before is not None and before.generation.id == id_ and before.has(part):
            if writing and not before.writing:
                self.note(folder, replace(before, writing=True))
            return replace(before, writing=writing or before.writing)
        generation = self._generation(name, id_)
        if before is None and folder.exists():
            delete(folder)  # what an import left that somebody else did again
        part = self._part_with_room(folder, generation, part, writing)
        folder.mkdir(parents=True, exist_ok=True)
        self._download(folder, generation, part)
        old = set() if before is None else {file.path for file in before.files}
        self._drop(folder, {file.path for file in _files_of(generation, part)}, old)
        copy = Copy(generation, part, writing)
        self.note(folder, copy)
        return copy

    def forget(self, name: str, folder: Path) -> None:
        """Delete a copy: it is of a corpus that is no more."""
        with self.lock(name):
            if self.copy_in(folder) is not None:
                delete(folder)

    def make_room(self, folder: Path) -> None:
        """Delete copies used longest ago where they take too much, but not this one."""
        if (copy := self.copy_in(folder)) is not None:
            self._make_room(folder, copy.files)

    def remote(self, copy: Copy) -> Remote | None:
        """Where the documents lie that a copy lacks; None where it has them."""
        if copy.has("all"):
            return None
        generation = copy.generation
        uri, options = self.store.lance(f"corpora/{generation.name}/{generation.tables}")
        return Remote(uri, tuple(options.items()), *generation.documents_version)

    def _download(self, folder: Path, generation: Generation, part: Part) -> None:
        """Bring what a folder lacks, versions of tables last, the latest at the very end."""
        wanted = [file for file in _files_of(generation, part) if not _is_there(folder, file)]
        versions = sorted(
            (file for file in wanted if file.is_version),
            key=lambda file: _version(PurePosixPath(file.path).stem),
        )

        def bring(file: StoredFile, target: Path) -> None:
            self.store.fetch(generation.key(file), target, file.bytes, file.sha256)

        _at_once(partial(bring, f, folder / f.path) for f in wanted if not f.is_version)
        for file in versions:
            bring(file, folder / file.path)
        for file in generation.source:
            if not (self._home.uploads / file.path).exists():
                bring(file, self._home.uploads / file.path)

    def _drop(self, folder: Path, kept: set[str], old: set[str]) -> None:
        """Take out what is of no generation any more: of the one before, versions and whole tables
        only, since somebody may be reading the rest."""
        for path in _paths(folder):
            file = StoredFile(path, 0, "")
            if path not in kept and (file.is_version or path not in old):
                delete(folder / path)
        tables = {PurePosixPath(path).parts[0] for path in kept}
        for gone in folder.glob("*.lance"):
            if gone.name not in tables:
                delete(gone)

    # -- room ------------------------------------------------------------------------------

    def _part_with_room(
        self, folder: Path, generation: Generation, part: Part, writing: bool
    ) -> Part:
        if self._make_room(folder, _files_of(generation, part)):
            return part
        if part == "all" and not writing and self._make_room(
            folder, _files_of(generation, "tables")
        ):  # fmt: skip
            self._direct.add(generation.id)
            return "tables"
        raise StorageFullError(
            f"The corpus '{generation.name}' ({generation.bytes / 1e6:,.0f} MB) has no room in "
            f"{self._home.root}.",
            "Free some space, or set SEEDLENS_MIRROR_MEGABYTES to more.",
        )

    def _make_room(self, folder: Path, files: Sequence[StoredFile]) -> bool:
        """Delete the copies used longest ago until these files have room; False where they cannot
        have it, and then nothing is deleted."""
        needed = sum(file.bytes for file in files if not _is_there(folder, file))
        own = sum(file.bytes for file in files)
        others = sorted(self._others(folder))
        held = sum(size for _, size, _ in others)
        movable = sum(size for _, size, other in others if self._unused_since(other))
        free = shutil.disk_usage(self._home.root).free
        most = self._most
        if needed > free + movable or (most is not None and own + held - movable > most):
            return False
        for _, size, other in others:
            if needed <= free and (most is None or own + held <= most):
                break
            name = other.name.partition(".")[0]
            since = partial(self._unused_since, other)
            lock = alone(self._home.corpus_lock(name).with_suffix(".copy"), "", "")
            if Removal(self._home).remove(other, since, lock=lock):
                free, held = free + size, held - size
        return needed <= free and (most is None or own + held <= most)

    def _others(self, folder: Path) -> Iterable[tuple[datetime, int, Path]]:
        """(used last, bytes, folder) of all copies but one."""
        for file in self._home.corpora.glob(f"*/{COPY}"):
            copy, used = self.copy_in(file.parent), changed_at(file)
            if file.parent != folder and copy is not None and used is not None:
                yield used, sum(one.bytes for one in copy.files), file.parent

    def _unused_since(self, folder: Path) -> datetime | None:
        copy = self.copy_in(folder)
        return None if copy is None or copy.writing else changed_at(folder / COPY)

    # -- generations -----------------------------------------------------------------------

    def publish(self, name: str, folder: Path, source: Path | None) -> Generation:
        """Bring a folder into the store as a generation; the one that it is a copy of where nothing
        changed. It counts once the ledger says so. The caller holds the corpus's lock.

        Args:
            source: the upload that the corpus was made of: a file or a folder.

        Raises:
            ChangedFilesError: all files would have to be written anew, and some are damaged.
            StorageError: the store cannot be written to; what was there stays as it was.
        """
        copy = self.copy_in(folder)
        base = copy.generation if copy else None
        contents: dict[str, bytes] = {}
        files = self._listed(folder, copy, contents)
        if base is not None and files == base.files:
            return base
        id_ = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(4)}"
        given = base.source if base else self._source_files(source)
        new = Generation(name, id_, base.tables if base else _drawn(), files, given)
        try:
            self._upload(folder, new, base, contents)
        except TakenError:  # what somebody left who was killed
            new, base = replace(new, tables=_drawn()), None
            if copy is not None and not copy.has("all"):
                raise
            known = {file.path: file.sha256 for file in files if file.table}
            changed, _ = find_changed(folder, known, tuple(known))
            if changed:
                raise ChangedFilesError(folder, changed) from None
            self._upload(folder, new, base, contents)
        self.store.put(_list_key(name, id_), json.dumps(_fields(new)).encode())
        return new

    def _listed(
        self, folder: Path, copy: Copy | None, contents: dict[str, bytes]
    ) -> tuple[StoredFile, ...]:
        """The files of a folder as they are now.

        Args:
            contents: is given what small files hold, which others may replace meanwhile.
        """
        known = {} if copy is None else {file.path: file for file in copy.generation.files}
        found = []
        for path in _paths(folder):
            size = (folder / path).stat().st_size
            file = StoredFile(path, size, "")
            if not file.table:
                contents[path] = (folder / path).read_bytes()
                file = StoredFile(path, len(contents[path]), _digest(contents[path]))
            elif file.is_version or path not in known or known[path].bytes != size:
                file = StoredFile(path, size, digest_of(folder / path))
            else:
                file = known[path]
            found.append(file)
        if copy is not None:
            found += [f for f in known.values() if _PARTS.index(f.part) > _PARTS.index(copy.part)]
        return tuple(sorted(found, key=lambda file: file.path))

    def _source_files(self, source: Path | None) -> tuple[StoredFile, ...]:
        uploads = self._home.uploads.resolve()
        if source is None or uploads not in source.parents:
            return ()
        paths = (
            [source] if source.is_file() else sorted(p for p in source.rglob("*") if p.is_file())
        )
        if sum(path.stat().st_size for path in paths) > MOST_SOURCE_BYTES:
            return ()
        return tuple(
            StoredFile(path.relative_to(uploads).as_posix(), path.stat().st_size, digest_of(path))
            for path in paths
        )

    def _upload(
        self, folder: Path, new: Generation, base: Generation | None, contents: dict[str, bytes]
    ) -> None:
        """Write what the store lacks; versions of tables last, and none over another."""
        there = set() if base is None else {(file.path, file.sha256) for file in base.files}
        missing = [file for file in new.files if (file.path, file.sha256) not in there]
        work: list[Callable[[], None]] = []
        for file in missing:
            if file.path in contents:
                work.append(partial(self.store.put, new.key(file), contents[file.path]))
            elif not file.is_version:
                work.append(partial(self.store.send, folder / file.path, new.key(file)))
        uploads = self._home.uploads
        given = new.source if base is None else ()
        work += [
            partial(self.store.send, uploads / file.path, new.key(file))
            for file in given
            if (uploads / file.path).is_file()
        ]
        _at_once(work)
        for file in missing:
            if file.is_version:
                self.store.create(new.key(file), (folder / file.path).read_bytes())

    def _fetched(self, name: str, id_: str) -> Generation:
        return _parsed(json.loads(self.store.get(_list_key(name, id_))))

    # -- selections ----------------------------------------------------------------------------

    def share_selection(self, name: str, folder: Path, key: str) -> None:
        """Let other homes find a selection of documents of a corpus."""
        path = folder / SELECTIONS / f"{key}.json"
        self.store.put(f"corpora/{name}/{SELECTIONS}/{key}.json", path.read_bytes())

    def find_selection(self, name: str, folder: Path, key: str) -> None:
        """Bring a selection that another home made, if there is one."""
        with suppress(StorageError):
            content = self.store.get(f"corpora/{name}/{SELECTIONS}/{key}.json")
            write_given(folder, key, content)

    def find_selections(self, name: str, folder: Path) -> None:
        """Bring all selections of a corpus that are not in its folder."""
        for one in self.store.objects(f"corpora/{name}/{SELECTIONS}/"):
            path = PurePosixPath(one.key)
            if folder.is_dir() and not (folder / SELECTIONS / path.name).exists():
                write_given(folder, path.stem, self.store.get(one.key))

    # -- deleting --------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """The corpora that there is anything of in the store."""
        return self.store.folders("corpora/")

    def has(self, name: str, id_: str) -> bool:
        """Whether there is a generation of a corpus."""
        return any(True for _ in self.store.objects(_list_key(name, id_)))

    def newest(self, name: str) -> Generation | None:
        """The generation of a corpus that was written last."""
        prefix = _list_key(name, "").removesuffix(".json")
        lists = [(-one.age, one.key) for one in self.store.objects(prefix)]
        if not lists:
            return None
        _, key = max(lists)  # of one second, by the time in its id
        return self._generation(name, key.removeprefix(prefix).removesuffix(".json"))

    def mark_deleted(self, name: str) -> None:
        """Note that a corpus was deleted now."""
        self.store.put(f"corpora/{name}/{DELETED}", b"")

    def unmark_deleted(self, name: str) -> None:
        """Note that it is one again, or that another one has its name."""
        self.store.remove([f"corpora/{name}/{DELETED}"])

    def deleted_for(self, name: str) -> timedelta | None:
        """How long a corpus is deleted, by the store's clock; None when nobody noted it."""
        marks = self.store.objects(f"corpora/{name}/{DELETED}")
        return next((one.age for one in marks), None)

    def sweep(self, name: str, current: str | None) -> None:
        """Remove what nothing needs any more. The caller holds the corpus's lock.

        Args:
            current: the generation that is the corpus, "" before its first one; None when there is
                no such corpus. Then nothing of it is of use once it was deleted long ago, or where
                it never had a generation; else it is the ledger that lacks it, which may be a new
                one in the place of one that was lost.
        """
        objects = list(self.store.objects(f"corpora/{name}/"))
        lists, mark = f"corpora/{name}/generations/", f"corpora/{name}/{DELETED}"
        if current is None:
            marked = any(one.key == mark and one.age > STAYS for one in objects)
            if not marked and any(one.key.startswith(lists) for one in objects):
                return
        elif current and all(one.key != _list_key(name, current) for one in objects):
            return  # only that list says which files are the corpus
        used = set() if current is None else self._used(name, current, objects)
        kept = () if current is None else (f"corpora/{name}/{SELECTIONS}/",)
        keys = [
            one.key
            for one in objects
            if one.key not in used and one.age > STAYS and not one.key.startswith(kept)
        ]
        # What a kill leaves has no lists, or the mark: it goes the next time.
        self.store.remove(sorted(keys, key=lambda key: (key == mark, not key.startswith(lists))))

    def _used(self, name: str, current: str, objects: Sequence[StoredObject]) -> set[str]:
        """Keys of the generation that is the corpus, and of those that were until lately."""
        prefix = _list_key(name, "").removesuffix(".json")
        lists = sorted((o for o in objects if o.key.startswith(prefix)), key=lambda o: o.age)
        used: set[str] = set()
        until = timedelta(0)  # when the one before was superseded
        for one in lists:
            id_ = one.key.removeprefix(prefix).removesuffix(".json")
            if id_ == current or until <= STAYS:
                generation = self._generation(name, id_)
                used |= {one.key, *map(generation.key, (*generation.files, *generation.source))}
            until = one.age
        return used


# -- inside ------------------------------------------------------------------------------------


def _files_of(generation: Generation, part: Part) -> list[StoredFile]:
    most = _PARTS.index(part)
    return [file for file in generation.files if _PARTS.index(file.part) <= most]


def _paths(folder: Path) -> list[str]:
    """Files of a corpus in its folder: without what is kept apart, written just now, or a hint."""
    found = []
    for file in folder.rglob("*"):
        path = file.relative_to(folder)
        apart = path.parts[0] in (COPY, SELECTIONS) or path.name == _HINT
        if not apart and not any(part.startswith(".") for part in path.parts) and file.is_file():
            found.append(path.as_posix())
    return found


def _is_there(folder: Path, file: StoredFile) -> bool:
    """Whether a folder has a file; those that never change are told by their name and size."""
    path = folder / file.path
    try:
        if path.stat().st_size != file.bytes:
            return False
        return bool(file.table and not file.is_version) or digest_of(path) == file.sha256
    except OSError:
        return False


def _version(stem: str) -> int:
    """The number of a version by the name of its file: counted down, in 20 digits, or as it is."""
    return 2**64 - 1 - int(stem) if len(stem) == 20 else int(stem)


def _at_once(work: Iterable[Callable[[], None]]) -> None:
    """Run some things in threads; the first error, when all that had begun are done."""
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


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _list_key(name: str, id_: str) -> str:
    return f"corpora/{name}/generations/{id_}.json"


def _fields(generation: Generation) -> dict[str, object]:
    return {"format": FORMAT, **asdict(generation)}


def _parsed(fields: object) -> Generation:
    """A list of files as it was written; no path in it leads out of a folder."""
    try:
        if not isinstance(fields, dict):
            raise TypeError("it is no object")
        if int(fields["format"]) > FORMAT:
            raise StorageError(
                f"The corpus '{fields['name']}' in the store was written by a newer SeedLens.",
                "Upgrade SeedLens on this machine.",
            )
        files, source = ([StoredFile(**one) for one in fields[k]] for k in ("files", "source"))
        for file in (*files, *source):
            path = PurePosixPath(file.path)
            if path.is_absolute() or ".." in path.parts or not path.parts or "\\" in file.path:
                raise ValueError(f"{file.path!r} leads out of the corpus")
        name, id_, tables = (str(fields[key]) for key in ("name", "id", "tables"))
        return Generation(name, id_, tables, tuple(files), tuple(source))
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(
            f"The list of files of a corpus in the store cannot be read: {error}.",
            "Restore it from a copy of the store, or import the corpus again.",
        ) from error
