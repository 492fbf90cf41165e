"""The ledger's schema as numbered steps. Append a function; never change one that was released."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import duckdb

from storage.database import Connection
from storage.errors import StorageError


def m0001_first_schema(connection: Connection) -> None:
    """Corpora, judgments, trails, kept documents, pasted texts. Times are UTC without a zone.

    Event tables have no primary key: nothing looks an event up by its id, the id only says
    which came last.
    """
    connection.execute("""
        CREATE TABLE corpora (
            name VARCHAR PRIMARY KEY, state VARCHAR NOT NULL, source VARCHAR NOT NULL,
            source_format VARCHAR NOT NULL, lens VARCHAR NOT NULL, encoder VARCHAR NOT NULL,
            documents BIGINT NOT NULL, expected BIGINT NOT NULL,
            created_at TIMESTAMP NOT NULL, updated_at TIMESTAMP NOT NULL
        )""")
    connection.execute("CREATE SEQUENCE judgment_ids")
    connection.execute("""
        CREATE TABLE judgments (
            id BIGINT NOT NULL DEFAULT nextval('judgment_ids'),
            corpus VARCHAR NOT NULL, query_id VARCHAR NOT NULL, doc_id VARCHAR NOT NULL,
            relevance TINYINT CHECK (relevance BETWEEN 0 AND 3),
            annotator VARCHAR NOT NULL, note VARCHAR NOT NULL, instruction VARCHAR NOT NULL,
            rank BIGINT, system VARCHAR NOT NULL, time TIMESTAMP NOT NULL
        )""")
    connection.execute("""
        CREATE TABLE trail_steps (
            trail_id VARCHAR NOT NULL, position BIGINT NOT NULL, corpus VARCHAR NOT NULL,
            query VARCHAR NOT NULL, time TIMESTAMP NOT NULL, PRIMARY KEY (trail_id, position)
        )""")
    connection.execute("CREATE SEQUENCE kept_event_ids")
    connection.execute("""
        CREATE TABLE kept_events (
            id BIGINT NOT NULL DEFAULT nextval('kept_event_ids'),
            trail_id VARCHAR NOT NULL, corpus VARCHAR NOT NULL, doc_id VARCHAR NOT NULL,
            kept BOOLEAN NOT NULL, time TIMESTAMP NOT NULL
        )""")
    connection.execute("""
        CREATE TABLE texts (
            text_id VARCHAR PRIMARY KEY, text VARCHAR NOT NULL, time TIMESTAMP NOT NULL
        )""")


def m0002_evaluations(connection: Connection) -> None:
    """Runs, what was measured of them, and judgments that people brought. Texts are zlib'd."""
    connection.execute("CREATE SEQUENCE run_ids")
    connection.execute("""
        CREATE TABLE runs (
            id BIGINT NOT NULL DEFAULT nextval('run_ids'),
            collection VARCHAR NOT NULL, corpus VARCHAR NOT NULL, corpus_version VARCHAR NOT NULL,
            system VARCHAR NOT NULL, settings VARCHAR NOT NULL, uploaded BOOLEAN NOT NULL,
            seconds DOUBLE NOT NULL, run BLOB NOT NULL, time TIMESTAMP NOT NULL
        )""")
    connection.execute("CREATE SEQUENCE evaluation_ids")
    connection.execute("""
        CREATE TABLE evaluations (
            id BIGINT NOT NULL DEFAULT nextval('evaluation_ids'),
            collection VARCHAR NOT NULL, corpus VARCHAR NOT NULL, corpus_version VARCHAR NOT NULL,
            systems VARCHAR NOT NULL, settings VARCHAR NOT NULL, summary VARCHAR NOT NULL,
            result BLOB NOT NULL, time TIMESTAMP NOT NULL
        )""")
    connection.execute("CREATE SEQUENCE qrels_file_ids")
    connection.execute("""
        CREATE TABLE qrels_files (
            id BIGINT NOT NULL DEFAULT nextval('qrels_file_ids'),
            corpus VARCHAR NOT NULL, name VARCHAR NOT NULL, qrels BLOB NOT NULL,
            time TIMESTAMP NOT NULL
        )""")


def m0003_answers(connection: Connection) -> None:
    """Answers of language models by content, and what is known of the endpoints' models."""
    connection.execute("""
        CREATE TABLE answers (
            key VARCHAR PRIMARY KEY, endpoint VARCHAR NOT NULL, model VARCHAR NOT NULL,
            prompt VARCHAR NOT NULL, answer VARCHAR NOT NULL, input_tokens BIGINT NOT NULL,
            output_tokens BIGINT NOT NULL, time TIMESTAMP NOT NULL
        )""")
    connection.execute("""
        CREATE TABLE model_capabilities (
            endpoint VARCHAR NOT NULL, model VARCHAR NOT NULL, capabilities VARCHAR NOT NULL,
            time TIMESTAMP NOT NULL, PRIMARY KEY (endpoint, model)
        )""")


