"""``seedlens evaluate``: samples, people, labels left aside, and files that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command_line import Outcome, assert_refused, run_inside
from tests.cli.conftest import Evaluated
from tests.fakes.small_corpus import write_collection


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
