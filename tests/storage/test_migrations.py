"""The schema grows by numbered steps, once each, and never backwards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from storage import migrations
from storage.errors import StorageError
from storage.migrations import MIGRATIONS, migrate, schema_version

TABLES = {
    *("corpora", "judgments", "kept_events", "schema_version", "texts", "trail_steps"),
    *("runs", "evaluations", "qrels_files", "answers", "model_capabilities"),
}


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(tmp_path / "ledger.duckdb")) as connection:
        yield connection


def tables(connection: duckdb.DuckDBPyConnection) -> set[str]:
    return {
        row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    }


def test_an_empty_file_is_taken_to_the_newest_version(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    assert schema_version(connection) == 0
    assert migrate(connection) == len(MIGRATIONS) == schema_version(connection)
    assert tables(connection) == TABLES


def test_migrating_again_changes_nothing(connection: duckdb.DuckDBPyConnection) -> None:
    migrate(connection)
    connection.execute("INSERT INTO texts VALUES ('a', 'kept', TIMESTAMP '2026-01-01')")
    before = connection.execute("FROM schema_version").fetchall()

    assert migrate(connection) == len(MIGRATIONS)

    assert connection.execute("FROM schema_version").fetchall() == before
    assert connection.execute("SELECT text FROM texts").fetchall() == [("kept",)]


def test_migrations_are_numbered_in_order_from_one() -> None:
    numbers = [re.match(r"m(\d{4})_\w+", migration.__name__) for migration in MIGRATIONS]
    assert [int(found[1]) for found in numbers if found] == list(range(1, len(MIGRATIONS) + 1))


def m_add_column(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("ALTER TABLE texts ADD COLUMN title VARCHAR")


def m_fails_half_way(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE half (x INTEGER)")
    raise RuntimeError("half way")


def test_an_older_file_gets_only_the_missing_steps_and_keeps_its_rows(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(connection)
    connection.execute("INSERT INTO texts VALUES ('a', 'kept', TIMESTAMP '2026-01-01')")
    monkeypatch.setattr(migrations, "MIGRATIONS", [*MIGRATIONS, m_add_column])

    assert migrate(connection) == len(MIGRATIONS) + 1

    assert connection.execute("SELECT text, title FROM texts").fetchall() == [("kept", None)]
    names = connection.execute("SELECT name FROM schema_version ORDER BY version").fetchall()
    assert names == [(step.__name__,) for step in (*MIGRATIONS, m_add_column)]


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(connection)
    monkeypatch.setattr(migrations, "MIGRATIONS", [*MIGRATIONS, m_add_column, m_fails_half_way])

    with pytest.raises(RuntimeError, match="half way"):
        migrate(connection)

    assert schema_version(connection) == len(MIGRATIONS)
    assert tables(connection) == TABLES


def test_a_newer_schema_is_refused_with_both_versions_and_the_file(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    migrate(connection)
    connection.execute("INSERT INTO schema_version VALUES (99, 'm0099', TIMESTAMP '2026-01-01')")

    with pytest.raises(StorageError, match=rf"newer SeedLens.* 99.*{len(MIGRATIONS)}") as caught:
        migrate(connection)

    assert str(tmp_path / "ledger.duckdb") in str(caught.value)
    assert schema_version(connection) == 99


def test_the_database_itself_refuses_grades_out_of_range(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    migrate(connection)
    with pytest.raises(duckdb.ConstraintException):
        connection.execute(
            """INSERT INTO judgments (corpus, query_id, doc_id, relevance, annotator, note,
                   instruction, system, time)
               VALUES ('c', 'q', 'd', 4, 'a', '', '', '', TIMESTAMP '2026-01-01')"""
        )
