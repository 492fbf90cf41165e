"""``seedlens build``: a collection from a lens."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command_line import connected, run_inside
from tests.fakes.lens_builds import LENS, NAME, knows_methods
from tests.fakes.model_server import ModelServer
from tests.fakes.small_corpus import DOCUMENTS

PLACE = ("small", NAME)


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    """A model that knows the small corpus's methods."""
    with knows_methods() as running:
        yield running


@pytest.fixture(scope="module")
def labelled_home(
    small_home: Path, model: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A home in which documents are labelled, clustered and worded. For reading only."""
    home = tmp_path_factory.mktemp("labelled") / "home"
    shutil.copytree(small_home, home)
    begun = run_inside(home, "build", "new", *PLACE, "--attribute", LENS.attribute, "--depth", 6)
    assert begun.code == 0, begun.stderr
    for step in ("label", "collapse", "verbalise"):
        run = run_inside(home, "build", "run", *PLACE, "--step", step, "--yes", **connected(model))
        assert run.code == 0, run.stderr
    return home


@pytest.fixture
def labelled(labelled_home: Path, home: Path) -> Path:
    """A copy of ``labelled_home`` that the test may write to."""
    shutil.copytree(labelled_home, home)
    return home


def _show(home: Path, step: str = "") -> Any:
    return run_inside(
        home, "build", "show", *PLACE, *(("--step", step) * bool(step)), "--json"
    ).json


def _sheet(home: Path, step: str) -> list[dict[str, str]]:
    shown = run_inside(home, "build", "show", *PLACE, "--step", step, "--csv")
    assert shown.code == 0, shown.stderr
    return list(csv.DictReader(io.StringIO(shown.stdout)))


def test_a_collection_is_built_in_one_go_exported_and_evaluated(
    small_home: Path, home: Path, model: ModelServer, tmp_path: Path
) -> None:
    shutil.copytree(small_home, home)
    new = ("build", "new", *PLACE, "--attribute", LENS.attribute, "--aspect", "method")
    begun = run_inside(home, *new, "--systems", "bm25,dense", "--depth", 6, "--json")
    assert begun.code == 0, begun.stderr
    assert (begun.json["next"], begun.json["lens"]["systems"]) == ("label", ["bm25", "dense"])
    early = run_inside(home, "build", "export", *PLACE, "--out", tmp_path / "early")
    assert early.code == 2
    assert "'expand'" in early.stderr
    assert not (tmp_path / "early").exists()

    only = run_inside(home, "build", "run", *PLACE, "--estimate", "--json", **connected(model))
    assert (only.json["step"], only.json["calls"]) == ("label", len(DOCUMENTS))
    assert run_inside(home, "build", "run", *PLACE, "--all").code == 2, "it needs a model"
    done = run_inside(home, "build", "run", *PLACE, "--all", "--json", **connected(model))
    assert done.code == 0, done.stderr
    assert "40 calls, at most 90 with repeats" in done.stderr
    reports = [step["report"] for step in done.json["steps"]]
    assert [report["step"] for report in reports] == ["label", "collapse", "verbalise", "expand"]
    assert done.json["next"] is None
    assert "Every step is complete" in run_inside(home, "build", "show", *PLACE).stdout
    assert "complete" in run_inside(home, "build", "list").stdout

    out = tmp_path / "methods-test"
    a_collection_is_exported_to(home, out)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "thesis.txt").write_text("mine", encoding="utf-8")
    refused = run_inside(home, "build", "export", *PLACE, "--out", tmp_path / "own", "--overwrite")
    assert (refused.code, len(list((tmp_path / "own").iterdir()))) == (2, 1)

    imported = run_inside(home, "import", out, "--name", "back", "--json")
    assert imported.json["documents"] == len(DOCUMENTS)
    measured = run_inside(
        home, "evaluate", out, "--corpus", "back", "--systems", "bm25,dense", "--json"
    )
    assert measured.code == 0, measured.stderr
    assert measured.json["queries"] == 6
    assert 0 < measured.json["systems"]["dense"]["metrics"]["nDCG@20"] <= 1


def a_collection_is_exported_to(home: Path, out: Path) -> None:
    """All its files are there, and say what the collection rests on."""
    exported = run_inside(home, "build", "export", *PLACE, "--out", out, "--json")
    assert exported.code == 0, exported.stderr
    names = {
        *("corpus.jsonl", "queries.jsonl", "qrels/test.tsv", "methods.qrels"),
        *("decisions.jsonl", "provenance.json"),
    }
    assert {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()} == names
    about = json.loads((out / "provenance.json").read_text(encoding="utf-8"))
    assert (about["labelled"], about["queries"], about["lens"]["attribute"]) == (
        *(30, 6), LENS.attribute,
    )  # fmt: skip
    assert about["positives"] == exported.json["positives"]
    lines = (out / "methods.qrels").read_text(encoding="utf-8").splitlines()
    assert len(lines) == about["judgments"] == about["basis"]["model"]
    assert run_inside(home, "build", "export", *PLACE, "--out", out).code == 2
    assert run_inside(home, "build", "export", *PLACE, "--out", out, "--overwrite").code == 0


def test_each_step_is_shown_as_a_table(labelled: Path) -> None:
    assert len(_sheet(labelled, "label")) == len(DOCUMENTS)
    assert {row["dropped"] for row in _sheet(labelled, "collapse")} == {"no"}
    assert all(row["query"] for row in _sheet(labelled, "verbalise"))
