"""``seedlens sensitivity``: the contract of its JSON, and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.command_line import run_inside, write_lines

MEASURES = ("nDCG@20", "nDCG@20 (CSFCube)", "p-MRR", "SICR", "WISE", "rbo", "tau", "overlap@20")


def make_collection(source, folder, aspects):
    """The queries and judgments of a collection, of these aspects, without its documents."""
    topics = map(json.loads, (source / "topics.jsonl").open(encoding="utf-8"))
    kept = [t for t in topics if t["aspect"] in aspects]
    write_lines(folder / "topics.jsonl", kept)
    ids = {t["query_id"] for t in kept}
    lines = (source / "qrels.txt").read_text().splitlines(keepends=True)
    (folder / "qrels.txt").write_text("".join(q for q in lines if q.split()[0] in ids))
    about = {"name": "two", "complete": True}
    (folder / "collection.json").write_text(json.dumps(about), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def collection(evaluated, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sensitivity") / "two"
    return make_collection(evaluated.collection, folder, ("background", "method", "result"))


def run(home, path, *options):
    return run_inside(home, "sensitivity", path, "--corpus", "tiny", *options)


def test_json_keeps_the_contract(evaluated, collection):
    done = run(evaluated.home, collection, "--systems", "dense,aspect", "--json")
    assert (done.code, done.stderr) == (0, "")
    found: dict[str, Any] = done.json
    assert (found["collection"], found["corpus"], found["queries"]) == ("two", "tiny", 12)
    assert found["single_aspect"] is False
    assert (found["asked"], found["stopped"]) == (12, "")
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


def test_variants_and_steer_are_taken_and_a_table_is_printed(evaluated, collection):
    done = run(
        evaluated.home, collection, "--systems", "aspect", "--variants", "base,definition",
        "--steer", "0",
    )  # fmt: skip
    assert (done.code, done.stderr) == (0, "")
    head, columns, *rows = filter(None, done.stdout.splitlines())
    assert head == "12 queries of two on corpus tiny"
    assert all(measure in columns for measure in MEASURES)
    *rows, robustness = rows
    assert [row.split()[0] for row in rows] == ["base", "definition"]
    assert robustness.strip().startswith("Robustness@10 over wordings: 0.")
    assert all("0.000" in row for row in rows), "at steer 0 no wording is obeyed"


def test_a_collection_of_one_aspect_says_that_p_mrr_is_undefined(evaluated, tmp_path):
    path = make_collection(evaluated.collection, tmp_path / "one", ("method",))
    done = run(evaluated.home, path, "--systems", "dense", "--variants", "base", "--json")
    assert done.code == 0
    assert done.stderr.startswith("Note: no seed is judged for two aspects")
    assert done.json["single_aspect"] is True
    assert done.json["systems"]["dense"]["variants"]["base"]["p-MRR"] is None
