"""Annotation from the command line, as a script drives it."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command_line import Outcome, run_inside, run_process
from tests.support import make_explorer

QUERY = "bees-network_method"
ITEM = ("--query", QUERY, "--doc", "bread-network")


@pytest.fixture
def judging(small_home: Path, home: Path) -> Path:
    """A home with the corpus ``small`` that may be written to."""
    shutil.copytree(small_home, home)
    return home


def run(home: Path, *args: object) -> Any:
    outcome = run_inside(home, *args, "--json")
    assert outcome.code == 0, outcome.stderr
    return outcome.json


def judge(home: Path, grade: int, who: str, doc_id: str = "bread-network") -> Any:
    asked = ("--query", QUERY, "--doc", doc_id, "--grade", grade, "--annotator", who)
    return run(home, "judge", "small", *asked)


def assert_refused(outcome: Outcome, *says: str) -> None:
    assert (outcome.code, outcome.stdout) == (2, "")
    (line,) = outcome.stderr.splitlines()
    for words in ("Error: ", *says):
        assert words in line


def test_a_judgment_is_stored_with_who_and_why_and_an_undo_brings_back_the_one_before(
    judging: Path,
) -> None:
    first = judge(judging, 3, "ann")
    names = ("corpus", "project", "query_id", "doc_id", "annotator", "relevance", "verdict")
    assert [first[n] for n in names] == [
        *("small", "", QUERY, "bread-network", "ann", 3, "grade"),
    ]
    skipped = run(judging, "judge", "small", *ITEM, "--skip", "--annotator", "ann", "--note", "?")
    assert (skipped["verdict"], skipped["relevance"], skipped["note"]) == ("skip", None, "?")
    undone = run(judging, "judge", "small", "--undo", "--annotator", "ann")["undone"]
    assert undone["event"] == skipped["event"]
    lines = run_inside(judging, "qrels", "export", "small").stdout
    assert lines == f"{QUERY} 0 bread-network 3\n"
    run(judging, "judge", "small", "--undo", "--annotator", "ann")
    assert run(judging, "judge", "small", "--undo", "--annotator", "ann") == {"undone": None}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*ITEM, "--grade", 4), ("grade is 4", "0, 1, 2, 3")),
        ((*ITEM, "--grade", 1, "--skip"), ("one of --grade",)),
        (ITEM, ("one of --grade",)),
        (("--query", QUERY, "--grade", 1), ("Give --query and --doc",)),
        ((*ITEM, "--grade", 1, "--annotator", " "), ("no name",)),
        ((*ITEM, "--grade", 1, "--annotator", "adjudicated"), ("name of your own",)),
        ((*ITEM, "--grade", 1, "--note", "x" * 100_000), ("100,000 characters", "10,000")),
        ((*ITEM, "--grade", 1, "--project", "none"), ("no project 'none'",)),
        ((*ITEM, "--grade", 1, "--adjudicate"), ("no reason",)),
        (("--query", "x_method", "--doc", "emoji", "--grade", 1), ("'x_method'", "seed and asp")),
        (("--query", QUERY, "--doc", "nobody", "--grade", 1), ("'nobody'",)),
    ],
    ids=range(11),
)
def test_what_cannot_be_judged_is_refused_and_nothing_is_stored(
    judging: Path, arguments: tuple[object, ...], says: tuple[str, ...]
) -> None:
    assert_refused(run_inside(judging, "judge", "small", *arguments), *says)
    assert_refused(run_inside(judging, "qrels", "export", "small"), "no grades to export")


def test_from_a_project_to_qrels(judging: Path, tmp_path: Path) -> None:
    guide = tmp_path / "guide.md"
    guide.write_text("Same **method**?", "utf-8")
    queries = tmp_path / "queries.txt"
    queries.write_text(f"{QUERY}\n", "utf-8")
    people = ("--annotator", "ann", "--annotator", "bob", "--lead", "lead", "--per-item", 2)
    created = run(
        judging, "project", "create", "small", "p", *people, "--guidelines", f"method={guide}"
    )
    assert created["guidelines"] == {"method": "Same **method**?"}
    assert_refused(run_inside(judging, "project", "create", "small", "p"), "has a project 'p'")
    assert [p["name"] for p in run(judging, "project", "list")] == ["p"]

    here = ("small", "--project", "p", "--systems", "bm25,dense", "--depth", 3)
    pooled = run(judging, "pool", *here, "--queries", queries)
    assert (pooled["queries_added"], pooled["queries"], pooled["added"]) == (1, 1, 6)
    assert run(judging, "pool", *here)["added"] == 0
    dense = run(judging, "pool", *here, "--holes")[1]
    assert (dense["system"], dense["judged"], dense["unjudged"]) == ("dense", 0.0, 3)

    first, second, _ = dense["missing"][QUERY]
    judged = ("--query", QUERY, "--project", "p", "--doc")
    for who, doc_id, grade in (
        *(("ann", first, 3), ("bob", first, 1)),
        *(("ann", second, 2), ("bob", second, 2)),
    ):
        run(judging, "judge", "small", *judged, doc_id, "--grade", grade, "--annotator", who)
    assert run(judging, "pool", *here, "--holes")[1]["unjudged"] == 1
    shown = run(judging, "project", "show", "small", "p")
    assert (shown["judgments"], shown["progress"]["ann"]["done"]) == (4, 2)

    agreed = run(judging, "agreement", "small", "--project", "p")
    assert agreed["measures"]["raw"] == {"value": 0.5, "interval": None, "items": 2}
    assert agreed["by_aspect"]["method"]["krippendorff_alpha"]["items"] == 2
    (pair,) = agreed["pairs"]
    assert pair["annotators"] == ["ann", "bob"]
    assert pair["confusion"][3] == [0, 1, 0, 0]
    (split,) = run(judging, "agreement", "small", "--project", "p", "--disagreements")
    assert (split["doc_id"], split["spread"], split["said"]) == (first, 2, {"ann": 3, "bob": 1})

    decision = ("--grade", 2, "--adjudicate", "--note", "so")
    assert_refused(
        run_inside(judging, "judge", "small", *judged, first, *decision, "--annotator", "ann"),
        "leads are lead",
    )
    run(judging, "judge", "small", *judged, first, *decision, "--annotator", "lead")
    lines = run_inside(judging, "qrels", "export", "small", "--project", "p", "--format", "jsonl")
    rows = {row["doc_id"]: row for row in map(json.loads, lines.stdout.splitlines())}
    assert {d: (r["relevance"], r["basis"]) for d, r in rows.items()} == {
        first: (2, "adjudicated"),
        second: (2, "agreed"),
    }
    assert (rows[first]["annotator"], rows[first]["note"], rows[first]["by"]) == (
        *("adjudicated", "so", "lead"),
    )
    own = run_inside(
        judging, *("qrels", "export", "small", "--project", "p"), "--format", "csv",
        "--per-annotator",
    )  # fmt: skip
    table = list(csv.DictReader(io.StringIO(own.stdout)))
    assert [(r["annotator"], r["relevance"]) for r in table if r["doc_id"] == first] == [
        *(("ann", "3"), ("bob", "1"), ("lead", "2")),
    ]


def test_qrels_go_out_and_come_in_by_name_and_a_broken_file_changes_nothing(
    judging: Path, tmp_path: Path
) -> None:
    judge(judging, 3, "ann")
    judge(judging, 0, "ann", "maps-survey")
    out = tmp_path / "out" / "small.qrels"
    written = run(judging, "qrels", "export", "small", "--out", out)
    assert (written["files"], written["judgments"]) == ([str(out)], 2)
    come_in = ("qrels", "import", "small", out)
    assert_refused(run_inside(judging, *come_in), "no name")
    assert run(judging, *come_in, "--annotator", "bob") == {
        "added": 2,
        "known": 0,
        "conflicts": [],
        "warnings": [],
    }
    assert run(judging, *come_in, "--annotator", "bob")["known"] == 2
    out.write_text(out.read_text() + "one two\n" + f"{QUERY} 0 nobody 1\n")
    assert_refused(
        run_inside(judging, *come_in, "--annotator", "eve"),
        *("small.qrels", "2 lines", "line 3", "line 4", "'nobody'"),
    )
    assert_refused(run_inside(judging, "qrels", "import", "small"), "did not come from CSFCube")
    assert_refused(
        run_inside(judging, "qrels", "import", "small", tmp_path / "none"), "does not exist"
    )
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    assert_refused(
        run_inside(judging, "qrels", "export", "small", "--out", in_the_way / "x"),
        "cannot be written",
    )
    people = {j["annotator"] for j in map(json.loads, run_inside(
        judging, "qrels", "export", "small", "--format", "jsonl", "--per-annotator"
    ).stdout.splitlines())}  # fmt: skip
    assert people == {"ann", "bob"}


def test_a_pool_takes_runs_and_a_collection_and_names_what_is_missing(
    judging: Path, tmp_path: Path
) -> None:
    assert_refused(run_inside(judging, "pool", "small"), "no queries yet", "--queries FILE")
    strange = tmp_path / "q.txt"
    strange.write_text(f"{QUERY}\nwhat_ever\n")
    assert_refused(
        run_inside(judging, "pool", "small", "--queries", strange), "line 2 ('what_ever')"
    )
    judge(judging, 1, "ann")
    run_file = tmp_path / "mine.run"
    run_file.write_text(f"{QUERY} Q0 emoji 1 2.0 mine\n{QUERY} Q0 elsewhere 2 1.0 mine\n")
    found = run(judging, "pool", "small", "--systems", "bm25", "--depth", 2, "--run", run_file)
    assert (found["items"], found["added"]) == (3, 3)
    run_file.write_text("broken\n")
    assert_refused(run_inside(judging, "pool", "small", "--run", run_file), "mine.run, line 1")


def test_the_command_judges_beside_an_open_app_and_each_sees_the_other(judging: Path) -> None:
    annotation = make_explorer(judging).annotation
    project = annotation.project("small")
    annotation.judge(project, QUERY, "bread-network", "ann", 1)
    there = run_process(judging, "judge", "small", *ITEM, "--grade", 3, "--annotator", "bob")
    assert there.code == 0, there.stderr
    assert {j.annotator: j.relevance for j in annotation.judgments(project)} == {"ann": 1, "bob": 3}
    (split,) = run(judging, "agreement", "small", "--disagreements")
    assert split["said"] == {"ann": 1, "bob": 3}
