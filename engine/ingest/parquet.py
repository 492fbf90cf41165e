"""Parquet: typed columns, lists and structs, streamed in batches. Rows count from 1."""

from __future__ import annotations

from collections.abc import Iterator

from engine.errors import BadInputError
from engine.ingest.rows import InputFile, Row, spread_metadata
from storage import parquet_files


def rows(file: InputFile) -> Iterator[Row]:
    """One row per row of the file; raises BadInputError when it is not a sound Parquet file."""
    number = 0
    try:
        for values in parquet_files.rows(file.path):
            number += 1
            yield Row(f"{file.name}, row {number}", spread_metadata(values))
    except parquet_files.TableError as e:
        raise BadInputError(
            f"{file.name}, after row {number}: {e.message.removeprefix(file.name + ' ')}",
            "Write the file again as Parquet, or export it as CSV or JSON Lines.",
        ) from e
