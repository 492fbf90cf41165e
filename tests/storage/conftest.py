"""An empty ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.ledger import Ledger
from tests import ledgers_made_once


@pytest.fixture(autouse=True)
def _ledgers_as_they_are() -> Iterator[None]:
    with ledgers_made_once.as_people_have_them():
        yield


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.duckdb")
