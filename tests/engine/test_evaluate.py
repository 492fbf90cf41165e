"""An evaluation can be repeated by anybody from the run files, and says what it rests on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import ir_measures
import pytest

from engine.collections import Collection, read_collection
from engine.config import DEMO
from engine.errors import BadInputError, UnknownNameError
from engine.evaluate import Evaluation, evaluate, write_run
from engine.explorer import Explorer
from engine.metrics import CSFCUBE_NDCG, P_MRR
from engine.reports import evaluation_report
from engine.retrieve import SYSTEMS
from tests.support import make_explorer, write_jsonl

MEASURES = {"nDCG@10", "nDCG@20", "RR", "AP", "R@20", "R@100", "Judged@20", CSFCUBE_NDCG, P_MRR}
POOL = 40
"""Candidates kept of each judged pool."""
SEEDS = ("6431039", "5052952", "929877")
"""CSFCube seeds that are judged for two aspects each."""


@pytest.fixture(scope="module")
def demo(explorer: Explorer) -> Evaluation:
    """All systems on the first four seeds of the demo collection."""
    collection = read_collection(DEMO)
    few = replace(collection, topics=collection.topics[:12])
    return evaluate(explorer.searcher("demo"), few, list(SYSTEMS))


@pytest.fixture(scope="module")
def reduced(csfcube: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """CSFCube with three seeds and forty candidates of each of their pools."""
    folder = tmp_path_factory.mktemp("data") / "csfcube-reduced"
    folder.mkdir()
    kept: set[str] = set(SEEDS)
    for aspect in ("background", "method", "result"):
        name = f"test-pid2anns-csfcube-{aspect}.json"
        judged = json.loads((csfcube / name).read_text("utf-8"))
        few = {s: {k: v[:POOL] for k, v in judged[s].items()} for s in SEEDS if s in judged}
        kept.update(d for pool in few.values() for d in pool["cands"])
        (folder / name).write_text(json.dumps(few), "utf-8")
    with (csfcube / "abstracts-csfcube-preds.jsonl").open(encoding="utf-8") as lines:
        documents = [d for d in map(json.loads, lines) if d["paper_id"] in kept]
    write_jsonl(folder / "abstracts-csfcube-preds.jsonl", documents)
    return folder


@pytest.fixture(scope="module")
def pooled(
    reduced: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Collection, Evaluation]:
    """All systems on the reduced CSFCube."""
    explorer = make_explorer(tmp_path_factory.mktemp("csfcube-home"))
    collection = read_collection(reduced)
    name = explorer.library.import_collection(collection)
    assert name == "csfcube-reduced"
    return collection, evaluate(explorer.searcher(name), collection, list(SYSTEMS))


def lines(path: Path) -> Iterator[list[str]]:
    for line in path.read_text("utf-8").splitlines():
        yield line.split(" ")


def written(found: Evaluation, system: str, folder: Path) -> Path:
    path = folder / f"{system}.run"
    write_run(found.rankings[system], path, system)
    return path


# The report


def check_report(report: dict[str, Any], topics: int) -> None:
    assert set(report) == {
        *("collection", "corpus", "queries", "systems", "unjudged_in_top_k", "significance"),
        "missing_documents",
    }
    assert report["queries"] == topics
    assert set(report["systems"]) == set(report["unjudged_in_top_k"]) == set(SYSTEMS)
    for system in report["systems"].values():
        keys = {"metrics", "by_aspect", "per_query", "seconds", "llm"}
        assert keys <= set(system)
        assert set(system["metrics"]) == MEASURES
        assert all(
            v is None or (-1 if m == P_MRR else 0) <= v <= 1 for m, v in system["metrics"].items()
        ), "fractions, not percentages"
        assert len(system["per_query"]) == topics
        for row in system["per_query"]:
            assert set(row) == {"query_id", "aspect", *MEASURES}
        for aspect, means in system["by_aspect"].items():
            rows = [r for r in system["per_query"] if r["aspect"] == aspect]
            for measure in MEASURES - {P_MRR}:
                expected = sum(r[measure] for r in rows) / len(rows)
                assert means[measure] == pytest.approx(expected)
    pairs = len(SYSTEMS) * (len(SYSTEMS) - 1) // 2
    assert len(report["significance"]) == pairs
    assert {r["measure"] for r in report["significance"]} == {"nDCG@20"}


def test_the_report_on_the_demo_collection_has_its_agreed_shape(demo: Evaluation) -> None:
    report = json.loads(json.dumps(evaluation_report(demo), allow_nan=False))
    check_report(report, 12)
    assert (report["collection"], report["corpus"]) == ("demo", "demo")
    for system in report["systems"].values():
        assert set(system["by_aspect"]) == {"background", "method", "result"}
    assert set(report["unjudged_in_top_k"].values()) == {0.0}, "its judgments are complete"


def test_the_report_on_csfcube_has_its_agreed_shape(
    pooled: tuple[Collection, Evaluation],
) -> None:
    report = json.loads(json.dumps(evaluation_report(pooled[1]), allow_nan=False))
    check_report(report, 6)
    assert set(report["unjudged_in_top_k"].values()) == {0.0}, "pools are judged"
    names = [r["query_id"] for r in report["systems"]["dense"]["per_query"]]
    assert "6431039_result" in names


# Obedience


def test_on_the_demo_only_aspect_obeys(demo: Evaluation) -> None:
    values = {name: s.metrics[P_MRR] for name, s in demo.systems.items()}
    aspect = values.pop("aspect")
    assert aspect is not None
    assert aspect > 0.1
    assert set(values.values()) == {0.0}, "the same ranking for every aspect"
    ndcg = {name: s.metrics["nDCG@20"] for name, s in demo.systems.items()}
    assert ndcg["aspect"] == max(ndcg.values())  # type: ignore[type-var]


def test_on_csfcube_aspect_obeys_more_than_dense(pooled: tuple[Collection, Evaluation]) -> None:
    systems = pooled[1].systems
    aspect = systems["aspect"].metrics[P_MRR]
    assert aspect is not None
    assert aspect > 0
    assert systems["dense"].metrics[P_MRR] == 0.0


def test_steer_trades_obedience(explorer: Explorer) -> None:
    collection = read_collection(DEMO)
    few = replace(collection, topics=collection.topics[:30])
    searcher = explorer.searcher("demo")
    values = [
        evaluate(searcher, few, ["aspect"], steer=steer).systems["aspect"].metrics[P_MRR]
        for steer in (0.0, 0.5, 1.0)
    ]
    assert values[0] == 0.0
    assert values == sorted(values)  # type: ignore[type-var]
    assert values[-1] > 0.1  # type: ignore[operator]


# Run files


@pytest.mark.parametrize("system", list(SYSTEMS))
def test_a_run_file_has_six_columns_and_ranks_from_one(
    demo: Evaluation, tmp_path: Path, system: str
) -> None:
    rows = list(lines(written(demo, system, tmp_path)))
    assert all(len(row) == 6 for row in rows)
    assert {row[1] for row in rows} == {"Q0"}
    assert {row[5] for row in rows} == {system}
    for ranking in demo.rankings[system]:
        mine = [row for row in rows if row[0] == ranking.query_id]
        assert [int(row[3]) for row in mine] == list(range(1, len(mine) + 1))
        assert [row[2] for row in mine] == list(ranking.doc_ids)
        scores = [float(row[4]) for row in mine]
        assert all(a > b for a, b in pairwise(scores)), "evaluators go by the score alone"
        seed = ranking.query_id.rpartition("_")[0]
        assert seed not in ranking.doc_ids
        assert len(set(ranking.doc_ids)) == len(mine)
        if system != "bm25":
            assert len(mine) == 359


@pytest.mark.parametrize("system", list(SYSTEMS))
def test_a_run_on_judged_pools_ranks_the_whole_pool_and_nothing_else(
    pooled: tuple[Collection, Evaluation], system: str
) -> None:
    collection, found = pooled
    for topic, ranking in zip(collection.topics, found.rankings[system], strict=True):
        assert ranking.query_id == topic.query_id == f"{topic.seed}_{topic.aspect}"
        assert sorted(ranking.doc_ids) == sorted(topic.pool or ())
        assert len(ranking.doc_ids) >= POOL - 1
        assert list(ranking.scores) == sorted(ranking.scores, reverse=True)


@pytest.mark.parametrize("system", list(SYSTEMS))
def test_anybody_gets_the_same_numbers_from_a_run_file(
    demo: Evaluation,
    pooled: tuple[Collection, Evaluation],
    tmp_path: Path,
    system: str,
) -> None:
    measures = [ir_measures.parse_measure(m) for m in ("nDCG@20", "RR", "AP", "R@100")]
    for found, collection in ((demo, read_collection(DEMO)), (pooled[1], pooled[0])):
        run = list(ir_measures.read_trec_run(str(written(found, system, tmp_path))))
        ours = {row["query_id"]: row for row in found.systems[system].per_query}
        qrels = {q: dict(collection.qrels[q]) for q in ours}
        values = list(ir_measures.iter_calc(measures, qrels, run))
        assert len(values) == len(ours) * len(measures)
        for value in values:
            expected = ours[value.query_id][str(value.measure)]
            assert value.value == pytest.approx(expected, abs=1e-9), value


# What cannot be evaluated


def test_an_unknown_system_is_refused_before_anything_is_ranked(explorer: Explorer) -> None:
    with pytest.raises(UnknownNameError, match="'bm52'"):
        evaluate(explorer.searcher("demo"), read_collection(DEMO), ["dense", "bm52"])


def test_a_corpus_without_the_collections_seeds_is_refused(small: Explorer) -> None:
    with pytest.raises(BadInputError, match=r"'demo-0001'.*'small'.*--corpus"):
        evaluate(small.searcher("small"), read_collection(DEMO), ["dense"])


def test_a_path_that_is_no_collection_is_refused(tmp_path: Path, small_source: Path) -> None:
    with pytest.raises(BadInputError, match="does not exist"):
        read_collection(tmp_path / "nowhere")
    with pytest.raises(BadInputError, match="is not a test collection"):
        read_collection(small_source)


def test_a_collection_without_queries_is_refused(explorer: Explorer) -> None:
    empty = replace(read_collection(DEMO), topics=())
    with pytest.raises(BadInputError, match="no queries"):
        evaluate(explorer.searcher("demo"), empty, ["dense"])


def test_a_collection_of_pasted_questions_is_evaluated_too(small: Explorer, tmp_path: Path) -> None:
    write_jsonl(
        tmp_path / "topics.jsonl",
        [{"query_id": "q1", "text": "two lakes"}, {"query_id": "q2", "text": "potters and kilns"}],
    )
    (tmp_path / "qrels.txt").write_text("q1 0 twin-a 1\nq2 0 plain 3\n", "utf-8")
    found = evaluate(small.searcher("small"), read_collection(tmp_path), ["bm25", "dense"])
    for scores in found.systems.values():
        assert scores.metrics["RR"] == 1.0
        assert scores.metrics[P_MRR] is None, "nobody asked for an aspect"
        assert scores.by_aspect == {}
    # One of twenty is judged: what is not listed was not judged.
    assert found.unjudged_in_top_k["dense"] == pytest.approx(0.95)
