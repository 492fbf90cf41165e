"""Queries and pools of annotation projects in the ledger. Append-only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Index, Table, bindparam, func, select

from storage.database import Database, LedgerTables
from storage.documents import DOCUMENTS, Documents, Stored
from storage.tables import columns_of, records, table

Row = TypeVar("Row")


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


QUERIES = table("project_queries", ProjectQueryRow)
POOLS = table("pool_items", PoolRow)
_QUERY_KEY = ("corpus", "project", "query_id")
Index("project_queries_once", *(QUERIES.c[name] for name in _QUERY_KEY), unique=True)
_POOL_KEY = (*_QUERY_KEY, "doc_id", "source")
Index("pool_items_once", *(POOLS.c[name] for name in _POOL_KEY), unique=True)
_RETIRED = "retired queries"
_QUERIES_STAMP = select(func.max(QUERIES.c.id))
_RETIRED_OF = {"kind": _RETIRED, "scope": bindparam("corpus"), "key": bindparam("project")}
_POOLS_STAMP = select(
    select(func.max(POOLS.c.id)).scalar_subquery(),
    select(DOCUMENTS.c.time)
    .where(*(DOCUMENTS.c[name] == value for name, value in _RETIRED_OF.items()))
    .scalar_subquery(),
)


class Projects(LedgerTables):
    """Queries and pools of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._retired = Documents[frozenset[str]](database, _RETIRED, frozenset[str])

    def add_queries(self, rows: Iterable[ProjectQueryRow]) -> int:
        """Add queries, skipping known ones; returns how many were new."""
        return self._insert(QUERIES, rows, skip_known=True)

    def queries(
        self, corpus: str, project: str, make: Callable[[list[ProjectQueryRow]], Any] = list
    ) -> Any:
        """What ``make`` makes of a project's queries, retired ones too; kept while they stay."""

        def read(connection: Connection) -> Any:
            return make(_rows(connection, QUERIES, ProjectQueryRow, corpus, project))

        return self._database.remembered(("queries", corpus, project, make), _QUERIES_STAMP, read)

    def set_asked(
        self, corpus: str, project: str, query_ids: Iterable[str], *, asked: bool, author: str
    ) -> int:
        """Retire queries or activate them again; pools and judgments stay. Returns how many
        changed, unknown ones aside."""
        known = {row.query_id for row in self.queries(corpus, project)}
        wanted, changed = known.intersection(query_ids), 0

        def change(stored: Stored[frozenset[str]] | None) -> frozenset[str] | None:
            nonlocal changed
            before = frozenset[str]() if stored is None else stored.value
            after = before - wanted if asked else before | wanted
            changed = len(before ^ after)
            return after if changed else None

        self._retired.change(project, change, author, corpus)
        return changed

    def retired(self, corpus: str, project: str) -> frozenset[str]:
        """The retired queries of a project."""
        stored = self._retired.get(project, corpus)
        return frozenset() if stored is None else stored.value

    def add_to_pool(self, rows: Iterable[PoolRow]) -> int:
        """Add documents to pools; returns how many (query, document, source) were new."""
        return self._insert(POOLS, rows, skip_known=True)

    def pool(self, corpus: str, project: str, make: Callable[[list[PoolRow]], Any] = list) -> Any:
        """As :meth:`queries`, of the pools without retired queries, in order of arrival."""

        def read(connection: Connection) -> Any:
            rows = _rows(connection, POOLS, PoolRow, corpus, project)
            retired = self.retired(corpus, project)
            return make([row for row in rows if row.query_id not in retired])

        place = {"corpus": corpus, "project": project}
        key = ("pool", corpus, project, make)
        return self._database.remembered(key, _POOLS_STAMP, read, **place)

    def every_pool(self, corpus: str, project: str) -> list[PoolRow]:
        """As :meth:`pool`, with those of retired queries."""
        with self._database.read() as connection:
            return _rows(connection, POOLS, PoolRow, corpus, project)


def _rows(
    connection: Connection, table: Table, record: type[Row], corpus: str, project: str
) -> list[Row]:
    query = select(*columns_of(table, record)).where(*_of(table, corpus, project))
    return records(connection, record, query.order_by(table.c.id))


def _of(table: Table, corpus: str, project: str) -> tuple[ColumnElement[bool], ...]:
    return (table.c.corpus == corpus, table.c.project == project)
