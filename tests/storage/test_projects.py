"""Pools and queries in the ledger: thousands at once, in their order, nothing twice, and retired
ones wait with their pools."""

import time
from datetime import UTC, datetime

import pytest

from storage.projects import PoolRow, ProjectQueryRow

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MANY = 10_000
SECONDS = 5.0
"""Generous: it takes a fifth of one. Row by row it were 17, and nobody could judge meanwhile."""


def test_ten_thousand_rows_hold_the_ledger_for_a_moment_and_none_is_there_twice(ledger):
    projects = ledger.projects
    queries = [ProjectQueryRow("c", "p", f"q{n}", f'{{"n": {n}}}', NOW) for n in range(MANY)]
    pool = [
        PoolRow("c", "p", f"q{n % 100}", f"d{n}", "dense", n % 100 + 1, NOW) for n in range(MANY)
    ]
    started = time.perf_counter()
    assert projects.add_queries(queries + queries[:3]) == MANY
    assert projects.add_to_pool(pool + pool[:3]) == MANY
    assert time.perf_counter() - started < SECONDS
    other = PoolRow("c", "p", "q0", "d0", "bm25", 1, NOW)
    assert projects.add_to_pool([*pool, other]) == 1
    assert projects.add_queries(queries) == projects.add_queries([]) == 0
    assert projects.queries("c", "p") == queries
    assert projects.pool("c", "p") == [*pool, other]


@pytest.fixture
def projects(ledger):
    """A project with two queries, each with a document in its pool, and another of one query."""
    found = ledger.projects
    places = [("p", "a"), ("p", "b"), ("other", "a")]
    found.add_queries(ProjectQueryRow("c", name, query, "{}", NOW) for name, query in places)
    found.add_to_pool(PoolRow("c", name, query, "d", "bm25", 1, NOW) for name, query in places)
    return found


def _set(projects, *query_ids, asked):
    return projects.set_asked("c", "p", query_ids, asked=asked, author="who")


def _asked(projects, project="p"):
    retired = projects.retired("c", project)
    rows = projects.queries("c", project)
    asked = [row.query_id for row in rows if row.query_id not in retired]
    assert [row.query_id for row in projects.pool("c", project)] == asked
    return asked


def test_a_retired_query_is_gone_with_its_pool_and_comes_back_with_it(projects):
    assert _set(projects, "a", "a", "unknown", asked=False) == 1
    assert _asked(projects) == ["b"]
    assert projects.retired("c", "p") == {"a"}
    assert [row.query_id for row in projects.queries("c", "p")] == ["a", "b"]
    assert _asked(projects, "other") == ["a"], "another project's query of this name"
    assert _set(projects, "a", asked=False) == 0, "so already"
    assert projects.add_queries([ProjectQueryRow("c", "p", "a", "{}", NOW)]) == 0
    assert _asked(projects) == ["b"], "it is known, and asked no more for that"
    assert _set(projects, "a", "b", asked=True) == 1
    assert _asked(projects) == ["a", "b"]
