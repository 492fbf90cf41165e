"""An empty ledger: a file, or a database of a server that runs on this machine for these tests.

On the server, what is no smoke test is left to ``make nightly``.
"""

from functools import partial
from pathlib import Path

import pytest

from storage.ledger import Ledger


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent != Path(__file__).parent or item.get_closest_marker("smoke"):
            continue
        given = item.callspec.params if hasattr(item, "callspec") else {}
        servers = {"postgres", "own_postgres"} & {*item.fixturenames}
        if servers or given.get("open_ledger") == "server":
            item.add_marker("nightly")


@pytest.fixture(params=["file", "server"])
def open_ledger(request, tmp_path):
    """Opens one and the same ledger, of either kind; processes may be given it."""
    url = ""
    if request.param == "server":
        url = request.getfixturevalue("postgres").database()
    return partial(Ledger, tmp_path / "ledger.sqlite", url=url)


@pytest.fixture
def ledger(open_ledger):
    return open_ledger()
