"""Annotation from the command line, as a script drives it, also with a model that grades."""

from __future__ import annotations

import json
from math import log2

import pytest

from tests.cli.command_line import assert_refused, connected, run_inside, run_json
from tests.engine.annotate.conftest import grader as grader
from tests.engine.annotate.grading_steps import JUDGE, QUERY, make_project
from tests.support import make_explorer

ITEM = ("--query", QUERY, "--doc", "bread-network")


def judge(home, grade, who, doc_id="bread-network"):
    asked = ("--query", QUERY, "--doc", doc_id, "--grade", grade, "--annotator", who)
    return run_json(home, "judge", "small", *asked)


def exported(home, *options):
    lines = run_inside(home, "qrels", "export", "small", "--format", "jsonl", *options).stdout
    return [*map(json.loads, lines.splitlines())]


def test_a_judgment_is_stored_with_who_and_why_and_an_undo_brings_back_the_one_before(corpus):
    first = judge(corpus, 3, "ann")
    names = ("corpus", "project", "query_id", "doc_id", "annotator", "relevance", "verdict")
    assert [first[n] for n in names] == [*("small", "", QUERY, "bread-network", "ann", 3, "grade")]
    skipped = run_json(
        corpus, "judge", "small", *ITEM, "--skip", "--annotator", "ann", "--note", "?"
    )
    assert (skipped["verdict"], skipped["relevance"], skipped["note"]) == ("skip", None, "?")
    undo = ("judge", "small", "--undo", "--annotator", "ann")
    assert run_json(corpus, *undo)["undone"]["event"] == skipped["event"]
    lines = run_inside(corpus, "qrels", "export", "small").stdout
    assert lines == f"{QUERY} 0 bread-network 3\n"
    run_json(corpus, *undo)
    assert run_json(corpus, *undo) == {"undone": None}


def test_from_a_project_to_qrels(corpus, tmp_path):
    guide, queries = tmp_path / "guide.md", tmp_path / "queries.txt"
    guide.write_text("Same **method**?", "utf-8")
    queries.write_text(f"{QUERY}\n", "utf-8")
    people = ("--annotator", "ann", "--annotator", "bob", "--lead", "lead", "--per-item", 2)
    created = run_json(
        corpus, "project", "create", "small", "p", *people, "--guidelines", f"method={guide}"
    )
    assert created["guidelines"] == {"method": "Same **method**?"}
    assert [p["name"] for p in run_json(corpus, "project", "list")] == ["p"]

    here = ("small", "--project", "p", "--systems", "bm25,dense", "--depth", 3)
    pooled = run_json(corpus, "pool", *here, "--queries", queries)
    assert (pooled["queries_added"], pooled["queries"], pooled["added"]) == (1, 1, 6)
    assert run_json(corpus, "pool", *here)["added"] == 0
    dense = run_json(corpus, "pool", *here, "--holes")[1]
    assert (dense["system"], dense["judged"], dense["unjudged"]) == ("dense", 0.0, 3)

    first, second, _ = dense["missing"][QUERY]
    judged = ("judge", "small", "--query", QUERY, "--project", "p", "--doc")
    for who, doc_id, grade in (
        *(("ann", first, 3), ("bob", first, 1)),
        *(("ann", second, 2), ("bob", second, 2)),
    ):
        run_json(corpus, *judged, doc_id, "--grade", grade, "--annotator", who)
    assert run_json(corpus, "pool", *here, "--holes")[1]["unjudged"] == 1
    shown = run_json(corpus, "project", "show", "small", "p")
    assert (shown["judgments"], shown["progress"]["ann"]["done"]) == (4, 2)
    assert "2 of 5 items" in run_inside(corpus, "project", "show", "small", "p").stdout

    agreement_is_measured_over_two_items(corpus, first)
    decision = ("--grade", 2, "--adjudicate", "--note", "so", "--annotator")
    refused = run_inside(corpus, *judged, first, *decision, "ann")
    assert_refused(refused, "leads are lead")
    run_json(corpus, *judged, first, *decision, "lead")
    rows = {row["doc_id"]: row for row in exported(corpus, "--project", "p")}
    assert {d: (r["relevance"], r["by"]) for d, r in rows.items()} == {
        first: (2, "lead"),
        second: (2, ""),
    }
    own = exported(corpus, "--project", "p", "--per-annotator")
    assert [r["annotator"] for r in own if r["doc_id"] == first] == ["ann", "bob", "lead"]


