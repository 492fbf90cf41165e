"""An evaluation can be repeated by anybody from the run files, and says what it rests on."""

from __future__ import annotations

import gzip
import io
import json
import shutil
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import ir_measures
import pytest
from ir_measures import RR

from engine.collections.readers import read_collection
from engine.collections.trec import read_qrels, read_run, write_run
from engine.errors import BadInputError, UnknownNameError
from engine.evaluate.collection_store import fitted_run
from engine.evaluate.evaluation_run import differences, evaluate, judge_runs, without_own
from engine.measures.metrics import measure_runs
from engine.measures.p_mrr import P_MRR
from engine.measures.per_query import query_rows
from engine.search.reports import evaluation_report
from engine.search.searcher import Searcher
from engine.search.systems import SYSTEMS as ALL_SYSTEMS
from engine.search.topics import SystemRun, sampled
from engine.types.evaluations import CSFCUBE_NDCG, Collection, Topic
from engine.types.limits import COLLECTION_BYTES
from engine.types.searches import Query, Ranking
from tests.fakes.small_corpus import COLLECTION, QUERIES
from tests.support import write_jsonl

SYSTEMS = {name: ALL_SYSTEMS[name] for name in ("bm25", "dense", "hybrid", "aspect", "transport")}
MEASURES = {"nDCG@10", "nDCG@20", "RR", "AP", "R@20", "R@100", "Judged@20", CSFCUBE_NDCG, P_MRR}


@pytest.fixture(scope="module")
def evaluated(tiny, collection):
    """Systems on a collection that is judged throughout."""
    return evaluate(tiny.searcher("lab"), collection, list(SYSTEMS))


def test_the_report_has_its_agreed_shape(evaluated):
    report = json.loads(json.dumps(evaluation_report(evaluated), allow_nan=False))
    assert set(report) == {
        *("collection", "corpus", "queries", "systems", "unjudged_in_top_k", "significance"),
        *("missing_documents", "judged", "sample", "notes"),
    }
    assert (report["collection"], report["corpus"], report["queries"]) == ("lab", "lab", QUERIES)
    assert set(report["systems"]) == set(SYSTEMS)
    assert report["unjudged_in_top_k"] == dict.fromkeys(SYSTEMS, 0.0), "all of it is judged"
    for system in report["systems"].values():
        keys = {"metrics", "by_aspect", "per_query", "seconds", "llm", "confidence"}
        assert keys <= set(system)
        assert set(system["metrics"]) == set(system["confidence"]) == MEASURES
        for measure, mean in system["metrics"].items():
            assert (-1 if measure == P_MRR else 0) <= mean <= 1, "fractions, not percentages"
            low, high = system["confidence"][measure]
            assert low - 1e-9 <= mean <= high + 1e-9
        assert len(system["per_query"]) == QUERIES
        for row in system["per_query"]:
            assert set(row) == {"query_id", "aspect", *MEASURES}
        assert set(system["by_aspect"]) == {"background", "method", "result"}
        for aspect, means in system["by_aspect"].items():
            rows = [r for r in system["per_query"] if r["aspect"] == aspect]
            for measure in MEASURES - {P_MRR}:
                expected = sum(r[measure] for r in rows) / len(rows)
                assert means[measure] == pytest.approx(expected)
    assert len(report["significance"]) == len(SYSTEMS) * (len(SYSTEMS) - 1) // 2
    assert {r["measure"] for r in report["significance"]} == {"nDCG@20"}


def test_only_what_reads_the_aspect_obeys(evaluated):
    values = {name: s.metrics[P_MRR] for name, s in evaluated.systems.items()}
    assert (values["aspect"] or 0) > 0.1
    blind = {name for name, system in SYSTEMS.items() if not system.reads_aspect}
    assert {"bm25", "dense"} <= blind
    assert {values[name] for name in blind} == {0.0}, "the same ranking for every aspect"


