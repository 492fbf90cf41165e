"""Workbooks of Excel (``.xlsx``): the first sheet, with a header as in a CSV file."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import ParseError

from engine.errors import BadInputError
from engine.ingest.delimited import column_names, header_at, is_blank, row_of
from engine.ingest.rows import InputFile, Row


def rows(file: InputFile) -> Iterator[Row]:
    """One row per row of the sheet that is not blank."""
    from openpyxl import load_workbook  # late: most files are of other formats
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        with file.path.open("rb") as content:
            sheet = load_workbook(content, read_only=True, data_only=True).worksheets[0]
            above = header_at(cells for _, cells in _filled(sheet))
            names: tuple[str, ...] = ()
            for number, (line, cells) in enumerate(_filled(sheet), start=-above):
                if number == 0:
                    names = column_names(cells)
                elif number > 0:
                    cells += [None] * (len(names) - len(cells))
                    yield row_of(f"{file.name}, row {number} (line {line})", names, cells)
    except (InvalidFileException, zipfile.BadZipFile, ParseError, KeyError, ValueError) as error:
        raise BadInputError(
            f"{file.name} cannot be read as a workbook of Excel ({error}).",
            "Save it again as .xlsx, or as CSV.",
        ) from error


def _filled(sheet: Any) -> Iterator[tuple[int, list[Any]]]:
    for line, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        if not all(map(is_blank, cells)):
            yield line, list(cells)