def m0004_annotation(connection: Connection) -> None:
    """Judgments of every scale with skips, doubts and undos; projects, their queries and pools.

    What was judged before moves over, in its order.
    """
    connection.execute("CREATE SEQUENCE judgment_event_ids")
    connection.execute("""
        CREATE TABLE judgment_events (
            id BIGINT NOT NULL DEFAULT nextval('judgment_event_ids'),
            event VARCHAR PRIMARY KEY, project VARCHAR NOT NULL,
            corpus VARCHAR NOT NULL, query_id VARCHAR NOT NULL, doc_id VARCHAR NOT NULL,
            verdict VARCHAR NOT NULL, relevance SMALLINT, annotator VARCHAR NOT NULL,
            origin VARCHAR NOT NULL, note VARCHAR NOT NULL, marks VARCHAR NOT NULL,
            instruction VARCHAR NOT NULL, rank BIGINT, system VARCHAR NOT NULL,
            blind BOOLEAN NOT NULL, seconds DOUBLE, undoes VARCHAR NOT NULL,
            time TIMESTAMP NOT NULL, CHECK (relevance BETWEEN 0 AND 100),
            CHECK ((verdict = 'grade') = (relevance IS NOT NULL))
        )""")
    connection.execute("""
        INSERT INTO judgment_events (event, project, corpus, query_id, doc_id, verdict, relevance,
            annotator, origin, note, marks, instruction, rank, system, blind, seconds, undoes, time)
        SELECT 'first-' || id, '', corpus, query_id, doc_id,
            CASE WHEN relevance IS NULL THEN 'withdrawn' ELSE 'grade' END, relevance,
            annotator, 'person', note, '[]', instruction, rank, system, false, NULL, '', time
        FROM judgments ORDER BY id""")
    connection.execute("DROP TABLE judgments")
    connection.execute("CREATE SEQUENCE project_version_ids")
    connection.execute("""
        CREATE TABLE project_versions (
            id BIGINT NOT NULL DEFAULT nextval('project_version_ids'),
            corpus VARCHAR NOT NULL, project VARCHAR NOT NULL, settings VARCHAR NOT NULL,
            author VARCHAR NOT NULL, time TIMESTAMP NOT NULL
        )""")
    connection.execute("CREATE SEQUENCE project_query_ids")
    connection.execute("""
        CREATE TABLE project_queries (
            id BIGINT NOT NULL DEFAULT nextval('project_query_ids'),
            corpus VARCHAR NOT NULL, project VARCHAR NOT NULL, query_id VARCHAR NOT NULL,
            query VARCHAR NOT NULL, time TIMESTAMP NOT NULL,
            PRIMARY KEY (corpus, project, query_id)
        )""")
    connection.execute("CREATE SEQUENCE pool_item_ids")
    connection.execute("""
        CREATE TABLE pool_items (
            id BIGINT NOT NULL DEFAULT nextval('pool_item_ids'),
            corpus VARCHAR NOT NULL, project VARCHAR NOT NULL, query_id VARCHAR NOT NULL,
            doc_id VARCHAR NOT NULL, source VARCHAR NOT NULL, rank BIGINT NOT NULL,
            time TIMESTAMP NOT NULL,
            PRIMARY KEY (corpus, project, query_id, doc_id, source)
        )""")


def m0005_builds(connection: Connection) -> None:
    """Collections under construction: settings, labels of documents, what each step made.

    Contents of steps are zlib'd.
    """
    connection.execute("CREATE SEQUENCE build_version_ids")
    connection.execute("""
        CREATE TABLE build_versions (
            id BIGINT NOT NULL DEFAULT nextval('build_version_ids'),
            corpus VARCHAR NOT NULL, build VARCHAR NOT NULL, settings VARCHAR NOT NULL,
            author VARCHAR NOT NULL, time TIMESTAMP NOT NULL
        )""")
    connection.execute("CREATE SEQUENCE build_label_ids")
    connection.execute("""
        CREATE TABLE build_labels (
            id BIGINT NOT NULL DEFAULT nextval('build_label_ids'),
            corpus VARCHAR NOT NULL, build VARCHAR NOT NULL, doc_id VARCHAR NOT NULL,
            label VARCHAR NOT NULL, quote VARCHAR NOT NULL, maker VARCHAR NOT NULL,
            author VARCHAR NOT NULL, basis VARCHAR NOT NULL, time TIMESTAMP NOT NULL,
            CHECK (maker IN ('model', 'person'))
        )""")
    connection.execute("CREATE SEQUENCE build_step_ids")
    connection.execute("""
        CREATE TABLE build_steps (
            id BIGINT NOT NULL DEFAULT nextval('build_step_ids'),
            corpus VARCHAR NOT NULL, build VARCHAR NOT NULL, step VARCHAR NOT NULL,
            kind VARCHAR NOT NULL, content BLOB NOT NULL, basis VARCHAR NOT NULL,
            changes BIGINT NOT NULL, author VARCHAR NOT NULL, model VARCHAR NOT NULL,
            time TIMESTAMP NOT NULL, CHECK (kind IN ('run', 'edit'))
        )""")


