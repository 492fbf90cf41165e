"""Parquet files of people, read as rows through Arrow.

CSV and TSV are not read so: Arrow does not say which row is broken, and DuckDB 2.0 silently drops
the rows after an unclosed quote (60,000 of 60,100 rows returned). ``engine.ingest.tables`` reads
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path
from typing import Any

from storage.errors import StorageError

BATCH_ROWS = 32
"""Rows made at once. A value that stands once in the file may be that of all of them."""
_BUFFER = 2**20


class TableError(StorageError):
    """A table file could not be read; the message is Arrow's, in one line."""


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Every row as ``{column: value}``, in file order, ``BATCH_ROWS`` at a time.

    Lists are lists, structs dicts, dates and times those of ``datetime``. Of columns with one name
    the first counts. TableError for a damaged file.
    """
    from pyarrow import ArrowException  # late: most files are of other formats
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path, buffer_size=_BUFFER, coerce_int96_timestamp_unit="us") as file:
            for batch in file.iter_batches(batch_size=BATCH_ROWS, use_threads=False):
                yield from batch.rename_columns(_apart(batch.schema.names)).to_pylist()
    except MemoryError:
        raise
    # A damaged file also shows as dates out of range, broken UTF-8 and the like.
    except (ArrowException, OSError, ArithmeticError, ValueError, RuntimeError) as e:
        reason = str(e).strip().split("\n", 1)[0]
        raise TableError(f"{path.name} cannot be read: {reason}") from e


def _apart(names: list[str]) -> list[str]:
    used: dict[str, None] = {}
    for name in names:
        others = (f"{name}_{number}" for number in count(1))
        used[next(one for one in chain([name], others) if one not in used)] = None
    return list(used)
