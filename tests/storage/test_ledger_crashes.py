"""What the ledger acknowledged is there after a crash, and for all processes that write at once."""

import multiprocessing
import os
import signal
import sqlite3
import sys
import threading
import time
from contextlib import closing

import pytest

from storage.errors import LedgerBusyError, StorageError, StorageFullError
from storage.ledger import Ledger
from tests.storage.rows import judgment

THREADS = 4
SPAWN = multiprocessing.get_context("spawn")
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and limits")


# What other processes do in these tests


def judge(open_ledger, who, count):
    ledger = open_ledger(wait_seconds=120)
    for number in range(count):
        ledger.judging.add([judgment(f"d{number}", annotator=who)])


def judge_until_killed(open_ledger, acknowledged):
    """In four threads."""
    ledger, told = open_ledger(), threading.Lock()

    def work(who):
        for number in range(100_000):
            ledger.judging.add([judgment(f"d{number}", annotator=f"t{who}")])
            with told:
                acknowledged.send((f"t{who}", f"d{number}"))

    for who in range(THREADS):
        threading.Thread(target=work, args=(who,)).start()


def die_in_mid_transaction(open_ledger):
    with open_ledger()._database.write() as connection:
        connection.exec_driver_sql("UPDATE judgment_events SET relevance = 0")
        connection.exec_driver_sql("DELETE FROM judgment_events WHERE doc_id = 'd1'")
        os.kill(os.getpid(), signal.SIGKILL)


def fill_disk(path, outcome):
    import resource

    ledger = Ledger(path)
    ledger.corpora()
    limit = max(file.stat().st_size for file in path.parent.iterdir()) + 4096
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        ledger.put_text(os.urandom(1_000_000).hex())
        outcome.send("stored")
    except StorageError as e:
        outcome.send((type(e).__name__, str(e)))


# Many at once


@pytest.mark.nightly
def test_eight_processes_judging_at_once_lose_no_row(open_ledger):
    processes = [SPAWN.Process(target=judge, args=(open_ledger, f"p{n}", 25)) for n in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    assert [process.exitcode for process in processes] == [0] * 8
    rows = open_ledger().judging.history("demo")
    assert len(rows) == 200
    assert len({(row.annotator, row.doc_id) for row in rows}) == 200


def test_a_ledger_held_by_another_program_is_reported_within_the_wait(tmp_path):
    path = tmp_path / "ledger.sqlite"
    Ledger(path).judging.add([judgment()])
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        with pytest.raises(LedgerBusyError, match=r"0\.4 s.*Try again") as caught:
            Ledger(path, wait_seconds=0.4).judging.add([judgment("d2")])
        assert 0.3 < time.monotonic() - started < 60
        assert str(path) in str(caught.value)
    assert [row.doc_id for row in Ledger(path).judging.history("demo")] == ["d1"]


def test_who_reads_waits_for_nobody(tmp_path):
    ledger, other = (Ledger(tmp_path / "ledger.sqlite", wait_seconds=0.2) for _ in range(2))
    ledger.judging.add([judgment()])
    with ledger._database.write() as connection:
        connection.exec_driver_sql("UPDATE judgment_events SET relevance = 0")
        assert [row.relevance for row in other.judging.history("demo")] == [2]
        assert [row.relevance for row in ledger.judging.history("demo")] == [0], "its own thread"


# Crashes, full disks, damaged files


@posix_only
@pytest.mark.smoke
def test_a_kill_in_mid_transaction_keeps_what_was_there_and_shuts_out_nobody(open_ledger):
    open_ledger().judging.add([judgment("d1"), judgment("d2")])
    process = SPAWN.Process(target=die_in_mid_transaction, args=(open_ledger,))
    process.start()
    process.join()

    assert process.exitcode == -signal.SIGKILL
    open_ledger(wait_seconds=5).judging.add([judgment("after")])
    rows = open_ledger().judging.history("demo")
    assert [row.doc_id for row in rows] == ["d1", "d2", "after"]
    assert {row.relevance for row in rows} == {2}


@pytest.mark.nightly
@posix_only
@pytest.mark.parametrize("seconds", [0.0, 0.11, 0.27])
def test_every_judgment_acknowledged_before_a_kill_is_there_after_it(open_ledger, seconds):
    here, there = SPAWN.Pipe()
    process = SPAWN.Process(target=judge_until_killed, args=(open_ledger, there))
    process.start()
    acknowledged = [here.recv()]
    time.sleep(seconds)
    process.kill()
    process.join()
    while here.poll():
        acknowledged.append(here.recv())

    found = [(row.annotator, row.doc_id) for row in open_ledger().judging.history("demo")]
    assert len(found) == len(set(found))
    assert set(acknowledged) <= set(found)
    # The kill may fall between the commit and its acknowledgement, of each thread.
    assert len(found) <= len(acknowledged) + THREADS


def test_threads_and_ledgers_that_begin_at_once_make_one_ledger(open_ledger):
    ledgers = [open_ledger() for _ in range(6)]
    threads = [
        threading.Thread(target=ledger.judging.add, args=([judgment(f"d{n}")],))
        for n, ledger in enumerate(ledgers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledgers[0].judging.history("demo")) == 6
    with ledgers[0]._database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM schema_version").scalar() == 1


@posix_only
def test_a_full_disk_is_named_and_costs_nothing_stored_before(tmp_path):
    path = tmp_path / "ledger.sqlite"
    Ledger(path).judging.add([judgment()])
    here, there = SPAWN.Pipe()
    process = SPAWN.Process(target=fill_disk, args=(path, there))
    process.start()
    kind, message = here.recv()
    process.join()

    assert kind == StorageFullError.__name__
    assert str(path) in message
    assert "Free some space" in message
    assert Ledger(path).judging.history("demo") == [judgment()]
    Ledger(path).put_text("there is room again")


@pytest.mark.parametrize("content", [b"junk", b"not a database " * 5000])
def test_a_corrupt_file_is_named_and_left_as_it_is(tmp_path, content):
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(content)
    with pytest.raises(StorageError, match="left the file as it is") as caught:
        Ledger(path).judging.history("demo")
    assert str(path) in str(caught.value)
    assert path.read_bytes() == content


def test_a_ledger_from_a_newer_seedlens_is_refused_and_unchanged(open_ledger):
    ledger = open_ledger()
    ledger.judging.add([judgment()])
    with ledger._database.write() as connection:
        connection.exec_driver_sql("INSERT INTO schema_version VALUES (99, 'm0099', '2026-01-01')")
    newer = open_ledger()
    for access in (newer.corpora, lambda: newer.judging.add([judgment("d2")])):
        with pytest.raises(StorageError, match=r"newer SeedLens.*99.*Upgrade"):
            access()
    assert len(ledger.judging.history("demo")) == 1
