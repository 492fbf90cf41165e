"""PDFs are read in a process of its own, file after file, with limits of memory and time.

A file that ends the process, or keeps it busy, costs that file: the next is read by another one.
"""

from __future__ import annotations

import atexit
import json
import re
import stat
import subprocess
import sys
import threading
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from engine.config import ROOT
from engine.types.limits import MEGABYTE, PDF_BYTES, PDF_MEMORY, PDF_SECONDS

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_START_SECONDS = 20.0
"""For the process to come up, on a machine that is busy."""
_XMP_DATE = re.compile(
    rb"<(?:prism:(?:publicationDate|coverDate)|dc:date)>[^0-9]{0,80}?((?:19|20)\d\d)"
)


Read = tuple[Mapping[str, Any] | None, str]
"""The fields of a paper and "", or None and why there are none, as the rest of a sentence."""


class PdfReader:
    """Reads PDFs one after the other. A context manager, which ends the process."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> PdfReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()

    def read(self, path: Path, name: str) -> Read:
        """The paper in a file, as :class:`engine.ingest.pdf.paper.Paper` has it.

        Args:
            path: the folder, the zip or the file itself.
            name: the file's name in the folder or zip.

        Returns:
            See :data:`Read`.
        """
        fresh = self._process is None
        process = self._process or self._start()
        self._process = process
        request = json.dumps({"path": str(path), "name": name}).encode() + b"\n"
        stdin, stdout = _pipes(process)
        answer: bytes | None = b""
        with suppress(BrokenPipeError):
            stdin.write(request)
            stdin.flush()
            answer = _line(process, stdout, PDF_SECONDS + (_START_SECONDS if fresh else 0))
        if not answer:
            self.end()
            if answer is None:
                return None, f"takes longer than {PDF_SECONDS:.0f} s to read"
            most = f"{PDF_MEMORY // MEGABYTE:,} MB of memory"
            return None, f"cannot be read: it ends the reader, or takes more than {most}"
        found: dict[str, Any] = json.loads(answer)
        return (found["paper"], "") if "paper" in found else (None, str(found["problem"]))

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "engine.ingest.pdf.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
        )

    def end(self) -> None:
        """End the process, if there is one; the next file starts another."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in _pipes(process):
            with suppress(BrokenPipeError):  # what was not sent yet
                pipe.close()


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


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("The reader of PDFs has no pipes.")
    return process.stdin, process.stdout


def _line(process: subprocess.Popen[bytes], stdout: IO[bytes], seconds: float) -> bytes | None:
    """The next line; b"" when the process has ended, None when it took too long and was ended."""
    late = threading.Event()

    def end() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        line = stdout.readline()
    finally:
        timer.cancel()
    return None if late.is_set() else line


# -- in the process ---------------------------------------------------------------------------


def main() -> None:
    """Answer each line of standard input, a request, with a line of standard output, both JSON."""
    # Imported here: whoever only starts the process needs none of it.
    from engine.ingest.pdf.pages import UnreadableError
    from engine.ingest.pdf.paper import find_paper

    if resource is not None:
        _limit(resource.RLIMIT_DATA, PDF_MEMORY)
    for line in sys.stdin.buffer:
        _allow_seconds()
        request = json.loads(line)
        answer: dict[str, Any]
        try:
            content = _content(Path(request["path"]), request["name"])
            answer = {"paper": asdict(find_paper(*_parsed(content)))}
        except UnreadableError as error:
            answer = {"problem": str(error)}
        except MemoryError:
            answer = {"problem": f"takes more than {PDF_MEMORY // MEGABYTE:,} MB of memory"}
        except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            answer = {"problem": f"cannot be opened ({reason})"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _parsed(content: bytes) -> tuple[Any, str]:
    from engine.ingest.pdf.pages import read_pages

    date = _XMP_DATE.search(content)
    return read_pages(content), date[1].decode() if date else ""


def _allow_seconds() -> None:
    """Seconds of computing for the next file: whoever started the process may be gone."""
    if resource is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        most = int(used.ru_utime + used.ru_stime + PDF_SECONDS) + 2
        _limit(resource.RLIMIT_CPU, most)


def _limit(what: int, most: int) -> None:
    """Set a limit, below one that the process has from whoever started it."""
    _, hard = resource.getrlimit(what)
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


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


if __name__ == "__main__":
    main()
