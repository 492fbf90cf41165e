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
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from engine.errors import BadInputError
from engine.ingest.files import ZIP_ERRORS, InputFile, Row, zip_names
from engine.ingest.isolated import OutOfTimeError, isolated
from engine.types.limits import MEGABYTE

PDF_SECONDS = 30.0  # to read one PDF
PDF_MEMORY = 1024 * MEGABYTE  # RLIMIT_DATA, for one PDF

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
        paper, problem = read_paper(file.path, name)
        if paper is not None and not (paper["abstract"] or paper["beginning"].strip()):
            paper, problem = None, "has neither an abstract nor running text"
        if paper is None:
            yield Row.broken(where, f"the file {problem}.", REMEDY)
        else:
            yield from _rows(where, name, paper, sections=file.pdf == "sections")


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
        "pages left out": paper["pages_left_out"] or None,
    }
    values = {column: value for column, value in values.items() if value not in (None, "", ())}
    parts = [(s["name"], s["text"]) for s in paper["sections"]] if sections else []
    if paper["abstract"] or not parts:
        heading = ABSTRACT if paper["abstract"] else BEGINNING
        parts.insert(0, (heading, paper["abstract"] or paper["beginning"]))
    for number, (heading, text) in enumerate(parts):
        own = {"text": text, "section": heading}
        if number or heading not in (ABSTRACT, BEGINNING):
            title = f"{paper['title']}: {heading}" if paper["title"] else heading
            own |= {"key": f"{key}#{number}", "title": title}
        yield Row(
            f"{where} ({heading[:60]})" if sections and paper["sections"] else where, values | own
        )


def is_pdf(name: str) -> bool:
    """Whether a file's name ends as PDFs do; those beginning with a dot are programs' own."""
    return name.lower().endswith(".pdf") and not PurePosixPath(name).name.startswith(".")


def holds_pdfs(folder: Path) -> bool:
    """Whether there is a PDF in a folder, or in the folders in it."""
    return next(_in_folder(folder), None) is not None


def _names(path: Path) -> list[str]:
    """The PDFs at a path, in the order of their names."""
    if path.is_dir():
        return sorted(_in_folder(path))
    if path.suffix.lower() != ".zip":
        return [path.name]
    # macOS puts another file beside each.
    names = [n for n in zip_names(path) if is_pdf(n) and not n.startswith("__MACOSX/")]
    if not names:
        raise BadInputError(f"{path.name} holds no PDF.", "Choose a zip with PDFs in it.")
    return sorted(names)


def _in_folder(folder: Path) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in filter(is_pdf, names):
            yield (Path(parent) / name).relative_to(folder).as_posix()


def read_paper(path: Path, name: str) -> Read:
    """The paper in a file (in the folder or zip ``path``, or that file itself), kept for as long as
    the file does not change."""
    try:
        there = (path / name if path.is_dir() else path).stat()
    except OSError as error:
        return None, f"cannot be opened ({error.strerror})"
    return _isolated(path, name, (there.st_mtime_ns, there.st_size))


@lru_cache(MOST_KEPT)
def _isolated(path: Path, name: str, _: Hashable) -> Read:
    """The paper in a file in one state."""
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
        if path.is_file() and path.suffix.lower() == ".zip":
            with zipfile.ZipFile(path) as archive:
                content = archive.read(name)
        else:
            content = (path / name if path.is_dir() else path).read_bytes()
        if not content:
            return None, "is empty"
        date = _XMP_DATE.search(content)
        paper = find_paper(read_pages(content), date[1].decode() if date else "")
        return asdict(paper), ""
    except UnreadableError as error:
        return None, str(error)
    except ZIP_ERRORS as error:
        return None, f"cannot be opened ({getattr(error, 'strerror', None) or error})"
