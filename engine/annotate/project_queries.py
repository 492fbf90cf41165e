"""The queries of projects: checked, kept in the ledger, and read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from engine.annotate.query_ids import read_query_id
from engine.errors import UnknownNameError
from engine.library import Library
from engine.queries import check_query, query_from_json, query_id, query_to_json
from engine.types import Project, Query
from storage.ledger import Ledger
from storage.projects import ProjectQueryRow


class ProjectQueries:
    """The queries of one ledger's projects. Safe to share between threads."""

    def __init__(self, ledger: Ledger, library: Library) -> None:
        self._rows, self._library = ledger.projects, library
        # A project's queries never change once they are there: what was read stays true.
        self._asked: dict[tuple[str, str], dict[str, Query]] = {}

    def all(self, project: Project, *, retired: bool = False) -> dict[str, Query]:
        """query_id -> query, in the order in which they were added; with ``retired`` also those
        that are asked no more."""
        rows = self._rows.queries(project.corpus, project.name, retired=retired)
        return {row.query_id: query_from_json(row.query) for row in rows}

    def add(self, project: Project, queries: Iterable[Query] | Mapping[str, Query]) -> list[str]:
        """Add queries; known ones stay as they are, and are asked again. Returns their ids.

        Args:
            queries: by id where they have one; others are named after seed and aspect, see
                :func:`engine.queries.query_id`.

        Raises:
            BadInputError, UnknownNameError: a query that cannot be asked of the corpus.
        """
        given = queries.values() if isinstance(queries, Mapping) else queries
        asked = [replace(query, corpus=project.corpus, offset=0) for query in given]
        ids = list(queries) if isinstance(queries, Mapping) else list(map(query_id, asked))
        lens = self._library.lens(project.corpus)
        opened = self._library.open(project.corpus)
        for query in asked:
            check_query(query, lens)
            if query.seed is not None:
                opened.document(query.seed)
        now = datetime.now(UTC)
        place = (project.corpus, project.name)
        self._rows.add_queries(
            ProjectQueryRow(project.corpus, project.name, i, query_to_json(query), now)
            for i, query in zip(ids, asked, strict=True)
        )
        if self._rows.retired(*place).intersection(ids):
            self._rows.set_asked(*place, ids, asked=True, author="", time=now)
        return ids

    def retire(self, project: Project, query_ids: Iterable[str], author: str) -> int:
        """Ask queries no more; returns how many were asked before."""
        place = (project.corpus, project.name)
        now = datetime.now(UTC)
        return self._rows.set_asked(*place, query_ids, asked=False, author=author, time=now)

    def get(self, project: Project, query_id: str) -> Query:
        """A query of the project. A corpus's own takes in every seed and aspect there is.

        Raises:
            UnknownNameError: the project does not have it.
        """
        key = (project.corpus, project.name)
        if query_id not in self._asked.get(key, {}):
            self._asked[key] = self.all(project, retired=True)
        if query_id in self._asked[key]:
            return self._asked[key][query_id]
        if not project.name:
            opened = self._library.open(project.corpus)
            named = read_query_id(query_id, opened.row_of, opened.aspects)
            if named is not None:
                query = Query(project.corpus, seed=named.seed, aspect=named.aspect)
                self.add(project, {query_id: query})
                return query
        raise UnknownNameError(
            f"The query '{query_id}' is not in project '{project.name or project.corpus}'.",
            f"{'Add it first; its' if project.name else 'An'} id names seed and aspect.",
        )