@pytest.mark.parametrize("system", ["bm25", "dense", "aspect"])
def test_anybody_gets_the_same_numbers_from_a_run_file(evaluated, collection, tmp_path, system):
    path = tmp_path / f"{system}.run"
    write_run(evaluated.rankings[system], path, system)
    rows = [line.split(" ") for line in path.read_text("utf-8").splitlines()]
    assert {(len(row), row[1], row[5]) for row in rows} == {(6, "Q0", system)}
    for ranking in evaluated.rankings[system]:
        mine = [row for row in rows if row[0] == ranking.query_id]
        assert [int(row[3]) for row in mine] == list(range(1, len(mine) + 1))
        assert [row[2] for row in mine] == list(ranking.doc_ids)
        scores = [float(row[4]) for row in mine]
        assert all(a > b for a, b in pairwise(scores)), "evaluators go by the score alone"
        assert ranking.query_id.rpartition("_")[0] not in ranking.doc_ids, "not the seed"
        assert len(set(ranking.doc_ids)) == len(mine)
        if not system.startswith("bm25"):
            assert len(mine) == COLLECTION - 1

    measures = [ir_measures.parse_measure(m) for m in ("nDCG@20", "RR", "AP", "R@100")]
    ours = {row["query_id"]: row for row in evaluated.systems[system].per_query}
    run = list(ir_measures.read_trec_run(str(path)))
    values = list(ir_measures.iter_calc(measures, dict(collection.qrels), run))
    assert len(values) == len(ours) * len(measures)
    for value in values:
        expected = ours[value.query_id][str(value.measure)]
        assert value.value == pytest.approx(expected, abs=1e-9), value


# What an evaluation costs, and parts of one


@dataclass(frozen=True)
class CountingSearcher(Searcher):
    """Remembers the queries that were ranked."""

    ranked: list[Query] = field(default_factory=list)

    def rank(self, query, seed, pool=None):
        self.ranked.append(query)
        return super().rank(query, seed, pool)


def test_a_system_that_ignores_the_aspect_ranks_once_per_seed(tiny, collection):
    plain = tiny.searcher("lab")
    searcher = CountingSearcher(plain.corpus, plain.encoder, plain.lens_words, plain.embed)
    evaluate(searcher, collection, ["dense", "aspect"])
    asked = Counter(query.system for query in searcher.ranked)
    assert asked == {"dense": 4, "aspect": 12}


def test_a_sample_is_the_same_every_time_and_grows_without_losing_anything(
    demo_collection, tiny, collection
):
    topics = demo_collection.topics
    five = sampled(topics, 5)
    assert len({t.seed for t in five}) == 5
    assert len(five) == 15, "all aspects of a seed stay together"
    assert set(five) == set(sampled(topics[::-1], 5)) < set(sampled(topics, 8))
    assert sampled(topics, 10_000) == topics
    with pytest.raises(BadInputError, match="at least 1"):
        sampled(topics, 0)
    found = evaluate(tiny.searcher("lab"), collection, ["dense"], sample=2)
    assert evaluation_report(found)["sample"] == {"seeds": 2, "of": 4}
    assert found.queries == found.judged.queries == 6


# A query that is a document of the corpus, as in ArguAna


@pytest.mark.parametrize(("grades", "score"), [({"d2": 1}, 1.0), ({"d1": 1, "d3": 1}, 0.920)])
def test_a_query_s_own_document_is_left_out_unless_it_is_judged_relevant(grades, score):
    topics = (Topic("d1", text="The text of d1."),)
    collection = Collection("c", topics, {"d1": grades}, Path(), "beir")
    ranked = [Ranking("d1", ("d1", "d2", "d3"), (3.0, 2.0, 1.0))]
    (row,) = query_rows(collection, topics, without_own(collection, topics, ranked))
    assert row["nDCG@20"] == pytest.approx(score, abs=0.001)


