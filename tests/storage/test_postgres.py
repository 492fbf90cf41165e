"""A ledger on a server: its faults are named, its secrets are not shown, and nothing is lost."""

import logging
import sys
import threading
import time
import traceback
from contextlib import suppress

import pytest

from storage.errors import CorpusBusyError, LedgerBusyError, StorageError
from storage.ledger import Ledger
from storage.people import Lease
from tests.fakes.postgres_server import PASSWORD
from tests.storage.rows import judgment
from tests.support import wait_until


@pytest.fixture
def url(postgres):
    return postgres.database()


@pytest.mark.smoke
def test_a_server_that_is_killed_and_comes_back_loses_no_acknowledged_judgment(
    own_postgres, tmp_path
):
    url = own_postgres.database()
    ledger = Ledger(tmp_path / "ledger.sqlite", url=url)
    ledger.judging.add([judgment("before")])
    acknowledged, done = ["before"], threading.Event()

    def judge(who):
        number = 0
        while not done.is_set():
            said = judgment(f"{who}{number}", annotator=who)
            while True:  # as the page does: until it is acknowledged
                with suppress(StorageError):
                    ledger.judging.add([said])
                    break
            acknowledged.append(said.doc_id)
            number += 1

    threads = [threading.Thread(target=judge, args=(who,)) for who in "abc"]
    for thread in threads:
        thread.start()
    for _ in range(2):
        so_far = len(acknowledged)
        wait_until(lambda: len(acknowledged) > so_far + 20, what="judgments")  # noqa: B023
        own_postgres.stop("immediate")
        own_postgres.start()
    so_far = len(acknowledged)
    wait_until(lambda: len(acknowledged) > so_far + 20, what="judgments after it")
    done.set()
    for thread in threads:
        thread.join()
    stored = [row.doc_id for row in ledger.judging.history("demo")]
    assert sorted(stored) == sorted(acknowledged), "each once, also those sent twice"
    other = Ledger(tmp_path / "ledger.sqlite", url=url)
    assert ledger.judging.latest("demo") == other.judging.latest("demo")


def test_a_server_that_stays_away_is_named_after_the_wait(own_postgres, tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite", 0.5, own_postgres.database())
    ledger.judging.add([judgment("d1")])
    own_postgres.stop("fast")
    started = time.monotonic()
    with pytest.raises(
        StorageError, match=rf"127\.0\.0\.1:{own_postgres.port}/.*cannot be reached"
    ):
        ledger.judging.add([judgment("d2")])
    assert 0.4 < time.monotonic() - started < 60
    own_postgres.start()
    ledger.judging.add([judgment("d2")])
    assert len(ledger.judging.history("demo")) == 2


# Secrets


def whole_chain(error):
    """What a log that shows causes and their attributes would show."""
    shown = []
    while error is not None:
        shown.append(f"{error!r} {vars(error)!r} {''.join(traceback.format_exception(error))}")
        error = error.__cause__ or error.__context__
    return "\n".join(shown)


@pytest.mark.parametrize("address", ["me:xq7@zk9@h/db", "me:1234/zk9@h/db", "h/x?#"])
def test_what_is_no_address_of_a_server_is_refused_and_no_password_is_shown(tmp_path, address):
    pytest.importorskip("psycopg")
    refused = r"SEEDLENS_LEDGER_URL is not the address.*Write postgresql://USER:PASSWORD@HOST"
    for url in (f"postgresql://{address}", address, f"mysql://{address}"):
        with pytest.raises(StorageError, match=refused) as caught:
            Ledger(tmp_path / "ledger.sqlite", url=url)
        shown = whole_chain(caught.value)
        assert not [part for part in ("xq7", "zk9", "1234") if part in shown]


@pytest.mark.smoke
def test_wrong_credentials_are_a_clear_error_without_the_password(postgres, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    wrong = "wrong horse/battery@staple"
    ledger = Ledger(tmp_path / "ledger.sqlite", url=postgres.url("postgres", wrong))
    started = time.monotonic()
    with pytest.raises(StorageError, match=r"authentication failed.*SEEDLENS_LEDGER_URL") as caught:
        ledger.corpora()
    assert time.monotonic() - started < 30, "nobody waits for that"
    shown = f"{whole_chain(caught.value)} {caplog.text} {vars(ledger)!r} {ledger.name}"
    assert not [part for part in (wrong, "horse", "staple") if part in shown]
    nowhere = Ledger(tmp_path / "ledger.sqlite", url=postgres.url("no_such"))
    with pytest.raises(StorageError, match=r'database "no_such" does not exist') as caught:
        nowhere.corpora()
    assert "horse" not in whole_chain(caught.value)
    assert PASSWORD not in repr(vars(nowhere._database))


def test_without_the_package_it_says_what_to_install(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "psycopg"]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("storage.postgres",):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        StorageError, match=r"missing \(psycopg\).*pip install 'seedlens\[cluster\]'"
    ):
        Ledger(tmp_path / "ledger.sqlite", url="postgresql://localhost/seedlens")


def test_a_writer_that_hangs_is_reported_within_the_wait_and_readers_go_on(url, tmp_path):
    holder = Ledger(tmp_path / "ledger.sqlite", url=url)
    other = Ledger(tmp_path / "ledger.sqlite", 0.3, url)
    holder.judging.add([judgment("d1")])
    with holder._database.write():
        with pytest.raises(LedgerBusyError, match=r"0\.3 s.*Try again"):
            other.judging.add([judgment("d2")])
        assert len(other.judging.latest("demo")) == 1
    other.judging.add([judgment("d2")])


# Locks and leases


def _is_free(locks, name):
    with suppress(CorpusBusyError), locks.hold(name, what="Busy"):
        return True
    return False


def test_a_lock_lasts_while_the_server_is_away(own_postgres, tmp_path):
    url = own_postgres.database()
    one, other = (Ledger(tmp_path / name / "ledger.sqlite", url=url).locks for name in ("a", "b"))
    with one.hold("c", what=""):
        own_postgres.stop("immediate")
        own_postgres.start()
        assert not _is_free(other, "c")
    assert _is_free(other, "c")


def test_leases_are_those_of_all_machines_and_stay_as_they_were_after_an_error(url, tmp_path):
    one, other = (Ledger(tmp_path / name / "ledger.sqlite", url=url) for name in ("a", "b"))
    lease = Lease("Ada", (("q", "d"),))
    with one.leases.of("c", "p") as leases:
        leases["visit"] = lease
    with suppress(ValueError), other.leases.of("c", "p") as leases:
        leases.clear()
        raise ValueError
    with other.leases.of("c", "p") as leases:
        assert leases == {"visit": lease}
    with other.leases.of("c", "q") as leases:
        assert leases == {}
