"""Parquet: typed columns, lists and structs, streamed in batches. Rows count from 1."""

from __future__ import annotations

from collections.abc import Iterator

from engine.errors import BadInputError
from engine.ingest.records import plain_record
from engine.ingest.rows import InputFile, Row, listed
from engine.types.limits import MEGABYTE, UNPACKED_BYTES, UNPACKED_RATIO
from storage import parquet_files


def rows(file: InputFile) -> Iterator[Row]:
    """One row per row of the file."""
    number = 0
    try:
        _check_packing(file)
        for values in parquet_files.rows(file.path):
            number += 1
            yield Row(f"{file.name}, row {number}", plain_record(values))
    except parquet_files.TableError as e:
        raise BadInputError(
            f"{file.name}, after row {number}: {e.message.removeprefix(file.name + ' ')}",
            "Write the file again as Parquet, or export it as CSV or JSON Lines.",
        ) from e


def _check_packing(file: InputFile) -> None:
    for column, packed, unpacked in parquet_files.packed_columns(file.path):
        if unpacked > max(UNPACKED_BYTES, UNPACKED_RATIO * packed):
            raise BadInputError(
                f"{file.name}: the column {listed([column])!r} takes {packed:,} bytes in the file"
                f" and {unpacked // MEGABYTE:,} MB in memory.",
                "Leave it out, or write the file in smaller row groups.",
            )
