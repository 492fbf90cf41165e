"""PDFs are read in a process of its own, file after file, with limits of memory and time.

A file that ends the process, or keeps it busy, costs that file: the next is read by another one.
"""

from __future__ import annotations

import atexit
import re
import stat
import threading
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.ingest.isolated import Isolated, OutOfTimeError
from engine.types.limits import MEGABYTE, PDF_BYTES, PDF_MEMORY, PDF_SECONDS

_XMP_DATE = re.compile(
    rb"<(?:prism:(?:publicationDate|coverDate)|dc:date)>[^0-9]{0,80}?((?:19|20)\d\d)"
)


Read = tuple[Mapping[str, Any] | None, str]
"""The fields of a paper and "", or None and why there are none, as the rest of a sentence."""


class PdfReader(Isolated):
    """Reads PDFs one after the other. A context manager, which ends the process."""

    def __init__(self) -> None:
        super().__init__(PDF_MEMORY)

    def read(self, path: Path, name: str) -> Read:
        """The paper in a file, as :class:`engine.ingest.pdf.paper.Paper` has it.

        Args:
            path: the folder, the zip or the file itself.
            name: the file's name in the folder or zip.

        Returns:
            See :data:`Read`.
        """
        try:
            return self.call(_read, PDF_SECONDS, path, name)
        except OutOfTimeError:
            return None, f"takes longer than {PDF_SECONDS:.0f} s to read"
        except MemoryError:
            most = f"{PDF_MEMORY // MEGABYTE:,} MB of memory"
            return None, f"cannot be read: it ends the reader, or takes more than {most}"


_shared = PdfReader()
_lock = threading.Lock()
_kept: OrderedDict[tuple[object, ...], Read] = OrderedDict()
MOST_KEPT, MOST_KEPT_CHARS = 400, 24_000_000
"""Papers whose text is kept, some 60 kB each, and their characters together, where a file may have
``PDF_CHARS`` of them: an import reads its source two or three times."""


def read_paper(path: Path, name: str) -> Read:
    """As :meth:`PdfReader.read`, by one reader for the whole program; a file that has not changed
    is not read again at once. Thread-safe."""
    try:
        there = (path / name if path.is_dir() else path).stat()
    except OSError as error:
        return None, f"cannot be opened ({error.strerror})"
    if not stat.S_ISREG(there.st_mode):
        return None, "is no file, but a pipe, a device or the like"
    key = (str(path), name, there.st_mtime_ns, there.st_size)
    with _lock:
        found = _kept.get(key) or _shared.read(path, name)
        _kept[key] = found
        _kept.move_to_end(key)
        while len(_kept) > MOST_KEPT or sum(map(_chars, _kept.values())) > MOST_KEPT_CHARS:
            _kept.popitem(last=False)
        return found


def _chars(read: Read) -> int:
    """The characters of a paper's sections, which are nearly all that it has."""
    return sum(len(section["text"]) for section in (read[0] or {}).get("sections", ()))


@atexit.register
def _end_shared() -> None:
    _shared.end()


# -- in the process ---------------------------------------------------------------------------


def _read(path: Path, name: str) -> Read:
    # Imported here: whoever only starts the process needs none of it.
    from engine.ingest.pdf.pages import UnreadableError
    from engine.ingest.pdf.paper import find_paper

    try:
        return asdict(find_paper(*_parsed(_content(path, name)))), ""
    except UnreadableError as error:
        return None, str(error)
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return None, f"cannot be opened ({reason})"


def _parsed(content: bytes) -> tuple[Any, str]:
    from engine.ingest.pdf.pages import read_pages

    date = _XMP_DATE.search(content)
    return read_pages(content), date[1].decode() if date else ""


def _content(path: Path, name: str) -> bytes:
    """A file's bytes; UnreadableError where it is empty or too large."""
    from engine.ingest.pdf.pages import UnreadableError

    if path.is_file() and path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path) as archive, archive.open(name) as member:
            content = member.read(PDF_BYTES + 1)
    else:
        with (path / name if path.is_dir() else path).open("rb") as file:
            content = file.read(PDF_BYTES + 1)
    if not content:
        raise UnreadableError("is empty")
    if len(content) > PDF_BYTES:
        raise UnreadableError(f"has more than {PDF_BYTES // MEGABYTE} MB")
    return content
