"""Tables: CSV and TSV, workbooks of Excel, Parquet, and rows in memory.

Every value of CSV stays text (an id `007` stays `007`). The standard library's strict reader is
used because it knows the row and line of every fault; see `storage.parquet_files` for what DuckDB
does with a quote that is never closed."""

from __future__ import annotations

import csv
import re
import sys
import zipfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, count, islice
from typing import Any
from xml.etree.ElementTree import ParseError

from engine.errors import BadInputError
from engine.ingest.files import TOO_LONG, InputFile, table
from engine.ingest.json_files import plain_record
from engine.ingest.rows import SHORTEN, Format, Row, kind
from engine.ingest.values import is_known
from engine.types.corpora import Rows
from engine.types.limits import ROW_BYTES
from storage import parquet_files

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
"""What is looked for, and what people call it."""
_SEP = re.compile(r"sep=(.)\r?\n?\Z", re.IGNORECASE)
"""A first line that spreadsheets write and read, and that is no part of the table."""
_LOOKED_AT, _LONGEST = 20, 100_000
"""Lines, and characters of each, by which a delimiter is detected."""


def find_delimiter(file: InputFile, usual: str = ",") -> str:
    """The delimiter that a file names, or that cuts its first lines into equally many fields."""
    try:
        lines = [line[:_LONGEST] for _, line in islice(file.lines(), _LOOKED_AT) if line.strip()]
    except BadInputError:  # reported when the rows are read
        return usual
    if lines and (named := _SEP.match(lines[0])):
        return named.group(1)

    def fits(mark: str) -> tuple[bool, float, int]:
        # Fields with line breaks end elsewhere: the share of rows like the header decides.
        table = list(csv.reader(lines, delimiter=mark))
        header = table[header_at(table)]
        alike = sum(len(cells) == len(header) for cells in table) / len(table)
        known = sum(map(is_known, header)) > 1
        return (known, alike, len(header)) if len(header) > 1 else (False, 0.0, 0)

    if not lines:
        return usual
    try:
        best = max((usual, *DELIMITERS), key=fits)
    except csv.Error:
        best = max((usual, *DELIMITERS), key=lines[0].count)
    return best


def delimited_rows(file: InputFile) -> Iterator[Row]:
    """Rows of a CSV or TSV file."""
    return _rows(file, partial(_records, file))


def header(file: InputFile) -> tuple[str, ...]:
    """The column names of a CSV file; empty when it has no readable header."""
    try:
        return _header(file, partial(_records, file))[0]
    except BadInputError:
        return ()


def _rows(file: InputFile, records: _Records, *, padded: bool = False) -> Iterator[Row]:
    """The rows below the header; `padded`: records may end where their last filled cell is."""
    names, rest = _header(file, records)
    for number, (line, cells) in enumerate(rest, start=1):
        where = f"{file.name}, row {number} (line {line})"
        if isinstance(cells, csv.Error):
            yield Row.broken(where, *_fault(cells))
        else:
            missing = len(names) - len(cells) if padded else 0
            yield row_of(where, names, cells + [None] * missing)


def _header(file: InputFile, records: _Records) -> tuple[tuple[str, ...], Iterator[_Record]]:
    """The column names, and the records below them."""
    above = header_at(() if isinstance(cells, csv.Error) else cells for _, cells in records())
    rest = records()
    line, cells = next(islice(rest, above, None), (1, []))
    if isinstance(cells, csv.Error):
        fault, remedy = _fault(cells)
        raise BadInputError(f"{file.name}, header (line {line}): {fault}", remedy) from cells
    return column_names(cells), rest


_Record = tuple[int, list[Any] | csv.Error]  # The first line of a record, and its cells or fault
_Records = Callable[[], Iterator[_Record]]  # from the beginning


def _records(file: InputFile) -> Iterator[_Record]:
    """The records of a file that are not blank, read strictly. Of a broken one only the first line
    is lost: a quote that is never closed does not take the rows behind it."""
    # Process-wide in the csv module; its default refuses fields above 128 kB.
    csv.field_size_limit(ROW_BYTES)
    lines, again = file.short_lines(), deque[tuple[int, str | None]]()
    taken: list[tuple[int, str | None]] = []

    def texts() -> Iterator[str]:
        size = 0
        while (line := again.popleft() if again else next(lines, None)) is not None:
            size = len(line[1] or "") + (size if taken else 0)
            taken.append(line)
            if line[1] is None or size > ROW_BYTES:
                raise csv.Error(TOO_LONG)
            yield line[1]

    while True:
        try:
            for cells in csv.reader(texts(), delimiter=file.delimiter, strict=True):
                line, text = taken[0]
                taken.clear()
                is_sep = line == 1 and _SEP.match(text or "")
                if any(cell.strip() for cell in cells) and not is_sep:
                    yield line, cells
            return
        except csv.Error as error:
            line = taken[0][0]
            again.extendleft(reversed(taken[1:]))
            taken.clear()
            yield line, error


def header_at(records: Iterable[Sequence[Any]]) -> int:
    """The number of rows above the header: notes of fewer cells, where known names follow."""
    widest = 0
    for number, cells in enumerate(islice(records, _LOOKED_AT)):
        filled = [str(cell) for cell in cells if not is_blank(cell)]
        known = sum(map(is_known, filled))
        if known > 1 and len(filled) > widest:
            return number
        if known and not number:
            break
        widest = max(widest, len(filled))
    return 0


