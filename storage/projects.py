"""Annotation projects in the ledger: their settings, queries and pools. Append-only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from storage.access import LedgerFile


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """One version of a project. ``settings`` is a JSON text owned by the engine."""

    corpus: str
    project: str
    settings: str
    author: str
    time: datetime


@dataclass(frozen=True, slots=True)
class ProjectQueryRow:
    """A query of a project; ``query`` is a JSON text owned by the engine."""

    corpus: str
    project: str
    query_id: str
    query: str
    time: datetime


@dataclass(frozen=True, slots=True)
class PoolRow:
    """A document that one source brought up for a query.

    Attributes:
        source: a system, a variant or an uploaded run.
        rank: where it stood there; 1 is best.
    """

    corpus: str
    project: str
    query_id: str
    doc_id: str
    source: str
    rank: int
    time: datetime


class Projects:
    """The tables of projects of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    def __init__(self, file: LedgerFile) -> None:
        self._file = file

    def put(self, row: ProjectRow) -> None:
        """Add a project, or a new version of its settings; the versions before stay."""
        values = [row.corpus, row.project, row.settings, row.author, _stored(row.time)]
        with self._file.access() as connection:
            connection.execute(
                """INSERT INTO project_versions (corpus, project, settings, author, time)
                   VALUES (?, ?, ?, ?, ?)""",
                values,
            )

    def all(self) -> list[ProjectRow]:
        """The latest version of every project, by corpus and name."""
        sql = """
            SELECT corpus, project, settings, author, time FROM project_versions
            QUALIFY row_number() OVER (PARTITION BY corpus, project ORDER BY id DESC) = 1
            ORDER BY corpus, project"""

        return list(
            self._file.remembered(
                "projects",
                lambda c: [ProjectRow(*_read(row)) for row in c.execute(sql).fetchall()],
            )
        )

    def add_queries(self, rows: Iterable[ProjectQueryRow]) -> int:
        """Add queries; one that the project has already stays as it is. Returns how many
        were new."""
        values = [(r.corpus, r.project, r.query_id, r.query, _stored(r.time)) for r in rows]
        sql = """
            INSERT INTO project_queries (corpus, project, query_id, query, time)
            VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"""
        with self._file.access() as connection:
            return sum(_changed(connection.execute(sql, v).fetchone()) for v in values)

    def queries(self, corpus: str, project: str) -> list[ProjectQueryRow]:
        """The queries of a project in the order in which they were added."""
        sql = """
            SELECT corpus, project, query_id, query, time FROM project_queries
            WHERE corpus = ? AND project = ? ORDER BY id"""
        return list(
            self._file.remembered(
                ("project_queries", corpus, project),
                lambda c: [
                    ProjectQueryRow(*_read(row))
                    for row in c.execute(sql, [corpus, project]).fetchall()
                ],
            )
        )

    def add_to_pool(self, rows: Iterable[PoolRow]) -> int:
        """Add documents to pools; what a source brought before stays. Returns how many
        (query, document, source) were new."""
        values = [
            (r.corpus, r.project, r.query_id, r.doc_id, r.source, r.rank, _stored(r.time))
            for r in rows
        ]
        sql = """
            INSERT INTO pool_items (corpus, project, query_id, doc_id, source, rank, time)
            VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"""
        with self._file.access() as connection:
            return sum(_changed(connection.execute(sql, v).fetchone()) for v in values)

    def pool(self, corpus: str, project: str, query_id: str | None = None) -> list[PoolRow]:
        """The pools of a project, or of one of its queries, in order of arrival."""
        sql = """
            SELECT corpus, project, query_id, doc_id, source, rank, time FROM pool_items
            WHERE corpus = $corpus AND project = $project
                AND ($query_id::VARCHAR IS NULL OR query_id = $query_id)
            ORDER BY id"""
        values = {"corpus": corpus, "project": project, "query_id": query_id}
        return list(
            self._file.remembered(
                ("pool", *values.values()),
                lambda c: [PoolRow(*_read(row)) for row in c.execute(sql, values).fetchall()],
            )
        )


def _changed(row: tuple[int] | None) -> int:
    return int(row[0]) if row else 0


def _stored(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None)


def _read(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row with its last column, a time, in UTC."""
    return (*row[:-1], row[-1].replace(tzinfo=UTC))
