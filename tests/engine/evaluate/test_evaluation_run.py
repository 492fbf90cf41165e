"""An evaluation can be repeated by anybody from the run files, and says what it rests on."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import ir_measures
import pytest

from engine.collections.readers import read_collection
from engine.collections.trec import write_run
from engine.config import DEMO
from engine.corpora.contracts import RankedDocuments, Seed
from engine.errors import BadInputError
from engine.evaluate.collection_store import fitted_run
from engine.evaluate.evaluation_run import evaluate, judge_runs
from engine.evaluate.measuring import without_own
from engine.explorer import Explorer
from engine.measures.p_mrr import P_MRR
from engine.measures.per_query import query_rows
from engine.search.reports import evaluation_report
from engine.search.searcher import Searcher
from engine.search.systems import SYSTEMS
from engine.search.topics import SystemRun, sampled
from engine.types.evaluations import CSFCUBE_NDCG, Collection, Evaluation, Topic
from engine.types.searches import Query, Ranking
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
def csfcube_home(reduced: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the reduced CSFCube indexed under its own name."""
    home = tmp_path_factory.mktemp("csfcube-home")
    name = make_explorer(home).library.import_collection(read_collection(reduced))
    assert name == "csfcube-reduced"
    return home


@pytest.fixture(scope="module")
def pooled(csfcube_home: Path, reduced: Path) -> tuple[Collection, Evaluation]:
    """All systems on the reduced CSFCube."""
    collection = read_collection(reduced)
    searcher = make_explorer(csfcube_home).searcher("csfcube-reduced")
    return collection, evaluate(searcher, collection, list(SYSTEMS))


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
        *("missing_documents", "judged", "sample", "notes"),
    }
    assert report["queries"] == topics
    assert set(report["systems"]) == set(report["unjudged_in_top_k"]) == set(SYSTEMS)
    for system in report["systems"].values():
        keys = {"metrics", "by_aspect", "per_query", "seconds", "llm", "confidence"}
        assert keys <= set(system)
        assert set(system["metrics"]) == MEASURES
        assert all(
            v is None or (-1 if m == P_MRR else 0) <= v <= 1 for m, v in system["metrics"].items()
        ), "fractions, not percentages"
        assert set(system["confidence"]) == MEASURES
        for measure, bounds in system["confidence"].items():
            mean = system["metrics"][measure]
            assert bounds is None or bounds[0] - 1e-9 <= mean <= bounds[1] + 1e-9
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


@pytest.mark.nightly
def test_the_report_on_csfcube_has_its_agreed_shape(
    pooled: tuple[Collection, Evaluation],
) -> None:
    report = json.loads(json.dumps(evaluation_report(pooled[1]), allow_nan=False))
    check_report(report, 6)
    assert set(report["unjudged_in_top_k"].values()) == {0.0}, "pools are judged"
    names = [r["query_id"] for r in report["systems"]["dense"]["per_query"]]
    assert "6431039_result" in names


# Instruction following


def test_on_the_demo_only_what_reads_the_aspect_obeys(demo: Evaluation) -> None:
    values = {name: s.metrics[P_MRR] for name, s in demo.systems.items()}
    aspect = values["aspect"]
    assert aspect is not None
    assert aspect > 0.1
    blind = {name for name, system in SYSTEMS.items() if not system.reads_aspect}
    assert {"bm25", "dense"} <= blind
    assert {values[name] for name in blind} == {0.0}, "the same ranking for every aspect"
    ndcg = {name: found.metrics["nDCG@20"] for name, found in demo.systems.items()}
    assert ndcg["aspect"] > max(ndcg[name] for name in blind)  # type: ignore[operator,type-var]


@pytest.mark.nightly
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
        if not system.startswith("bm25"):
            assert len(mine) == 479


@pytest.mark.nightly
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


@pytest.fixture
def of_demo(demo: Evaluation) -> tuple[Collection, Evaluation]:
    return read_collection(DEMO), demo


@pytest.mark.parametrize("system", list(SYSTEMS))
@pytest.mark.parametrize(
    "evaluated", ["of_demo", pytest.param("pooled", marks=pytest.mark.nightly)]
)
def test_anybody_gets_the_same_numbers_from_a_run_file(
    request: pytest.FixtureRequest, evaluated: str, tmp_path: Path, system: str
) -> None:
    measures = [ir_measures.parse_measure(m) for m in ("nDCG@20", "RR", "AP", "R@100")]
    collection, found = request.getfixturevalue(evaluated)
    run = list(ir_measures.read_trec_run(str(written(found, system, tmp_path))))
    ours = {row["query_id"]: row for row in found.systems[system].per_query}
    qrels = {q: dict(collection.qrels[q]) for q in ours}
    values = list(ir_measures.iter_calc(measures, qrels, run))
    assert len(values) == len(ours) * len(measures)
    for value in values:
        expected = ours[value.query_id][str(value.measure)]
        assert value.value == pytest.approx(expected, abs=1e-9), value


# What an evaluation costs, and parts of one


@dataclass(frozen=True)
class CountingSearcher(Searcher):
    """Remembers the queries that were ranked."""

    ranked: list[Query] = field(default_factory=list)

    def rank(self, query: Query, seed: Seed, pool: Sequence[str] | None = None) -> RankedDocuments:
        self.ranked.append(query)
        return super().rank(query, seed, pool)


