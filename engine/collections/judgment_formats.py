"""Formats of judgments that people exchange (TREC, BEIR, CSV, JSON lines): read, and written."""

from __future__ import annotations

import csv
import functools
import gzip
import io
import itertools
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.errors import BadInputError
from engine.text import spreadsheet_cell
from engine.types.annotating import JudgmentCounts
from engine.types.evaluations import Qrels
from engine.types.limits import COLLECTION_BYTES, EXPORT_BYTES, MEGABYTE
from storage.files import write_whole

BEIR_COLUMNS = ("query-id", "corpus-id", "score")
TREC_COLUMNS = "query_id 0 doc_id relevance"
JUDGMENT_NAMES = {
    "query_id": ("query_id", "qid", "query", "topic", "topic_id"),
    "doc_id": ("doc_id", "corpus_id", "docid", "docno", "document_id", "pid", "document"),
    "relevance": ("relevance", "score", "grade", "label", "rel", "rating"),
}
"""Fields that a judgment cannot do without, and what files call them."""
BEIR_SPLITS = ("test", "dev", "train")
"""What a BEIR folder may call its judgments; the first that is there is read."""
Rows = Iterator[tuple[int, Mapping[str, Any] | str]]
"""Line numbers, from 1 (0 where there are none), with the fields of a line or what is wrong with
it."""


# -- reading -----------------------------------------------------------------------------------


def text_of(path: Path) -> str:
    """The text of a file; BadInputError when there is none, or not in UTF-8."""
    try:
        return decoded(path.read_bytes(), path.name)
    except OSError as error:
        raise BadInputError(
            f"{path} cannot be read: {error.strerror or error}.", "Give the path of a file."
        ) from error


def content_of(file: Path, most: int = COLLECTION_BYTES) -> bytes:
    """The bytes of a file of a collection, unpacked; no more are read than are allowed."""
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as opened:
            content = opened.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInputError(
            f"{file.name} cannot be read ({error}).", "Check its permissions, or pack it again."
        ) from error
    if len(content) > most:
        raise BadInputError(
            f"{file.name} has more than {most // MEGABYTE} MB, which is the most that is read of "
            "one file of queries or judgments.",
            "Leave out queries, and judgments of queries that are not asked.",
        )
    return content


def decoded(content: bytes, file: str) -> str:
    """The text of a file that came in; BadInputError when it is not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInputError(
            f"{file} is not a text in UTF-8 (byte {error.start}).", "Save it as UTF-8."
        ) from error


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, with their numbers."""
    for number, line in enumerate(io.StringIO(text), start=1):  # one line at a time in memory
        if line.strip():
            yield number, line.rstrip("\n")


