"""A home as one file: made while the app runs, checked, and put back into an empty home.

The file is a ZIP archive. Its ``manifest.json`` names every other member with its size and SHA-256.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast

from engine.config import __version__
from engine.corpora.registry import bring, store_of
from engine.corpora.scenario_store import SETTINGS
from engine.corpora.selections import FOLDER as SELECTIONS
from engine.errors import BadInputError, StorageError
from storage.files import COPY, digest_of, file_errors, temporary_sibling
from storage.home import Home
from storage.ledger import Ledger
from storage.records import CorpusRow
from storage.removal import ASIDE
from storage.sqlite import OLD_NAME
from storage.vectors import DocumentTable, ScenarioTable

Only = Literal["ledger", "irreplaceable"]
FORMAT = 1  # Version of the layout of a backup
MANIFEST = "manifest.json"
ATTEMPTS = 3
_PIECE = 2**20
_LEDGER = "ledger.sqlite"


@dataclass(frozen=True, slots=True)
class BackupReport:
    """What is in a backup."""

    file: str
    made_at: str  # ISO 8601, UTC
    version: str  # of the SeedLens that made it
    only: str  # "" for all
    corpora: tuple[str, ...]  # whose documents are in it
    # (name, source) of the others, whose sources have to be imported again
    without: tuple[tuple[str, str], ...]
    files: int  # files, bytes: how many, and their size together
    bytes: int


def back_up(home: Home, ledger: Ledger, file: Path, only: Only | None = None) -> BackupReport:
    """Write a home, which others may go on using, to a private file.

    The ledger is as of one moment, and every corpus as of one moment after that. Trash, imports
    under way and caches are left out. `only`: "ledger", or "irreplaceable" for all but the
    documents and their vectors, which importing the same sources makes again.
    """
    if os.path.lexists(file):
        raise BadInputError(f"{file} exists already.", "Give the backup another name.")
    remedy = "Check the disk and the permissions, or give another folder."
    with file_errors(file, remedy), temporary_sibling(file) as partial:
        partial.touch(0o600)
        for left in reversed(range(ATTEMPTS)):
            try:
                manifest = _write(home, ledger, partial, only)
                break
            except FileNotFoundError as error:
                if not left:
                    raise StorageError(
                        "The corpora kept changing while they were read.",
                        "Try again when imports are done.",
                    ) from error
    return _report(file, manifest)


def verify(file: Path) -> BackupReport:
    """Compare a backup with its manifest."""
    with _opened(file) as (archive, manifest):
        for member in manifest["files"]:
            with archive.open(member["path"]) as content:
                whole = cast(io.BufferedIOBase, content)
                _check(member, hashlib.file_digest(whole, "sha256").hexdigest())
    return _report(file, manifest)


def restore(file: Path, home: Home) -> BackupReport:
    """Put a backup into a home that has neither a ledger nor corpora; all of it or nothing."""
    _check_empty(home)
    home.create()
    with _opened(file) as (archive, manifest):
        report = _report(file, manifest)
        # After a kill, an app deletes it.
        with tempfile.TemporaryDirectory(prefix=ASIDE, dir=home.root) as folder:
            staging = Path(folder)
            for member in manifest["files"]:
                with file_errors(home.root):
                    target = archive.extract(member["path"], staging)
                _check(member, digest_of(Path(target)))
            _complete(Home(staging), report)
            with file_errors(home.root):
                _move_in(staging, home)
    return report


# -- writing ---------------------------------------------------------------------------


def _write(home: Home, ledger: Ledger, file: Path, only: Only | None) -> dict[str, Any]:
    """Write a backup; returns its manifest."""
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
        tempfile.TemporaryDirectory(prefix="seedlens-backup-") as folder,
    ):
        if only != "ledger":
            bring(home, ledger, ledger.listed_corpora(), documents=only is None)
        copy = Path(folder) / _LEDGER
        ledger.copy(copy)
        rows = [row for row in Ledger(copy).corpora() if row.state != "deleted"]
        whole = [row for row in rows if not only and DocumentTable.is_stored(store_of(home, row))]
        members = _members(home, whole, rows) if only != "ledger" else ()
        files = [_add(archive, path, source) for path, source in [(_LEDGER, copy), *members]]
        names = {row.name for row in whole}
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
    home: Home, whole: Sequence[CorpusRow], rows: Sequence[CorpusRow]
) -> Iterator[tuple[str, Path]]:
    """(path in the backup, file) of all beside the ledger; ``whole``: with documents."""
    for file in _files(home.uploads):
        if len(file.relative_to(home.uploads).parts) > 1:  # others are locks
            yield f"uploads/{file.relative_to(home.uploads).as_posix()}", file
    for row in rows:
        store = store_of(home, row)
        for file in _files(store):
            inside = file.relative_to(store)
            # Without documents the manifest of a corpus would not be true.
            kept = inside.parts[0] in (f"{ScenarioTable.name}.lance", SETTINGS, SELECTIONS)
            if inside.name != COPY and (row in whole or kept):
                yield f"corpora/{store.name}/{inside.as_posix()}", file


def _files(folder: Path) -> list[Path]:
    """All files below a folder, manifests of tables last: listed before the files that they name
    and copied after them, they find all of these."""
    manifests = [p for p in folder.rglob("_versions/*") if not p.name.startswith(".")]
    others = [p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()]
    rest = [p for p in others if p.parent.name != "_versions" and not p.name.startswith(".")]
    return [*sorted(rest), *sorted(manifests)]


def _add(archive: zipfile.ZipFile, path: str, source: Path) -> dict[str, Any]:
    with source.open("rb") as content, archive.open(path, "w", force_zip64=True) as out:
        shutil.copyfileobj(content, out, _PIECE)
        size = content.tell()
        content.seek(0)
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return {"path": path, "bytes": size, "sha256": digest}


# -- reading ---------------------------------------------------------------------------


@contextmanager
def _opened(file: Path) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any]]]:
    """A backup and its manifest."""
    if not file.is_file():  # a pipe may never end
        raise BadInputError(f"There is no file {file}.", "Give the file of a backup.")
    try:
        with zipfile.ZipFile(file) as archive:
            manifest: dict[str, Any] = json.loads(archive.read(MANIFEST))
            if manifest["format"] != FORMAT:
                raise BadInputError(
                    f"The backup was made by another SeedLens ({manifest['seedlens']}).",
                    "Upgrade SeedLens.",
                )
            yield archive, manifest
    except (zipfile.BadZipFile, EOFError, KeyError, ValueError) as error:
        raise BadInputError(
            f"{file} is not a backup of SeedLens, or it is damaged: {error}.", "Use another one."
        ) from error
    except OSError as error:
        raise StorageError(f"{file} cannot be read: {error.strerror or error}.") from error


def _check(member: dict[str, Any], sha256: str) -> None:
    if sha256 != member["sha256"]:
        raise zipfile.BadZipFile(f"{member['path']} has changed")


def _check_empty(home: Home) -> None:
    there = [p for p in home.corpora.glob("*") if p.is_dir()] if home.corpora.is_dir() else []
    log = Path(f"{home.ledger}-wal")  # of another ledger, beside which no other can be opened
    ledgers = (home.ledger, log, home.root / OLD_NAME)
    if there or any(file.exists() for file in ledgers):
        raise BadInputError(
            f"The home {home.root} is in use.",
            "Set SEEDLENS_HOME to a new folder, or move this one away first.",
        )


def _complete(staged: Home, report: BackupReport) -> None:
    """Bring the ledger up to date; corpora whose documents are missing wait to be imported."""
    ledger = Ledger(staged.ledger)
    missing = {name for name, _ in report.without}
    for stored in ledger.corpora():
        row = replace(stored, generation="")
        if row.name in missing and row.state != "deleted":
            row = replace(row, state="indexing", documents=0)
        ledger.put_generation(row, stored.generation)
    ledger.close()


def _move_in(staging: Path, home: Home) -> None:
    """Each folder of a corpus in one step; the ledger last."""
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
        made_at=manifest["made_at"],
        version=manifest["seedlens"],
        only=manifest["only"],
        corpora=tuple(manifest["corpora"]),
        without=tuple((name, source) for name, source in manifest["without"]),
        files=len(files),
        bytes=sum(member["bytes"] for member in files),
    )
