"""A ledger's rows taken from one database to another, of whatever kind each is."""

from __future__ import annotations

import re

from sqlalchemy import Connection, Table, func, inspect, select, text

from storage.database import Database
from storage.errors import StorageError
from storage.tables import METADATA, put

ROWS_AT_ONCE = 2000
_OF_ITS_OWN = ("schema_version", "leases", "locks")
"""Tables that say nothing elsewhere."""
_PEOPLE = ("ended_logins", "spent")
"""Tables that have rows also where nobody worked yet."""


def copied_tables() -> list[Table]:
    """The tables that are copied."""
    return [table for table in METADATA.sorted_tables if table.name not in _OF_ITS_OWN]


def copy_ledger(source: Database, target: Database) -> dict[str, int]:
    """Copy all rows in one transaction, locking both; returns the number of rows by table."""
    with source.write() as there, target.write() as here:
        held = [
            table.name
            for table in copied_tables()
            if table.name not in _PEOPLE and here.scalar(select(func.count()).select_from(table))
        ]
        if held:
            raise StorageError(
                f"The ledger {target.name} is not empty: {', '.join(held)} have rows.",
                "Copy to one that nobody has used. Nothing was changed.",
            )
        return {table.name: _copy(there, here, table) for table in copied_tables()}


def _copy(source: Connection, target: Connection, table: Table) -> int:
    target.execute(table.delete())
    query = select(table).order_by(*table.primary_key.columns)
    copied = 0
    for rows in source.execute(query).mappings().partitions(ROWS_AT_ONCE):
        put(target, table, list(map(dict, rows)))
        copied += len(rows)
    continue_after(target, table, _last_given(source, table))
    return copied


def _last_given(connection: Connection, table: Table) -> int:
    """The last assigned id, removed rows included; 0 where unknown."""
    if connection.dialect.name == "postgresql":
        sequence = _sequence(connection, table)
        return connection.scalar(text(f"SELECT last_value FROM {sequence}")) if sequence else 0  # noqa: S608
    if not _is_numbered_once(table):
        return 0
    given = text("SELECT seq FROM sqlite_sequence WHERE name = :name")
    return connection.scalar(given, {"name": table.name}) or 0


def continue_after(connection: Connection, table: Table, given: int) -> None:
    """Have ids go on after those that are in a table, and after one that was given before."""
    if connection.dialect.name == "postgresql":
        if sequence := _sequence(connection, table):
            (column,) = table.primary_key.columns
            last = max(given, connection.scalar(select(func.max(column))) or 0)
            if last:
                connection.execute(text(f"SELECT setval('{sequence}', :last)"), {"last": last})
    elif _is_numbered_once(table) and given:
        name = {"name": table.name}
        connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), name)
        new = text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :seq)")
        connection.execute(new, {**name, "seq": given})


def _is_numbered_once(table: Table) -> bool:
    return bool(table.dialect_options["sqlite"]["autoincrement"])


def _sequence(connection: Connection, table: Table) -> str:
    """The sequence of a server's table; "" for none."""
    for column in inspect(connection).get_columns(table.name):
        if found := re.search(r"nextval\('([^']+)'", column.get("default") or ""):
            return found[1]
    return ""
