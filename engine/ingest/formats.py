"""The formats by name, and which one a file or a folder has."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path

from engine.errors import BadInputError, UnknownNameError
from engine.ingest import pdf, references, tables
from engine.ingest.files import (
    Format,
    InputFile,
    encoding_of,
    table,
    unreadable,
    zip_names,
)
from engine.types.corpora import (
    absolute,
)

BEIR = "corpus.jsonl"
CSFCUBE, CSFCUBE_JUDGMENTS = "abstracts-*.jsonl", "test-pid2anns-*.json"
"""Of the folders: the file with the documents, and that by which CSFCube's is known."""
_CSFCUBE_FIELDS = {
    "doc_id": "paper_id",
    "title": "title",
    "text": "abstract",
    "roles": "pred_labels",
    "year": "metadata.year",
}


def _preset(text: str = "abstract", authors: str = "authors") -> dict[str, str]:
    """Field -> column where the reader names the columns."""
    own = ("title", "year", "url", "venue", "doi", "keywords")
    return {name: name for name in own} | {"doc_id": "key", "text": text, "authors": authors}


_ALL = (
    Format("jsonl", tables.line_rows, peek=1000),
    Format("json", tables.list_rows, title_stands_in=True, peek=1000),
    Format("csv", tables.delimited_rows, delimited=True),
    Format("tsv", tables.delimited_rows, delimited=True),
    Format("xlsx", tables.workbook_rows, binary=True),
    Format("parquet", tables.parquet_rows, binary=True),
    Format(
        "bibtex",
        references.bibtex_rows,
        preset=_preset(authors="author"),
        title_stands_in=True,
        keys=True,
    ),
    *(
        Format(name, rows, preset=_preset(), title_stands_in=True)
        for name, rows in references.READERS.items()
    ),
    # Published collections hold documents without text, which cannot be corrected.
    Format(
        "beir", partial(tables.rows_in_folder, BEIR), title_stands_in=True, peek=1000, folders=True
    ),
    Format(
        "pdf", pdf.rows, preset=_preset(text="text"), binary=True, peek=1, files=True, folders=True
    ),
    Format(
        "csfcube", partial(tables.rows_in_folder, CSFCUBE), preset=_CSFCUBE_FIELDS, folders=True
    ),
    Format(
        "impliret",
        tables.delimited_rows,
        preset={"doc_id": "id", "text": "pos_document"},
        # Question, answer and hint belong to the query: stored, they would be searched.
        metadata=("tuple_set_id",),
        delimited=True,
    ),
)
_IMPLIRET = frozenset({"pos_document", "question"})
"""Columns of its CSV, in which every row is one document and the query it answers."""
_OTHERS: dict[str, str] = table("other_formats")
"""Ending -> what a file that is not read is, and what to export instead."""
_BY_NAME = {item.name: item for item in _ALL}
FORMATS: tuple[str, ...] = tuple(_BY_NAME)
_SUFFIXES = {
    **{f".{name}": name for name in FORMATS if name not in ("beir", "csfcube", "impliret")},
    ".ndjson": "jsonl",
    ".bib": "bibtex",
    ".zip": "pdf",
}
_MARKS = {
    r"TY  -": "ris",
    r"PMID *-": "nbib",
    r"(FN|PT) \w": "ciw",
    r"%[0A-Z] ": "enw",
    r"@": "bibtex",
    r"\{.*\}\s*$": "jsonl",
    r"[\[{]": "json",
    r"<": "xml",
}
"""How the first line of a text begins -> its format; JSON Lines have an object on a line."""
_SEVERAL = frozenset({"json", "ris", "nbib", "ciw", "enw", "xml"})
"""Formats of endings under which there are files of others."""


def named(name: str) -> Format:
    """The format called ``name``; UnknownNameError listing the formats when there is none."""
    if name not in _BY_NAME:
        raise UnknownNameError(
            f"There is no format {name!r}.", f"Formats are: auto, {', '.join(FORMATS)}."
        )
    return _BY_NAME[name]


def detect_format(path: Path | str) -> str:
    """The format of a file (by extension and CSV header) or folder (by its files)."""
    path = existing(path)
    if path.is_dir():
        return _folder_format(path)
    ending = Path(unpacked_name(path)).suffix.lower()
    name = _SUFFIXES.get(ending)
    with suppress(BadInputError):
        if "xl/workbook.xml" in zip_names(path):  # a workbook of Excel, whatever its name
            return "xlsx"
    if name in _SEVERAL or ending in (".txt", ""):
        name = _text_format(path, name)
    if name is None or (ending != path.suffix.lower() and named(name).binary):
        unknown = f": the format cannot be told from {ending or 'a name without ending'}"
        what = f" is {_OTHERS[ending[1:]]}" if ending[1:] in _OTHERS else unknown
        raise UnknownNameError(f"{path.name}{what}.", f"Say which it is: {', '.join(FORMATS)}.")
    if name == "csv" and _IMPLIRET.issubset(tables.header(InputFile(path))):
        return "impliret"
    return name


def unpacked_name(path: Path) -> str:
    """A file's name, without ``.gz``."""
    return path.stem if path.suffix.lower() == ".gz" else path.name


def _text_format(path: Path, name: str | None) -> str | None:
    """The format of a text by its first line; ``name`` where that is unknown. Programs export
    each format under several endings."""
    try:
        lines = list(islice(InputFile(path, encoding_of(path)).lines(), 20))
    except BadInputError:
        return name
    if any(tag == "TY" for _, tag, _ in references.ris_lines(lines)):  # numbers may be before it
        return "ris"
    first = next((line for _, line in lines if line.strip()), "").lstrip()
    found = (format_ for mark, format_ in _MARKS.items() if re.match(mark, first))
    table = any(mark in first for mark in tables.DELIMITERS)
    return next(found, name or ("csv" if table else None))


def _folder_format(path: Path) -> str:
    if any(path.glob(CSFCUBE)) and any(path.glob(CSFCUBE_JUDGMENTS)):
        return "csfcube"
    if (path / BEIR).is_file():
        return "beir"
    if pdf.holds_pdfs(path):
        return "pdf"
    found = files_in(path)
    if len(found) == 1:
        return next(iter(found))
    name = path.name or path
    if found:
        raise UnknownNameError(
            f"{name} has files of several formats: {', '.join(sorted(found))}.",
            "Choose the one to read: --format.",
        )
    raise UnknownNameError(
        f"{name} is a folder of unknown layout.",
        "Choose a file, or a folder with files of one format, with PDFs (pdf), with"
        f" {BEIR} (beir) or with {CSFCUBE} and {CSFCUBE_JUDGMENTS} (csfcube).",
    )


def files_in(folder: Path) -> dict[str, list[Path]]:
    """The files of a folder that may hold documents, by their formats."""
    found: dict[str, list[Path]] = {}
    for file in sorted(folder.iterdir()):
        if Path(unpacked_name(file)).suffix.lower() in _SUFFIXES and file.is_file():
            with suppress(BadInputError):
                found.setdefault(detect_format(file), []).append(file)
    return found


def existing(path: Path | str) -> Path:
    """The absolute path when a folder or a file that is not empty is there, else BadInputError."""
    path = absolute(path)
    try:
        if path.is_dir():
            return path
        if path.is_file():
            if path.stat().st_size:
                return path
            raise BadInputError(f"{path.name} is empty.", "Choose a file that holds documents.")
        kind = "is neither a file nor a folder" if path.exists() else "does not exist"
    except OSError as e:
        raise unreadable(path, e) from e
    raise BadInputError(f"{path} {kind}.", "Check the path.")
