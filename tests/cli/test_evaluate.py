"""``seedlens evaluate``: figures, tables, run files, samples, people, and unusable files."""

from __future__ import annotations

import json
import shutil

import ir_measures
import pytest

from engine.errors import UnknownNameError
from engine.search.topics import Ranker
from tests.cli.command_line import assert_refused, assert_shape, run_inside, write_lines
from tests.fakes.small_corpus import write_collection
from tests.support import make_explorer


@pytest.fixture
def home(evaluated):  # type: ignore[override]
    """A home in which the small collection is indexed as ``tiny``."""
    return evaluated.home


@pytest.fixture
def collection(tmp_path):
    """The same collection, for a test to break."""
    return write_collection(tmp_path / "tiny")


def evaluate(home, collection, *options):
    return run_inside(home, "evaluate", collection, "--systems", "dense", *options)


def test_a_run_of_ones_own_is_measured_beside_the_systems(home, collection, tmp_path):
    evaluate(home, collection, "--run-out", tmp_path)
    lines = (tmp_path / "dense.run").read_text().splitlines()
    first = {line.split()[0]: line for line in lines}
    own = tmp_path / "own.run"
    own.write_text("\n".join(line[:-5] + "mine" for line in list(first.values())[:3]))
    found = evaluate(home, collection, "--run", own, "--json").json
    assert len(found["systems"]["mine"]["per_query"]) == 3
    assert [r["queries"] for r in found["significance"] if "mine" in r["systems"]] == [3]
    own.write_text("q1 Q0 d 1 1 me\n")
    assert_refused(evaluate(home, collection, "--run", own), "'own.run' ranks none")


# Judgments that cannot be used


def with_qrels(collection, *lines):
    file = collection / "qrels.txt"
    file.write_text(file.read_text("utf-8") + "".join(f"{line}\n" for line in lines), "utf-8")
    return file


def test_oddities_are_warnings_with_their_count(home, collection):
    first = (collection / "qrels.txt").read_text("utf-8").splitlines()[0]
    with_qrels(collection, first, "demo-0001_method 0 nowhere 2", "stranger_method 0 demo-0002 1")
    run = evaluate(home, collection, "--json")
    assert run.code == 0
    assert "1 line repeats a judgment with the same grade" in run.stderr
    assert "1 query has judgments but is not among those asked (first: 'stranger" in run.stderr
    assert "lacks 1 judged document; it counts" in run.stderr
    assert run.json["missing_documents"] == 1


MEASURES = ("nDCG@10", "nDCG@20", "RR", "AP", "R@20", "R@100", "Judged@20", "p-MRR")


def test_evaluate_json_keeps_the_contract(evaluated):
    found = evaluated.report
    assert_shape(
        found,
        {"collection": str, "corpus": str, "queries": int, "systems": dict,
         "unjudged_in_top_k": dict, "significance": list},
    )  # fmt: skip
    assert (found["collection"], found["corpus"], found["queries"]) == ("tiny", "tiny", 12)
    assert list(found["systems"]) == ["dense", "hybrid", "aspect"]
    for system in found["systems"].values():
        assert_shape(
            system,
            {"metrics": dict, "by_aspect": dict, "per_query": list, "seconds": float,
             "llm": (dict, type(None))},
        )  # fmt: skip
        assert set(MEASURES) <= set(system["metrics"])
        assert all(0.0 <= system["metrics"][m] <= 1.0 for m in MEASURES[:-1])
        assert set(system["by_aspect"]) == {"background", "method", "result"}
        assert len(system["per_query"]) == 12
    assert len(found["significance"]) == 3


def test_run_files_hold_the_whole_ranking_and_give_the_same_figures_to_other_tools(evaluated):
    runs, found, collection = evaluated.runs, evaluated.report, evaluated.collection
    assert {f.name for f in runs.iterdir()} == {"dense.run", "hybrid.run", "aspect.run"}
    qrels = list(ir_measures.read_trec_qrels(str(collection / "qrels.txt")))
    for name, scores in found["systems"].items():
        rows = [line.split(" ") for line in (runs / f"{name}.run").read_text().splitlines()]
        assert {len(row) for row in rows} == {6}
        by_query: dict[str, list[list[str]]] = {}
        for row in rows:
            by_query.setdefault(row[0], []).append(row)
        assert set(by_query) == {q["query_id"] for q in scores["per_query"]}
        for ranked in by_query.values():
            assert [int(row[3]) for row in ranked] == list(range(1, 60))
            values = [float(row[4]) for row in ranked]
            assert values == sorted(values, reverse=True)
        run = list(ir_measures.read_trec_run(str(runs / f"{name}.run")))
        theirs = ir_measures.calc_aggregate([ir_measures.nDCG @ 20], qrels, run)
        assert theirs[ir_measures.nDCG @ 20] == pytest.approx(scores["metrics"]["nDCG@20"])


def test_steer_reaches_the_systems_that_take_it(evaluated):
    home, found, collection = evaluated.home, evaluated.report, evaluated.collection
    options = ("--systems", "aspect,dense", "--steer", "0", "--json")
    level = run_inside(home, "evaluate", collection, *options).json["systems"]
    assert found["systems"]["aspect"]["metrics"]["p-MRR"] > 0.0
    assert level["aspect"]["metrics"]["p-MRR"] == 0.0
    assert level["dense"]["metrics"] == found["systems"]["dense"]["metrics"]


