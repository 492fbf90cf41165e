"""What cannot be evaluated is refused; what a collection, a run or judgments lack is said."""

import gzip
import io
import shutil
from dataclasses import replace

import ir_measures
import pytest
from ir_measures import RR

from engine.collections.readers import read_collection
from engine.collections.trec import read_qrels, read_run
from engine.errors import BadInputError, UnknownNameError
from engine.evaluate.evaluation_run import evaluate
from engine.measures.metrics import measure_runs
from engine.measures.p_mrr import P_MRR
from engine.types.limits import COLLECTION_BYTES
from tests.support import write_jsonl


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
