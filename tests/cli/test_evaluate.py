"""``seedlens evaluate``: figures, tables, run files, samples, people, and unusable files."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import ir_measures
import pytest

from engine.errors import UnknownNameError
from engine.search.topics import Ranker
from tests.cli.command_line import Outcome, assert_refused, assert_shape, run_inside, write_lines
from tests.cli.conftest import Evaluated
from tests.fakes.small_corpus import write_collection
from tests.support import make_explorer


@pytest.fixture
def home(evaluated: Evaluated) -> Path:  # type: ignore[override]
    """A home in which the small collection is indexed as ``tiny``."""
    return evaluated.home


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """The same collection, for a test to break."""
    return write_collection(tmp_path / "tiny")


def evaluate(home: Path, collection: Path, *options: object) -> Outcome:
    return run_inside(home, "evaluate", collection, "--systems", "dense", *options)


def test_a_sample_asks_fewer_seeds_and_says_so(home: Path, collection: Path) -> None:
    found = evaluate(home, collection, "--sample", 2, "--json").json
    assert found["sample"] == {"seeds": 2, "of": 4}
    assert found["queries"] == len(found["systems"]["dense"]["per_query"]) == 6
    assert found == {**evaluate(home, collection, "--sample", 2, "--json").json,
                     "systems": found["systems"]}  # fmt: skip
    assert "a sample of 2 seeds" in evaluate(home, collection, "--sample", 2).stdout


def test_a_run_of_ones_own_is_measured_beside_the_systems(
    home: Path, collection: Path, tmp_path: Path
) -> None:
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


def test_intervals_and_what_is_judged_are_part_of_the_report(home: Path, collection: Path) -> None:
    found = evaluate(home, collection, "--json").json
    low, high = found["systems"]["dense"]["confidence"]["nDCG@20"]
    assert low <= found["systems"]["dense"]["metrics"]["nDCG@20"] <= high
    assert found["judged"]["queries"] == 12
    assert found["judged"]["complete"] is True
    assert found["notes"] == []


def test_people_are_a_row_with_one_line_per_annotator(csfcube: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cube"
    folder.mkdir()
    kept: set[str] = set()
    for aspect in ("method", "result"):
        name = f"test-pid2anns-csfcube-{aspect}.json"
        judged = json.loads((csfcube / name).read_text("utf-8"))
        few = {"1198964": {k: v[:25] for k, v in judged["1198964"].items()}}
        kept |= {"1198964", *few["1198964"]["cands"]}
        (folder / name).write_text(json.dumps(few), "utf-8")
    with (csfcube / "abstracts-csfcube-preds.jsonl").open(encoding="utf-8") as lines:
        (folder / "abstracts-csfcube-preds.jsonl").write_text(
            "".join(line for line in lines if json.loads(line)["paper_id"] in kept), "utf-8"
        )
    runs = tmp_path / "runs"
    options = ("--human", "--run-out", runs, "--json")
    human = evaluate(tmp_path / "home", folder, *options).json["systems"]["human"]
    assert set(human) >= {"metrics", "by_aspect", "per_query", "annotators", "seconds", "llm"}
    assert human["llm"] is None
    assert set(human["annotators"]) == {"ann1", "ann2"}
    assert 0.5 < human["metrics"]["nDCG@20"] <= 1
    assert {f.name for f in runs.iterdir()} == {"dense.run", "human-ann1.run", "human-ann2.run"}


# Judgments that cannot be used


def with_qrels(collection: Path, *lines: str) -> Path:
    file = collection / "qrels.txt"
    file.write_text(file.read_text("utf-8") + "".join(f"{line}\n" for line in lines), "utf-8")
    return file


def test_oddities_are_warnings_with_their_count(home: Path, collection: Path) -> None:
    first = (collection / "qrels.txt").read_text("utf-8").splitlines()[0]
    with_qrels(collection, first, "demo-0001_method 0 nowhere 2", "stranger_method 0 demo-0002 1")
    run = evaluate(home, collection, "--json")
    assert run.code == 0
    assert "1 line repeats a judgment with the same grade" in run.stderr
    assert "1 query has judgments but is not among those asked (first: 'stranger" in run.stderr
    assert "lacks 1 judged document; it counts" in run.stderr
    assert run.json["missing_documents"] == 1


def test_judgments_of_unknown_documents_only_are_refused(home: Path, collection: Path) -> None:
    (collection / "qrels.txt").write_text("demo-0001_method 0 nowhere 2\n", "utf-8")
    refused = evaluate(home, collection, "--corpus", "tiny")
    assert_refused(refused, "'tiny'", "none of the 1 documents")


def test_a_single_aspect_leaves_obedience_undefined_in_words(home: Path, collection: Path) -> None:
    topics = (collection / "topics.jsonl").read_text("utf-8").splitlines(keepends=True)
    (collection / "topics.jsonl").write_text("".join(t for t in topics if "method" in t), "utf-8")
    found = evaluate(home, collection, "--json").json
    assert found["systems"]["dense"]["metrics"]["p-MRR"] is None
    assert "no seed is judged for two aspects" in found["notes"][0]
    shown = evaluate(home, collection)
    assert "p-MRR is undefined here, not 0" in shown.stderr


MEASURES = ("nDCG@10", "nDCG@20", "RR", "AP", "R@20", "R@100", "Judged@20", "p-MRR")


def test_evaluate_json_keeps_the_contract(evaluated: Evaluated) -> None:
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


def test_run_files_hold_the_whole_ranking_and_give_the_same_figures_to_other_tools(
    evaluated: Evaluated,
) -> None:
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


def test_a_collection_is_indexed_once(evaluated: Evaluated) -> None:
    home = evaluated.home
    before = run_inside(home, "corpora", "--json").stdout
    again = run_inside(home, "evaluate", evaluated.collection, "--systems", "dense", "--json").json
    assert again["systems"]["dense"]["metrics"] == evaluated.report["systems"]["dense"]["metrics"]
    assert run_inside(home, "corpora", "--json").stdout == before


def test_steer_reaches_the_systems_that_take_it(evaluated: Evaluated) -> None:
    home, found, collection = evaluated.home, evaluated.report, evaluated.collection
    options = ("--systems", "aspect,dense", "--steer", "0", "--json")
    level = run_inside(home, "evaluate", collection, *options).json["systems"]
    assert found["systems"]["aspect"]["metrics"]["p-MRR"] > 0.0
    assert level["aspect"]["metrics"]["p-MRR"] == 0.0
    assert level["dense"]["metrics"] == found["systems"]["dense"]["metrics"]


def test_evaluate_prints_a_table_with_one_row_per_system(evaluated: Evaluated) -> None:
    run = run_inside(evaluated.home, "evaluate", evaluated.collection, "--systems", "bm25,dense")
    assert (run.code, run.stderr) == (0, "")
    head, columns, *rows = filter(None, run.stdout.splitlines())
    assert "12 queries" in head
    assert all(measure in columns for measure in MEASURES)
    assert [row.split()[0] for row in rows] == ["bm25", "dense"]
    dense = evaluated.report["systems"]["dense"]["metrics"]["nDCG@20"]
    assert f"{dense:.3f}" in rows[1]


def test_topics_without_documents_are_evaluated_on_a_corpus_that_has_them(
    evaluated: Evaluated, tmp_path: Path
) -> None:
    for name in ("topics.jsonl", "qrels.txt", "collection.json"):
        (tmp_path / name).write_bytes((evaluated.collection / name).read_bytes())
    options = ("--corpus", "tiny", "--systems", "dense", "--json")
    found = run_inside(evaluated.home, "evaluate", tmp_path, *options).json
    assert found["corpus"] == "tiny"
    theirs = evaluated.report["systems"]["dense"]["metrics"]
    assert found["systems"]["dense"]["metrics"] == theirs


FACTS = (
    ("frogs", "Frogs sing at dusk near the pond.", "Which animals sing at dusk?"),
    ("tax", "The tax return is due in April.", "When do I hand in my tax return?"),
    ("bread", "Rye bread needs a sour dough.", "What does one need for rye bread?"),
)


def test_a_beir_folder_is_evaluated_on_its_own_documents(tmp_path: Path) -> None:
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


def test_an_impliret_file_is_evaluated_with_the_rows_ids_as_queries_and_documents(
    tmp_path: Path,
) -> None:
    path = tmp_path / "A_Uni.csv"
    with path.open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["id", "tuple_set_id", "pos_document", "question", "answer", "explicit_hint"])
        rows.writerows([i, 0, d, q, "secret", "hint"] for i, d, q in FACTS)
    runs = tmp_path / "runs"
    options = ("--systems", "dense", "--run-out", runs, "--json")
    run = run_inside(tmp_path / "home", "evaluate", path, *options)
    assert (run.code, run.stderr) == (0, "")
    assert run.json["systems"]["dense"]["metrics"]["RR"] == 1.0
    first = {
        row[0]: row[2]
        for row in map(str.split, (runs / "dense.run").read_text().splitlines())
        if row[3] == "1"
    }
    assert first == {i: i for i, _, _ in FACTS}


def test_an_evaluation_is_kept_resumed_and_shown_by_the_app(
    evaluated: Evaluated, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, first, collection = evaluated.home, evaluated.report, evaluated.collection
    options = ("--systems", "dense,hybrid,aspect", "--json")

    def no_ranking(*_: object) -> None:
        raise AssertionError("a system was ranked again")

    with monkeypatch.context() as patched:
        patched.setattr(Ranker, "run", no_ranking)
        again = run_inside(home, "evaluate", collection, *options)
    assert (again.code, again.json) == (0, first), "seconds, too: they are those of the ranking"
    explorer = make_explorer(home)
    assert [info.key for info in explorer.collections.all()] == ["tiny"]
    record = explorer.evaluations.history("tiny")[0]
    assert set(record.request.systems) == {"dense", "hybrid", "aspect"}
    assert explorer.evaluations.find(record.request) is not None


def test_files_that_no_corpus_came_from_are_a_collection_of_the_app_while_they_are_there(
    evaluated: Evaluated, tmp_path: Path
) -> None:
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
