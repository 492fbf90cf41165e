"""The ledger of earlier versions, a file of DuckDB: read once, to make the new one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import duckdb
from filelock import FileLock, Timeout
from sqlalchemy import Connection, Table, TypeDecorator

from storage.database import ROWS_AT_ONCE, copied_tables
from storage.errors import LedgerBusyError, StorageError
from storage.judgment_events import CURRENT, fill_current
from storage.migrations import Row, fill_documents, fill_studies
from storage.tables import put

OLDEST, NEWEST = 4, 9  # Versions of the schema that can be read
_LOCKED = ("Could not set lock on file", "used by another process")
_ENDED = re.compile(r"(\d{1,12}) ([0-9a-f]{64})")
_MISSING: dict[tuple[str, str], str] = {
    ("kept_events", "note"): "''",
    ("kept_events", "place"): "id::DOUBLE",
    ("corpora", "generation"): "''",
    ("build_labels", "expression"): "'implied'",
}
"""Columns that came with a later version of the schema, and what they were filled with."""


def import_ledger(file: Path, target: Connection, wait_seconds: float) -> None:
    """Copy a DuckDB ledger and the ended logins to an empty ledger, within a transaction on it; the
    file stays."""
    try:
        # Programs of earlier versions hold this lock while they have it open.
        with (
            FileLock(f"{file}.lock", timeout=max(0.0, wait_seconds)),
            duckdb.connect(str(file), read_only=True, config={"threads": 1}) as connection,
        ):
            _copy_all(connection, target, file)
    except (Timeout, duckdb.Error) as error:
        if isinstance(error, Timeout) or any(words in str(error) for words in _LOCKED):
            raise LedgerBusyError(
                f"The ledger {file} is locked by another process; nothing was changed.",
                "Close all programs of the earlier version, then try again.",
            ) from error
        detail = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        raise StorageError(
            f"The ledger {file} cannot be read: {detail}",
            "SeedLens left the file as it is. If it is damaged, put a backup in its place, or move "
            "it away to start a new one.",
        ) from error
    fill_current(target)


def _copy_all(source: duckdb.DuckDBPyConnection, target: Connection, file: Path) -> None:
    found = (
        "SELECT table_name, list(column_name) FROM duckdb_columns() WHERE NOT internal GROUP BY 1"
    )
    tables: dict[str, set[str]] = {n: {*columns} for n, columns in source.sql(found).fetchall()}
    version = 0
    if "schema_version" in tables:
        ((version,),) = source.sql(
            "SELECT coalesce(max(version), 0) FROM schema_version"
        ).fetchall()
    if not OLDEST <= version <= NEWEST:
        raise StorageError(
            f"The ledger {file} has schema version {version}, and this SeedLens can read versions "
            f"{OLDEST} to {NEWEST}.",
            "Open it once with SeedLens 0.1 of November 2026. Nothing was changed.",
        )

    def rows_of(name: str) -> Iterator[Row]:
        """The rows of a table in order of arrival."""
        if name not in tables:
            return
        there = tables[name]
        missing = [(c, sql) for (table, c), sql in _MISSING.items() if table == name]
        given = "".join(f", {sql} AS {c}" for c, sql in missing if c not in there)
        order = "id" if "id" in there else "rowid"
        cursor = source.execute(f"SELECT rowid, *{given} FROM {name} ORDER BY {order}")  # noqa: S608
        names = [column[0] for column in cursor.description]
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield from (dict(zip(names, row, strict=True)) for row in rows)

    for table in copied_tables():
        if table is not CURRENT:
            kept = (row for row in rows_of(table.name) if not row.get("uploaded"))
            while some := [_typed(table, row, target) for row in islice(kept, ROWS_AT_ONCE)]:
                put(target, table, some)

    def before(name: str) -> Iterable[Row]:
        if name != "ended_logins":
            return rows_of(name)
        logins = file.with_name("ended-logins")
        text = logins.read_text("ascii", errors="replace") if logins.is_file() else ""
        found = filter(None, map(_ENDED.fullmatch, text.splitlines()))
        return [{"digest": f[2], "ended_at": datetime.fromtimestamp(int(f[1]), UTC)} for f in found]

    fill_documents(target, before)
    fill_studies(target, before)


def _typed(table: Table, row: Row, target: Connection) -> Row:
    """The values of a row as Python's; ``rowid`` counts from 0 in DuckDB."""
    typed = {column.name: row[column.name] for column in table.columns if column.name in row}
    for column in table.columns:
        if column.name in row and isinstance(column.type, TypeDecorator):
            typed[column.name] = column.type.process_result_value(row[column.name], target.dialect)
    return typed
