"""One function deletes what lies in a home, and that late."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from storage import removal
from storage.home import Home
from storage.locks import alone
from storage.removal import ASIDE, delete, delete_leftovers, delete_unused

ROOT = Path(__file__).resolve().parents[2]
OWN = {
    "storage/removal.py": "the function itself",
    "storage/files.py": "a file that this call could not finish",
    "storage/sqlite.py": "a copy that this call could not finish, or a file that none finished",
    "engine/corpora/backup.py": "what this call wrote, and could not finish or needs no more",
    "engine/build/collection_export.py": "in a folder that a person named: an earlier export",
    "engine/generate/generator.py": "a folder that a person named, which is written anew",
    "engine/scenarios/distillation.py": "a folder that a person named: what training leaves",
}
"""Where else files are deleted, and which."""
DELETING = {"unlink", "rmdir", "rmtree", "removedirs", "drop_table", "drop_database"}


def deleting(folder: str) -> Iterator[str]:
    """Modules that delete files or tables themselves."""
    for file in sorted((ROOT / folder).rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if not any(name in text for name in (*DELETING, "os.remove")):
            continue  # to parse it takes long
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Attribute):
                continue
            of_os = isinstance(node.value, ast.Name) and node.value.id == "os"
            if node.attr in DELETING or (of_os and node.attr == "remove"):
                yield file.relative_to(ROOT).as_posix()


def test_what_a_home_holds_is_deleted_by_one_function_only() -> None:
    found = {name for folder in ("storage", "engine", "pages") for name in deleting(folder)}
    assert found == set(OWN)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.create()
    return home


def at(monkeypatch: pytest.MonkeyPatch, time: datetime) -> None:
    monkeypatch.setattr(removal, "now", lambda: time)


def test_something_is_deleted_when_it_was_unused_for_long_enough(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, began = home.trash / "old", datetime(2026, 1, 1, tzinfo=UTC)
    path.mkdir()
    week = timedelta(days=7)

    def delete_on(day: float) -> bool:
        at(monkeypatch, began + timedelta(days=day))
        return delete_unused(path, lambda: began, week)

    assert [delete_on(day) for day in (1, 6.9)] == [False] * 2
    at(monkeypatch, began + timedelta(days=8))
    assert not delete_unused(path, lambda: None, week), "it is in use"
    assert path.exists()
    assert delete_on(7.1)
    assert not path.exists()


def test_what_somebody_uses_is_not_deleted_however_old(home: Home) -> None:
    path, lock, began = (
        home.corpora / "c",
        home.corpora / "c.lock",
        datetime(2026, 1, 1, tzinfo=UTC),
    )
    path.mkdir()
    with alone(lock, "", ""):
        assert not delete_unused(path, lambda: began, timedelta(0), alone(lock, "", ""))
    assert path.exists()
    assert delete_unused(path, lambda: began, timedelta(0), alone(lock, "", ""))


def test_what_another_app_moved_aside_or_restores_is_left_to_it_for_a_day(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home.corpora / "c").mkdir()
    asides = [parent / f"{ASIDE}half" for parent in (home.root, home.corpora, home.corpora / "c")]
    for aside in asides:
        aside.mkdir()
    started = datetime.now(UTC)
    for days, left in ((0, 3), (1.1, 0)):
        at(monkeypatch, started + timedelta(days=days))
        delete_leftovers(home.root)
        assert sum(aside.exists() for aside in asides) == left


_KILLED = """
import os, signal, sys
from pathlib import Path
from storage.files import write_whole
write_whole(Path(sys.argv[1]), (os.kill(os.getpid(), signal.SIGKILL) for _ in "1"))
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
def test_what_a_killed_process_had_half_written_goes_after_a_day(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = home.corpora / "c" / "documents.lance" / "data"
    rows.mkdir(parents=True)
    for file in (home.root / "notes.json", rows / "rows.lance"):
        subprocess.run([sys.executable, "-c", _KILLED, file], cwd=ROOT, check=False)
    copied = rows / ".rows.lance.0a1b2c3d.9F8e7D6c"  # as what copies from a store names its own
    copied.write_bytes(b"half of it")
    left = [*home.root.glob(".*"), *rows.glob(".*")]
    assert len(left) == 3
    kept = [rows / name for name in ("rows.lance", ".hidden", "notes.0a1b2c3d")]
    for file in kept:
        file.write_bytes(b"whole")
    started = datetime.now(UTC)
    for days, there in ((0, 3), (1.1, 0)):
        at(monkeypatch, started + timedelta(days=days))
        delete_leftovers(home.root)
        assert sum(half.exists() for half in left) == there
    assert all(file.exists() for file in kept)


def test_nobody_finds_half_of_what_is_deleted(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    path = home.corpora / "c"
    path.mkdir()
    monkeypatch.setattr(removal, "_delete_aside", lambda _: None)  # a kill
    assert delete(path)
    assert not path.exists()
    assert not delete(path)