def agreement_is_measured_over_two_items(corpus, split_on):
    """Of Ann and Bob: one item graded alike, one not."""
    command = ("agreement", "small", "--project", "p")
    agreed = run_json(corpus, *command)
    human = agreed["human"]["ann"]["nDCG@20"]
    assert human == pytest.approx((1 + 2 / log2(3)) / (2 + 1 / log2(3)))
    assert agreed["measures"]["raw"] == {"value": 0.5, "interval": None, "items": 2}
    assert agreed["by_aspect"]["method"]["krippendorff_alpha"]["items"] == 2
    (pair,) = agreed["pairs"]
    assert (pair["annotators"], pair["confusion"][3]) == (["ann", "bob"], [0, 1, 0, 0])
    lines = [line.split() for line in run_inside(corpus, *command).stdout.splitlines()]
    for line in (["3", "0", "1", "0", "0"], ["ann", "0.860", "–", "1"]):
        assert line in lines
    (split,) = run_json(corpus, *command, "--disagreements")
    assert (split["doc_id"], split["spread"], split["said"]) == (split_on, 2, {"ann": 3, "bob": 1})
    assert "ann 3, bob 1" in run_inside(corpus, *command, "--disagreements").stdout


def test_a_project_is_shared_out_copied_renamed_deleted_and_brought_back(corpus, tmp_path):
    queries = tmp_path / "queries.txt"
    queries.write_text(f"{QUERY}\n", "utf-8")
    people = ("--annotator", "ann", "--annotator", "bob", "--first", 2)
    assert run_json(corpus, "project", "create", "small", "p", *people)["first"] == 2
    run_json(corpus, "pool", "small", "--project", "p", "--depth", 3, "--queries", queries)
    assign = ("project", "assign", "small", "p")
    assert run_json(corpus, *assign, "--annotator", "bob")["assigned"] == {QUERY: ["bob"]}
    assert "bob" in run_inside(corpus, "project", "show", "small", "p").stdout
    assert run_json(corpus, *assign)["assigned"] == {}
    assert run_json(corpus, *assign, "--evenly")["assigned"] == {QUERY: ["ann"]}
    assert_refused(run_inside(corpus, *assign, "--query", "no"), "no query 'no'")
    assert_refused(run_inside(corpus, *assign, "--evenly", "--query", QUERY), "--evenly")
    agreed = run_inside(corpus, "agreement", "small", "--project", "p").stdout
    assert agreed.startswith("2 items for everybody: 0 judged by both.")

    assert run_json(corpus, "project", "rename", "small", "p", "q")["name"] == "q"
    assert run_json(corpus, "project", "copy", "small", "q", "r")["assigned"] == {QUERY: ["ann"]}
    assert run_json(corpus, "project", "delete", "small", "q") == {"deleted": "q"}
    assert [p["name"] for p in run_json(corpus, "project", "list", "small")] == ["r"]
    assert run_json(corpus, "project", "restore", "small", "q")["name"] == "q"
    assert_refused(run_inside(corpus, "project", "copy", "small", "r", "q"), "project 'q' already")


def test_qrels_are_exported_and_imported_and_a_broken_file_changes_nothing(corpus, tmp_path):
    judge(corpus, 3, "ann")
    judge(corpus, 0, "ann", "maps-survey")
    out = tmp_path / "out" / "small.qrels"
    written = run_json(corpus, "qrels", "export", "small", "--out", out)
    assert (written["files"], written["judgments"]) == ([str(out)], 2)
    import_ = ("qrels", "import", "small", out, "--annotator")
    tried = run_json(corpus, "qrels", "export", "small", "--dry-run")
    assert (tried["files"], tried["counts"]["people"]) == (["small.qrels"], {"ann": 2})
    assert (
        "Nothing imported: 2 would be added"
        in run_inside(corpus, *import_, "bob", "--dry-run").stdout
    )
    first = run_json(corpus, *import_, "bob")
    counts = {"judgments": 2, "people": {"bob": 2}, "items": 2, "grades": {"0": 1, "3": 1}}
    done = {"added": 2, "known": 0, "conflicts": [], "warnings": [], "counts": counts}
    assert first == {**done, "queries": 0, "project": ""}
    assert run_json(corpus, *import_, "bob")["known"] == 2
    out.write_text(f"{out.read_text()}one two\n")
    assert_refused(run_inside(corpus, *import_, "eve"), "small.qrels", "line 3")
    in_the_way = run_inside(corpus, "qrels", "export", "small", "--out", out / "x")
    assert_refused(in_the_way, "cannot be written")
    assert {row["annotator"] for row in exported(corpus, "--per-annotator")} == {"ann", "bob"}


