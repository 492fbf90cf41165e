"""Tables and JSON: CSV and TSV, workbooks of Excel, Parquet, rows in memory; lines with an object
each, one list of objects, an answer of a service, and the folders of BEIR and CSFCube.

Every value of CSV stays text (an id `007` stays `007`). The standard library's strict reader is
used because it knows the row and line of every fault; see `storage.parquet_files` for what DuckDB
does with a quote that is never closed. Records as other programs nest them become plain columns."""

from __future__ import annotations

import csv
import json
import re
import sys
import zipfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, count, islice
from typing import Any
from xml.etree.ElementTree import ParseError

from engine.bibliographic import abstract_of, at, year_in
from engine.errors import BadInputError
from engine.ingest.documents import NESTED, is_known
from engine.ingest.files import SHORTEN, TOO_LONG, Format, InputFile, Row, kind, opened, table
from engine.ingest.references import plain
from engine.types.corpora import Rows
from engine.types.limits import ROW_BYTES
from storage import parquet_files

LISTS = ("results", "items", "data", "works", "records", "documents", "articles", "papers")
"""Under what an answer of a service has its records."""


def records_of(value: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """The records of an object: those in its list, where it is an answer of a service, else it."""
    if not any(map(is_known, value.keys() - set(LISTS))):
        for name in LISTS:
            found = value.get(name)
            if isinstance(found, list) and found and all(isinstance(one, dict) for one in found):
                return found
    return (value,)


def plain_record(values: Mapping[str, Any]) -> dict[str, Any]:
    """Column -> value, with objects of :data:`engine.ingest.documents.NESTED` spread one level:
    ``{"metadata": {"year": 1}}`` is ``{"metadata.year": 1}``."""
    if "abstract_inverted_index" in values:
        values = _openalex(values)
    elif isinstance(values.get("authors_parsed"), list):
        values = _arxiv(values)
    if isinstance(values.get("journal"), Mapping):
        values = _with_journal(values)
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if name in NESTED and isinstance(value, Mapping):
            flat |= {f"{name}.{key}": inner for key, inner in value.items()}
        else:
            flat[name] = value
    return flat


def _openalex(work: Mapping[str, Any]) -> dict[str, Any]:
    """A work of OpenAlex, as its API and its snapshot have it."""
    pages = (at(work, "biblio", "first_page"), at(work, "biblio", "last_page"))
    left_out = (
        *("abstract_inverted_index", "authorships", "biblio", "primary_location", "display_name"),
    )
    return {name: value for name, value in work.items() if name not in left_out} | {
        "id": str(work.get("id") or "").rpartition("/")[2],
        "title": work.get("title") or work.get("display_name"),
        "abstract": abstract_of(work["abstract_inverted_index"]),
        "authors": [at(one, "author", "display_name") for one in work.get("authorships") or ()],
        "venue": at(work, "primary_location", "source", "display_name"),
        "volume": at(work, "biblio", "volume"),
        "issue": at(work, "biblio", "issue"),
        "pages": "-".join(filter(None, pages)),
    }


def _arxiv(paper: Mapping[str, Any]) -> dict[str, Any]:
    """A paper of arXiv's snapshot: LaTeX in its texts, names as [last, first, suffix, ...]."""
    first = next(iter(paper.get("versions") or ()), None)
    texts = {
        name: plain(text) if "\\" in text else " ".join(text.split())
        for name in ("title", "abstract")
        if isinstance(text := paper.get(name), str)
    }
    names = (name for name in paper["authors_parsed"] if isinstance(name, list))
    left_out = ("authors_parsed", "versions")
    kept = {name: value for name, value in paper.items() if name not in left_out}
    return {
        **kept,
        **texts,
        "authors": [" ".join(filter(None, (*n[1:2], *n[:1], *n[2:3]))) for n in names],
        "year": year_in(at(first, "created")) or year_in(paper.get("update_date")),
        "url": f"https://arxiv.org/abs/{paper.get('id')}",
    }


def _with_journal(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record whose journal is an object, as services have it: ``{"name": ..., "pages": ...}``."""
    journal = record["journal"]
    names = (journal.get(key) for key in ("name", "title", "display_name"))
    own = ("volume", "issue", "pages", "issn", "publisher")
    parts = {key: journal[key] for key in own if isinstance(journal.get(key), str | int)}
    return {**parts, **record, "journal": next((n for n in names if isinstance(n, str)), None)}


def line_rows(file: InputFile) -> Iterator[Row]:
    """The rows of each line that is not blank; a broken line is a row with a problem."""
    remedy = "Write one JSON object per line."
    for number, line in file.short_lines():
        where = f"{file.name}, row {number}"
        if line is None:
            yield Row.broken(where, TOO_LONG, SHORTEN)
        elif line.strip():
            try:
                value = json.loads(line.rstrip("\r\n"))
            except json.JSONDecodeError as e:
                fault = f"broken JSON at character {e.pos + 1}: {e.msg}."
                yield Row.broken(where, fault, remedy)
            except (ValueError, RecursionError) as e:
                yield Row.broken(where, f"JSON that cannot be read: {e}.", remedy)
            else:
                if isinstance(value, dict):
                    yield from (Row(where, plain_record(one)) for one in records_of(value))
                else:
                    fault = f"a JSON object is expected; this is {kind(value)}."
                    yield Row.broken(where, fault, remedy)


def rows_in_folder(pattern: str, file: InputFile) -> Iterator[Row]:
    """Rows of the first file in a folder whose name is so, or of that file itself."""
    paths = sorted(file.path.glob(pattern)) if file.path.is_dir() else [file.path]
    if not paths:
        raise BadInputError(f"{file.name} has no {pattern}.", f"Choose a folder with {pattern}.")
    return line_rows(replace(file, path=paths[0]))


_BETWEEN = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder()
_LIST = re.compile(rf'\ufeff?\s*(?:\[|\{{(?s:.*?)"(?:{"|".join(LISTS)})"\s*:\s*\[(?=\s*\{{))')
"""The beginning of a file up to its list, which an answer of a service has under a name."""
_PIECE = 2**16
_CUT = 12  # Characters before the end of a piece in which a value that goes on there looks broken
_REMEDY = "Write one list of JSON objects: [{...}, {...}]."


def list_rows(file: InputFile) -> Iterator[Row]:
    """One row per object of a list, of which one at a time is held in memory."""
    number = 0
    try:
        for number, value in enumerate(_values(file), start=1):
            where = f"{file.name}, row {number}"
            if isinstance(value, Mapping):
                yield Row(where, _csl(plain_record(value)))
            else:
                yield Row.broken(where, "a JSON object is expected.", _REMEDY)
    except _EndError as error:
        yield Row.broken(f"{file.name}, row {number + 1}", f"broken JSON ({error}).", _REMEDY)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else error
        raise BadInputError(
            f"{file.name}, row {number + 1}: broken JSON ({reason}).", _REMEDY
        ) from error


def _values(file: InputFile) -> Iterator[Any]:
    """The values of the list in a file; ValueError where it ends, or cannot be read."""
    with opened(file.path, file.encoding) as content:
        text = content.read(_PIECE)
        begin = _LIST.match(text)
        while begin is None and "{" in text[:_PIECE] and len(text) < ROW_BYTES:
            if not (more := content.read(len(text))):
                break
            text += more
            begin = _LIST.match(text)
        if begin is None:
            raise BadInputError(f"{file.name} is no list of JSON objects.", _REMEDY)
        within, at = "{" in begin[0], begin.end()
        while True:
            found = _BETWEEN.match(text, at)
            at = found.end() if found else at
            if text[at : at + 1] == "]":
                break
            try:
                value, at = _DECODER.raw_decode(text, at)
            except json.JSONDecodeError as error:
                cut = error.pos >= len(text) - _CUT or "Unterminated" in error.msg
                # As much again as is left, so that a long object is tried a few times only.
                more = content.read(max(_PIECE, len(text) - at)) if cut else ""
                if not more and cut:
                    raise _EndError(error.msg) from error
                if not more:
                    raise
                text, at = text[at:] + more, 0
            else:
                yield value
        if not within and (text[at + 1 :] + content.read(_PIECE)).strip():
            raise _EndError("there is more behind the end of the list")


class _EndError(ValueError):
    """A list that does not end as it should; the rows before are good."""


def _csl(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record with the year and the venue of CSL-JSON under their own names."""
    values = {name: _date(value) for name, value in record.items()}
    if "issued" in values:
        values.setdefault("year", values.pop("issued"))
    if isinstance(values.get("container-title"), str):
        values.setdefault("venue", values.pop("container-title"))
    return values


def _date(value: Any) -> Any:
    """A CSL date, ``{"date-parts": [[2020, 3]]}`` or in words, as "2020-03"; all else as it is."""
    match value:
        case {"date-parts": [[*parts], *_]}:
            return "-".join(str(part).zfill(2) for part in parts)
        case {"literal": str(words)} | {"raw": str(words)}:
            return words
    return value


# -- tables -------------------------------------------------------------------------------------

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


def held(given: Rows) -> Callable[[], Iterable[Any]]:
    """The rows as something that can be read as often as needed."""
    # A program with a frame has loaded pandas; others need not wait for it.
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(given, pandas.DataFrame):
        frame = given.set_axis(column_names(given.columns), axis=1)
        parts = [slice(at, at + BATCH_ROWS) for at in range(0, len(frame), BATCH_ROWS)]
        return lambda: (row for part in parts for row in frame.iloc[part].to_dict("records"))
    if hasattr(given, "__arrow_c_stream__"):
        import pyarrow as pa

        table = pa.table(given)
        table = table.rename_columns(column_names(table.column_names))
        batches = table.to_batches(max_chunksize=BATCH_ROWS)
        return lambda: (row for batch in batches for row in batch.to_pylist())
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise BadInputError(f"{kind(given).capitalize()} is not a table.", _TABLE_REMEDY)
    rows = list(given)
    return lambda: rows


def memory_rows(rows: Any) -> Iterator[Row]:
    """One row per row of what :func:`held` returned."""
    for number, values in enumerate(rows(), start=1):
        where = f"row {number}"
        if isinstance(values, Mapping):
            plain = {str(column): _plain(value) for column, value in values.items()}
            yield Row(where, plain_record(plain))
        else:
            problem = BadInputError(f"{where} is {kind(values)}, not a dict.", _TABLE_REMEDY)
            yield Row(where, problem=problem)


def _plain(value: Any) -> Any:
    """A value as a file would hold it: NumPy's and pandas's own types become Python's."""
    kind = type(value)
    if kind.__name__ in ("NAType", "NaTType"):
        return None
    if kind.__module__ != "numpy":
        return value
    return (value.astype("datetime64[us]") if kind.__name__ == "datetime64" else value).tolist()


TABLE_FORMAT = Format("rows", memory_rows, peek=1000)
