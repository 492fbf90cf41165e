"""One function deletes what lies in a home, and that late."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from storage import removal
from storage.home import Home
from storage.locks import alone
from storage.removal import ASIDE, delete, delete_leftovers, delete_unused

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "home")
    home.create()
    return home


def at(monkeypatch, time):
    monkeypatch.setattr(removal, "now", lambda: time)


def test_something_is_deleted_when_it_was_unused_for_long_enough(home, monkeypatch):
    path, began = home.trash / "old", datetime(2026, 1, 1, tzinfo=UTC)
    path.mkdir()
    week = timedelta(days=7)

    def delete_on(day):
        at(monkeypatch, began + timedelta(days=day))
        return delete_unused(path, lambda: began, week)

    assert [delete_on(day) for day in (1, 6.9)] == [False] * 2
    at(monkeypatch, began + timedelta(days=8))
    assert not delete_unused(path, lambda: None, week), "it is in use"
    lock = home.trash / "old.lock"
    with alone(lock, "", ""):
        assert not delete_unused(path, lambda: began, week, alone(lock, "", ""))
    assert path.exists()
    assert delete_on(7.1)
    assert not path.exists()


_KILLED = """
import os, signal, sys
from pathlib import Path
from storage.files import write_whole
write_whole(Path(sys.argv[1]), (os.kill(os.getpid(), signal.SIGKILL) for _ in "1"))
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
def test_what_a_killed_process_had_half_written_goes_after_a_day(home, monkeypatch):
    rows = home.corpora / "c" / "documents.lance" / "data"
    rows.mkdir(parents=True)
    for parent in (home.root, home.corpora, home.corpora / "c"):
        (parent / f"{ASIDE}half").mkdir()  # of what another app deletes or restores
    command = [sys.executable, "-c", _KILLED, rows / "rows.lance"]
    subprocess.run(command, cwd=ROOT, check=False)
    copied = rows / ".rows.lance.0a1b2c3d.9F8e7D6c"  # as what copies from a store names its own
    copied.write_bytes(b"half of it")
    left = [*home.root.rglob(".[r]*")]
    assert len(left) == 5
    kept = [rows / name for name in ("rows.lance", ".hidden", "notes.0a1b2c3d")]
    for file in kept:
        file.write_bytes(b"whole")
    started = datetime.now(UTC)
    for days, there in ((0, 5), (1.1, 0)):
        at(monkeypatch, started + timedelta(days=days))
        delete_leftovers(home.root)
        assert sum(half.exists() for half in left) == there
    assert all(file.exists() for file in kept)


def test_nobody_finds_half_of_what_is_deleted(home, monkeypatch):
    path = home.corpora / "c"
    path.mkdir()
    monkeypatch.setattr(removal, "_delete_aside", lambda _: None)  # a kill
    assert delete(path)
    assert not path.exists()
    assert not delete(path)
