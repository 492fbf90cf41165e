"""CSV and TSV: a header line, then one row per record; fields may hold quotes and newlines.

Every value stays text (an id ``007`` stays ``007``). The standard library's strict reader is
used because it knows the row and line of every fault; see ``storage.tables`` for what DuckDB
does with a quote that is never closed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from engine.errors import BadInputError
from engine.ingest.rows import MAX_LINE_BYTES, Row, repeated, text_lines


def csv_rows(path: Path) -> Iterator[Row]:
    """Rows of a CSV file; a header with semicolons or tabs and no comma sets the delimiter."""
    return _rows(path, _delimiter(path))


def tsv_rows(path: Path) -> Iterator[Row]:
    """Rows of a tab-separated file, with CSV's rules for quotes."""
    return _rows(path, "\t")


def csv_header(path: Path) -> tuple[str, ...]:
    """The column names of a CSV file; empty when it has no readable header."""
    try:
        return _header(_Records(path, _delimiter(path)), path)
    except BadInputError:
        return ()


def _delimiter(path: Path) -> str:
    first = next((line for _, line in text_lines(path) if line.strip()), "")
    if "," in first:
        return ","
    # Spreadsheets of half of Europe save "CSV" with semicolons.
    return max(";\t", key=first.count) if any(mark in first for mark in ";\t") else ","


class _Records:
    """A strict CSV reader that knows the line on which the record it returned began."""

    def __init__(self, path: Path, delimiter: str) -> None:
        # Process-wide in the csv module; its default refuses fields above 128 kB.
        csv.field_size_limit(MAX_LINE_BYTES)
        lines = (line for _, line in text_lines(path))
        self._reader = csv.reader(lines, delimiter=delimiter, strict=True)
        self.line = 0

    def next(self) -> list[str] | None:
        """The next record that is not blank, None at the end; raises csv.Error."""
        while True:
            self.line = self._reader.line_num + 1
            cells = next(self._reader, None)
            if cells is None or any(cell.strip() for cell in cells):
                return cells


def _header(records: _Records, path: Path) -> tuple[str, ...]:
    try:
        cells = records.next() or []
    except csv.Error as e:
        where = f"{path.name}, header (line {records.line})"
        fault, remedy = _fault(e)
        raise BadInputError(f"{where}: {fault}", remedy) from e
    names = tuple(" ".join(cell.split()) or f"column {n}" for n, cell in enumerate(cells, start=1))
    if twice := repeated(names):
        raise BadInputError(
            f"{path.name}, header (line {records.line}): column {twice[0]!r} stands there twice.",
            "Give every column a name of its own.",
        )
    return names


def _rows(path: Path, delimiter: str) -> Iterator[Row]:
    records = _Records(path, delimiter)
    names = _header(records, path)
    number = 0
    while True:
        number += 1
        try:
            cells = records.next()
        except csv.Error as e:
            yield Row.broken(f"{path.name}, row {number} (line {records.line})", *_fault(e), e)
            continue
        if cells is None:
            return
        yield _row(f"{path.name}, row {number} (line {records.line})", names, cells)


def _row(where: str, names: tuple[str, ...], cells: list[str]) -> Row:
    if len(cells) != len(names):
        fault = f"{len(cells)} fields, but the header has {len(names)}."
        return Row.broken(where, fault, "Quote fields that hold the delimiter or a line break.")
    return Row(where, dict(zip(names, cells, strict=True)))


def _fault(error: csv.Error) -> tuple[str, str]:
    """What is wrong with a record, and the remedy."""
    reason = str(error)
    if "unexpected end of data" in reason:
        fault = "a quoted field that begins here is never closed."
        return fault, 'Close it with ", and write quotes inside quoted fields twice ("").'
    if "new-line character" in reason:
        fault = "a carriage return outside quotes."
        return fault, "Save the file with ordinary line ends (LF or CRLF)."
    return f"broken quotes ({reason}).", 'Write quotes inside quoted fields twice ("").'
