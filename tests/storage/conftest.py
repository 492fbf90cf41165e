"""An empty ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage.ledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.duckdb")
