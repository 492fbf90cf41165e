"""An empty ledger: a file, or a database of a server that runs on this machine for these tests."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from storage.ledger import Ledger


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
