"""``seedlens build``: a collection from a lens, with files to edit in between."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command_line import Outcome, run_inside
from tests.lens_builds import LENS, NAME, knows_methods
from tests.model_answers import MODEL
from tests.model_server import ModelServer
from tests.small_corpus import DOCUMENTS

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
        run = run_inside(home, "build", "run", *PLACE, "--step", step, "--yes", **_model(model))
        assert run.code == 0, run.stderr
    return home


@pytest.fixture
def labelled(labelled_home: Path, home: Path) -> Path:
    """A copy of ``labelled_home`` that the test may write to."""
    shutil.copytree(labelled_home, home)
    return home


def _model(server: ModelServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": server.url, "SEEDLENS_LLM_MODEL": MODEL}


def _show(home: Path, step: str = "") -> Any:
    return run_inside(
        home, "build", "show", *PLACE, *(("--step", step) * bool(step)), "--json"
    ).json


def _sheet(home: Path, step: str) -> list[dict[str, str]]:
    shown = run_inside(home, "build", "show", *PLACE, "--step", step, "--csv")
    assert shown.code == 0, shown.stderr
    return list(csv.DictReader(io.StringIO(shown.stdout)))


def _edit(home: Path, step: str, file: Path, rows: list[dict[str, str]] | str) -> Outcome:
    if isinstance(rows, str):
        file.write_text(rows, encoding="utf-8")
    else:
        with file.open("w", encoding="utf-8", newline="") as handle:
            writer = csv.DictWriter(handle, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return run_inside(home, "build", "edit", *PLACE, "--step", step, "--file", file)


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

    only = run_inside(home, "build", "run", *PLACE, "--estimate", "--json", **_model(model))
    assert (only.json["step"], only.json["calls"]) == ("label", len(DOCUMENTS))
    assert run_inside(home, "build", "run", *PLACE, "--all").code == 2, "it needs a model"
    done = run_inside(home, "build", "run", *PLACE, "--all", "--json", **_model(model))
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
    names = {"corpus.jsonl", "queries.jsonl", "qrels/test.tsv", "methods.qrels", "provenance.json"}
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


def test_files_of_each_step_are_edited_and_taken_in(labelled: Path, tmp_path: Path) -> None:
    file = tmp_path / "left.csv"
    rows = _sheet(labelled, "label")
    assert len(rows) == len(DOCUMENTS)
    rows[0]["label"], rows[1]["label"] = "", "Something\nelse"
    assert "2 changed" in _edit(labelled, "label", file, rows).stdout
    labels = {label["doc_id"]: label for label in _show(labelled, "label")}
    changed = labels[rows[1]["doc_id"]]
    assert (changed["text"], changed["maker"], changed["author"]) == (
        *("Something else", "person", "me"),
    )
    assert labels[rows[0]["doc_id"]]["text"] == ""

    rows = _sheet(labelled, "collapse")
    before = {cluster["key"]: cluster for cluster in _show(labelled, "collapse")}
    first, last = rows[0]["cluster"], rows[-1]["cluster"]
    for row in rows:
        if row["cluster"] == last:
            row["name"], row["dropped"] = "Renamed", "yes"
    for row in rows[:2]:
        row["cluster"], row["name"] = "", "Moved out"
    assert "3 changed" in _edit(labelled, "collapse", file, rows).stdout
    after = {cluster["key"]: cluster for cluster in _show(labelled, "collapse")}
    assert (after[last]["name"], after[last]["dropped"]) == ("Renamed", True)
    assert len(after[first]["doc_ids"]) == len(before[first]["doc_ids"]) - 2
    assert [c["name"] for key, c in after.items() if key not in before] == ["Moved out"]

    rows = _sheet(labelled, "verbalise")
    rows[0]["query"] = "Whatever stands under lamps."
    rows[1]["dropped"] = "yes"
    assert "2 changed" in _edit(labelled, "verbalise", file, rows).stdout
    queries = {query["key"]: query for query in _show(labelled, "verbalise")}
    assert queries[rows[0]["cluster"]]["text"] == "Whatever stands under lamps."
    assert queries[rows[1]["cluster"]]["dropped"]
    assert "0 changed" in _edit(labelled, "verbalise", file, rows).stdout

    rows = _sheet(labelled, "verbalise")
    rows[0]["query"] = "=1+1"
    assert "1 changed" in _edit(labelled, "verbalise", file, rows).stdout
    safe = run_inside(labelled, "build", "show", *PLACE, "--step", "verbalise", "--spreadsheet")
    assert "'=1+1" in safe.stdout
    taken = _edit(labelled, "verbalise", file, safe.stdout)
    assert "0 changed" in taken.stdout, "the mark is taken off again"
    assert {s["step"]: s["edits"] for s in _show(labelled)["steps"]}["verbalise"] == 3


def test_an_older_file_changes_nothing_that_others_changed_since(
    labelled: Path, tmp_path: Path
) -> None:
    file = tmp_path / "left.csv"
    old = {step: _sheet(labelled, step) for step in ("label", "collapse", "verbalise")}
    theirs = [dict(row) for row in old["label"]]
    theirs[0]["label"] = "By somebody else"
    assert "1 changed" in _edit(labelled, "label", file, theirs).stdout
    mine = [dict(row) for row in old["label"]]
    mine[1]["label"] = "By me"
    assert "1 changed" in _edit(labelled, "label", file, mine).stdout, "the others say nothing"
    labels = {label["doc_id"]: label["text"] for label in _show(labelled, "label")}
    assert [labels[row["doc_id"]] for row in mine[:2]] == ["By somebody else", "By me"]
    mine[0]["label"] = "By me, too"
    refused = _edit(labelled, "label", file, mine)
    assert refused.code == 2
    assert "line 2: the label of" in refused.stderr

    _edit(labelled, "collapse", file, [_renamed(r, "c1", "Theirs") for r in old["collapse"]])
    mine = [_renamed(row, "c2", "Mine") for row in old["collapse"]]
    at = next(n for n, row in enumerate(mine) if row["cluster"] == "c3")
    mine[at] = {**mine[at], "cluster": "c1", "name": _name(old["collapse"], "c1")}
    assert "3 changed" in _edit(labelled, "collapse", file, mine).stdout
    clusters = {cluster["key"]: cluster for cluster in _show(labelled, "collapse")}
    assert (clusters["c1"]["name"], clusters["c2"]["name"]) == ("Theirs", "Mine")
    assert mine[at]["doc_id"] in clusters["c1"]["doc_ids"]
    last = [_renamed(row, "c1", "Mine as well") for row in old["collapse"]]
    refused = _edit(labelled, "collapse", file, last)
    assert "was changed by somebody else since" in refused.stderr
    assert _show(labelled, "collapse") == list(clusters.values())

    theirs = [dict(row) for row in old["verbalise"]]
    theirs[0]["query"], theirs[1]["dropped"] = "Their words", "yes"
    assert "2 changed" in _edit(labelled, "verbalise", file, theirs).stdout
    assert "0 changed" in _edit(labelled, "verbalise", file, old["verbalise"]).stdout
    mine = [dict(row) for row in old["verbalise"]]
    mine[1]["query"] = "My words"
    refused = _edit(labelled, "verbalise", file, mine)
    assert "line 3: the query of the cluster" in refused.stderr
    assert _show(labelled, "verbalise")[0]["text"] == "Their words"


def _renamed(row: dict[str, str], key: str, name: str) -> dict[str, str]:
    return {**row, "name": name} if row["cluster"] == key else dict(row)


def _name(rows: list[dict[str, str]], key: str) -> str:
    return next(row["name"] for row in rows if row["cluster"] == key)


@pytest.mark.parametrize(
    ("step", "text", "said"),
    [
        ("label", "doc_id,label\nbees-survey,x\nbees-survey,y\n", "line 3: document 'bees-survey'"),
        ("label", "doc_id,label\n\nnowhere,x\n", "line 3: there is no document 'nowhere'"),
        ("label", "doc_id,label\nbees-survey,x,z\n", "line 2: 3 cells under 2 columns"),
        ("label", 'doc_id,label\nbees-survey,"x\n', "line 2: it cannot be read as CSV"),
        ("label", "doc_id\nbees-survey\n", "line 1: there is no column 'label'"),
        ("label", "", "line 1: there is no column 'doc_id'"),
        ("label", f"doc_id,label\nbees-survey,{'x' * 201}\n", "201 characters"),
        ("collapse", "cluster,name,dropped,doc_id\nc1,A,maybe,bees-survey\n", "line 2: 'maybe'"),
        ("collapse", "cluster,name,dropped,doc_id\nc1, ,no,bees-survey\n", "line 2: the cluster"),
        (
            "collapse",
            "cluster,name,dropped,doc_id\nc1,A,no,bees-survey\nc1,B,no,maps-survey\n",
            "line 3: the cluster 'c1' is called or dropped otherwise in line 2",
        ),
        (
            "collapse",
            "cluster,name,dropped,doc_id\nc1,A,no,bees-survey\n",
            "in no cluster any more",
        ),
        ("label", "doc_id,label,was\nbees-survey,x,\n", "line 2: the label of 'bees-survey'"),
        ("verbalise", "cluster,query,dropped\nc77,x,no\n", "line 2: no cluster 'c77'"),
        ("verbalise", "cluster,query,dropped\nc1,,no\n", "line 2: the query is empty"),
        ("expand", "x\n", "'expand' leaves judgments"),
    ],
)
def test_a_file_that_cannot_be_taken_in_names_its_line_and_changes_nothing(
    labelled: Path, tmp_path: Path, step: str, text: str, said: str
) -> None:
    before = [_show(labelled, name) for name in ("label", "collapse", "verbalise")]
    outcome = _edit(labelled, step, tmp_path / "left.csv", text)
    assert outcome.code == 2
    assert said in outcome.stderr
    assert [_show(labelled, name) for name in ("label", "collapse", "verbalise")] == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("new", "nothing", "x", "--attribute", "a"), "no corpus 'nothing'"),
        (("new", "small", "x", "--attribute", " "), "no attribute"),
        (("new", "small", "a/b", "--attribute", "a"), "'a/b'"),
        (("new", "small", "x", "--attribute", "a", "--distance", "3"), "distance is 3.0"),
        (("new", "small", "x", "--attribute", "a", "--aspect", "hue"), "no aspect 'hue'"),
        (("new", "small", "x", "--attribute", "a", "--systems", "bm26"), "bm26"),
        (("new", *PLACE, "--attribute", "a"), "build change"),
        (("show", "small", "nothing"), "It has methods"),
        (("show", *PLACE, "--csv"), "--step"),
        (("run", *PLACE, "--step", "expand"), "OPENAI_BASE_URL"),
        (("run", *PLACE, "--step", "label", "--all"), "exclude each other"),
        (("edit", *PLACE, "--step", "label", "--file", "/nowhere.csv"), "/nowhere.csv"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    labelled: Path, arguments: tuple[str, ...], said: str
) -> None:
    before = _show(labelled)
    outcome = run_inside(labelled, "build", *arguments)
    assert outcome.code == 2
    assert said in outcome.stderr
    assert _show(labelled) == before
    assert len(run_inside(labelled, "build", "list", "--json").json) == 1