def parse_json(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: it is none, or nested deeper than anything that we write.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error


def columns_of(text: str, count: int, names: str) -> Iterator[tuple[int, list[str], str]]:
    """(number, fields, "" or what is wrong) of lines with columns set apart by white space."""
    for number, line in numbered_lines(text):
        fields = line.split()
        problem = f"{len(fields)} columns, not the {count} of '{names}'."
        yield number, fields, "" if len(fields) == count else problem


def beir_file(path: Path) -> Path | None:
    """The judgments of a BEIR folder; None where it has none."""
    files = (path / "qrels" / f"{name}.tsv" for name in BEIR_SPLITS)
    return next((file for file in files if file.is_file()), None)


@functools.lru_cache(maxsize=256)
def judgment_field(column: str) -> str:
    """The field of a judgment that a column holds, by any name that it has; the name itself else.

    >>> judgment_field("corpus-id"), judgment_field("Label"), judgment_field("note")
    ('doc_id', 'relevance', 'note')
    """
    plain = column.strip().lower().replace("-", "_")
    return next((field for field, names in JUDGMENT_NAMES.items() if plain in names), column)


def judgment_rows(text: str) -> Rows:
    """The judgments of a table with tabs or commas, whose first line names its columns or, with
    tabs, is :data:`BEIR_COLUMNS` in this order; or of TREC's lines."""
    first = text.partition("\n")[0].rstrip("\r")
    for mark in ("\t", ","):
        columns = next(csv.reader([first], delimiter=mark), [])
        names = [judgment_field(name) for name in columns]
        if {"query_id", "doc_id"} <= {*names}:
            # A name of ours before another name for the same.
            names = [
                own if own not in columns else name
                for own, name in zip(names, columns, strict=True)
            ]
            return _table(text, mark, names, skip=1)
        if mark == "\t" and len(names) == len(BEIR_COLUMNS):
            return _table(text, mark, list(JUDGMENT_NAMES), skip=0)
    lines, names = columns_of(text, 4, TREC_COLUMNS), TREC_COLUMNS.split()
    return (
        (number, problem or dict(zip(names, fields, strict=True)))
        for number, fields, problem in lines
    )


def _table(text: str, mark: str, names: Sequence[str], skip: int) -> Rows:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    number = 1
    try:
        for fields in rows:
            if number > skip and fields:
                padded = [*fields, *[""] * (len(names) - len(fields))]
                problem = f"{len(fields)} columns, not the {len(names)} of '{' '.join(names)}'."
                row = dict(zip(names, padded, strict=False))
                yield number, problem if len(fields) > len(names) else row
            number = rows.line_num + 1
    except csv.Error as error:
        yield rows.line_num, f"{error}."


def json_rows(text: str) -> Rows:
    """One JSON object per line."""
    for number, line in numbered_lines(text):
        try:
            fields = parse_json(line)
        except ValueError:
            fields = None
        yield number, fields if isinstance(fields, dict) else "It is no JSON object."


# -- writing -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Exported:
    """Files that are not written yet."""

    files: Mapping[str, Iterable[str]]  # relative path -> its text in pieces, to be read once
    judgments: int  # grades in them, skips and unsure verdicts included where the format has them
    notes: tuple[str, ...] = ()  # plain sentences about what is not in them
    counts: JudgmentCounts = field(default_factory=JudgmentCounts)

    def write(self, out: Path) -> tuple[Path, ...]:
        """Write one file as ``out`` (or into that folder), several into it; each file
        atomically."""
        single = len(self.files) == 1 and not out.is_dir()
        written = []
        for name, pieces in self.files.items():
            path = out if single else out / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, pieces)
            except OSError as error:
                raise BadInputError(
                    f"{path} cannot be written: {error.strerror or error}.",
                    "Choose another place with --out.",
                ) from error
            written.append(path)
        return tuple(written)

    def held(self) -> dict[str, bytes]:
        """The files in memory, for a browser; BadInputError as :func:`check_held`."""
        made, size = {}, 0
        for name, pieces in self.files.items():
            out = io.BytesIO()
            for piece in pieces:
                size += out.write(piece.encode())
                check_held(size, "Choose a format without documents, or: seedlens qrels export.")
            made[name] = out.getvalue()
        return made


def check_held(size: int, remedy: str) -> None:
    """Raise BadInputError for files of more than ``EXPORT_BYTES``."""
    if size > EXPORT_BYTES:
        raise BadInputError(f"The files have more than {EXPORT_BYTES // MEGABYTE} MB.", remedy)


def plain_name(annotator: str) -> str:
    """The name in letters that file names can have."""
    return re.sub(r"[^\w-]+", "-", annotator).strip("-") or "annotator"


def file_names(annotators: Iterable[str]) -> dict[str, str]:
    """annotator -> file name, unique on case-insensitive file systems."""
    names: dict[str, str] = {}
    for annotator in annotators:
        taken = {other.casefold() for other in names.values()}
        numbered = (plain_name(annotator) + (f"-{n}" if n > 1 else "") for n in itertools.count(1))
        names[annotator] = next(name for name in numbered if name.casefold() not in taken)
    return names


def beir_lines(qrels: Qrels) -> Iterator[str]:
    """:data:`BEIR_COLUMNS` with tabs between them, and a line of names first."""
    yield _csv_line(BEIR_COLUMNS, "\t")
    for query_id, grades in qrels.items():
        for doc_id, grade in grades.items():
            yield _csv_line((query_id, doc_id, str(grade)), "\t")


def json_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """One JSON object per line."""
    for row in rows:
        yield json.dumps(row, ensure_ascii=False) + "\n"


def csv_lines(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, spreadsheet: bool = False
) -> Iterator[str]:
    """CSV with a line of names first; None is empty, lists are JSON.

    Args:
        spreadsheet: no text is a formula to a spreadsheet program.
    """
    written = spreadsheet_cell if spreadsheet else str
    yield _csv_line(columns)
    for row in rows:
        yield _csv_line([written(_cell(row.get(name))) for name in columns])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _csv_line(cells: Sequence[str], delimiter: str = ",") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerow(cells)
    return out.getvalue()