def test_a_pool_takes_runs_and_names_what_is_missing(corpus, tmp_path):
    judge(corpus, 1, "ann")
    run_file = tmp_path / "mine.run"
    run_file.write_text(f"{QUERY} Q0 emoji 1 2.0 mine\n{QUERY} Q0 elsewhere 2 1.0 mine\n")
    pool = ("pool", "small", "--run", run_file, "--depth", 2, "--systems")
    found = run_json(corpus, *pool, "bm25")
    assert (found["items"], found["added"]) == (3, 3)
    assert run_json(corpus, *pool, "bm25", "--filter", "has.place=FR")["added"] == 0
    warned = run_inside(corpus, *pool, "")
    assert "1 document of run 'mine' cannot be judged" in warned.stderr
    (mine,) = run_json(corpus, *pool, "", "--unjudged")
    assert (mine["system"], mine["missing"]) == ("mine", {QUERY: ["emoji", "elsewhere"]})
    both = run_json(corpus, *pool, "bm25", "--unjudged")
    assert [one["system"] for one in both] == ["bm25", "mine"]
    assert "Judged@2" in run_inside(corpus, *pool, "bm25", "--unjudged").stdout


def test_a_project_s_people_are_cleared_and_a_scale_is_read(corpus, tmp_path):
    people = ("--annotator", "ann", "--lead", "me")
    run_json(corpus, "project", "create", "small", "p", *people)
    change = ("project", "change", "small", "p", "--author", "me")
    assert run_json(corpus, *change, "--annotator", "")["annotators"] == []
    assert run_json(corpus, *change, "--per-item", 2)["leads"] == ["me"]
    assert run_json(corpus, *change, "--lead", "")["leads"] == []
    scale = tmp_path / "scale.json"
    scale.write_text('[[0, "No"], [1, "Yes", "all of it"]]')
    changed = run_json(corpus, *change, "--scale", scale)
    assert changed["scale"]["grades"][1]["meaning"] == "all of it"


@pytest.fixture
def pooled(corpus):
    """A home with a project of twelve items."""
    make_project(make_explorer(corpus), depth=12)
    return corpus


def test_a_pool_is_estimated_graded_checked_and_counts_when_the_project_says_so(pooled, grader):
    model, export = connected(grader), ("qrels", "export", "small", "--project", "p")
    command = ("grade", "small", "--project", "p")
    ahead = run_inside(pooled, *command, "--estimate", "--json", **model)
    assert ahead.json["estimate"]["candidates"] == 12
    assert "12 calls, at most 34 with repeats" in ahead.stderr
    first = run_json(pooled, *command, "--limit", 5, "--yes", **model)
    assert first["report"]["graded"] == 5
    rest = run_inside(pooled, *command, "--yes", **model)
    assert rest.code == 0, rest.stderr
    assert "5 have this model's grade already" in rest.stderr
    assert f"{JUDGE}: 7 candidates graded" in rest.stdout

    shown = run_json(pooled, "project", "show", "small", "p")
    assert (shown["by_models"], JUDGE in shown["progress"]) == ({JUDGE: 12}, False)
    assert_refused(run_inside(pooled, *export), "graded by a model only")
    own = run_inside(pooled, *export, "--format", "jsonl", "--per-annotator")
    assert own.stdout.count('"origin": "model"') == 12

    people_check_what_the_model_graded(pooled)

    changed = run_inside(pooled, "project", "change", "small", "p", "--model-grades")
    assert "grades by models count" in changed.stdout
    counted = run_inside(pooled, *export)
    assert "rest on a model alone" in counted.stderr
    assert len(counted.stdout.splitlines()) >= 12


def people_check_what_the_model_graded(pooled):
    """Ada grades three documents; where she and the model differ is told."""
    command = ("grade", "small", "--project", "p")
    for doc_id, grade in (("bridges-network", 3), ("tides-network", 1), ("bees-survey", 0)):
        told = ("--query", QUERY, "--doc", doc_id, "--grade", grade, "--annotator", "Ada")
        run_json(pooled, "judge", "small", "--project", "p", *told)
    check = run_json(pooled, *command, "--check")
    assert (check["graded"], check["annotator"]) == (12, JUDGE)
    assert [(d["doc_id"], d["people"], d["model"]) for d in check["differences"]] == [
        ("tides-network", 1, 3)
    ]
    words = run_inside(pooled, *command, "--check").stdout
    assert "Cohen's kappa (quadratic)" in words
    assert "Ada 1, model 3: Tides by network does the same." in words
    agreed = run_inside(pooled, "agreement", "small", "--project", "p")
    assert "Against language models" in agreed.stdout
    pairs = run_json(pooled, "agreement", "small", "--project", "p")["pairs"]
    assert [(p["annotators"], p["with_model"]) for p in pairs] == [(["Ada", JUDGE], True)]
