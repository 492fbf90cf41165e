"""``seedlens sensitivity``: the contract of its JSON, and what it refuses."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from engine.config import DEMO
from tests.cli.command_line import Outcome, run_inside, write_lines

SEEDS = ("demo-0001", "demo-0181")
MEASURES = ("nDCG@20", "nDCG@20 (CSFCube)", "p-MRR", "SICR", "WISE", "rbo", "tau", "overlap@20")


def make_collection(folder: Path, aspects: tuple[str, ...]) -> Path:
    """Two seeds of the demo, without its documents."""
    topics = map(json.loads, (DEMO / "topics.jsonl").open(encoding="utf-8"))
    kept = [t for t in topics if t["seed"] in SEEDS and t["aspect"] in aspects]
    write_lines(folder / "topics.jsonl", kept)
    ids = {t["query_id"] for t in kept}
    qrels = gzip.decompress((DEMO / "qrels.txt.gz").read_bytes()).decode().splitlines()
    lines = [line for line in qrels if line.split()[0] in ids]
    (folder / "qrels.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    about = {"name": "two", "complete": True}
    (folder / "collection.json").write_text(json.dumps(about), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sensitivity") / "two"
    return make_collection(folder, ("background", "method", "result"))


def run(home: Path, path: Path, *options: str) -> Outcome:
    return run_inside(home, "sensitivity", path, "--corpus", "demo", *options)


def test_json_keeps_the_contract(demo_home: Path, collection: Path) -> None:
    done = run(demo_home, collection, "--systems", "dense,aspect", "--json")
    assert (done.code, done.stderr) == (0, "")
    found: dict[str, Any] = done.json
    assert (found["collection"], found["corpus"], found["queries"]) == ("two", "demo", 6)
    assert found["single_aspect"] is False
    assert list(found["systems"]) == ["dense", "aspect"]
    names = ["base", "generic", "definition", *(f"paraphrase-{i}" for i in range(1, 5)), "subset"]
    for system in found["systems"].values():
        assert 0.0 < system["Robustness@10"] < 1.0
        assert list(system["variants"]) == names
        for variant in system["variants"].values():
            assert set(MEASURES) <= set(variant)
            assert all(-1.0 <= variant[m] <= 1.0 for m in MEASURES), "fractions"
            assert set(variant["by_aspect"]) == {"background", "method", "result"}
        for measure in ("rbo", "tau", "overlap@20"):
            matrix = system["matrix"][measure]
            assert list(matrix) == names
            assert all(list(row) == names for row in matrix.values())
    dense, aspect = (s["variants"] for s in found["systems"].values())
    assert dense["base"]["p-MRR"] == aspect["generic"]["p-MRR"] == 0.0
    assert aspect["base"]["p-MRR"] > 0.0


def test_variants_and_steer_are_taken_and_a_table_is_printed(
    demo_home: Path, collection: Path
) -> None:
    done = run(
        demo_home, collection, "--systems", "aspect", "--variants", "base,definition",
        "--steer", "0",
    )  # fmt: skip
    assert (done.code, done.stderr) == (0, "")
    head, columns, *rows = filter(None, done.stdout.splitlines())
    assert head == "6 queries of two on corpus demo"
    assert all(measure in columns for measure in MEASURES)
    *rows, robustness = rows
    assert [row.split()[0] for row in rows] == ["base", "definition"]
    assert robustness.strip().startswith("Robustness@10 over wordings: 0.")
    assert all("0.000" in row for row in rows), "at steer 0 no wording is obeyed"


def test_a_collection_of_one_aspect_says_that_p_mrr_is_undefined(
    demo_home: Path, tmp_path: Path
) -> None:
    path = make_collection(tmp_path / "one", ("method",))
    done = run(demo_home, path, "--systems", "dense", "--variants", "base", "--json")
    assert done.code == 0
    assert done.stderr.startswith("Note: no seed is judged for two aspects")
    assert done.json["single_aspect"] is True
    assert done.json["systems"]["dense"]["variants"]["base"]["p-MRR"] is None
