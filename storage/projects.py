"""Queries and pools of annotation projects in the ledger. Append-only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Index, Select, Table, func, select

from storage.database import LedgerTables
from storage.tables import columns_of, insert, records, table


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
    """A document that one source retrieved for a query."""

    corpus: str
    project: str
    query_id: str
    doc_id: str
    source: str  # a system, a variant or an uploaded run
    rank: int  # from 1
    time: datetime


@dataclass(frozen=True, slots=True)
class QueryStateRow:
    """Whether a query is asked from now on; without one it is."""

    corpus: str
    project: str
    query_id: str
    asked: bool
    author: str
    time: datetime


QUERIES = table("project_queries", ProjectQueryRow)
STATES = table("query_states", QueryStateRow)
POOLS = table("pool_items", PoolRow)
Index("query_states_by_project", STATES.c.corpus, STATES.c.project)
_QUERY_KEY = ("corpus", "project", "query_id")
Index("project_queries_once", *(QUERIES.c[name] for name in _QUERY_KEY), unique=True)
_POOL_KEY = (*_QUERY_KEY, "doc_id", "source")
Index("pool_items_once", *(POOLS.c[name] for name in _POOL_KEY), unique=True)


def _stamp(*tables: Table) -> Select[Any]:
    """A row that changes with every append to append-only tables."""
    return select(*(select(func.max(table.c.id)).scalar_subquery() for table in tables))


_STATES_STAMP = _stamp(STATES)
_QUERIES_STAMP = _stamp(QUERIES, STATES)
_POOLS_STAMP = _stamp(POOLS, STATES)


class Projects(LedgerTables):
    """The tables of projects of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    def add_queries(self, rows: Iterable[ProjectQueryRow]) -> int:
        """Add queries, skipping known ones; returns how many were new."""
        return self._insert(QUERIES, rows, skip_known=True)

    def queries(
        self, corpus: str, project: str, *, retired: bool = False
    ) -> Sequence[ProjectQueryRow]:
        """The queries of a project in order of addition, with ``retired`` also those; the same
        object while they are the same."""

        def read(connection: Connection) -> list[ProjectQueryRow]:
            query = select(*columns_of(QUERIES, ProjectQueryRow))
            query = query.where(*_of(QUERIES, corpus, project)).order_by(QUERIES.c.id)
            if not retired:
                query = query.where(QUERIES.c.query_id.not_in(_retired(corpus, project)))
            return records(connection, ProjectQueryRow, query)

        return self._database.remembered(
            ("queries", corpus, project, retired), _QUERIES_STAMP, read
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
        """Retire queries or activate them again; pools and judgments stay. Returns how many
        changed, unknown ones aside."""
        there = select(QUERIES.c.query_id).where(*_of(QUERIES, corpus, project))
        wanted = set(query_ids)
        with self._database.write() as connection:
            retired = set(connection.scalars(_retired(corpus, project)))
            rows = [
                QueryStateRow(corpus, project, query_id, asked, author, time)
                for query_id in connection.scalars(there.order_by(QUERIES.c.id))
                if query_id in wanted and (query_id in retired) == asked
            ]
            insert(connection, STATES, rows)
        return len(rows)

    def retired(self, corpus: str, project: str) -> frozenset[str]:
        """The retired queries of a project."""
        return self._database.remembered(
            ("retired", corpus, project),
            _STATES_STAMP,
            lambda connection: frozenset(connection.scalars(_retired(corpus, project))),
        )

    def add_to_pool(self, rows: Iterable[PoolRow]) -> int:
        """Add documents to pools, keeping earlier ones; returns how many (query, document, source)
        were new."""
        return self._insert(POOLS, rows, skip_known=True)

    def was_pooled(self, corpus: str, project: str, query_id: str, doc_id: str) -> bool:
        """Whether a source retrieved a document for a query, which may be retired."""
        query = select(POOLS.c.id).where(*_of(POOLS, corpus, project))
        query = query.where(POOLS.c.query_id == query_id, POOLS.c.doc_id == doc_id).limit(1)
        return bool(self._database.values(query))

    def pool(self, corpus: str, project: str) -> Sequence[PoolRow]:
        """The pools of a project without retired queries, in order of arrival; the same object
        while they are the same."""

        def read(connection: Connection) -> list[PoolRow]:
            query = select(*columns_of(POOLS, PoolRow)).where(*_of(POOLS, corpus, project))
            query = query.where(POOLS.c.query_id.not_in(_retired(corpus, project)))
            return records(connection, PoolRow, query.order_by(POOLS.c.id))

        return self._database.remembered(("pool", corpus, project), _POOLS_STAMP, read)


def _of(table: Table, corpus: str, project: str) -> tuple[ColumnElement[bool], ...]:
    return (table.c.corpus == corpus, table.c.project == project)


def _retired(corpus: str, project: str) -> Select[Any]:
    """Retired queries of a project."""
    last = select(func.max(STATES.c.id)).where(*_of(STATES, corpus, project))
    last = last.group_by(STATES.c.query_id)
    return select(STATES.c.query_id).where(STATES.c.id.in_(last), ~STATES.c.asked)