def test_evaluate_prints_a_table_with_one_row_per_system(evaluated):
    run = run_inside(evaluated.home, "evaluate", evaluated.collection, "--systems", "bm25,dense")
    assert (run.code, run.stderr) == (0, "")
    head, columns, *rows = filter(None, run.stdout.splitlines())
    assert "12 queries" in head
    assert all(measure in columns for measure in MEASURES)
    assert [row.split()[0] for row in rows] == ["bm25", "dense"]
    dense = evaluated.report["systems"]["dense"]["metrics"]["nDCG@20"]
    assert f"{dense:.3f}" in rows[1]


FACTS = (
    ("frogs", "Frogs sing at dusk near the pond.", "Which animals sing at dusk?"),
    ("tax", "The tax return is due in April.", "When do I hand in my tax return?"),
    ("bread", "Rye bread needs a sour dough.", "What does one need for rye bread?"),
)


def test_a_beir_folder_is_evaluated_on_its_own_documents(tmp_path):
    folder = tmp_path / "tiny.beir"
    write_lines(folder / "corpus.jsonl", ({"_id": i, "title": "", "text": d} for i, d, _ in FACTS))
    queries = [{"_id": f"q-{i}", "text": q} for i, _, q in FACTS]
    write_lines(folder / "queries.jsonl", [*queries, {"_id": "unjudged", "text": "Who?"}])
    judged = "".join(f"q-{i}\t{i}\t1\n" for i, _, _ in FACTS)
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    run = run_inside(tmp_path / "home", "evaluate", folder, "--systems", "bm25,dense", "--json")
    assert (run.code, run.stderr) == (0, "")
    assert run.json["queries"] == 3
    assert {s["metrics"]["RR"] for s in run.json["systems"].values()} == {1.0}
    assert run.json["systems"]["dense"]["metrics"]["p-MRR"] is None


def test_an_evaluation_is_kept_resumed_and_shown_by_the_app(evaluated, monkeypatch):
    home, first, collection = evaluated.home, evaluated.report, evaluated.collection
    options = ("--systems", "dense,hybrid,aspect", "--json")

    def no_ranking(*_):
        raise AssertionError("a system was ranked again")

    with monkeypatch.context() as patched:
        patched.setattr(Ranker, "run", no_ranking)
        again = run_inside(home, "evaluate", collection, *options)
    assert (again.code, again.json) == (0, first), "seconds, too: they are those of the ranking"
    explorer = make_explorer(home)
    keys = [info.key for info in explorer.collections.all()]
    assert [key for key in keys if "@" not in key] == ["tiny"], "besides evaluated files"
    record = explorer.evaluations.history("tiny")[0]
    assert set(record.request.systems) == {"dense", "hybrid", "aspect"}
    assert explorer.evaluations.find(record.request) is not None


def test_files_that_no_corpus_came_from_are_a_collection_of_the_app_while_they_are_there(
    evaluated, tmp_path
):
    home, files = evaluated.home, tmp_path / "judged"
    files.mkdir()
    for name in ("topics.jsonl", "qrels.txt"):
        (files / name).write_bytes((evaluated.collection / name).read_bytes())
    explorer, key = make_explorer(home), f"tiny@{files}"
    with pytest.raises(UnknownNameError, match="Nothing was evaluated"):
        explorer.collections.info(key)  # whatever a link says
    options = ("--corpus", "tiny", "--systems", "dense")
    assert run_inside(home, "evaluate", files, *options).code == 0
    assert explorer.collections.info(key).queries == 12
    assert key in [info.key for info in explorer.collections.all()]
    (record,) = explorer.evaluations.history(key)
    assert explorer.evaluations.find(record.request) is not None
    shutil.rmtree(files)
    assert key not in [info.key for info in explorer.collections.all()]


def test_people_are_a_row_with_one_line_per_annotator(tmp_path):
    about = {"pred_labels": ["method_label"], "metadata": {}}
    rows = [
        {"paper_id": n, "title": f"Bees {n}", "abstract": [f"We study hive {n}."], **about}
        for n in "sabcd"
    ]
    folder, runs = tmp_path / "cube", tmp_path / "runs"
    write_lines(folder / "abstracts-csfcube-preds.jsonl", rows)
    grades = {"adju": [3, 1, 0, 0], "ann1": [3, 0, 0, 1], "ann2": [2, 1, 0, 0]}
    pool = {"s": {"cands": [*"abcd"], **{f"relevance_{who}": g for who, g in grades.items()}}}
    (folder / "test-pid2anns-csfcube-method.json").write_text(json.dumps(pool), "utf-8")
    human = evaluate(tmp_path / "home", folder, "--human", "--run-out", runs, "--json")
    row = human.json["systems"]["human"]
    assert (set(row["annotators"]), row["llm"]) == ({"ann1", "ann2"}, None)
    assert 0.5 < row["metrics"]["nDCG@20"] <= 1
    assert {f.name for f in runs.iterdir()} == {"dense.run", "human-ann1.run", "human-ann2.run"}