def is_blank(cell: Any) -> bool:
    """Whether there is nothing in a cell of a table."""
    return cell is None or not str(cell).strip()


def column_names(cells: Sequence[Any]) -> tuple[str, ...]:
    """The names in a header, each once; a blank one is ``column N``."""
    names: dict[str, None] = {}
    for n, cell in enumerate(cells, start=1):
        name = " ".join(("" if cell is None else str(cell)).split()) or f"column {n}"
        # Of two columns with one name the first keeps it.
        others = (f"{name} ({number})" for number in count(2))
        names[next(one for one in chain([name], others) if one not in names)] = None
    return tuple(names)


def row_of(where: str, names: tuple[str, ...], cells: list[Any]) -> Row:
    """A row of a table; one with a problem where it has other columns than the header."""
    while len(cells) > len(names) and is_blank(cells[-1]):
        cells.pop()  # spreadsheets end rows with delimiters
    if len(cells) != len(names):
        fault = f"{len(cells)} fields, but the header has {len(names)}."
        remedy = (
            "Quote fields that hold the delimiter or a line break, or choose another delimiter."
        )
        return Row.broken(where, fault, remedy)
    return Row(where, dict(zip(names, cells, strict=True)))


_FAULTS = {TOO_LONG: (TOO_LONG, SHORTEN), "field limit": (TOO_LONG, SHORTEN)}
_FAULTS |= {part: (fault, remedy) for part, fault, remedy in table("notes")["csv"]["faults"]}
"""A part of an error of csv -> what is wrong with a record, and the remedy."""


def _fault(error: csv.Error) -> tuple[str, str]:
    broken = f"broken quotes ({error}).", 'Write quotes inside quoted fields twice ("").'
    return next((fault for part, fault in _FAULTS.items() if part in str(error)), broken)


def workbook_rows(file: InputFile) -> Iterator[Row]:
    """One row per row of the sheet that is not blank."""
    from openpyxl import load_workbook  # late: most files are of other formats
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        with file.path.open("rb") as content:
            sheet = load_workbook(content, read_only=True, data_only=True).worksheets[0]
            yield from _rows(file, partial(_filled, sheet), padded=True)
    except (InvalidFileException, zipfile.BadZipFile, ParseError, KeyError, ValueError) as error:
        raise BadInputError(
            f"{file.name} cannot be read as a workbook of Excel ({error}).",
            "Save it again as .xlsx, or as CSV.",
        ) from error


def _filled(sheet: Any) -> Iterator[_Record]:
    for line, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        if not all(map(is_blank, cells)):
            yield line, list(cells)


def parquet_rows(file: InputFile) -> Iterator[Row]:
    """One row per row of the file."""
    number = 0
    try:
        for values in parquet_files.rows(file.path):
            number += 1
            yield Row(f"{file.name}, row {number}", plain_record(values))
    except parquet_files.TableError as e:
        raise BadInputError(
            f"{file.name}, after row {number}: {e.message.removeprefix(file.name + ' ')}",
            "Write the file again as Parquet, or export it as CSV or JSON Lines.",
        ) from e


# -- rows in memory ----------------------------------------------------------------------

TABLE_NAME = "a table in memory"
"""What messages and the list of corpora call where such documents came from."""
BATCH_ROWS = 256  # Rows of a table that are turned into Python values at once
_TABLE_REMEDY = "Give a pandas DataFrame, an Arrow table, or an iterable of dicts."


def held(given: Rows) -> Rows:
    """The rows as something that can be read as often as needed."""
    if _is_frame(given):
        return given.set_axis(column_names(given.columns), axis=1)
    if hasattr(given, "__arrow_c_stream__"):
        import pyarrow as pa

        table = pa.table(given)
        return table.rename_columns(column_names(table.column_names))
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise BadInputError(f"{kind(given).capitalize()} is not a table.", _TABLE_REMEDY)
    return list(given)


def memory_rows(given: Any) -> Iterator[Row]:
    """One row per row of what :func:`held` returned."""
    for number, values in enumerate(_of_memory(given), start=1):
        where = f"row {number}"
        if isinstance(values, Mapping):
            plain = {str(column): _plain(value) for column, value in values.items()}
            yield Row(where, plain_record(plain))
        else:
            problem = BadInputError(f"{where} is {kind(values)}, not a dict.", _TABLE_REMEDY)
            yield Row(where, problem=problem)


def _of_memory(given: Rows) -> Iterator[Any]:
    if _is_frame(given):
        for start in range(0, len(given), BATCH_ROWS):
            yield from given.iloc[start : start + BATCH_ROWS].to_dict("records")
    elif isinstance(given, list):
        yield from given
    else:
        for batch in given.to_batches(max_chunksize=BATCH_ROWS):
            yield from batch.to_pylist()


def _is_frame(given: Rows) -> bool:
    # A program with a frame has loaded pandas; others need not wait for it.
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(given, pandas.DataFrame)


def _plain(value: Any) -> Any:
    """A value as a file would hold it: NumPy's and pandas's own types become Python's."""
    kind = type(value)
    if kind.__name__ in ("NAType", "NaTType"):
        return None
    if kind.__module__ != "numpy":
        return value
    return (value.astype("datetime64[us]") if kind.__name__ == "datetime64" else value).tolist()


TABLE_FORMAT = Format("rows", memory_rows, peek=1000)
