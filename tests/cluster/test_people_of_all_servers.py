"""Who logged out, and what somebody had a model do today, count on all servers of one ledger."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import pytest

from engine.llm.budget import Account, Budget
from engine.llm.endpoint_errors import BudgetReachedError
from engine.people import ended_logins
from storage.ledger import Ledger
from storage.spending import spending_of
from tests.postgres_server import PostgresServer

ONE, TWO = "1" * 64, "2" * 64


@pytest.fixture
def url(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> str:
    url = postgres.database()
    monkeypatch.setenv("SEEDLENS_LEDGER_URL", url)
    return url


def test_who_logged_out_on_one_server_is_out_on_all(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = ended_logins()
    monkeypatch.setenv("SEEDLENS_HOME", str(tmp_path / "there"))
    there = ended_logins()
    assert not there.has_any([ONE])
    here.add([ONE])
    here.add([ONE, TWO])
    assert there.has_any(["3" * 64, ONE])
    assert there.has_any([TWO])
    assert not there.has_any(["3" * 64])
    assert not there.has_any([])
    assert url


def test_a_persons_day_has_one_budget_on_all_servers(url: str, tmp_path: Path) -> None:
    homes = [spending_of(tmp_path / name, url) for name in ("here", "there")]
    accounts = [Account("ada@example.org", Budget(calls=10), home) for home in homes]
    refused: list[str] = []

    def ask(account: Account) -> None:
        for _ in range(8):
            try:
                account.hold(5, 7)
                account.settle((5, 7), (4, 6))
            except BudgetReachedError as error:
                refused.append(error.message)

    threads = [Thread(target=ask, args=(account,)) for account in accounts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 6
    for home in homes:
        spent = home.of("ada@example.org")
        assert (spent.calls, spent.input_tokens, spent.output_tokens) == (10, 40, 60)
        assert home.of("ben@example.org").calls == 0


def test_a_ledger_is_copied_without_what_is_of_its_server(url: str, tmp_path: Path) -> None:
    ended_logins().add([ONE])
    server = Ledger(tmp_path / "ledger.duckdb", url=url)
    assert "ended_logins" not in server.copy_to(Ledger(tmp_path / "ledger.duckdb"))
