"""A home as one file: made while the app runs, checked, and put back into an empty home.

The file is a ZIP archive. Its ``manifest.json`` names every other member with its size and SHA-256.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal

from engine.config import __version__
from engine.corpora.folders import store_of
from engine.corpora.scenario_store import SETTINGS
from engine.corpora.sharing import bring, damaged, digests_of
from engine.errors import BadInputError, StorageError, StorageFullError
from engine.lenses.definitions import lens_from_json
from engine.types.encoders import EncoderSpec
from engine.types.limits import MANIFEST_BYTES
from storage.home import COPY, CorpusNameError, Home
from storage.ledger import Ledger
from storage.locks import alone
from storage.records import CorpusRow
from storage.removal import ASIDE
from storage.scenarios import ScenarioTable
from storage.selections import FOLDER as SELECTIONS
from storage.vectors import DocumentTable

Only = Literal["ledger", "irreplaceable"]
FORMAT = 1
"""Counts the ways in which a backup is laid out."""
MANIFEST = "manifest.json"
ATTEMPTS = 3
LOCK_SECONDS = 10.0
"""For whoever has a ledger open, or begins one, to be done."""
_PIECE = 2**20
_DAMAGED = (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError)
_UNREADABLE = (
    CorpusNameError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError,
)  # fmt: skip
_LEDGER = "ledger.sqlite"
_BEFORE = ("ledger.duckdb", "ended-logins")
"""What backups of earlier versions have in its place."""


class _ChangedError(Exception):
    """A file vanished while the corpora were read: somebody changed one."""


@dataclass(frozen=True, slots=True)
class BackupReport:
    """What is in a backup.

    Attributes:
        made_at: ISO 8601, UTC.
        version: of the SeedLens that made it.
        only: what was asked for; "" for all.
        corpora: whose documents are in it.
        without: corpora that are known to the ledger only: their sources have to be imported
            again. (name, source) each.
        files, bytes: how many, and their size together.
    """

    file: str
    made_at: str
    version: str
    only: str
    corpora: tuple[str, ...]
    without: tuple[tuple[str, str], ...]
    files: int
    bytes: int


def back_up(home: Home, ledger: Ledger, file: Path, only: Only | None = None) -> BackupReport:
    """Write a home to a file that nobody else may read. Others may go on using the home.

    The ledger is as of one moment, and every corpus as of one moment after that. What can be
    made again without a loss (the trash, imports under way, kept vectors of wordings) is left out.

    Args:
        only: "ledger" for the ledger alone; "irreplaceable" for all but the documents and their
            vectors, which importing the same sources makes again.

    Raises:
        BadInputError: there is such a file already.
        StorageError: something cannot be read or written, a corpus is damaged, or corpora kept
            changing.
    """
    if os.path.lexists(file):
        raise BadInputError(f"{file} exists already.", "Give the backup another name.")
    half = file.with_name(f".{file.name[:100]}.{secrets.token_hex(4)}")
    try:
        for _ in range(ATTEMPTS):
            try:
                with os.fdopen(
                    os.open(half, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o600), "wb"
                ) as out:
                    manifest = _write(home, ledger, out, only)
            except _ChangedError:
                continue
            half.replace(file)
            return _report(file, manifest)
    except OSError as error:
        raise StorageError(
            f"The backup {file} cannot be written: {error.strerror or error}.",
            "Check the disk and the permissions, or give another folder.",
        ) from error
    finally:
        half.unlink(missing_ok=True)
    raise StorageError(
        "The corpora kept changing while they were read.", "Try again when imports are done."
    )


def verify(file: Path) -> BackupReport:
    """Read all of a backup and compare it with its manifest; nothing is written.

    Raises:
        BadInputError: it is no backup, or damaged; says where.
    """
    with _opened(file) as (archive, manifest):
        for member in manifest["files"]:
            _copy(archive, member, None)
    return _report(file, manifest)


def restore(file: Path, home: Home) -> BackupReport:
    """Put a backup into a home that has neither a ledger nor corpora; all of it or nothing.

    Raises:
        BadInputError: it is no backup, or damaged, or the home is in use; nothing was changed.
        StorageFullError: there is no room for it.
        StorageError: the home cannot be written to.
    """
    _check_empty(home)
    home.create()
    with _opened(file) as (archive, manifest):
        report = _report(file, manifest)
        if report.bytes > shutil.disk_usage(home.root).free:
            raise StorageFullError(
                f"The backup needs {report.bytes / 1e9:.1f} GB in {home.root}.",
                "Free some space, or set SEEDLENS_HOME to a larger disk.",
            )
        staging = home.root / f"{ASIDE}{secrets.token_hex(6)}"  # after a kill, an app deletes it
        staging.mkdir(mode=0o700)
        try:
            for member in manifest["files"]:
                target = staging / member["path"]
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as out:
                    _copy(archive, member, out)
            _complete(Home(staging), report)
            _move_in(staging, home)
        except OSError as error:
            raise StorageError(
                f"The backup cannot be written to {home.root}: {error.strerror or error}.",
                "Check the disk and the permissions of the home.",
            ) from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return report


# -- writing ---------------------------------------------------------------------------


def _write(home: Home, ledger: Ledger, out: IO[bytes], only: Only | None) -> dict[str, Any]:
    files: list[dict[str, Any]] = []
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive,
        tempfile.TemporaryDirectory(prefix="seedlens-backup-") as folder,
    ):
        if only != "ledger":
            bring(home, ledger, ledger.listed_corpora(), "tables" if only else "all")
        copy = Path(folder) / _LEDGER
        ledger.copy(copy)
        rows = [row for row in Ledger(copy).corpora() if row.state != "deleted"]
        with_documents: list[CorpusRow] = []
        if only is None:
            with_documents = [row for row in rows if DocumentTable.is_stored(store_of(home, row))]
        stores = [(row, store_of(home, row)) for row in rows if only != "ledger"]
        digests = {
            f"corpora/{store.name}/{path}": (digest, row)
            for row, store in stores
            for path, digest in digests_of(home, row).items()
        }
        for row in with_documents:
            _check_whole(home, ledger, row)
        for path, source in _members(home, copy, with_documents, rows, only):
            files.append(_add(archive, path, source))
            sha256, of = digests.get(path, ("", None))
            if of is not None and sha256 != files[-1]["sha256"]:
                raise _damaged_or_changed(home, ledger, of, changed=[source.name])
        _check_same(ledger, with_documents)
        names = {row.name for row in with_documents}
        manifest = {
            "format": FORMAT,
            "seedlens": __version__,
            "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "only": only or "",
            "corpora": sorted(names),
            "without": [[row.name, row.source] for row in rows if row.name not in names],
            "files": files,
        }
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
    return manifest


def _members(
    home: Home,
    ledger: Path,
    with_documents: Sequence[CorpusRow],
    rows: Sequence[CorpusRow],
    only: Only | None,
) -> Iterator[tuple[str, Path]]:
    """(path in the backup, file) of all that belongs into it."""
    yield _LEDGER, ledger
    if only == "ledger":
        return
    for file in _files(home.uploads):
        if len(file.relative_to(home.uploads).parts) > 1:  # others are locks
            yield f"uploads/{file.relative_to(home.uploads).as_posix()}", file
    for row in rows:
        store = store_of(home, row)
        files = _files(store)
        if row in with_documents and not any(file.parent.name == "_versions" for file in files):
            raise _ChangedError  # deleted since the ledger was copied
        for file in files:
            inside = file.relative_to(store)
            if inside.name == COPY:
                continue  # nothing that is restored is a copy of anything
            # The note of a corpus goes with its documents: without them it says nothing true.
            kept = inside.parts[0] in (f"{ScenarioTable.name}.lance", SETTINGS, SELECTIONS)
            if row in with_documents or kept:
                yield f"corpora/{store.name}/{inside.as_posix()}", file


def _check_whole(home: Home, ledger: Ledger, row: CorpusRow) -> None:
    """Raise StorageError where files of a corpus are lost."""
    from storage.fragments import missing  # late: it loads another copy of Lance

    if lost := missing(store_of(home, row), digests_of(home, row)):
        raise _damaged_or_changed(home, ledger, row, lost=lost)


def _damaged_or_changed(
    home: Home,
    ledger: Ledger,
    row: CorpusRow,
    changed: Sequence[str] = (),
    lost: Sequence[str] = (),
) -> Exception:
    """As :func:`damaged`, unless somebody deleted or wrote the corpus since its row was copied: the
    files of another one may have the names of those of before."""
    if ledger.corpus(row.name) != row:
        return _ChangedError()
    return damaged(home, row, changed, lost)


def _check_same(ledger: Ledger, rows: Sequence[CorpusRow]) -> None:
    """The rows that were copied are those of the documents that were read after them, and not of
    other ones that were imported under the same name meanwhile."""
    for row in rows:
        now = ledger.corpus(row.name)
        if now is not None and now.created_at != row.created_at:
            raise _ChangedError


def _files(folder: Path) -> list[Path]:
    """All files below a folder, those first that others are named by.

    A table's files never change. Which of them are in force says a manifest under ``_versions``,
    which is written after them and deleted with them: whoever lists the manifests first and copies
    them last has all that they name, or finds one missing.
    """
    try:
        manifests = [p for p in folder.rglob("_versions/*") if not p.name.startswith(".")]
        others = [p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()]
    except FileNotFoundError as error:  # a folder in it went while we looked
        raise _ChangedError from error
    known = set(manifests)
    rest = [p for p in others if p not in known and p.parent.name != "_versions"]
    rest = [p for p in rest if not p.name.startswith(".")]  # those are being written
    return [*sorted(rest), *sorted(manifests)]


def _add(archive: zipfile.ZipFile, path: str, source: Path) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    try:
        content = source.open("rb")
    except FileNotFoundError as error:
        raise _ChangedError from error
    with content, archive.open(path, "w", force_zip64=True) as out:
        while piece := content.read(_PIECE):
            out.write(piece)
            digest.update(piece)
            size += len(piece)
    return {"path": path, "bytes": size, "sha256": digest.hexdigest()}


# -- reading ---------------------------------------------------------------------------


@contextmanager
def _opened(file: Path) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any]]]:
    """A backup and its manifest, which has been checked: every path leads into the home."""
    if file.exists() and not file.is_file():  # a pipe or a device may never end
        raise BadInputError(f"{file} is not a file.", "Give the file that a backup was written to.")
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive, _manifest(archive)
    except FileNotFoundError as error:
        raise BadInputError(f"There is no file {file}.") from error
    except _DAMAGED as error:
        raise BadInputError(
            f"{file} is not a backup of SeedLens, or it is damaged: {error}.", "Use another one."
        ) from error
    except OSError as error:
        raise StorageError(f"{file} cannot be read: {error.strerror or error}.") from error


def _manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    try:
        for packed in archive.infolist():
            # A few bytes may unpack to any size in one step, whatever size they are said to have.
            if packed.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{packed.filename!r} is compressed, which no backup is")
        info = archive.getinfo(MANIFEST)
        if info.file_size > MANIFEST_BYTES:
            raise ValueError("its manifest is too long")
        manifest: dict[str, Any] = json.loads(archive.read(info))
        if manifest["format"] != FORMAT:
            raise BadInputError(
                f"The backup was made by another SeedLens ({manifest['seedlens']}).",
                "Upgrade SeedLens.",
            )
        members = manifest["files"]
        names = [member["path"] for member in members]
        if sorted([*names, MANIFEST]) != sorted(archive.namelist()) or len(set(names)) < len(names):
            raise ValueError("its files are not those of its manifest")
        if _LEDGER not in names and _BEFORE[0] not in names:
            raise ValueError("it has no ledger")
        for member in members:
            _check_member(archive.getinfo(member["path"]), member)
        _report(Path(), manifest)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise zipfile.BadZipFile(str(error)) from error
    return manifest


def _check_member(info: zipfile.ZipInfo, member: dict[str, Any]) -> None:
    """Raise ValueError for what could not have been in a home, or would lead out of it."""
    path = PurePosixPath(info.filename)
    kind = stat.S_IFMT(info.external_attr >> 16)
    inside = path.parts[0] in ("corpora", "uploads") and len(path.parts) > 2
    odd = path.is_absolute() or ".." in path.parts or any(c in info.filename for c in "\\:\0")
    if odd or path.as_posix() != info.filename or kind not in (0, stat.S_IFREG):
        raise ValueError(f"{info.filename!r} leads out of the home")
    if path.name == COPY or (not inside and info.filename not in (_LEDGER, *_BEFORE)):
        raise ValueError(f"{info.filename!r} belongs to no home")
    if info.file_size != member["bytes"]:
        raise ValueError(f"{info.filename!r} has another size")


def _copy(archive: zipfile.ZipFile, member: dict[str, Any], out: IO[bytes] | None) -> None:
    """Read a member, to a file or to nowhere; BadZipFile when it is not as the manifest says."""
    digest, size = hashlib.sha256(), 0
    with archive.open(member["path"]) as content:
        while size <= member["bytes"] and (piece := content.read(_PIECE)):
            digest.update(piece)
            size += len(piece)
            if out is not None:
                out.write(piece)
    if (digest.hexdigest(), size) != (member["sha256"], member["bytes"]):
        raise zipfile.BadZipFile(f"{member['path']} has changed")


def _check_empty(home: Home) -> None:
    there = [p for p in home.corpora.glob("*") if p.is_dir()] if home.corpora.is_dir() else []
    log = Path(f"{home.ledger}-wal")  # of another ledger, beside which no other can be opened
    ledgers = (home.ledger, log, home.root / _BEFORE[0])
    if there or any(file.exists() for file in ledgers):
        raise BadInputError(
            f"The home {home.root} is in use.",
            "Set SEEDLENS_HOME to a new folder, or move this one away first.",
        )


def _complete(staged: Home, report: BackupReport) -> None:
    """Bring the ledger up to date; corpora whose documents are missing wait to be imported."""
    _check_tables(staged)
    ledger = Ledger(staged.ledger)
    missing = {name for name, _ in report.without}
    for stored in ledger.corpora():
        row = replace(stored, generation="")
        ledger.put_generation(row, stored.generation)
        try:
            store_of(staged, row), lens_from_json(row.lens), EncoderSpec.from_json(row.encoder)
        except _UNREADABLE as error:
            raise BadInputError(
                f"The backup's ledger has a corpus that cannot be read ({error}).", "Use another."
            ) from error
        if row.name in missing and row.state != "deleted":
            ledger.put_corpus(replace(row, state="indexing", documents=0))
    ledger.close()


def _check_tables(staged: Home) -> None:
    """Raise BadInputError where the documents of a corpus would be read from elsewhere."""
    from storage.fragments import lies_elsewhere  # late: it loads another copy of Lance

    try:
        elsewhere = lies_elsewhere(staged.corpora)
    except (ValueError, OSError) as error:
        raise BadInputError(
            "The backup is damaged: the tables of a corpus cannot be read.", "Use another one."
        ) from error
    if elsewhere:
        raise BadInputError(
            "The backup has a corpus whose documents are not in it, but elsewhere.", "Use another."
        )


def _move_in(staging: Path, home: Home) -> None:
    """Each folder of a corpus in one step; the ledger comes last, and with it all is there.

    Nobody else can begin a ledger, or restore another one, meanwhile."""
    busy = f"The home {home.root} is in use."
    with alone(Path(f"{home.ledger}.lock"), busy, "Close what works in it.", wait=LOCK_SECONDS):
        _check_empty(home)
        for part in ("corpora", "uploads"):
            for folder in sorted((staging / part).glob("*")):
                target = home.root / part / folder.name
                if not target.exists():  # an upload by the digest of its content
                    folder.rename(target)
        (staging / _LEDGER).rename(home.ledger)


def _report(file: Path, manifest: dict[str, Any]) -> BackupReport:
    files = manifest["files"]
    return BackupReport(
        file=str(file),
        made_at=str(manifest["made_at"]),
        version=str(manifest["seedlens"]),
        only=str(manifest["only"]),
        corpora=tuple(map(str, manifest["corpora"])),
        without=tuple((str(name), str(source)) for name, source in manifest["without"]),
        files=len(files),
        bytes=sum(int(member["bytes"]) for member in files),
    )
