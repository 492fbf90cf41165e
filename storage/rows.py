"""Records as rows of the ledger's tables: columns are called as the fields of their record."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from storage.database import Connection

Record = TypeVar("Record")
Packed = str
"""A text that is stored compressed."""
_KINDS = {
    "int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN", "datetime": "TIMESTAMP",
    "Packed": "BLOB",
}  # fmt: skip
"""Type of a field -> of its column; all others are VARCHAR."""


def names(record: Any, without: str = "") -> str:
    """The columns of a record, in the order of its fields.

    Args:
        without: a compressed text that is left empty, since it is not needed.
    """
    return ", ".join(
        f"''::BLOB AS {f.name}" if f.name == without else f.name for f in fields(record)
    )


def last(table: str, key: str, condition: str = "true", order: str = "id DESC") -> str:
    """A table's last row of each key, to select from.

    Args:
        condition: of the rows among which they are the last.
        order: what makes a row the last one.
    """
    nth = f"row_number() OVER (PARTITION BY {key} ORDER BY {order}) AS nth"
    ordered = f"SELECT *, {nth} FROM {table} WHERE {condition}"  # noqa: S608
    return f"(SELECT * FROM ({ordered}) AS ordered WHERE nth = 1) AS latest"  # noqa: S608


def records(make: Callable[..., Record], cursor: Connection) -> list[Record]:
    """The rows of a query whose columns are those of :func:`names`."""
    return [make(*map(_read, values)) for values in cursor.fetchall()]


def insert(connection: Connection, table: str, rows: Sequence[Any], clause: str = "") -> int:
    """Append records; an ``id`` is given by the table.

    One statement for all: row by row, ten thousand would hold the ledger for many seconds.

    Args:
        clause: ``ON CONFLICT DO NOTHING`` leaves out rows whose key is there already;
            ``RETURNING id`` is for a single row.

    Returns:
        how many were new, or the id.
    """
    result = inserted(connection, table, rows, clause)
    return int(result[0][0]) if result else 0


def inserted(
    connection: Connection, table: str, rows: Sequence[Any], clause: str
) -> list[tuple[Any, ...]]:
    """:func:`insert`, with all that the clause returns."""
    if not rows:
        return []
    columns = {
        f.name: str(f.type).removesuffix(" | None") for f in fields(rows[0]) if f.name != "id"
    }
    values: list[Any] = [
        [_pack(getattr(row, name)) if kind == "Packed" else stored(getattr(row, name))
         for row in rows]
        for name, kind in columns.items()
    ]  # fmt: skip
    if len(rows) == 1:  # takes half the time
        source, values = f"VALUES ({', '.join('?' * len(values))})", [one for (one,) in values]
    else:
        kinds = (_KINDS.get(kind, "VARCHAR") for kind in columns.values())
        source = f"SELECT {', '.join(f'unnest(?::{kind}[])' for kind in kinds)}"
    sql = f"INSERT INTO {table} ({', '.join(columns)}) {source} {clause}"
    return connection.execute(sql, values).fetchall()


def stored(value: Any) -> Any:
    """A value as tables hold it: times in UTC without a zone, spans as JSON."""
    if isinstance(value, tuple):
        return json.dumps(value)
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        raise ValueError(f"the time {value.isoformat()} has no time zone; use datetime.now(UTC)")
    return value.astimezone(UTC).replace(tzinfo=None)


def _pack(text: str) -> bytes:
    return zlib.compress(text.encode()) if text else b""


def _read(value: Any) -> Any:
    if isinstance(value, bytes):
        return zlib.decompress(value).decode() if value else ""
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
