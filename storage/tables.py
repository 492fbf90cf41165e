"""The ledger's tables: one per record, whose fields are the columns.

Each is defined beside its record; :data:`METADATA` has all once :mod:`storage.ledger` is loaded.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal, TypeVar

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    DateTime,
    Dialect,
    Double,
    Integer,
    LargeBinary,
    MetaData,
    Select,
    Table,
    Text,
    TypeDecorator,
    bindparam,
    func,
    select,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.schema import SchemaItem
from sqlalchemy.types import TypeEngine

Record = TypeVar("Record")
METADATA = MetaData()
MOST_VALUES = 500  # In one condition


class UtcTime(TypeDecorator[datetime]):
    """A time, stored in UTC without a zone."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(
                f"the time {value.isoformat()} has no time zone; use datetime.now(UTC)"
            )
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, _: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


class PackedText(TypeDecorator[str]):
    """A text, stored compressed; "" stays empty."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, _: Dialect) -> bytes | None:
        return None if value is None else zlib.compress(value.encode()) if value else b""

    def process_result_value(self, value: bytes | None, _: Dialect) -> str | None:
        return None if value is None else zlib.decompress(value).decode() if value else ""


class Spans(TypeDecorator[tuple[Any, ...]]):
    """Nested tuples of numbers or texts, stored as JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: tuple[Any, ...] | None, _: Dialect) -> str | None:
        return None if value is None else json.dumps(value)

    def process_result_value(self, value: str | None, _: Dialect) -> tuple[Any, ...] | None:
        return None if value is None else _spans(value)


@lru_cache(maxsize=4096)
def _spans(text: str) -> tuple[Any, ...]:
    return tuple(tuple(one) for one in json.loads(text))


NUMBER = BigInteger().with_variant(Integer, "sqlite")
"""The type of ids: in SQLite the place of a row."""
_TYPES: dict[str, type[TypeEngine[Any]]] = {
    "int": BigInteger,
    "float": Double,
    "bool": Boolean,
    "datetime": UtcTime,
    "Packed": PackedText,
    "bytes": LargeBinary,
}
"""Type of a field -> of its column. Tuples are :class:`Spans`, all others text."""


def table(
    name: str, record: type[Any], *more: SchemaItem, key: Sequence[str] = (), number: str = "id"
) -> Table:
    """The table of a record.

    Args:
        more: other columns, indexes and constraints.
        key: the primary key where rows are not numbered.
        number: the column with the numbers of rows in order of arrival; "" for none.
    """
    columns: list[Column[Any]] = []
    if number and not key:
        columns.append(Column(number, NUMBER, primary_key=True, autoincrement=False))
    for field in fields(record):
        if field.name != "id":
            kind = str(field.type).removesuffix(" | None")
            type_ = Spans if kind.startswith("tuple") else _TYPES.get(kind, Text)
            optional = str(field.type).endswith(" | None")
            columns.append(
                Column(field.name, type_, primary_key=field.name in key, nullable=optional)
            )
    return Table(name, METADATA, *more, *columns, info={"number": "" if key else number})


def columns_of(table: Table, record: type[Any]) -> list[ColumnElement[Any]]:
    """The columns of a record in the order of its fields."""
    return [table.c[field.name] for field in fields(record)]


def records(
    connection: Connection, make: Callable[..., Record], query: Select[Any], **values: object
) -> list[Record]:
    """The rows of a query, with the values of its parameters, as records."""
    return [make(*row) for row in connection.execute(query, values)]


def first(
    connection: Connection, make: Callable[..., Record], query: Select[Any], **values: object
) -> Record | None:
    """The first row of a query as a record; None without one."""
    row = connection.execute(query, values).first()
    return None if row is None else make(*row)


def values_of(row: Any) -> dict[str, Any]:
    """The fields of a record by name, without its ``id``, which the table gives."""
    return {f.name: getattr(row, f.name) for f in fields(row) if f.name != "id"}


def upsert(
    connection: Connection, table: Table, rows: Sequence[Any], kept: Sequence[str] = ()
) -> None:
    """Append records, or replace those of the same primary key except for columns in ``kept``."""
    put(connection, table, rows, "replace", tuple(kept))


def put(
    connection: Connection,
    table: Table,
    rows: Sequence[Any],
    known: Literal["", "skip", "replace"] = "",
    kept: tuple[str, ...] = (),
) -> int:
    """Append records, or rows with values for the same columns; returns how many were stored.

    Those without a number get one: who writes is alone.

    Args:
        known: what is done with rows of known keys; "" for an error.
        kept: see :func:`upsert`.
    """
    if not rows:
        return 0
    rows = [values_of(row) if is_dataclass(row) else row for row in rows]
    number = table.info.get("number")
    if number and number not in rows[0]:
        last = connection.scalar(select(func.max(table.c[number]))) or 0
        rows = [{number: n, **row} for n, row in enumerate(rows, start=last + 1)]
    names, given = tuple(rows[0]), [dict(row) for row in rows]
    statement = _insert(connection.dialect.name, table, names, known, kept)
    if connection.dialect.name != "sqlite":
        given = [{f"every_{name}": [row[name] for row in rows] for name in names}]
    return int(connection.execute(statement, given).rowcount)


@lru_cache
def _insert(
    dialect: str, table: Table, names: tuple[str, ...], known: str, kept: tuple[str, ...]
) -> Any:
    """An INSERT; for PostgreSQL with one list per column, as single rows are slow."""
    statement: Any = sqlite.insert(table).inline()
    if dialect != "sqlite":
        from sqlalchemy.dialects import postgresql  # late: it takes a tenth of a second to load

        lists = (
            bindparam(f"every_{n}", type_=postgresql.ARRAY(table.c[n].type, dimensions=1))
            for n in names
        )
        statement = postgresql.insert(table)
        statement = statement.from_select(names, select(*map(func.unnest, lists)))
    if known == "skip":
        statement = statement.on_conflict_do_nothing()
    elif known == "replace":
        key = [column.name for column in table.primary_key]
        changed = {n: statement.excluded[n] for n in names if n not in (*key, *kept)}
        statement = statement.on_conflict_do_update(index_elements=key, set_=changed)
    return statement.execution_options(preserve_rowcount=True)


def pieces(values: Sequence[Record]) -> list[Sequence[Record]]:
    """Values in lists that are short enough for one condition."""
    return [values[at : at + MOST_VALUES] for at in range(0, len(values), MOST_VALUES)]
