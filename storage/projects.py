"""Annotation projects in the ledger: their settings, queries and pools. Append-only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from storage.database import LedgerTables
from storage.rows import insert, last, names, records, stored


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
    """A document that one source retrieved for a query.

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


_OF_PROJECT = "corpus = $corpus AND project = $project"
_RETIRED = f"""
    SELECT query_id FROM {last("query_states", "query_id", _OF_PROJECT)} WHERE NOT asked"""  # noqa: S608
"""Retired queries of a project."""
_OF_QUERIES = ("project_queries", "query_states")
_OF_POOLS = ("pool_items", "query_states")
_NEW_ONLY = "ON CONFLICT DO NOTHING"


class Projects(LedgerTables):
    """The tables of projects of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    def put(self, row: ProjectRow, *, after: str | None = None) -> bool:
        """Add a project, or a new version of its settings; the versions before stay.

        Args:
            after: the settings that must be the latest still ("": there are none yet); None
                whatever they are.

        Returns:
            whether it was added.
        """
        latest = """
            SELECT settings FROM project_versions WHERE corpus = ? AND project = ?
            ORDER BY id DESC LIMIT 1"""
        with self._file.access() as connection:
            before = connection.execute(latest, [row.corpus, row.project]).fetchone()
            if after not in (None, "" if before is None else before[0]):
                return False
            insert(connection, "project_versions", [row])
        return True

    def all(self) -> list[ProjectRow]:
        """The latest version of every project, by corpus and name."""
        sql = f"""
            SELECT {names(ProjectRow)} FROM {last("project_versions", "corpus, project")}
            ORDER BY corpus COLLATE "C", project COLLATE "C\""""  # noqa: S608
        return self._file.records(ProjectRow, sql, tables=["project_versions"])

    def add_queries(self, rows: Iterable[ProjectQueryRow]) -> int:
        """Add queries; one that the project has already stays as it is. Returns how many
        were new."""
        first: dict[tuple[str, ...], ProjectQueryRow] = {}
        for row in rows:
            first.setdefault((row.corpus, row.project, row.query_id), row)
        if not first:
            return 0
        with self._file.access() as connection:
            return insert(connection, "project_queries", [*first.values()], _NEW_ONLY)

    def queries(
        self, corpus: str, project: str, *, retired: bool = False
    ) -> Sequence[ProjectQueryRow]:
        """The queries of a project in the order in which they were added.

        Args:
            retired: also the retired ones.

        Returns:
            the same object while the queries are the same.
        """
        sql = f"""
            SELECT {names(ProjectQueryRow)} FROM project_queries
            WHERE corpus = $corpus AND project = $project
                AND ($retired OR query_id NOT IN ({_RETIRED}))
            ORDER BY id"""  # noqa: S608
        values = {"corpus": corpus, "project": project, "retired": retired}
        return self._file.remembered(
            (sql, *values.values()),
            lambda connection: records(ProjectQueryRow, connection.execute(sql, values)),
            _OF_QUERIES,
        )

    def set_asked(
        self,
        corpus: str,
        project: str,
        query_ids: Iterable[str],
        *,
        asked: bool,
        author: str,
        time: datetime,
    ) -> int:
        """Ask queries no more, or again; their pools, and what was judged, stay. Returns how
        many changed: what is so already, and what the project does not have, is left alone."""
        values = {
            "corpus": corpus, "project": project, "query_ids": list(query_ids), "asked": asked,
            "author": author, "time": stored(time),
        }  # fmt: skip
        sql = f"""
            INSERT INTO query_states (corpus, project, query_id, asked, author, time)
            SELECT corpus, project, query_id, $asked, $author, $time FROM project_queries
            WHERE corpus = $corpus AND project = $project
                AND query_id IN (SELECT unnest($query_ids::VARCHAR[]))
                AND (query_id IN ({_RETIRED})) = $asked
            ORDER BY id"""  # noqa: S608
        with self._file.access() as connection:
            changed = connection.execute(sql, values).fetchone()
        return int(changed[0]) if changed else 0

    def retired(self, corpus: str, project: str) -> frozenset[str]:
        """The retired queries of a project."""
        values = {"corpus": corpus, "project": project}
        return frozenset(self._file.records(str, _RETIRED, values, ["query_states"]))

    def add_to_pool(self, rows: Iterable[PoolRow]) -> int:
        """Add documents to pools; what a source retrieved before stays. Returns how many
        (query, document, source) were new."""
        first: dict[tuple[str, ...], PoolRow] = {}
        for row in rows:
            key = (row.corpus, row.project, row.query_id, row.doc_id, row.source)
            first.setdefault(key, row)
        if not first:
            return 0
        with self._file.access() as connection:
            return insert(connection, "pool_items", [*first.values()], _NEW_ONLY)

    def was_pooled(self, corpus: str, project: str, query_id: str, doc_id: str) -> bool:
        """Whether a source retrieved a document for a query, which may be retired."""
        sql = """
            SELECT count(*) FROM pool_items
            WHERE corpus = ? AND project = ? AND query_id = ? AND doc_id = ?"""
        with self._file.access(writes=False) as connection:
            found = connection.execute(sql, [corpus, project, query_id, doc_id]).fetchone()
        return bool(found and found[0])

    def pool(self, corpus: str, project: str) -> Sequence[PoolRow]:
        """The pools of a project, in order of arrival; what was
        pooled for retired queries waits until they are asked again.

        Returns:
            the same object while the pools are the same.
        """
        sql = f"""
            SELECT {names(PoolRow)} FROM pool_items
            WHERE corpus = $corpus AND project = $project
                AND query_id NOT IN ({_RETIRED})
            ORDER BY id"""  # noqa: S608
        values = {"corpus": corpus, "project": project}
        return self._file.remembered(
            (sql, corpus, project),
            lambda connection: records(PoolRow, connection.execute(sql, values)),
            _OF_POOLS,
        )
