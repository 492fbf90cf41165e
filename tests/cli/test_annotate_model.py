"""``seedlens grade``: cost first, streams apart, and what a model says is told from people."""

import pytest

from engine.types.annotating import Judgment
from tests.cli.command_line import connected, run_inside
from tests.fakes.model_answers import MODEL, Knowledge, grades_by
from tests.fakes.model_server import serving
from tests.fakes.model_sessions import SEED
from tests.support import make_explorer

QUERY = f"{SEED}_method"
JUDGE = f"model:{MODEL}"


@pytest.fixture
def grader():
    """A model that gives 3 to what trains a network, and 0 to the rest."""
    with serving(Knowledge({}, {}), handlers=[grades_by()]) as running:
        yield running


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


def test_audit_grades_are_exported_where_they_are_asked_for(pooled):
    annotation = make_explorer(pooled).annotation
    project = annotation.project("small", "p")
    query_id, doc_id = annotation.pool(project)[0].item
    annotation.judge(project, Judgment(query_id, doc_id, "Ada", 2, origin="audit"))
    command = ("qrels", "export", "small", "--project", "p")
    refused = run_inside(pooled, *command)
    assert refused.code == 2
    assert "1 audit grade is left out: given to check a model." in refused.stderr
    assert run_inside(pooled, *command, "--include-audit").stdout == f"{query_id} 0 {doc_id} 2\n"
    agreed = run_inside(pooled, "agreement", "small", "--project", "p", "--include-audit", "--json")
    assert agreed.json["annotators"] == ["Ada"]


def test_a_failing_endpoint_ends_with_a_code_and_what_it_has(pooled, grader):
    model = connected(grader)
    command = ("grade", "small", "--project", "p", "--yes", "--json")
    short = run_inside(pooled, *command, "--budget-calls", 8, **model)
    assert short.code == 0, short.stderr
    assert short.json["report"]["stopped"] == "budget"
    assert short.json["report"]["graded"] + short.json["report"]["left"] == 12
    assert "Warning:" in short.stderr
    whole = run_inside(pooled, *command, **model)
    assert short.json["report"]["graded"] + whole.json["report"]["graded"] == 12
