"""What servers with a home of their own know of people by the ledger that they share."""

from __future__ import annotations

import hashlib
import threading
import time
from pathlib import Path

import pytest

from storage import server_people
from storage.errors import StorageError
from storage.ledger import Ledger
from storage.spending import Spent
from tests.postgres_server import PostgresServer
from tests.support import wait_until

ONE, TWO, THREE = (hashlib.sha256(name.encode()).hexdigest() for name in ("one", "two", "three"))


def two_servers(folder: Path, url: str, wait_seconds: float = 30) -> list[Ledger]:
    return [Ledger(folder / home / "ledger.duckdb", wait_seconds, url) for home in ("a", "b")]


def test_a_login_that_was_ended_at_one_server_is_over_at_the_others(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.database()
    here, there = (ledger.ended_logins for ledger in two_servers(tmp_path, url))
    assert not there.has_any([ONE, TWO])
    here.add([ONE])
    assert here.has_any([TWO, ONE])
    wait_until(lambda: there.has_any([ONE]), what="the end of the login", seconds=10)
    assert not there.has_any([TWO])
    here.add([ONE, TWO])  # one of them is ended already
    wait_until(lambda: there.has_any([TWO]), what="the end of the other login", seconds=10)
    new = Ledger(tmp_path / "c" / "ledger.duckdb", url=url).ended_logins
    assert new.has_any([ONE]), "also at one that was started later"


def test_whoever_asks_for_ended_logins_does_not_wait_for_a_server_that_is_away(
    own_postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = two_servers(tmp_path, own_postgres.database())
    here.ended_logins.add([ONE])
    assert there.ended_logins.has_any([ONE])
    own_postgres.stop("fast")
    started = time.monotonic()
    assert there.ended_logins.has_any([ONE])
    assert not there.ended_logins.has_any([TWO])
    assert time.monotonic() - started < 1
    monkeypatch.setattr(server_people, "UNKNOWN_SECONDS", 0.0)
    with pytest.raises(StorageError, match=r"Which logins were ended is not known.*not answer"):
        there.ended_logins.has_any([TWO])
    monkeypatch.undo()
    own_postgres.start()
    here.ended_logins.add([THREE])
    wait_until(lambda: there.ended_logins.has_any([THREE]), what="what came after", seconds=60)


def test_what_a_person_spends_at_several_servers_counts_together(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    servers = [ledger.spending for ledger in two_servers(tmp_path, postgres.database())]
    assert servers[0].of("ada") == Spent()
    granted = []

    def ask(number: int) -> None:
        with servers[number % 2].alone():
            if servers[number % 2].of("ada").calls < 5:
                servers[number % 2].add("ada", 1, 100, 10)
                granted.append(number)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 5
    servers[1].add("ada", 0, -50, 0)  # what a call did not need of what was set aside
    assert [server.of("ada") for server in servers] == [Spent(5, 450, 50)] * 2
    assert servers[0].of("ben") == Spent()


def test_a_ledger_of_the_version_before_gets_what_it_lacks(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    import psycopg

    url = postgres.database()
    Ledger(tmp_path / "ledger.duckdb", url=url).corpora()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE spent")
        connection.execute("DROP TABLE ended_logins")
    ledger = Ledger(tmp_path / "ledger.duckdb", url=url)
    assert ledger.corpora() == []
    ledger.spending.add("ada", 1, 2, 3)
    assert ledger.spending.of("ada") == Spent(1, 2, 3)


def test_a_ledger_is_copied_without_what_is_of_its_server(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    server = Ledger(tmp_path / "ledger.duckdb", url=postgres.database())
    server.ended_logins.add([ONE])
    server.spending.add("ada", 1, 2, 3)
    rows = server.copy_to(Ledger(tmp_path / "ledger.duckdb"))
    assert not {"ended_logins", "spent"} & rows.keys()
