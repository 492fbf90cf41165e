"""PDFs of papers: one file, the files of a folder and the folders in it, or those in a zip.

Each file is read in another process (:mod:`engine.ingest.isolated`); one that ends it, or keeps it
busy, costs that file. Columns:
``key`` (the file's name in its folder, without ending), ``title``, ``text`` (the abstract, or a
section), ``year``, ``authors``, ``url``, ``doi``, ``arxiv``, ``section`` and ``file``.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import lru_cache
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from engine.errors import BadInputError
from engine.ingest.encodings import ZIP_ERRORS, zip_names
from engine.ingest.isolated import OutOfTimeError, isolated
from engine.ingest.rows import InputFile, Row
from engine.types.limits import MEGABYTE

PDF_FILES = 20_000  # of one folder or zip; reading each takes 0.1 to 0.5 s
PDF_BYTES = 200 * MEGABYTE  # unpacked; papers with many figures have 50 MB
PDF_SECONDS = 30.0  # to read one PDF
PDF_MEMORY = 1024 * MEGABYTE  # RLIMIT_DATA, for one PDF

FIELDS = {
    "doc_id": "key",
    "title": "title",
    "text": "text",
    "year": "year",
    "authors": "authors",
    "url": "url",
}
Read = tuple[Mapping[str, Any] | None, str]
"""The fields of a :class:`engine.ingest.pdf.paper.Paper` and "", or None and why there are none, as
the rest of a sentence."""
_XMP_DATE = re.compile(
    rb"<(?:prism:(?:publicationDate|coverDate)|dc:date)>[^0-9]{0,80}?((?:19|20)\d\d)"
)
MOST_KEPT = 400  # Papers that are kept: an import reads its source two or three times
REMEDY = "Leave it out, or give a PDF that has its text in it."
ABSTRACT = "Abstract"
BEGINNING = "Beginning (no abstract was found)"


def rows(file: InputFile) -> Iterator[Row]:
    """A row a paper, or a row a section where the file is read so; a file without readable text is
    a row with a problem."""
    for name in _names(file.path):
        where = f"{file.name}, {name}" if name != file.name else name
        found, problem = read_paper(file.path, name)
        if found is None:
            yield Row.broken(where, f"the file {problem}.", REMEDY)
        else:
            yield from _rows(where, name, found, sections=file.pdf == "sections")


def _rows(where: str, name: str, paper: Mapping[str, Any], *, sections: bool) -> Iterator[Row]:
    key = str(PurePosixPath(name).with_suffix(""))
    link = f"https://arxiv.org/abs/{paper['arxiv']}" if paper["arxiv"] else None
    values = {
        "key": key,
        "title": paper["title"] or PurePosixPath(name).stem,
        "year": paper["year"],
        "authors": paper["authors"],
        "url": None if paper["doi"] else link,  # of a DOI the link is made
        "doi": paper["doi"],
        "arxiv": paper["arxiv"],
        "file": name,
    }
    if paper["pages_left_out"]:
        values["pages left out"] = paper["pages_left_out"]
    first = (ABSTRACT, paper["abstract"]) if paper["abstract"] else (BEGINNING, paper["beginning"])
    if not first[1].strip():
        yield Row.broken(where, "the file has neither an abstract nor running text.", REMEDY)
        return
    given = {column: value for column, value in values.items() if value not in (None, "", ())}
    if not sections or not paper["sections"]:
        yield Row(where, {**given, "text": first[1], "section": first[0]})
        return
    parts = [
        *([first] if paper["abstract"] else []),
        *((s["name"], s["text"]) for s in paper["sections"]),
    ]
    for number, (heading, text) in enumerate(parts):
        own = given
        if heading != ABSTRACT or number:
            title = f"{paper['title']}: {heading}" if paper["title"] else heading
            own = {**given, "key": f"{key}#{number}", "title": title}
        yield Row(f"{where} ({heading[:60]})", {**own, "text": text, "section": heading})


def is_pdf(name: str) -> bool:
    """Whether a file's name ends as PDFs do; those beginning with a dot are programs' own."""
    return name.lower().endswith(".pdf") and not PurePosixPath(name).name.startswith(".")


def holds_pdfs(folder: Path) -> bool:
    """Whether there is a PDF in a folder, or in the folders in it."""
    return next(_in_folder(folder), None) is not None


def _names(path: Path) -> list[str]:
    """The PDFs at a path, in the order of their names."""
    if path.is_dir():
        found = _in_folder(path)
    elif path.suffix.lower() == ".zip":
        found = _in_zip(path)
    else:
        return [path.name]
    names = sorted(islice(found, PDF_FILES + 1))
    if len(names) > PDF_FILES:
        raise BadInputError(
            f"{path.name} holds more than {PDF_FILES:,} PDFs.", "Import them folder by folder."
        )
    return names


def _in_folder(folder: Path) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in filter(is_pdf, names):
            yield (Path(parent) / name).relative_to(folder).as_posix()


def _in_zip(path: Path) -> Iterator[str]:
    # macOS puts another file beside each.
    names = [n for n in zip_names(path) if is_pdf(n) and not n.startswith("__MACOSX/")]
    if not names:
        raise BadInputError(f"{path.name} holds no PDF.", "Choose a zip with PDFs in it.")
    yield from names


def read_paper(path: Path, name: str) -> Read:
    """The paper in a file (in the folder or zip ``path``, or that file itself), kept for as long as
    the file does not change."""
    try:
        there = (path / name if path.is_dir() else path).stat()
    except OSError as error:
        return None, f"cannot be opened ({error.strerror})"
    return _read_once(path, name, (there.st_mtime_ns, there.st_size))


@lru_cache(MOST_KEPT)
def _read_once(path: Path, name: str, _: tuple[int, int]) -> Read:
    """The paper in a file in one state."""
    return _isolated(path, name)


def _isolated(path: Path, name: str) -> Read:
    megabytes = PDF_MEMORY // MEGABYTE
    try:
        return isolated(_read, path, name, seconds=PDF_SECONDS, megabytes=megabytes, keep=True)
    except OutOfTimeError:
        return None, f"takes longer than {PDF_SECONDS:.0f} s to read"
    except MemoryError:
        most = f"{megabytes:,} MB of memory"
        return None, f"cannot be read: it ends the reader, or takes more than {most}"


# -- in the process ---------------------------------------------------------------------------


def _read(path: Path, name: str) -> Read:
    from engine.ingest.pdf.pages import UnreadableError, read_pages  # late: only this process needs
    from engine.ingest.pdf.paper import find_paper

    try:
        content = _content(path, name)
        date = _XMP_DATE.search(content)
        paper = find_paper(read_pages(content), date[1].decode() if date else "")
        return asdict(paper), ""
    except UnreadableError as error:
        return None, str(error)
    except ZIP_ERRORS as error:
        return None, f"cannot be opened ({getattr(error, 'strerror', None) or error})"


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
