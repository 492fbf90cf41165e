"""The home: the one folder that SeedLens writes to, and where each thing lies in it."""

from __future__ import annotations

import logging
import os
import re
import stat
import tempfile
import unicodedata
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from storage.errors import SeedLensError, StorageError

if TYPE_CHECKING:
    from storage.mirror import Mirror

log = logging.getLogger("seedlens.storage")
NAME_LENGTH = 64
NAME_BYTES = 240
"""Of a name on disk, where most file systems take 255, with the endings that SeedLens adds."""
PRIVATE_FOLDER, PRIVATE_UMASK = 0o700, 0o077
_FOR_ALL = stat.S_ISVTX | stat.S_IWOTH
"""Of ``/tmp``: everyone makes files there, and deletes their own alone."""


def keep_files_private() -> None:
    """Make files that this process and its children write private to the user. For programs, not
    libraries."""
    os.umask(PRIVATE_UMASK)


class CorpusNameError(SeedLensError):
    """A corpus name that SeedLens does not accept."""


def check_corpus_name(name: str) -> None:
    """Refuse a name that cannot be a folder name, or would lead out of the home.

    >>> check_corpus_name("My papers 2024")
    >>> check_corpus_name("../x")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    storage.home.CorpusNameError: '../x' cannot be the name of a corpus. ...
    """
    if not is_corpus_name(name):
        shown = name if len(name) <= NAME_LENGTH else f"{name[:NAME_LENGTH]}..."
        raise CorpusNameError(
            f"{shown!r} cannot be the name of a corpus.",
            f"Use 1 to {NAME_LENGTH} letters, digits, '-', '_' and single spaces between them, of "
            f"at most {NAME_BYTES} bytes, such as {suggest_corpus_name(name)}.",
        )


def is_corpus_name(name: str) -> bool:
    """Whether :func:`check_corpus_name` accepts a name."""
    of_letters = 1 <= len(name) <= NAME_LENGTH and all(map(_allowed, name.replace(" ", "")))
    return of_letters and name == " ".join(name.split()) and len(name.encode()) <= NAME_BYTES


def suggest_corpus_name(text: str) -> str:
    """A name that :func:`check_corpus_name` accepts, similar to ``text``.

    >>> suggest_corpus_name("My papers (2020)")
    'My-papers-2020'
    >>> suggest_corpus_name("???")
    'corpus'
    """
    # Of the beginning: sorting the marks of a letter takes the square of their number.
    composed = unicodedata.normalize("NFC", text[:1_000])  # macOS writes é as two characters
    kept = "".join(c if _allowed(c) else "-" for c in composed)
    short = re.sub("[-_]{2,}", "-", kept).strip("-_")[:NAME_LENGTH]
    short = short.encode()[:NAME_BYTES].decode(errors="ignore")
    return short.strip("-_") or "corpus"


def _allowed(character: str) -> bool:
    category = unicodedata.category(character)
    return character in "-_" or category.startswith("L") or category == "Nd"


class _Place:
    """A path in the home."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, home: Home, _: type[Home] | None = None) -> Path:
        return home.root / self._name


@dataclass(frozen=True, slots=True)
class Home:
    """Paths under ``root``. Nothing is created before ``create()``."""

    root: Path
    # of the store with the corpora; None where they are local only
    mirror: Mirror | None = field(default=None, compare=False)

    ledger = _Place("ledger.sqlite")  # judgments, trails, the registry of corpora ...
    corpora = _Place("corpora")  # one LanceDB folder per corpus
    uploads = _Place("uploads")  # files that came in through the browser
    retrieved = _Place("retrieved")  # what services on the internet sent, until it is imported
    jobs = _Place("jobs")  # logs of imports that run in the background
    embedded_texts = _Place("embedded-texts")  # vectors of wordings and of the words of lenses
    trash = _Place("trash")  # what was removed, until it is deleted

    def corpus(self, name: str) -> Path:
        """The folder of one corpus; CorpusNameError when the name is not allowed."""
        check_corpus_name(name)
        return self.corpora / name

    def relative(self, path: str) -> str:
        """A path as it is stored: from the home on if it lies in there, so that a home can move."""
        try:
            return Path(path).relative_to(self.root.resolve()).as_posix()
        except ValueError:
            return path

    def located(self, stored: str) -> str:
        """Current path of a stored one: the inverse of :meth:`relative`; absolute paths of uploads
        are mapped to the present home."""
        upload = re.search(r"uploads/[0-9a-f]{16}/[^/]+\Z", stored)
        moved = upload and Path(stored).is_absolute() and not Path(stored).exists()
        here = self.root.resolve() / (upload[0] if upload and moved else stored)
        return str(here) if here.exists() else stored

    def create(self) -> None:
        """Create missing folders, check that they are writable, and make the home private to the
        user."""
        try:
            if self.root.is_dir() and self.root.stat().st_mode & _FOR_ALL == _FOR_ALL:
                raise StorageError(
                    f"{self.root} is a folder for files of all users, and a home is for one.",
                    "Set SEEDLENS_HOME to a folder in it.",
                )
            for folder in (self.root, self.corpora, self.uploads, self.jobs, self.trash):
                folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
                # os.access answers for the permission bits only, not for read-only mounts.
                with tempfile.TemporaryFile(dir=folder):
                    pass
            if stat.S_IMODE(self.root.stat().st_mode) & PRIVATE_UMASK:
                with suppress(PermissionError):  # it is somebody else's, who shares it
                    self.root.chmod(PRIVATE_FOLDER)
                if os.name == "posix" and self.root.stat().st_mode & stat.S_IWOTH:
                    log.warning(
                        "Everybody on this machine can write to the home %s. Have its owner run "
                        "chmod o-w on it, or set SEEDLENS_HOME to a folder of yours.",
                        self.root,
                    )
        except OSError as e:
            raise StorageError(
                f"The home {self.root} cannot be created or written to: {e.strerror or e}.",
                "Set SEEDLENS_HOME to a folder that you can write to.",
            ) from e
