"""Locks: one run at a time in all processes, and none that outlives its process."""

import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta

import pytest

from engine.config import ROOT
from storage.documents import DOCUMENTS
from storage.errors import CorpusBusyError
from storage.locks import MACHINE, TERM, Holder, is_alive
from tests.support import wait_until

HOLDER = """
import sys, time
from pathlib import Path
from storage.ledger import Ledger
locks = Ledger(Path(sys.argv[1]), url=sys.argv[2]).locks
with locks.hold("grading", "c", "p", what="It is graded"):
    print("held", flush=True)
    time.sleep(60)
"""
WHAT = "It is graded"


@pytest.mark.smoke
def test_a_lock_of_another_process_is_named_and_ends_with_that_process(open_ledger):
    locks = open_ledger().locks
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, open_ledger.args[0], open_ledger.keywords["url"]],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        with (
            pytest.raises(CorpusBusyError, match=rf"by another program \(process {process.pid}\)"),
            locks.hold("grading", "c", "p", what=WHAT),
        ):
            pass
        with locks.hold("grading", "c", "q", what=WHAT), locks.hold("x", "c", "p", what=WHAT):
            pass  # of other things
        os.kill(process.pid, signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
        process.wait(timeout=20)
    with locks.hold("grading", "c", "p", what=WHAT):
        pass


def test_two_runs_of_a_process_do_not_share_a_lock_and_one_that_fails_gives_it_back(ledger):
    name = ("grading", "c", "p")

    def refused():
        busy = r"^It is graded by another run here\. Wait until it is done, or cancel it\.$"
        with pytest.raises(CorpusBusyError, match=busy), ledger.locks.hold(*name, what=WHAT):
            pass
        raise ValueError("within")

    with pytest.raises(ValueError, match="within"), ledger.locks.hold(*name, what=WHAT):
        refused()
    with ledger.locks.hold(*name, what=WHAT):
        pass


def test_a_lock_of_another_machine_counts_until_it_is_not_renewed(ledger):
    locks = ledger.locks
    with locks.hold("grading", what=WHAT):
        for renewed, held in ((datetime.now(UTC), True), (datetime(2026, 1, 1, tzinfo=UTC), False)):
            locks._stored.put("grading", Holder("another", 7))
            with ledger._database.write() as connection:
                connection.execute(DOCUMENTS.update().values(time=renewed))
            refused = (
                pytest.raises(CorpusBusyError, match=r"process 7 on another")
                if held
                else nullcontext()
            )
            with refused, locks.hold("grading", what=WHAT):
                pass


def test_a_process_of_this_machine_counts_while_it_lives(monkeypatch):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        long_ago = datetime.now(UTC) - 2 * TERM
        assert not is_alive(MACHINE, child.pid, long_ago), "another process had that number"
        monkeypatch.setattr("storage.locks.TERM", timedelta(seconds=-1))  # it was suspended
        assert is_alive(MACHINE, child.pid, datetime.now(UTC))
    finally:
        child.kill()
    wait_until(lambda: not is_alive(MACHINE, child.pid, datetime.now(UTC)), what="a zombie")
    child.wait()
    assert not is_alive(MACHINE, child.pid, datetime.now(UTC))
