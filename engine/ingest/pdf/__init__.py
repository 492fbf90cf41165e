"""PDFs of papers: one file, the files of a folder and the folders in it, or those in a zip.

Each file is read in a process of its own kind (:mod:`engine.ingest.pdf.process`). Columns:
``key`` (the file's name in its folder, without ending), ``title``, ``text`` (the abstract, or a
section), ``year``, ``authors``, ``url``, ``doi``, ``arxiv``, ``section`` and ``file``.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from engine.errors import BadInputError
from engine.ingest.pdf.process import read_paper
from engine.ingest.rows import InputFile, Row
from engine.types.limits import PDF_FILES

FIELDS = {
    "doc_id": "key",
    "title": "title",
    "text": "text",
    "year": "year",
    "authors": "authors",
    "url": "url",
}
REMEDY = "Leave it out, or give a PDF that has its text in it."
ABSTRACT = "Abstract"
BEGINNING = "Beginning (no abstract was found)"


def rows(file: InputFile) -> Iterator[Row]:
    """A row a paper, or a row a section where the file is read so; a file without readable text
    is a row with a problem.
    """
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
        own = given if heading == ABSTRACT and not number else {
            **given,
            "key": f"{key}#{number}",
            "title": f"{paper['title']}: {heading}" if paper["title"] else heading,
        }  # fmt: skip
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
    try:
        with zipfile.ZipFile(path) as archive:
            # macOS puts a file of its own beside each.
            names = [n for n in archive.namelist() if is_pdf(n) and not n.startswith("__MACOSX/")]
    except (zipfile.BadZipFile, OSError, NotImplementedError, UnicodeDecodeError) as error:
        raise BadInputError(
            f"{path.name} is no zip that can be read ({error}).", "Pack the PDFs again."
        ) from error
    if not names:
        raise BadInputError(f"{path.name} holds no PDF.", "Choose a zip with PDFs in it.")
    yield from names
