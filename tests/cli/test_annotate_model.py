"""``seedlens grade``: cost first, streams apart, and what a model says is told from people."""

import pytest

from tests.cli.command_line import connected, run_inside
from tests.engine.annotate.conftest import grader as grader
from tests.engine.annotate.grading_steps import JUDGE, QUERY


@pytest.fixture
def pooled(corpus):
    """A home with a project of twelve items."""
    assert run_inside(corpus, "project", "create", "small", "p", "--author", "lead").code == 0
    queries = corpus / "queries.txt"
    queries.write_text(f"{QUERY}\n", encoding="utf-8")
    systems = ("--systems", "dense", "--depth", 12)
    filled = run_inside(corpus, "pool", "small", "--project", "p", "--queries", queries, *systems)
    assert filled.code == 0, filled.stderr
    return corpus


def test_a_pool_is_estimated_graded_checked_and_counts_when_the_project_says_so(pooled, grader):
    model = connected(grader)
    command = ("grade", "small", "--project", "p")
    ahead = run_inside(pooled, *command, "--estimate", "--json", **model)
    assert ahead.code == 0, ahead.stderr
    assert ahead.json["estimate"]["candidates"] == 12
    assert "12 calls, at most 34 with repeats" in ahead.stderr
    assert not grader.seen.questions, "an estimate asks nothing"

    first = run_inside(pooled, *command, "--limit", 5, "--yes", "--json", **model)
    assert first.code == 0, first.stderr
    assert first.json["report"]["graded"] == 5
    rest = run_inside(pooled, *command, "--yes", **model)
    assert rest.code == 0, rest.stderr
    assert "5 have this model's grade already" in rest.stderr
    assert f"{JUDGE}: 7 candidates graded" in rest.stdout

    shown = run_inside(pooled, "project", "show", "small", "p", "--json").json
    assert shown["by_models"] == {JUDGE: 12}
    assert JUDGE not in shown["progress"]
    left_out = run_inside(pooled, "qrels", "export", "small", "--project", "p")
    assert left_out.code == 2
    assert "graded by a model only" in left_out.stderr
    own = ("qrels", "export", "small", "--project", "p", "--format", "jsonl", "--per-annotator")
    assert run_inside(pooled, *own).stdout.count('"origin": "model"') == 12

    people_check_what_the_model_graded(pooled)

    changed = run_inside(pooled, "project", "change", "small", "p", "--model-grades")
    assert "grades by models count" in changed.stdout
    counted = run_inside(pooled, "qrels", "export", "small", "--project", "p")
    assert counted.code == 0, counted.stderr
    assert "rest on a model alone" in counted.stderr
    assert len(counted.stdout.splitlines()) >= 12


def people_check_what_the_model_graded(pooled):
    """Ada grades three documents; where she and the model differ is told."""
    command = ("grade", "small", "--project", "p")
    doc_ids = ["bridges-network", "tides-network", "bees-survey"]
    for doc_id, grade in zip(doc_ids, (3, 1, 0), strict=True):
        told = ("--query", QUERY, "--doc", doc_id, "--grade", grade, "--annotator", "Ada")
        assert run_inside(pooled, "judge", "small", "--project", "p", *told).code == 0
    check = run_inside(pooled, *command, "--check", "--json").json
    assert (check["graded"], check["annotator"]) == (12, JUDGE)
    assert [(d["doc_id"], d["people"], d["model"]) for d in check["differences"]] == [
        ("tides-network", 1, 3)
    ]
    words = run_inside(pooled, *command, "--check").stdout
    assert "Cohen's kappa (quadratic)" in words
    assert "Ada 1, model 3: Tides by network does the same." in words
    agreed = run_inside(pooled, "agreement", "small", "--project", "p")
    assert "Against language models" in agreed.stdout
    pairs = run_inside(pooled, "agreement", "small", "--project", "p", "--json").json["pairs"]
    assert [(p["annotators"], p["with_model"]) for p in pairs] == [(["Ada", JUDGE], True)]
