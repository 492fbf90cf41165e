"""Rows in memory: a pandas DataFrame, an Arrow table, or mappings. Rows count from 1."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.errors import BadInputError
from engine.ingest.builder import kind
from engine.ingest.records import plain_record
from engine.ingest.rows import Format, Row, listed, repeated
from engine.types.corpora import Rows

NAME = "a table in memory"
"""What messages and the list of corpora call where such documents came from."""
BATCH_ROWS = 256  # Rows of a table that are turned into Python values at once
_REMEDY = "Give a pandas DataFrame, an Arrow table, or an iterable of dicts."


def held(given: Rows) -> Rows:
    """The rows as something that can be read as often as needed."""
    if _is_frame(given):
        return _with_own_names(given, map(str, given.columns))
    if hasattr(given, "__arrow_c_stream__"):
        import pyarrow as pa

        table = pa.table(given)
        return _with_own_names(table, table.column_names)
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise BadInputError(f"{kind(given).capitalize()} is not a table.", _REMEDY)
    return list(given)


def rows(given: Rows) -> Iterator[Row]:
    """One row per row of what :func:`held` returned."""
    for number, values in enumerate(_records(given), start=1):
        where = f"row {number}"
        if isinstance(values, Mapping):
            plain = {str(column): _plain(value) for column, value in values.items()}
            yield Row(where, plain_record(plain))
        else:
            problem = BadInputError(f"{where} is {kind(values)}, not a dict.", _REMEDY)
            yield Row(where, problem=problem)


FORMAT = Format("rows", rows, peek=1000)


def _records(given: Rows) -> Iterator[Any]:
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


def _with_own_names(table: Rows, columns: Iterable[str]) -> Rows:
    if twice := repeated(columns):
        raise BadInputError(
            f"The column {listed(twice[:1])!r} is in the table twice.",
            "Give every column another name.",
        )
    return table


def _plain(value: Any) -> Any:
    """A value as a file would hold it: NumPy's and pandas's own types become Python's."""
    numpy = sys.modules.get("numpy")  # as of pandas
    if numpy is not None and isinstance(value, numpy.datetime64):
        return value.astype("datetime64[us]").tolist()
    if numpy is not None and isinstance(value, numpy.generic | numpy.ndarray):
        return value.tolist()
    pandas = sys.modules.get("pandas")
    if pandas is not None and (value is pandas.NA or value is pandas.NaT):
        return None
    return value
