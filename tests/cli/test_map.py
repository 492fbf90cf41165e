"""``seedlens map``: computed, written to a file, and named by a model."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from tests.cli.command_line import connected, run_inside
from tests.fakes.model_answers import MODEL, Knowledge, names
from tests.fakes.model_server import serving


def test_a_map_is_computed_once_written_and_kept_up_to_date(corpus: Path, tmp_path: Path) -> None:
    first = run_inside(corpus, "map", "small", "--output", tmp_path / "map.csv")
    assert "40 documents, 4 layouts made" in first.stdout, first.stderr
    with (tmp_path / "map.csv").open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    assert len([row for row in rows if row["layout"] == "document"]) == 40
    assert all(0 <= float(row["x"]) <= 1 and row["coarse"] and row["fine"] for row in rows)
    again = run_inside(corpus, "map", "small", "--output", tmp_path / "map.json")
    assert "the map is up to date" in again.stdout
    written = json.loads((tmp_path / "map.json").read_text(encoding="utf-8"))
    assert (written["corpus"], len(written["documents"])) == ("small", len(rows))
    changed = run_inside(corpus, "lens", "set", "small", "posts")
    assert changed.code == 0, changed.stderr
    assert "the map is up to date" in run_inside(corpus, "map", "small").stdout, "by its aspects"


def test_a_model_names_the_clusters_of_all_layouts(corpus: Path, tmp_path: Path) -> None:
    assert run_inside(corpus, "map", "small", "--model-names").code == 2, "no model is connected"
    file = tmp_path / "map.csv"
    with serving(Knowledge({}, {}), handlers=[names()]) as server:
        model = connected(server)
        named = run_inside(corpus, "map", "small", "--model-names", "--output", file, **model)
        assert named.code == 0, named.stderr
        assert "4 calls, at most" in named.stderr
        assert f"named by {MODEL}" in named.stdout
        assert server.seen.questions == 4
    assert ",Group 1," in file.read_text(encoding="utf-8")
    back = run_inside(corpus, "map", "small", "--own-names", "--output", file)
    assert back.code == 0
    assert "Group" not in file.read_text(encoding="utf-8")
