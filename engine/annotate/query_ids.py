"""What a query id says: ``<seed>_<aspect>``, or ``<seed>_any`` without an aspect.

The other way round it is :func:`engine.search.queries.query_id`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from engine.corpora.library import Library
from engine.corpora.opened import OpenCorpus
from engine.errors import BadInputError, UnknownNameError
from engine.search.queries import check_query, query_from_json, query_id, query_to_json
from engine.types.annotating import Project
from engine.types.searches import Query
from storage.ledger import Ledger
from storage.projects import ProjectQueryRow

ANY = "any"


class SeedAspect(NamedTuple):
    """What a query starts from, and what should be alike; ``aspect`` None for all of it."""

    seed: str
    aspect: str | None


def read_query_id(
    query_id: str, seeds: Container[str], aspects: Sequence[str]
) -> SeedAspect | None:
    """Seed and aspect of a query id; None when it does not name a seed that there is.

    Args:
        seeds: the documents of the corpus.
        aspects: keys of its lens.

    >>> read_query_id("7_a_method", {"7_a"}, ["method"])
    SeedAspect(seed='7_a', aspect='method')
    >>> read_query_id("7_a_any", {"7_a"}, ["method"])
    SeedAspect(seed='7_a', aspect=None)
    >>> read_query_id("8_method", {"7_a"}, ["method"]) is None
    True
    """
    # The longest key first: aspects may be called "use" and "intended_use".
    for key in sorted(aspects, key=len, reverse=True):
        seed = query_id.removesuffix(f"_{key.lower()}")
        if seed != query_id and seed in seeds:
            return SeedAspect(seed, key)
    seed = query_id.removesuffix(f"_{ANY}")
    return SeedAspect(seed, None) if seed != query_id and seed in seeds else None


def read_queries(text: str, file: str, corpus: OpenCorpus) -> dict[str, Query]:
    """query_id -> query, of a file with one id on each line; empty lines are skipped.

    Raises:
        BadInputError: lists the lines that name no seed and aspect of the corpus.
    """
    found, broken = {}, []
    for number, line in enumerate(text.splitlines(), start=1):
        query_id = line.strip()
        named = read_query_id(query_id, corpus.row_of, corpus.aspects)
        if named is not None:
            found[query_id] = Query(corpus.name, seed=named.seed, aspect=named.aspect)
        elif query_id:
            broken.append(f"line {number:,} ('{query_id[:60]}')")
    if broken or not found:
        which = f"no seed and aspect in {', '.join(broken[:20])}" if broken else "no queries"
        raise BadInputError(
            f"{file}: {which}.", f"Write one id a line, like <seed>_{corpus.aspects[0]}."
        )
    return found


def is_free(query_id: str) -> bool:
    """Whether a query is named by a hash: a pasted text, picked sentences or an own wording.

    What was asked cannot be told from such an id.

    >>> is_free("text-0f1e2d3c4b5a_any"), is_free("7_method~0a1b2c3d"), is_free("7_method")
    (True, True, False)
    """
    name, _, digest = query_id.rpartition("~")
    if name and len(digest) == 8:
        return True
    return query_id.startswith("text-") and "_" in query_id


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
                :func:`engine.search.queries.query_id`.

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

    def keep(self, project: Project, query_id: str, query: Query) -> None:
        """Keep what was asked where the project has no query of this id: an id says nothing of
        own words and sentences."""
        if query_id not in self._asked.get((project.corpus, project.name), {}):
            asked = replace(query, offset=0, filters=())
            now = datetime.now(UTC)
            self._rows.add_queries(
                [ProjectQueryRow(project.corpus, project.name, query_id, query_to_json(asked), now)]
            )
            self._asked[project.corpus, project.name] = self.all(project, retired=True)

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
