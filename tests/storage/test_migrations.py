"""The schema grows by numbered steps, once each, and never backwards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from storage import migrations
from storage.errors import StorageError
from storage.ledger import Ledger
from storage.migrations import MIGRATIONS, migrate, version_of

TABLES = {
    *("corpora", "judgment_events", "kept_events", "schema_version", "texts", "trail_steps"),
    *("runs", "evaluations", "qrels_files", "answers", "model_capabilities"),
    *("project_versions", "project_queries", "pool_items"),
    *("build_versions", "build_labels", "build_steps", "query_states", "asked"),
    *("trail_names", "saved_searches"),
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
    assert version_of(connection) == 0
    assert migrate(connection) == len(MIGRATIONS) == version_of(connection)
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

    assert version_of(connection) == len(MIGRATIONS)
    assert tables(connection) == TABLES


def test_a_newer_schema_is_refused_with_both_versions_and_the_file(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    migrate(connection)
    connection.execute("INSERT INTO schema_version VALUES (99, 'm0099', TIMESTAMP '2026-01-01')")

    with pytest.raises(StorageError, match=rf"newer SeedLens.* 99.*{len(MIGRATIONS)}") as caught:
        migrate(connection)

    assert str(tmp_path / "ledger.duckdb") in str(caught.value)
    assert version_of(connection) == 99


@pytest.mark.parametrize(("verdict", "relevance"), [("grade", -1), ("grade", None), ("skip", 2)])
def test_the_database_itself_refuses_grades_that_are_none(
    connection: duckdb.DuckDBPyConnection, verdict: str, relevance: int | None
) -> None:
    migrate(connection)
    with pytest.raises(duckdb.ConstraintException):
        connection.execute(
            """INSERT INTO judgment_events (event, project, corpus, query_id, doc_id, verdict,
                   relevance, annotator, origin, note, marks, instruction, system, blind, undoes,
                   time)
               VALUES ('e', '', 'c', 'q', 'd', ?, ?, 'a', 'person', '', '[]', '', '', false, '',
                   TIMESTAMP '2026-01-01')""",
            [verdict, relevance],
        )


def test_judgments_of_the_first_schema_move_over_and_a_copy_stays(tmp_path: Path) -> None:
    path = tmp_path / "ledger.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE schema_version (version INTEGER, name VARCHAR, applied_at TIMESTAMP)"
        )
        for number, step in enumerate(MIGRATIONS[:3], start=1):
            step(connection)
            connection.execute("INSERT INTO schema_version VALUES (?, ?, now())", [number, "old"])
        for relevance in (1, 3, None):
            connection.execute(
                """INSERT INTO judgments (corpus, query_id, doc_id, relevance, annotator, note,
                       instruction, rank, system, time)
                   VALUES ('c', 'q', 'd', ?, 'ann', 'why', 'w', 2, 'dense', '2026-01-01')""",
                [relevance],
            )
    before = path.read_bytes()

    history = Ledger(path).judging.history("c")

    assert [(row.relevance, row.verdict) for row in history] == [
        (1, "grade"),
        (3, "grade"),
        (None, "withdrawn"),
    ]
    assert {(row.note, row.rank, row.system, row.project) for row in history} == {
        ("why", 2, "dense", "")
    }
    assert Ledger(path).judging.latest("c") == []
    backup = tmp_path / "ledger.duckdb.schema-3"
    assert backup.read_bytes() == before


def test_a_ledger_from_before_builds_opens_and_keeps_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "ledger.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE schema_version (version INTEGER, name VARCHAR, applied_at TIMESTAMP)"
        )
        for number, step in enumerate(MIGRATIONS[:4], start=1):
            step(connection)
            connection.execute("INSERT INTO schema_version VALUES (?, ?, now())", [number, "old"])
        connection.execute(
            """INSERT INTO project_versions (corpus, project, settings, author, time)
               VALUES ('c', 'p', '{}', 'who', '2026-01-01')"""
        )
    before = path.read_bytes()

    ledger = Ledger(path)

    assert ledger.builds.all() == []
    assert [row.project for row in ledger.projects.all()] == ["p"]
    assert ledger.projects.retired("c", "p") == frozenset()
    assert (tmp_path / "ledger.duckdb.schema-4").read_bytes() == before
