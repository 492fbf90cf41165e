"""An empty ledger: a file, or a database of a server that runs on this machine for these tests."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from storage.ledger import Ledger
from tests import ledgers_made_once, postgres_server
from tests.postgres_server import PostgresServer


@pytest.fixture(autouse=True)
def _ledgers_as_they_are() -> Iterator[None]:
    with ledgers_made_once.as_people_have_them():
        yield


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A running server, for tests that leave it running."""
    if why := postgres_server.missing():
        pytest.skip(why)
    with postgres_server.running() as server:
        yield server


@pytest.fixture(params=["file", "server"])
def open_ledger(request: pytest.FixtureRequest, tmp_path: Path) -> partial[Ledger]:
    """Opens one and the same ledger, of either kind; processes may be given it."""
    url = ""
    if request.param == "server":
        url = request.getfixturevalue("postgres").database()
    return partial(Ledger, tmp_path / "ledger.duckdb", url=url)


@pytest.fixture
def ledger(open_ledger: partial[Ledger]) -> Ledger:
    return open_ledger()
