"""Parquet: typed columns, lists and structs, streamed in batches. Rows count from 1."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engine.errors import BadInputError
from engine.ingest.rows import Row, spread_metadata
from storage import tables


def rows(path: Path) -> Iterator[Row]:
    """One row per row of the file; raises BadInputError when it is not a sound Parquet file."""
    number = 0
    try:
        for values in tables.rows(path):
            number += 1
            yield Row(f"{path.name}, row {number}", spread_metadata(values))
    except tables.TableError as e:
        raise BadInputError(
            f"{path.name}, after row {number}: {e.message.removeprefix(path.name + ' ')}",
            "Write the file again as Parquet, or export it as CSV or JSON Lines.",
        ) from e