def m0006_queries_asked_no_more(connection: Connection) -> None:
    """Which queries of projects are asked, as events: the latest counts, and without one a query
    is asked."""
    connection.execute("CREATE SEQUENCE query_state_ids")
    connection.execute("""
        CREATE TABLE query_states (
            id BIGINT NOT NULL DEFAULT nextval('query_state_ids'),
            corpus VARCHAR NOT NULL, project VARCHAR NOT NULL, query_id VARCHAR NOT NULL,
            asked BOOLEAN NOT NULL, author VARCHAR NOT NULL, time TIMESTAMP NOT NULL
        )""")


def m0007_reading_lists(connection: Connection) -> None:
    """Order and notes of kept documents, names and owners of trails, saved searches.

    What was kept before stands in the order in which it was kept.
    """
    connection.execute("ALTER TABLE kept_events ADD COLUMN note VARCHAR DEFAULT ''")
    connection.execute("ALTER TABLE kept_events ADD COLUMN place DOUBLE DEFAULT 0")
    connection.execute("UPDATE kept_events SET place = id")
    connection.execute("CREATE SEQUENCE trail_name_ids")
    connection.execute("""
        CREATE TABLE trail_names (
            id BIGINT NOT NULL DEFAULT nextval('trail_name_ids'),
            trail_id VARCHAR NOT NULL, name VARCHAR NOT NULL, owner VARCHAR NOT NULL,
            deleted BOOLEAN NOT NULL, time TIMESTAMP NOT NULL
        )""")
    connection.execute("CREATE SEQUENCE saved_search_ids")
    connection.execute("""
        CREATE TABLE saved_searches (
            id BIGINT NOT NULL DEFAULT nextval('saved_search_ids'),
            owner VARCHAR NOT NULL, name VARCHAR NOT NULL, link VARCHAR NOT NULL,
            saved BOOLEAN NOT NULL, time TIMESTAMP NOT NULL
        )""")


def m0008_questions(connection: Connection) -> None:
    """Questions that were asked, with their answers."""
    connection.execute("""
        CREATE TABLE asked (
            asked_id VARCHAR PRIMARY KEY, owner VARCHAR NOT NULL, corpus VARCHAR NOT NULL,
            question VARCHAR NOT NULL, state VARCHAR NOT NULL, answer BLOB NOT NULL,
            time TIMESTAMP NOT NULL
        )""")


def m0009_generations(connection: Connection) -> None:
    """What corpora are in an object store."""
    connection.execute("ALTER TABLE corpora ADD COLUMN generation VARCHAR DEFAULT ''")


Migration = Callable[[Connection], None]

MIGRATIONS: list[Migration] = [
    m0001_first_schema,
    m0002_evaluations,
    m0003_answers,
    m0004_annotation,
    m0005_builds,
    m0006_queries_asked_no_more,
    m0007_reading_lists,
    m0008_questions,
    m0009_generations,
]
"""In order: the first takes an empty file to schema version 1, the next to 2, and so on."""


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """Commit what the block did, or none of it when it raises."""
    connection.begin()
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def version_of(connection: Connection) -> int:
    """The version of the schema in the file; 0 when it is empty. Writes nothing."""
    try:
        row = connection.execute("SELECT coalesce(max(version), 0) FROM schema_version").fetchone()
    except duckdb.CatalogException:  # no such table: to list all of them takes 10 ms
        return 0
    return int(row[0]) if row else 0


def migrate(connection: Connection, ledger: str = "") -> int:
    """Bring the schema up to date, in one transaction, and return its version.

    Args:
        ledger: what errors call it; "" for the path of its file.

    Raises:
        StorageError: the file was written by a newer SeedLens; nothing was changed.
    """
    version = version_of(connection)
    if version > len(MIGRATIONS):
        raise StorageError(
            f"The ledger {ledger or _file(connection)} was written by a newer SeedLens: it has "
            f"schema version {version}, this SeedLens knows versions up to {len(MIGRATIONS)}.",
            "Upgrade SeedLens, or use another ledger (SEEDLENS_HOME, SEEDLENS_LEDGER_URL). "
            "Nothing was changed.",
        )
    if version == len(MIGRATIONS):
        return version
    with transaction(connection):
        connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_version "
            "(version INTEGER NOT NULL, name VARCHAR NOT NULL, applied_at TIMESTAMP NOT NULL)"
        )
        for number, migration in enumerate(MIGRATIONS[version:], start=version + 1):
            migration(connection)
            connection.execute(
                "INSERT INTO schema_version VALUES (?, ?, ?)",
                [number, migration.__name__, datetime.now(UTC).replace(tzinfo=None)],
            )
    return len(MIGRATIONS)


def _file(connection: Connection) -> str:
    row = connection.execute(
        "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"
    ).fetchone()
    return str(row[0]) if row and row[0] else "(in memory)"
