"""The formats by name, and how a path's format is told."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from engine.errors import BadInputError, UnknownNameError
from engine.ingest import (
    beir,
    bibtex,
    csfcube,
    delimited,
    impliret,
    json_list,
    jsonl,
    parquet,
    pdf,
    ris,
)
from engine.ingest.encodings import encoding_of, unreadable
from engine.ingest.rows import Format, InputFile
from engine.types.corpora import absolute

_ALL = (
    Format("jsonl", jsonl.rows, peek=1000),
    Format("json", json_list.rows, title_stands_in=True, peek=1000),
    Format("csv", delimited.rows, delimited=True),
    Format("tsv", delimited.rows, delimited=True),
    Format("parquet", parquet.rows, binary=True),
    Format("bibtex", bibtex.rows, preset=bibtex.FIELDS, title_stands_in=True),
    Format("ris", ris.rows, preset=ris.FIELDS, title_stands_in=True),
    # Published collections hold documents without text, and nobody can correct them.
    Format("beir", beir.rows, title_stands_in=True, peek=1000),
    Format("pdf", pdf.rows, preset=pdf.FIELDS, binary=True, peek=1, files=True),
    Format("csfcube", csfcube.rows, preset=csfcube.FIELDS),
    Format(
        "impliret",
        delimited.rows,
        preset=impliret.FIELDS,
        metadata=impliret.METADATA,
        delimited=True,
    ),
)
_BY_NAME = {item.name: item for item in _ALL}
FORMATS: tuple[str, ...] = tuple(_BY_NAME)
_FOLDERS = frozenset({"beir", "csfcube", "pdf"})
_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".bib": "bibtex",
    ".ris": "ris",
    ".pdf": "pdf",
    ".zip": "pdf",
}


def named(name: str) -> Format:
    """The format called ``name``; UnknownNameError listing the formats when there is none."""
    if name not in _BY_NAME:
        raise UnknownNameError(
            f"There is no format {name!r}.", f"Formats are: auto, {', '.join(FORMATS)}."
        )
    return _BY_NAME[name]


def detect_format(path: Path | str) -> str:
    """The format of a file (by extension and CSV header) or folder (by what is in it).

    Raises:
        BadInputError: there is nothing at the path, or it is empty.
        UnknownNameError: the extension or the folder's layout is not known.
    """
    path = existing(path)
    if path.is_dir():
        return _folder_format(path)
    name = _SUFFIXES.get(path.suffix.lower())
    if path.suffix.lower() == ".txt":
        name = _text_format(path)
    if name == "json" and _text_format(path) == "jsonl":
        name = "jsonl"
    if name is None:
        ending = path.suffix or "a name without ending"
        raise UnknownNameError(
            f"{path.name}: the format cannot be told from {ending}.",
            f"Say which it is: {', '.join(FORMATS)}.",
        )
    if name == "csv" and impliret.COLUMNS.issubset(delimited.header(InputFile(path))):
        return "impliret"
    return name


def _text_format(path: Path) -> str | None:
    """What programs export as "text": Excel's tables, and RIS, BibTeX, JSON or JSON Lines."""
    try:
        lines = list(islice(InputFile(path, encoding_of(path)).lines(), 20))
    except BadInputError:
        return None
    first = next((line for _, line in lines if line.strip()), "")
    if any(tag == "TY" for _, tag, _ in ris.tagged(lines)):  # numbers may stand before it
        return "ris"
    for mark, name in (("@", "bibtex"), ("{", "jsonl"), ("[", "json")):
        if first.lstrip().startswith(mark):
            return name
    return "csv" if any(mark in first for mark in delimited.DELIMITERS) else None


def _folder_format(path: Path) -> str:
    if _holds(path, csfcube.ABSTRACTS) and _holds(path, csfcube.JUDGMENTS):
        return "csfcube"
    if (path / beir.CORPUS).is_file():
        return "beir"
    if pdf.holds_pdfs(path):
        return "pdf"
    raise UnknownNameError(
        f"{path.name or path} is a folder of unknown layout.",
        f"Choose a file, or a folder with PDFs (pdf), with {beir.CORPUS} (beir) or with"
        f" {csfcube.ABSTRACTS} and {csfcube.JUDGMENTS} (csfcube).",
    )


def _holds(folder: Path, pattern: str) -> bool:
    return next(folder.glob(pattern), None) is not None


def existing(path: Path | str) -> Path:
    """The absolute path when a folder or a file that is not empty is there, else BadInputError."""
    path = absolute(path)
    try:
        if path.is_dir():
            return path
        if path.is_file():
            return _not_empty(path)
        kind = "is neither a file nor a folder" if path.exists() else "does not exist"
    except OSError as e:
        raise unreadable(path, e) from e
    raise BadInputError(f"{path} {kind}.", "Check the path.")


def _not_empty(path: Path) -> Path:
    if path.stat().st_size == 0:
        raise BadInputError(f"{path.name} is empty.", "Choose a file that holds documents.")
    return path


def fitting(source_format: Format, path: Path) -> Format:
    """The format when it can be read from a path of that kind, else BadInputError."""
    if path.is_dir() and source_format.name not in _FOLDERS:
        raise BadInputError(
            f"{path.name or path} is a folder, but {source_format.name} is read from a file.",
            "Choose the file in it.",
        )
    if source_format.name == "beir" and path.is_dir() and not (path / beir.CORPUS).is_file():
        raise BadInputError(
            f"{path.name or path} has no {beir.CORPUS}.", f"Choose a folder with {beir.CORPUS}."
        )
    return source_format
