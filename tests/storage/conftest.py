"""An empty ledger: a file, or a database of a server that runs on this machine for these tests.

On the server, what is no smoke test is left to ``make nightly``.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from storage.ledger import Ledger


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    for item in items:
        if item.path.parent != Path(__file__).parent or item.get_closest_marker("smoke"):
            continue
        given = item.callspec.params if hasattr(item, "callspec") else {}
        servers = {"postgres", "own_postgres"} & {*item.fixturenames}
        if servers or given.get("open_ledger") == "server":
            item.add_marker("nightly")


@pytest.fixture(params=["file", "server"])
def open_ledger(request: pytest.FixtureRequest, tmp_path: Path) -> partial[Ledger]:
    """Opens one and the same ledger, of either kind; processes may be given it."""
    url = ""
    if request.param == "server":
        url = request.getfixturevalue("postgres").database()
    return partial(Ledger, tmp_path / "ledger.sqlite", url=url)


@pytest.fixture
def ledger(open_ledger: partial[Ledger]) -> Ledger:
    return open_ledger()
