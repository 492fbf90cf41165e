"""``seedlens build``: a collection for an attribute of documents."""

import csv
import io
import json

from tests.cli.command_line import assert_refused, connected, run_inside, run_json
from tests.fakes.build_answers import LENS, NAME, knows_methods
from tests.fakes.small_corpus import DOCUMENTS

PLACE = ("small", NAME)


def sheet(home, step):
    shown = run_inside(home, "build", "show", *PLACE, "--step", step, "--csv")
    assert shown.code == 0, shown.stderr
    return list(csv.DictReader(io.StringIO(shown.stdout)))


def test_a_collection_is_built_in_one_go_exported_and_evaluated(corpus, tmp_path):
    new = ("build", "new", *PLACE, "--attribute", LENS.attribute, "--aspect", "method")
    begun = run_json(corpus, *new, "--systems", "bm25,dense", "--depth", 6)
    assert (begun["next"], begun["lens"]["systems"]) == ("label", ["bm25", "dense"])
    assert run_inside(corpus, "build", "run", *PLACE, "--all").code == 2, "it needs a model"
    with knows_methods() as server:
        model = connected(server)
        only = run_json(corpus, "build", "run", *PLACE, "--estimate", **model)
        assert (only["step"], only["calls"]) == ("label", len(DOCUMENTS))
        done = run_inside(corpus, "build", "run", *PLACE, "--all", "--json", **model)
    assert done.code == 0, done.stderr
    assert "40 calls, at most 90 with repeats" in done.stderr
    reports = [step["report"] for step in done.json["steps"]]
    assert [report["step"] for report in reports] == ["label", "collapse", "verbalise", "expand"]
    assert done.json["next"] is None
    assert "Every step is complete" in run_inside(corpus, "build", "show", *PLACE).stdout
    assert "complete" in run_inside(corpus, "build", "list").stdout
    assert len(sheet(corpus, "label")) == len(DOCUMENTS)
    assert {row["dropped"] for row in sheet(corpus, "collapse")} == {"no"}
    assert all(row["query"] for row in sheet(corpus, "verbalise"))

    out = tmp_path / "methods-test"
    a_collection_is_exported_to(corpus, out)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "thesis.txt").write_text("mine", encoding="utf-8")
    export = ("build", "export", *PLACE, "--overwrite", "--out")
    assert_refused(run_inside(corpus, *export, tmp_path / "own"))
    assert len(list((tmp_path / "own").iterdir())) == 1

    assert run_json(corpus, "import", out, "--name", "back")["documents"] == len(DOCUMENTS)
    measured = run_json(corpus, "evaluate", out, "--corpus", "back", "--systems", "bm25,dense")
    assert measured["queries"] == 6
    assert 0 < measured["systems"]["dense"]["metrics"]["nDCG@20"] <= 1


def a_collection_is_exported_to(home, out):
    """All its files are there, and say how the collection was made."""
    exported = run_json(home, "build", "export", *PLACE, "--out", out)
    names = {
        *("corpus.jsonl", "queries.jsonl", "qrels/test.tsv", "methods.qrels"),
        *("decisions.jsonl", "provenance.json"),
    }
    assert {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()} == names
    about = json.loads((out / "provenance.json").read_text(encoding="utf-8"))
    assert (about["labelled"], about["queries"]) == (30, 6)
    assert about["lens"]["attribute"] == LENS.attribute
    assert about["positives"] == exported["positives"]
    lines = (out / "methods.qrels").read_text(encoding="utf-8").splitlines()
    assert len(lines) == about["judgments"] == about["basis"]["model"]
    assert run_inside(home, "build", "export", *PLACE, "--out", out).code == 2
    assert run_inside(home, "build", "export", *PLACE, "--out", out, "--overwrite").code == 0
