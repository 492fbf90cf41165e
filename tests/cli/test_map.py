"""``seedlens map``: made, written to a file, and refused plainly."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

from tests.cli.command_line import connected, run_inside
from tests.fakes.model_answers import MODEL, Knowledge, names
from tests.fakes.model_server import serving


def test_a_map_is_made_once_and_written(small_home: Path, home: Path, tmp_path: Path) -> None:
    shutil.copytree(small_home, home)
    first = run_inside(home, "map", "small", "--output", tmp_path / "map.csv")
    assert first.code == 0
    assert "40 documents, 4 layouts made" in first.stdout
    with (tmp_path / "map.csv").open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    whole = [row for row in rows if row["layout"] == "document"]
    assert len(whole) == 40
    assert all(0 <= float(row["x"]) <= 1 and row["coarse"] and row["fine"] for row in rows)
    again = run_inside(home, "map", "small", "--output", tmp_path / "map.json")
    assert "the map is up to date" in again.stdout
    written = json.loads((tmp_path / "map.json").read_text(encoding="utf-8"))
    assert written["corpus"] == "small"
    assert len(written["documents"]) == len(rows)
    refused = run_inside(home, "map", "small", "--output", tmp_path / "map.png")
    assert refused.code == 2
    assert "Use .json or .csv" in refused.stderr


def test_another_lens_has_its_map_at_once(small_home: Path, home: Path) -> None:
    shutil.copytree(small_home, home)
    run_inside(home, "map", "small")
    changed = run_inside(home, "lens", "set", "small", "posts")
    assert changed.code == 0, changed.stderr
    assert "the map is up to date" in run_inside(home, "map", "small").stdout


def test_a_model_names_the_clusters_of_all_layouts(
    small_home: Path, home: Path, tmp_path: Path
) -> None:
    shutil.copytree(small_home, home)
    refused = run_inside(home, "map", "small", "--model-names", "--own-names")
    assert refused.code == 2
    refused = run_inside(home, "map", "small", "--model-names")
    assert refused.code == 2, "no model is connected"
    file = tmp_path / "map.csv"
    with serving(Knowledge({}, {})) as server:
        server.behaviour.handlers = [names()]
        model = connected(server)
        named = run_inside(home, "map", "small", "--model-names", "--output", file, **model)
        assert named.code == 0, named.stderr
        assert "4 calls, at most" in named.stderr
        assert f"named by {MODEL}" in named.stdout
        assert server.seen.questions == 4
    assert ",Group 1," in file.read_text(encoding="utf-8")
    back = run_inside(home, "map", "small", "--own-names", "--output", file)
    assert back.code == 0
    assert "Group" not in file.read_text(encoding="utf-8")