def test_evaluations_are_compared_on_the_queries_of_both(evaluated):
    dense = evaluated.systems["dense"]
    parts = [
        replace(evaluated, systems={"dense": replace(dense, per_query=rows)})
        for rows in (dense.per_query[:6], dense.per_query[6:])
    ]
    assert differences(*parts) == ()
    measures = [{d.measure for d in differences(one, evaluated)} for one in (evaluated, parts[0])]
    assert measures[0] - measures[1] == {"p-MRR"}, "which depends on a seed's other queries"


# A run that was brought, and judgments in CSFCube's format


def test_a_run_is_measured_and_compared_on_the_queries_that_it_ranks(evaluated, tiny, collection):
    topics = collection.topics
    given = {r.query_id: r for r in evaluated.rankings["aspect"][:3]}
    run = fitted_run(given, "mine", topics)
    assert run.notes == ("it ranks 3 of 12 queries, and is measured on these.",)
    dense = SystemRun("dense", tuple(evaluated.rankings["dense"]))
    nothing = SystemRun("nothing", (), kind="run", notes=("it ranks none of these queries.",))
    found = judge_runs(tiny.searcher("lab"), collection, topics, [dense, run, nothing])
    assert found.systems["mine"].per_query == evaluated.systems["aspect"].per_query[:3]
    assert len(found.systems["dense"].per_query) == 12
    assert [pair["queries"] for pair in found.significance] == [3]
    assert "Run 'nothing': it ranks none of these queries." in found.notes
    with pytest.raises(BadInputError, match="none of the 12 queries"):
        fitted_run({"other": given[topics[0].query_id]}, "mine", topics)


def test_annotators_grades_in_csfcubes_format_are_read_and_others_are_refused(tmp_path):
    write_jsonl(tmp_path / "abstracts-csfcube-preds.jsonl", [])
    grades = {"relevance_adju": [3, 0], "relevance_ann1": [2, 0], "relevance_ann2": [3, -1]}
    file = tmp_path / "test-pid2anns-csfcube-result.json"
    file.write_text(json.dumps({"s": {"cands": ["a", "b"], **grades}}), "utf-8")
    collection = read_collection(tmp_path)
    assert collection.qrels == {"s_result": {"a": 3, "b": 0}}
    own = {name: rows["s_result"] for name, rows in collection.annotators.items()}
    assert own == {"ann1": {"a": 2, "b": 0}, "ann2": {"a": 3}}, (
        "where they gave none, there is none"
    )
    for value in (4, "x"):
        faulty = {"s": {"cands": ["a", "b"], "relevance_adju": [3, value]}}
        file.write_text(json.dumps(faulty), "utf-8")
        with pytest.raises(BadInputError, match=f"{file.name}, seed s, candidate 2.* '?{value}"):
            read_collection(tmp_path)


# What cannot be evaluated, and what files lack


def test_what_cannot_be_evaluated_is_refused(small, tiny, collection):
    searcher, topic = tiny.searcher("lab"), collection.topics[0]
    with pytest.raises(UnknownNameError, match="'bm52'"):
        evaluate(searcher, collection, ["dense", "bm52"])
    with pytest.raises(BadInputError, match=r"'demo-0001'.*'small'.*--corpus"):
        evaluate(small.searcher("small"), collection, ["dense"])
    with pytest.raises(BadInputError, match="no queries"):
        evaluate(searcher, replace(collection, topics=()), ["dense"])
    with pytest.raises(BadInputError, match=r"'lab' has no grades of single annotators.*--human"):
        evaluate(searcher, collection, ["dense"], human=True)
    strange = replace(collection, topics=(replace(topic, aspect="plot"),))
    with pytest.raises(BadInputError, match=r"aspect 'plot'.*'lab'.*background, method, result"):
        evaluate(searcher, strange, ["dense"])


def test_one_aspect_leaves_obedience_undefined_and_says_so(tiny, collection):
    method = tuple(t for t in collection.topics if t.aspect == "method")
    found = evaluate(tiny.searcher("lab"), replace(collection, topics=method), ["aspect"])
    assert found.systems["aspect"].metrics[P_MRR] is None
    assert found.systems["aspect"].confidence[P_MRR] is None
    assert found.notes == ("p-MRR is undefined here, not 0: no seed is judged for two aspects.",)


