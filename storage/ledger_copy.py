"""A ledger's rows taken from one database to another, whatever kind each is of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from storage.database import Connection, Database
from storage.errors import StorageError

ROWS_AT_ONCE = 2000
_COLUMNS = """
    SELECT table_name, column_name, data_type, column_default FROM information_schema.columns
    WHERE table_catalog = current_database() AND table_schema = current_schema()
        AND table_name NOT IN (
            'schema_version', 'leases', 'import_jobs', 'ended_logins', 'spent')
        AND column_name <> 'rowid'
    ORDER BY table_name, ordinal_position"""
_LAST_IDS = """
    SELECT sequencename, last_value FROM pg_catalog.pg_sequences
    WHERE schemaname = current_schema() AND last_value IS NOT NULL"""
_ORDERED_BY = {"answers": "rowid"}
"""Tables whose order says something, other than by an id."""


@dataclass(frozen=True)
class _Table:
    """Types of columns by name, and the sequence that ids come from ("" for none)."""

    columns: Mapping[str, str]
    sequence: str

    def key(self, name: str) -> str:
        """What rows are ordered by; "" where their order says nothing."""
        return "id" if "id" in self.columns else _ORDERED_BY.get(name, "")


def copy_ledger(source: Database, target: Database, name: str = "") -> dict[str, int]:
    """Copy all rows, as of one moment, in one transaction; nobody writes to either meanwhile.

    Args:
        name: what errors call the target; "" for its own name.

    Returns:
        rows by table.

    Raises:
        StorageError: there is something in the target already, or it cannot hold a value.
    """
    with source.access() as there, target.access() as here:
        tables = _tables(here)
        held = [table for table in tables if _count(here, table)]
        if held:
            raise StorageError(
                f"The ledger {name or target.name} is not empty: {', '.join(held)} have rows.",
                "Copy to one that nobody has used. Nothing was changed.",
            )
        if strange := _tables(there).keys() - tables.keys():
            raise StorageError(
                f"{source.name} is no ledger: it has a table {min(strange)[:60]!r}.",
                "Use the one that SeedLens wrote. Nothing was changed.",
            )
        given = dict(there.execute(_LAST_IDS).fetchall())
        return {
            table: _copy(there, here, table, own, given.get(own.sequence, 0))
            for table, own in tables.items()
        }


def _tables(connection: Connection) -> dict[str, _Table]:
    found: dict[str, _Table] = {}
    for name, column, kind, default in connection.execute(_COLUMNS).fetchall():
        before = found.get(name, _Table({}, ""))
        sequence = re.search(r"nextval\('(?:\w+\.)?(\w+)'", default or "")
        found[name] = _Table(
            {**before.columns, column: kind}, sequence[1] if sequence else before.sequence
        )
    return found


def _count(connection: Connection, table: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
    return int(row[0]) if row else 0


def _copy(source: Connection, target: Connection, name: str, table: _Table, given: int) -> int:
    """Copy a table; returns its rows.

    Args:
        given: the last id that its sequence gave, perhaps to a row that was removed since.
    """
    columns = ", ".join(table.columns)
    values = ", ".join(f"unnest(?::{kind}[])" for kind in table.columns.values())
    insert = f"INSERT INTO {name} ({columns}) SELECT {values}"
    copied, last = 0, 0
    for rows in _pieces(source, name, columns, table.key(name)):
        target.execute(
            insert, [list(column) for column in zip(*(r[1:] for r in rows), strict=True)]
        )
        copied, last = copied + len(rows), int(rows[-1][0])
    last = max(last, given)
    if table.sequence and last:
        # DuckDB has no other way to say where a sequence goes on.
        steps = f"generate_series(1, {last})"
        target.execute(f"SELECT max(nextval('{table.sequence}')) FROM {steps} AS s").fetchall()  # noqa: S608
    return copied


def _pieces(
    source: Connection, name: str, columns: str, key: str
) -> Iterator[list[tuple[Any, ...]]]:
    """All rows of a table, some at a time, each with its key before its columns."""
    if not key:
        if rows := source.execute(f"SELECT 0, {columns} FROM {name}").fetchall():  # noqa: S608
            yield rows
        return
    last = -1
    sql = f"SELECT {key}, {columns} FROM {name} WHERE {key} > ? ORDER BY {key} LIMIT {ROWS_AT_ONCE}"  # noqa: S608
    while rows := source.execute(sql, [last]).fetchall():
        yield rows
        last = rows[-1][0]
