"""Queries of a project that are asked no more: they wait, with all that was pooled for them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from storage.ledger import Ledger
from storage.projects import PoolRow, ProjectQueryRow, Projects

NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def projects(ledger: Ledger) -> Projects:
    """A project with two queries, each with a document in its pool, and another of one query."""
    found = ledger.projects
    places = [("p", "a"), ("p", "b"), ("other", "a")]
    found.add_queries(ProjectQueryRow("c", name, query, "{}", NOW) for name, query in places)
    found.add_to_pool(PoolRow("c", name, query, "d", "bm25", 1, NOW) for name, query in places)
    return found


def _set(projects: Projects, *query_ids: str, asked: bool) -> int:
    return projects.set_asked("c", "p", query_ids, asked=asked, author="who")


def _asked(projects: Projects, project: str = "p") -> list[str]:
    retired = projects.retired("c", project)
    rows = projects.queries("c", project)
    asked = [row.query_id for row in rows if row.query_id not in retired]
    assert [row.query_id for row in projects.pool("c", project)] == asked
    return asked


def test_a_retired_query_is_gone_with_its_pool_and_comes_back_with_it(projects: Projects) -> None:
    assert _set(projects, "a", "a", "unknown", asked=False) == 1
    assert _asked(projects) == ["b"]
    assert projects.retired("c", "p") == {"a"}
    assert [row.query_id for row in projects.queries("c", "p")] == ["a", "b"]
    assert _asked(projects, "other") == ["a"], "another project's query of this name"
    assert _set(projects, "a", "b", asked=True) == 1
    assert _asked(projects) == ["a", "b"]


def test_what_is_so_already_is_no_change(projects: Projects) -> None:
    assert _set(projects, "a", asked=True) == 0
    assert _set(projects, "a", asked=False) == 1
    assert _set(projects, "a", asked=False) == 0
    assert projects.add_queries([ProjectQueryRow("c", "p", "a", "{}", NOW)]) == 0
    assert _asked(projects) == ["b"], "it is known, and asked no more for that"