def test_a_path_that_is_no_collection_is_refused(tmp_path, small_source):
    with pytest.raises(BadInputError, match="does not exist"):
        read_collection(tmp_path / "nowhere")
    with pytest.raises(BadInputError, match="is not a test collection"):
        read_collection(small_source)


def test_judgments_that_unpack_to_more_than_is_allowed_are_refused(tmp_path):
    write_jsonl(tmp_path / "topics.jsonl", [{"query_id": "q", "text": "two lakes"}])
    packed = tmp_path / "qrels.txt.gz"
    content = gzip.compress(b"q 0 d 1\n" + b"\n" * COLLECTION_BYTES)
    packed.write_bytes(content)
    with pytest.raises(BadInputError, match=r"qrels\.txt\.gz has more than 64 MB"):
        read_collection(tmp_path)
    packed.write_bytes(content[:10] + b"\xff" * 40)  # its header alone is sound
    with pytest.raises(BadInputError, match=r"qrels\.txt\.gz cannot be read"):
        read_collection(tmp_path)


@pytest.mark.parametrize("name", ["topics.jsonl", "collection.json"])
def test_every_file_of_a_collection_has_a_limit_and_may_hold_anything(tmp_path, lab_source, name):
    shutil.copytree(lab_source, tmp_path / "lab")
    path = tmp_path / "lab" / name
    sound = path.read_bytes()
    for content, says in (
        (b'{"a":' * 20_000, r"not valid JSON \(.*too deeply"),
        (sound + b"\xe9\n", "not a text in UTF-8"),
        (sound.ljust(COLLECTION_BYTES + 1), "has more than"),
    ):
        path.write_bytes(content)
        with pytest.raises(BadInputError, match=says):
            read_collection(tmp_path / "lab")


def test_instructions_beside_the_queries_of_a_beir_folder_are_wordings(tmp_path):
    queries = [
        {"_id": "a", "text": "lakes", "instruction": "Documents that  measure their depth."},
        {"_id": "b", "text": "kilns", "instruction_og": "In use.", "instruction_changed": "Old."},
        {"_id": "c", "text": "pots", "instruction": "w" * 2_001},
        {"_id": "d", "text": "clay"},
    ]
    write_jsonl(tmp_path / "queries.jsonl", queries)
    write_jsonl(tmp_path / "corpus.jsonl", [])
    (tmp_path / "qrels").mkdir()
    rows = "".join(f"{query['_id']}\t1\t1\n" for query in queries)
    (tmp_path / "qrels/test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    collection = read_collection(tmp_path)
    wordings = [topic.instruction for topic in collection.topics]
    assert wordings == ["Documents that measure their depth.", "In use.", None, None]
    assert collection.warnings == (
        "1 query has an instruction of more than 2,000 characters; left out.",
    )


def test_a_collection_of_pasted_questions_is_evaluated_too(small, tmp_path):
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


GRADES = ("relevance", "grade", "label", "rel", "score", "rating")
"""What columns of grades are called."""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("q 0 d 1\nq 0 d\n", r"line 2: 3 columns"),
        ("q 0 d one\n", r"line 1: the grade 'one' is not a whole number"),
        ("q 0 d 1.5\n", r"line 1: the grade '1.5' is not a whole number"),
        ("q 0 d 10001\n", r"line 1: the grade 10001 is out of range"),
        ("q 0 d 1\nq 0 e 1\nq 0 d 2\n", r"lines 1 and 3: document 'd' has grade 1 and grade 2"),
        ("\n\n", "no judgments"),
    ],
)
def test_judgments_that_cannot_be_used_are_refused_with_their_line(text, says):
    with pytest.raises(BadInputError, match=f"my.qrels.*{says}"):
        read_qrels(text, "my.qrels")


