"""People's queries in SQL, on a DuckDB in memory that reads Arrow and nothing else."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from itertools import chain, count
from time import perf_counter
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from storage.errors import QueryError

SECONDS = 60.0  # A query is stopped after this time
MEMORY_MB, MOST_MB = 1024, 512  # Memory of a query, and of its result
BATCH = 4096  # Rows of a result that are read at a time
_SETTINGS: dict[str, Any] = {
    "memory_limit": f"{MEMORY_MB}MB",
    "threads": 2,
    "temp_directory": "",
    "python_enable_replacements": False,
}
_READING = ("SELECT", "EXPLAIN", "MULTI")
"""Kinds of statements that are run; MULTI is what DuckDB makes of PIVOT."""


@dataclass(frozen=True, slots=True)
class View:
    """A name that queries can read from."""

    schema: pa.Schema  # of what ``read`` gives; called when a query has the name of the view
    read: Callable[[], Any]
    sql: Callable[[], str] = lambda: "SELECT * FROM {source}"  # what the view shows of ``{source}``


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The result of a query."""

    table: pa.Table  # unique column names; whole numbers of any size as 64-bit integers or floats
    truncated: bool  # there are more rows
    seconds: float

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Rows as texts and numbers: times by ISO 8601, lists and structures as JSON."""
        for batch in self.table.to_batches():
            columns = [map(_plain_cell, column.to_pylist()) for column in batch.columns]
            yield from zip(*columns, strict=True)

    def to_parquet(self) -> bytes:
        """The file; QueryError where it has no type for a column."""
        out = io.BytesIO()
        try:
            parquet.write_table(self.table, out)
        except pa.ArrowNotImplementedError as error:
            raise QueryError(
                f"Parquet has no type for a column: {error}.", "Cast it to VARCHAR in the query."
            ) from error
        return out.getvalue()


def run(
    query: str,
    views: Mapping[str, View],
    *,
    most_rows: int | None = None,
    most_mb: int = MOST_MB,
    seconds: float = SECONDS,
) -> QueryResult:
    """The result of one query over ``views``; QueryError where it cannot be run.

    Args:
        most_rows, most_mb: of the result; the first rows of a larger one are kept.
        seconds: after which the query is stopped.
    """
    started = perf_counter()
    with _connection(seconds) as connection, _errors(views, seconds):
        for name in _named(connection, query, views):
            _register(connection, name, views[name], views[name].read())
        batches, rows, size, truncated = [], 0, 0, False
        with connection.sql(query).to_arrow_reader(BATCH) as reader:
            for batch in reader:
                batches.append(batch)
                rows, size = rows + batch.num_rows, size + batch.nbytes
                if truncated := rows > (most_rows or rows) or size > most_mb * 1_000_000:
                    break
            table = pa.Table.from_batches(batches, reader.schema)
    return QueryResult(_plain(table[:most_rows]), truncated, perf_counter() - started)


def columns(views: Mapping[str, View]) -> dict[str, dict[str, str]]:
    """view -> column -> its type in DuckDB; nothing is read."""
    with _connection(SECONDS) as connection:
        for name, view in views.items():
            _register(connection, name, view, view.schema.empty_table())
        described = {name: connection.sql(f"DESCRIBE {name}").fetchall() for name in views}
    return {name: {row[0]: row[1] for row in rows} for name, rows in described.items()}


@contextmanager
def _connection(seconds: float) -> Iterator[duckdb.DuckDBPyConnection]:
    """A new in-memory database without access to files, network and settings."""
    limits = {"max_execution_time": round(seconds * 1000)}
    with duckdb.connect(":memory:", config={**_SETTINGS, **limits}) as connection:
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield connection


def _register(connection: duckdb.DuckDBPyConnection, name: str, view: View, data: Any) -> None:
    connection.register(f"{name}_source", data)
    sql = view.sql().replace("{source}", f"{name}_source")
    connection.execute(f"CREATE TEMP VIEW {name} AS {sql}")


def _named(
    connection: duckdb.DuckDBPyConnection, query: str, views: Mapping[str, View]
) -> list[str]:
    """The views named in a query; QueryError unless it is one reading statement."""
    statements = connection.extract_statements(query)
    remedy, fault = f"Write one SELECT over {', '.join(views)}.", ""
    if len(statements) != 1:
        fault = f"There are {len(statements)} statements where one query is needed."
    elif (kind := statements[0].type.name) not in _READING:
        fault = f"{kind} is refused: a query only reads, and no files."
    if fault:
        raise QueryError(fault, remedy)
    words = set(re.findall(r"\w+", query.lower()))
    return [name for name in views if name in words]


@contextmanager
def _errors(views: Mapping[str, View], seconds: float) -> Iterator[None]:
    """Raise errors of DuckDB as QueryError."""
    try:
        yield
    except duckdb.InterruptException as error:
        raise QueryError(
            f"The query was stopped after {seconds:g} s.", "Read fewer rows, or add a LIMIT."
        ) from error
    except duckdb.OutOfMemoryException as error:
        raise QueryError(
            f"The query needs more than {MEMORY_MB:,} MB of memory.", "Read fewer rows or columns."
        ) from error
    except duckdb.Error as error:
        text = str(error).partition(": ")[2] or str(error)
        lines = (line.strip() for line in text.split("\n") if "Did you mean" not in line)
        problem = " ".join(line for line in lines if line.strip("^")).rstrip(".!")
        verb = "was refused" if isinstance(error, duckdb.PermissionException) else "cannot be run"
        raise QueryError(
            f"The query {verb}: {problem}.",
            f"Queries read {', '.join(views)}, and no files or network.",
        ) from error


def _plain(table: pa.Table) -> pa.Table:
    """The table with unique names, and sums of integers in portable types."""
    columns: dict[str, pa.ChunkedArray] = {}
    for name, array in zip(table.column_names, table.columns, strict=True):
        others = (f"{name}_{number}" for number in count(2))
        if pa.types.is_decimal(array.type) and array.type.scale == 0:
            largest = pc.max(pc.abs(array)).as_py() or 0
            array = array.cast(pa.int64() if largest < 2**63 else pa.float64())
        columns[next(one for one in chain([name], others) if one not in columns)] = array
    return pa.table(columns)


def _plain_cell(value: object) -> object:
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False, default=str)
