"""Parquet files read as rows, through DuckDB. Files that people bring, not files of the home.

CSV and TSV are deliberately not read here: DuckDB 2.0 drops the rows behind a quote that is
never closed without an error (60,000 of 60,100 rows returned), and it cannot say which row is
broken while it guesses the dialect. ``engine.ingest.delimited`` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from storage.errors import StorageError

BATCH_ROWS = 256
"""Rows held at once: documents can be long, and nobody needs more at a time."""

# No extension is ever fetched, one thread keeps the rows in order and the machine free.
_CONFIG: dict[str, Any] = {
    "threads": 1,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


class TableError(StorageError):
    """A table file could not be read; the message is DuckDB's, in one line."""


def rows(path: Path, batch_rows: int = BATCH_ROWS) -> Iterator[dict[str, Any]]:
    """Every row as ``{column: value}``, in file order, ``batch_rows`` at a time.

    Lists come as lists, structs as dicts, dates and times as those of ``datetime``.
    Raises TableError when the file is not Parquet or is damaged.
    """
    # DuckDB expands * ? [ in paths, even in bound ones; in brackets they mean themselves.
    literal = re.sub(r"([*?\[])", r"[\1]", str(path.resolve()))
    # A folder called ``year=2011`` is just a folder: no column is made up from it.
    sql = "SELECT * FROM read_parquet(?, hive_partitioning = false)"
    # A connection of its own: readers run next to each other and never see the ledger.
    try:
        with duckdb.connect(":memory:", config=_CONFIG) as connection:
            relation = connection.sql(sql, params=[literal])
            for batch in relation.to_arrow_reader(batch_rows):
                yield from batch.to_pylist()
    # A damaged file also shows as dates out of range, broken UTF-8 and the like.
    except (duckdb.Error, OSError, ArithmeticError, ValueError, RuntimeError) as e:
        reason = str(e).strip().split("\n", 1)[0]
        raise TableError(f"{path.name} cannot be read: {reason}") from e