@pytest.mark.parametrize(
    "text",
    [
        "q 0 d 2.0\nq 0 e -2\nq 0 f 7\n",
        "q\t0\td\t2\nq\t0\te\t-1\nq\t0\tf\t7\n",
        "query-id\tcorpus-id\tscore\nq\td\t2\nq\te\t0\nq\tf\t7\n",
        "q\td\t2\nq\te\t0\nq\tf\t7\n",
        '"qid"\t"docid"\t"rating"\n"q"\t"d"\t"2"\nq\te\t0\nq\tf\t7\n',
        *(f"query_id,doc_id,{name}\nq,d,2.0\nq,e,-1\nq,f,7\n" for name in GRADES),
    ],
)
def test_grades_are_read_by_one_rule_in_every_format(text):
    assert read_qrels(text, "my.qrels").qrels == {"q": {"d": 2, "e": 0, "f": 7}}


def test_judgments_with_more_grades_or_repeats_are_read():
    found = read_qrels("q 0 d 7\nq 0 d 7\nr 0 d 0", "my.qrels")
    assert found.qrels == {"q": {"d": 7}, "r": {"d": 0}}
    assert found.warnings == (
        "my.qrels: 1 line repeats a judgment with the same grade (first: line 2).",
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("q Q0 d 1 0.5 me\nq Q0 e 2 0.4\n", "line 2: 5 columns"),
        ("q Q0 d 1 high me\n", "line 1: the score 'high' is not a number"),
        ("q Q0 d 1 nan me\n", "line 1: the score 'nan' is not a number"),
        ("q Q0 d 1 2 me\n\nq Q0 d 2 1 me\n", "line 3: query 'q' ranks 'd' twice"),
        ("", "has no lines"),
    ],
)
def test_a_run_that_cannot_be_used_is_refused_with_its_line(text, says):
    with pytest.raises(BadInputError, match=f"my.run.*{says}"):
        read_run(text, "my.run")


def test_a_query_that_would_count_twice_in_every_mean_is_refused(tmp_path):
    (tmp_path / "qrels").mkdir()
    write_jsonl(tmp_path / "corpus.jsonl", [{"_id": "d", "text": "A."}])
    write_jsonl(tmp_path / "queries.jsonl", [{"_id": i, "text": "a"} for i in "qrq"])
    lines = "query-id\tcorpus-id\tscore\nq\td\t1\nr\td\t1\n"
    (tmp_path / "qrels" / "test.tsv").write_text(lines, encoding="utf-8")
    with pytest.raises(BadInputError, match=r"has the query 'q' 2 times.*an id of its own"):
        read_collection(tmp_path)


def test_the_grade_that_a_query_gives_its_own_seed_is_left_out(lab_source, tmp_path):
    folder = shutil.copytree(lab_source, tmp_path / "own")
    with (folder / "qrels.txt").open("a", encoding="utf-8") as lines:
        lines.write("demo-0001_method 0 demo-0001 3\n")
    collection = read_collection(folder)
    assert any("grades its own seed" in warning for warning in collection.warnings)
    assert "demo-0001" not in collection.qrels["demo-0001_method"]


def test_scores_that_trec_eval_takes_for_equal_are_equal():
    lines = ("q Q0 a 1 20.1234568 me", "q Q0 b 2 20.1234567 me", "q Q0 c 3 -1e300 me")
    qrels = "q 0 b 1\n"
    (ranking,) = read_run("\n".join(lines), "my.run").rankings
    assert ranking.doc_ids == ("b", "a", "c")
    own = measure_runs(read_qrels(qrels, "my.qrels").qrels, [ranking])["q"]
    scored = ir_measures.read_trec_run(io.StringIO("\n".join(lines)))
    theirs = ir_measures.calc_aggregate([RR], ir_measures.read_trec_qrels(qrels), scored)
    assert own["RR"] == theirs[RR] == 1.0
