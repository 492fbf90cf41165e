"""A collection as a folder."""

import json

import pytest

from engine.errors import BadInputError, StorageError
from tests.fakes.build_answers import LENS

PLACE = (LENS.corpus, LENS.name)


def test_an_export_replaces_the_files_of_the_one_before_and_no_others(built, tmp_path):
    out, about = tmp_path / "out", tmp_path / "out" / "provenance.json"
    files = built.builds.export(*PLACE, out)
    (out / "gone.txt").write_text("old")
    (out / "notes.txt").write_text("mine")
    made = json.loads(about.read_text("utf-8"))
    about.write_text(json.dumps({**made, "files": [*made["files"], "gone.txt", "../x"]}), "utf-8")
    (tmp_path / "x").write_text("mine")
    assert built.builds.export(*PLACE, out, overwrite=True) == files
    assert json.loads(about.read_text("utf-8"))["files"] == made["files"]
    assert {path for path in out.rglob("*") if path.is_file()} == {*files, out / "notes.txt"}
    assert (tmp_path / "x").exists()


def test_files_of_a_person_are_never_overwritten(built, tmp_path):
    for about in ("", '{"files": []}', '{"generator": "seedlens build"}'):
        (tmp_path / "provenance.json").write_text(about, encoding="utf-8")
        with pytest.raises(BadInputError, match="were not exported from a build"):
            built.builds.export(*PLACE, tmp_path, overwrite=True)
        assert (tmp_path / "provenance.json").read_text("utf-8") == about
    (tmp_path / "file").write_text("mine")
    with pytest.raises(BadInputError, match="file is a file"):
        built.builds.export(*PLACE, tmp_path / "file")
    with pytest.raises(StorageError, match="cannot be written"):
        built.builds.export(*PLACE, tmp_path / "file" / "below")
