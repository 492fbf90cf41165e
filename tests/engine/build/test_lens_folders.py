"""A collection is written as a whole: whatever happens meanwhile, no part of it is found."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.annotate import judgment_io
from engine.build.collection_export import write_folder
from engine.config import ROOT
from engine.errors import BadInputError, StorageError
from engine.explorer import Explorer
from tests.fakes.lens_builds import LENS

OLD = {"queries.jsonl": ["old"], "gone.txt": ["old"]}
NEW = {"queries.jsonl": ["n", "ew"], "qrels/test.tsv": ["new"]}
KILLED = """
import os, sys
from pathlib import Path
from engine.build.collection_export import write_folder

steps = [0]

def counted(event, arguments):
    # Files opened for writing, made, moved and removed: whatever changes the disk.
    writes = event == "open" and isinstance(arguments[1], str) and arguments[1] in ("w", "x")
    if writes or event in ("os.rename", "os.mkdir", "os.remove", "os.rmdir"):
        steps[0] += 1
        if steps[0] == int(sys.argv[2]):
            os._exit(9)

files = {"queries.jsonl": ["n", "ew"], "qrels/test.tsv": ["new"]}
sys.addaudithook(counted)
write_folder(files, Path(sys.argv[1]), ["queries.jsonl", "gone.txt"])
"""


def _files(folder: Path) -> dict[str, str]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in found}


def _texts(files: dict[str, list[str]], **more: str) -> dict[str, str]:
    return {**{name: "".join(pieces) for name, pieces in files.items()}, **more}


@pytest.mark.nightly
@pytest.mark.parametrize("replaces", [False, True])
def test_a_kill_at_any_step_leaves_all_or_nothing(tmp_path: Path, replaces: bool) -> None:
    mine = {"notes.txt": "mine"} if replaces else {}
    before, after = _texts(OLD, **mine) if replaces else {}, _texts(NEW, **mine)
    for step in range(1, 40):
        out = tmp_path / str(step) / "out"
        out.parent.mkdir()
        if replaces:
            write_folder(OLD, out)
            (out / "notes.txt").write_text("mine", "utf-8")
        command = [sys.executable, "-c", KILLED, str(out), str(step)]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        if out.exists():
            assert _files(out) in (before, after)
        elif replaces:  # between two moves: the old one is whole, beside its place
            assert before in [_files(folder) for folder in out.parent.iterdir()]
        if code == 0:
            assert step > 3
            assert _files(out.parent) == {f"out/{name}": text for name, text in after.items()}
            return
        assert code == 9
    pytest.fail("it never came to an end")


def test_an_error_on_the_way_leaves_what_was_there(tmp_path: Path) -> None:
    def pieces() -> Iterator[str]:
        yield "half"
        raise OSError(28, "No space left on device")

    out = tmp_path / "out"
    for before in ({}, OLD):
        if before:
            write_folder(before, out)
        with pytest.raises(StorageError, match="No space left"):
            write_folder({"queries.jsonl": ["whole"], "corpus.jsonl": pieces()}, out)
        assert _files(tmp_path) == {f"out/{name}": "old" for name in before}


def test_the_folder_that_a_shell_is_in_is_not_moved_away_under_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInputError, match="the folder you are in"):
        write_folder(NEW, Path())
    assert _files(tmp_path) == {}


def test_a_collection_that_is_too_large_for_a_page_is_refused(
    built: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judgment_io, "EXPORT_BYTES", 5_000)
    with pytest.raises(BadInputError, match="seedlens build export"):
        built.builds.files(LENS.corpus, LENS.name)
