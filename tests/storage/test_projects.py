"""Pools and queries in the ledger: thousands at once, in their order, and nothing twice."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

from storage.ledger import Ledger
from storage.projects import PoolRow, ProjectQueryRow

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MANY = 10_000
SECONDS = 5.0
"""Generous: it takes a fifth of one. Row by row it were 17, and nobody could judge meanwhile."""


def test_ten_thousand_rows_hold_the_ledger_for_a_moment_and_none_is_there_twice(
    ledger: Ledger,
) -> None:
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


def test_what_is_added_after_a_copy_was_put_in_its_place_is_not_taken_for_what_was_there(
    tmp_path: Path,
) -> None:
    file, copy = tmp_path / "ledger.sqlite", tmp_path / "copy.duckdb"
    ledger = Ledger(file)
    ledger.copy(copy)
    before, after = (ProjectQueryRow("c", "p", "1", f'{{"text": "{n}"}}', NOW) for n in "ab")
    pooled = [PoolRow("c", "p", "1", doc_id, "dense", 1, NOW) for doc_id in ("d1", "d2")]
    ledger.projects.add_queries([before])
    ledger.projects.add_to_pool(pooled[:1])
    assert ledger.projects.queries("c", "p") == [before]
    assert ledger.projects.pool("c", "p") == pooled[:1]
    ledger.close()
    copy.replace(file)
    ledger.projects.add_queries([after])
    ledger.projects.add_to_pool(pooled[1:])
    assert ledger.projects.queries("c", "p") == [after]
    assert ledger.projects.pool("c", "p") == pooled[1:]