def test_a_system_that_ignores_the_aspect_ranks_once_per_seed(explorer: Explorer) -> None:
    collection = read_collection(DEMO)
    few = replace(collection, topics=collection.topics[:12])
    plain = explorer.searcher("demo")
    searcher = CountingSearcher(plain.corpus, plain.encoder, plain.lens_words, plain.embed)
    evaluate(searcher, few, ["dense", "aspect"])
    asked = Counter(query.system for query in searcher.ranked)
    assert asked == {"dense": 4, "aspect": 12}


def test_a_sample_is_the_same_every_time_and_grows_without_losing_anything() -> None:
    topics = read_collection(DEMO).topics
    five = sampled(topics, 5)
    assert len({t.seed for t in five}) == 5
    assert len(five) == 15, "all aspects of a seed stay together"
    assert set(five) == set(sampled(topics[::-1], 5)) < set(sampled(topics, 8))
    assert sampled(topics, 10_000) == topics
    with pytest.raises(BadInputError, match="at least 1"):
        sampled(topics, 0)


def test_a_sample_is_reported(explorer: Explorer) -> None:
    found = evaluate(explorer.searcher("demo"), read_collection(DEMO), ["dense"], sample=2)
    assert evaluation_report(found)["sample"] == {"seeds": 2, "of": 480}
    assert found.queries == found.judged.queries == 6


# A query that is a document of the corpus, as in ArguAna


@pytest.mark.parametrize(("grades", "score"), [({"d2": 1}, 1.0), ({"d1": 1, "d3": 1}, 0.920)])
def test_a_query_s_own_document_is_left_out_unless_it_is_judged_relevant(
    grades: dict[str, int], score: float
) -> None:
    topics = (Topic("d1", text="The text of d1."),)
    collection = Collection("c", topics, {"d1": grades}, Path(), "beir")
    ranked = [Ranking("d1", ("d1", "d2", "d3"), (3.0, 2.0, 1.0))]
    (row,) = query_rows(collection, topics, without_own(collection, topics, ranked))
    assert row["nDCG@20"] == pytest.approx(score, abs=0.001)


# People


def test_annotators_own_grades_are_read_beside_the_adjudicated_ones(reduced: Path) -> None:
    collection = read_collection(reduced)
    assert set(collection.annotators) >= {"ann1", "ann2"}
    graded = collection.annotators["ann2"]["6431039_result"]
    assert set(graded) <= set(collection.qrels["6431039_result"])
    assert set(graded.values()) <= {0, 1, 2, 3}, "where they gave none, there is none"


@pytest.mark.nightly
def test_people_agree_with_the_adjudicated_grades_more_than_systems(
    csfcube_home: Path, reduced: Path
) -> None:
    collection = read_collection(reduced)
    searcher = make_explorer(csfcube_home).searcher("csfcube-reduced")
    found = evaluate(searcher, collection, ["dense", "aspect"], human=True)
    human = found.systems["human"]
    assert human.kind == "human"
    assert human.metrics.keys() == found.systems["dense"].metrics.keys()
    relevance = {name: s.metrics["nDCG@20"] for name, s in found.systems.items()}
    assert relevance["human"] == max(relevance.values())  # type: ignore[type-var]
    assert human.metrics[P_MRR] is not None
    assert len(human.annotators) >= 2
    for topic in collection.topics:
        own = [m for a, m in found.rankings.items() if a.startswith("human-")]
        pools = [r.doc_ids for run in own for r in run if r.query_id == topic.query_id]
        assert len(pools) == 2, "every query was graded by two people"
        assert all(sorted(pool) == sorted(topic.pool or ()) for pool in pools)
    pairs = {name for row in found.significance for name in row["systems"]}
    assert pairs == {"dense", "aspect"}, "people are a ceiling, not a competitor"


# A run that was brought, and judgments with a fault


def test_a_run_is_measured_and_compared_on_the_queries_that_it_ranks(
    demo: Evaluation, explorer: Explorer
) -> None:
    collection = read_collection(DEMO)
    topics = collection.topics[:12]
    given = {r.query_id: r for r in demo.rankings["aspect"][:3]}
    run = fitted_run(given, "mine", topics)
    assert run.notes == ("it ranks 3 of 12 queries, and is measured on these.",)
    dense = SystemRun("dense", tuple(demo.rankings["dense"][:12]))
    nothing = SystemRun("nothing", (), kind="run", notes=("it ranks none of these queries.",))
    found = judge_runs(explorer.searcher("demo"), collection, topics, [dense, run, nothing])
    assert found.systems["mine"].per_query == demo.systems["aspect"].per_query[:3]
    assert len(found.systems["dense"].per_query) == 12
    assert [pair["queries"] for pair in found.significance] == [3]
    assert "Run 'nothing': it ranks none of these queries." in found.notes
    with pytest.raises(BadInputError, match="none of the 12 queries"):
        fitted_run({"other": given[topics[0].query_id]}, "mine", topics)


@pytest.mark.parametrize("value", [4, "x"])
def test_a_grade_that_csfcube_does_not_have_is_refused_with_its_place(
    reduced: Path, tmp_path: Path, value: object
) -> None:
    folder = tmp_path / "broken"
    shutil.copytree(reduced, folder)
    file = folder / "test-pid2anns-csfcube-result.json"
    judged = json.loads(file.read_text("utf-8"))
    seed = next(iter(judged))
    judged[seed]["relevance_adju"][2] = value
    file.write_text(json.dumps(judged), "utf-8")
    with pytest.raises(BadInputError, match=f"{file.name}, seed {seed}, candidate 3.*'{value}'|"
                       f"{file.name}, seed {seed}, candidate 3.* {value} "):  # fmt: skip
        read_collection(folder)
