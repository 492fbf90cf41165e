"""``seedlens evaluate`` and ``seedlens sensitivity``: JSON, tables, run files, people, refusals."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.cli.command_line import assert_refused, run_inside, write_lines

MEASURES = ("nDCG@10", "nDCG@20", "RR", "AP", "R@20", "R@100", "Judged@20", "p-MRR")
ASPECTS = {"background", "method", "result"}


def evaluate(home, collection, *options):
    return run_inside(home, "evaluate", collection, "--systems", "dense", *options)


def test_evaluate_json_keeps_the_contract_and_rankings_are_kept(evaluated):
    found = evaluated.report
    assert {"unjudged_in_top_k", "significance", "missing_documents", "notes"} <= set(found)
    assert (found["collection"], found["corpus"], found["queries"]) == ("lab", "lab", 12)
    assert list(found["systems"]) == ["dense", "hybrid", "aspect"]
    for system in found["systems"].values():
        assert {"metrics", "by_aspect", "per_query", "seconds", "llm"} <= set(system)
        assert set(MEASURES) <= set(system["metrics"])
        assert set(system["by_aspect"]) == ASPECTS
        assert len(system["per_query"]) == 12
    assert len(found["significance"]) == 3
    assert {f.name for f in evaluated.runs.iterdir()} == {"dense.run", "hybrid.run", "aspect.run"}
    options = ("--systems", "dense,hybrid,aspect", "--json")
    again = run_inside(evaluated.home, "evaluate", evaluated.collection, *options)
    assert (again.code, again.json) == (0, found), "seconds, too: they are those of the ranking"


def test_steer_reaches_the_systems_that_take_it_and_a_table_has_a_row_for_each(evaluated):
    assert evaluated.report["systems"]["aspect"]["metrics"]["p-MRR"] > 0.0
    options = ("--systems", "aspect,dense", "--steer", "0")
    run = run_inside(evaluated.home, "evaluate", evaluated.collection, *options)
    assert (run.code, run.stderr) == (0, "")
    head, columns, *rows = filter(None, run.stdout.splitlines())
    assert "12 queries" in head
    assert all(measure in columns for measure in MEASURES)
    assert [row.split()[0] for row in rows] == ["aspect", "dense"]
    assert all("0.000" in row for row in rows), "p-MRR at steer 0"
    dense = evaluated.report["systems"]["dense"]["metrics"]["nDCG@20"]
    assert f"{dense:.3f}" in rows[1]


def test_a_run_of_ones_own_is_measured_beside_the_systems(evaluated, tmp_path):
    lines = (evaluated.runs / "dense.run").read_text().splitlines()
    first = {line.split()[0]: line for line in lines}
    own = tmp_path / "own.run"
    own.write_text("\n".join(line[:-5] + "mine" for line in list(first.values())[:3]))
    found = evaluate(evaluated.home, evaluated.collection, "--run", own, "--json").json
    assert len(found["systems"]["mine"]["per_query"]) == 3
    assert [r["queries"] for r in found["significance"] if "mine" in r["systems"]] == [3]
    own.write_text("q1 Q0 d 1 1 me\n")
    refused = evaluate(evaluated.home, evaluated.collection, "--run", own)
    assert_refused(refused, "'own.run' ranks none")


def test_oddities_are_warnings_with_their_count(evaluated, tmp_path):
    collection = shutil.copytree(evaluated.collection, tmp_path / "odd")
    with (collection / "qrels.txt").open("r+", encoding="utf-8") as file:
        first = next(file)
        file.seek(0, 2)
        file.write(f"{first}demo-0001_method 0 nowhere 2\nstranger_method 0 demo-0002 1\n")
    run = evaluate(evaluated.home, collection, "--corpus", "lab", "--json")
    assert run.code == 0
    assert "1 line repeats a judgment with the same grade" in run.stderr
    assert "1 query has judgments but is not among those asked (first: 'stranger" in run.stderr
    assert "lacks 1 judged document; it counts" in run.stderr
    assert run.json["missing_documents"] == 1


def test_a_collection_is_evaluated_on_its_own_documents_with_a_row_for_people(tmp_path):
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


# Wordings


def sensitivity(evaluated, path, *options):
    return run_inside(evaluated.home, "sensitivity", path, "--corpus", "lab", *options)


def of_aspects(source, folder, aspects):
    """A collection with the queries of these aspects alone."""
    shutil.copytree(source, folder)
    topics = map(json.loads, (source / "topics.jsonl").open(encoding="utf-8"))
    write_lines(folder / "topics.jsonl", [t for t in topics if t["aspect"] in aspects])
    return folder


def test_json_of_wordings_keeps_the_contract(evaluated):
    options = ("--systems", "dense,aspect", "--sample", 2, "--variants", "base,generic", "--json")
    done = sensitivity(evaluated, evaluated.collection, *options)
    assert (done.code, done.stderr) == (0, "")
    found = done.json
    assert (found["collection"], found["corpus"], found["queries"]) == ("lab", "lab", 6)
    assert (found["single_aspect"], found["asked"], found["stopped"]) == (False, 6, "")
    assert list(found["systems"]) == ["dense", "aspect"]
    measures = {"nDCG@20", "nDCG@20 (CSFCube)", "p-MRR", "SICR", "WISE", "rbo", "tau", "overlap@20"}
    for system in found["systems"].values():
        assert 0.0 < system["Robustness@10"] < 1.0
        assert list(system["variants"]) == ["base", "generic"]
        for variant in system["variants"].values():
            assert measures <= set(variant)
            assert all(-1.0 <= variant[m] <= 1.0 for m in measures), "fractions"
            assert set(variant["by_aspect"]) == ASPECTS
        for measure in ("rbo", "tau", "overlap@20"):
            matrix = system["matrix"][measure]
            assert [*matrix] == [*matrix["base"]] == ["base", "generic"]
    dense, aspect = (s["variants"] for s in found["systems"].values())
    assert dense["base"]["p-MRR"] == aspect["generic"]["p-MRR"] == 0.0
    assert aspect["base"]["p-MRR"] > 0.0


@pytest.mark.parametrize("aspects", [ASPECTS, {"method"}], ids=len)
def test_a_table_has_a_row_for_each_wording(evaluated, tmp_path, aspects):
    path = of_aspects(evaluated.collection, tmp_path / "some", aspects)
    options = ("--systems", "aspect", "--variants", "base,definition", "--steer", "0")
    done = sensitivity(evaluated, path, *options)
    undefined = "Note: no seed is judged for two aspects"
    assert done.stderr.startswith(undefined) == (len(aspects) == 1)
    head, columns, *rows, robustness = filter(None, done.stdout.splitlines())
    assert head == f"{4 * len(aspects)} queries of lab on corpus lab"
    assert "overlap@20" in columns
    assert [row.split()[0] for row in rows] == ["base", "definition"]
    assert robustness.strip().startswith("Robustness@10 over wordings: 0.")
    assert all("0.000" in row for row in rows), "no wording is obeyed"
