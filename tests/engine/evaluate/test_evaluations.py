"""What was evaluated stays, and nothing is ranked twice."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import engine.evaluate.evaluations
from engine.config import ASSETS
from engine.errors import BadInputError, UnknownNameError
from engine.evaluate.evaluations import FITTED
from engine.llm.client import finish
from engine.llm.tasks import TaskRun
from engine.types.corpora import ImportRequest
from engine.types.evaluations import EvaluationRequest
from tests.fakes.small_corpus import QUERIES
from tests.support import ended, make_explorer

REQUEST = EvaluationRequest("lab", ("dense", "bm25"))


@pytest.fixture
def lab(lab_home):
    return make_explorer(lab_home)


def evaluated(lab, request):
    return lab.evaluations.run(request).result.evaluation


def test_a_collection_is_known_by_the_corpus_that_was_imported_from_it(lab, small):
    (info,) = [c for c in lab.collections.all() if not c.uploaded]
    assert (info.key, info.corpus, info.queries, info.seeds) == ("lab", "lab", QUERIES, 4)
    assert info.aspects == ("background", "method", "result")
    assert info.complete
    assert info.annotators == ()
    with pytest.raises(UnknownNameError):
        lab.collections.info("nope")
    assert small.collections.all() == (), "documents without judgments are none"


def test_an_evaluation_runs_in_the_background_and_outlives_the_app(lab, lab_home):
    assert lab.evaluations.find(REQUEST) is None
    assert lab.evaluations.missing(REQUEST) == ("bm25", "dense")
    lab.evaluations.start(REQUEST)
    job = ended(lab.evaluations.job)
    assert (job.state, job.error) == ("done", "")
    restarted = make_explorer(lab_home).evaluations
    found = restarted.find(EvaluationRequest("lab", ("bm25", "dense")))
    assert found is not None, "the order of the systems makes no difference"
    assert set(found.systems) == {"bm25", "dense"}
    assert restarted.missing(EvaluationRequest("lab", ("dense", "hybrid"))) == ("hybrid",)
    assert restarted.history("lab")[0].judgments == lab.collections.read("lab").digest
    assert (
        restarted.history("lab")[0].headline["dense"] == found.systems["dense"].metrics["nDCG@20"]
    )


def test_a_stored_run_is_measured_like_the_one_that_was_just_ranked(lab):
    first = evaluated(lab, EvaluationRequest("lab", ("aspect",), steer=0.25))
    again = evaluated(lab, EvaluationRequest("lab", ("dense", "aspect"), steer=0.25))
    assert again.systems["aspect"] == first.systems["aspect"], "its seconds, too: not ranked again"


def test_a_cancelled_evaluation_keeps_what_was_ranked(lab):
    asked: list[int] = []

    def after_the_first_system():
        asked.append(1)
        return len(asked) > QUERIES

    request = EvaluationRequest("lab", ("hybrid", "transport"))
    run = TaskRun(cancelled=after_the_first_system)
    report = finish(lab.evaluations._task(request).run(run))
    assert (report.result.evaluation, report.stopped) == (None, "cancelled")
    assert lab.evaluations.find(request) is None
    assert lab.evaluations.missing(request) == ("transport",)


def test_a_corpus_under_the_name_of_a_deleted_one_is_ranked_anew(lab_home, home):
    shutil.copytree(lab_home, home)
    lab = make_explorer(home)
    request = EvaluationRequest("lab", ("bm25",))
    lab.evaluations.run(request)
    before, source = lab.library.open("lab"), Path(lab.library.corpus("lab").source)
    lab.library.delete("lab")
    lab.library.restore("lab")
    assert lab.library.open("lab").identity == before.identity
    assert lab.evaluations.missing(request) == (), "brought back, it is the same"

    lab.library.delete("lab")
    lab.library.import_documents(ImportRequest(source, "lab"))
    assert lab.library.open("lab").version == before.version, "the numbers do not tell them apart"
    assert lab.library.open("lab").identity != before.identity
    assert lab.evaluations.find(request) is None
    assert lab.evaluations.missing(request) == ("bm25",)


def test_other_weights_rank_anew(lab, tmp_path, monkeypatch):
    request = EvaluationRequest("lab", ("bm25",))
    lab.evaluations.run(request)
    for fitted in FITTED:
        (tmp_path / fitted).parent.mkdir(exist_ok=True)
        shutil.copy(ASSETS / fitted, tmp_path / fitted)
    monkeypatch.setattr(engine.evaluate.evaluations, "ASSETS", tmp_path)
    assert lab.evaluations.missing(request) == ()
    for name in FITTED:
        fitted = (tmp_path / name).read_bytes()
        (tmp_path / name).write_text("{}", encoding="utf-8")
        assert lab.evaluations.missing(request) == ("bm25",)
        (tmp_path / name).write_bytes(fitted)


# Runs and judgments that people bring


def test_a_run_stands_beside_our_systems_under_its_tag(lab):
    collections, request = lab.collections, EvaluationRequest("lab", ("dense",))
    lab.evaluations.run(request)
    text = lab.evaluations.run_file(request, "dense")
    run = collections.add_run("lab", "mine.run", text.encode())
    assert run.name == "dense (uploaded)", "not taken for ours"
    assert collections.add_run("lab", "again.run", text.encode()) == run, "once is enough"
    found = evaluated(lab, request)
    assert found.systems[run.name].metrics == found.systems["dense"].metrics
    assert found.systems[run.name].kind == "run"
    collections.remove_run(run.id)
    assert set(evaluated(lab, request).systems) == {"dense"}
    again = collections.add_run("lab", "mine.run", text.encode())
    assert again.id != run.id, "evaluations name runs by their ids"
    collections.remove_run(again.id)


def test_what_was_read_of_a_run_and_what_is_unknown_is_reported(lab):
    collections = lab.collections
    topic = collections.read("lab").topics[0].query_id
    known = lab.library.open("lab").doc_ids[5]
    rows = [(topic, known), (topic, "nowhere"), ("strange", known)]
    text = "".join(f"{q} Q0 {d} {i} {9 - i} mine\n" for i, (q, d) in enumerate(rows, start=1))
    run = collections.add_run("lab", "mine.run", text.encode())
    collections.remove_run(run.id)
    assert run.notes[0] == "3 lines, 2 queries (1 unknown to the collection)."
    assert run.notes[-1] == "1 document is not in the corpus."


@pytest.mark.parametrize(
    ("tag", "names"),
    [
        ("dense+pairwise", ["dense+pairwise (uploaded)", "dense+pairwise (uploaded 2)"]),
        ("k=1,b=2", ["k=1_b=2", "k=1_b=2 (uploaded)"]),  # commas separate names
    ],
    ids=["what a model ranked", "comma"],
)
def test_runs_have_names_that_nothing_else_has(lab, tag, names):
    request = EvaluationRequest("lab", ("dense",))
    evaluated(lab, request)
    text = lab.evaluations.run_file(request, "dense").replace(" dense\n", f" {tag}\n")
    runs = [lab.collections.add_run("lab", "a.run", f"{text}{end}".encode()) for end in ("", "\n")]
    assert [run.name for run in runs] == names
    assert set(evaluated(lab, request).systems) == {"dense", *names}
    for run in runs:
        lab.collections.remove_run(run.id)


def test_files_of_no_corpus_are_a_collection_once_evaluated_while_they_are_there(
    lab, lab_home, lab_source, tmp_path
):
    for name in ("topics.jsonl", "qrels.txt"):
        shutil.copy(lab_source / name, tmp_path)
    with pytest.raises(UnknownNameError, match="Nothing was evaluated"):
        lab.collections.info(f"lab@{tmp_path}")  # whatever a link says
    other = make_explorer(lab_home)
    key = other.collections.key_of(tmp_path, "lab")
    other.evaluations.run(EvaluationRequest(key, ("dense",)))
    assert lab.collections.info(key).queries == QUERIES
    assert key in [info.key for info in lab.collections.all()]
    (record,) = lab.evaluations.history(key)
    assert lab.evaluations.find(record.request) is not None
    (tmp_path / "qrels.txt").unlink()
    (tmp_path / "topics.jsonl").unlink()
    assert key not in [info.key for info in lab.collections.all()]


def test_uploaded_judgments_become_a_collection_of_their_own(lab):
    seed, other = lab.library.open("lab").doc_ids[:2]
    text = f"{seed}_method 0 {other} 7\nwhat_else 0 {other} 1\n"
    info = lab.collections.add_qrels("lab", "mine.qrels", text.encode())
    assert (info.corpus, info.queries, info.uploaded) == ("lab", 1, True)
    assert info.warnings == (
        "1 query is left out: no seed and aspect of this corpus (first: 'what_else').",
    )
    found = evaluated(lab, EvaluationRequest(info.key, ("dense",)))
    assert found.queries == 1
    assert found.systems["dense"].metrics["p-MRR"] is None
    assert found.unjudged_in_top_k["dense"] > 0.9
    lab.collections.remove_qrels(info.key)
    assert [c.key for c in lab.collections.all()] == ["lab"]


def test_judgments_with_ids_of_their_own_are_told_what_they_need(lab):
    with pytest.raises(BadInputError, match=r"'<seed>_background'.*'q1'.*topics.jsonl"):
        lab.collections.add_qrels("lab", "mine.qrels", b"q1 0 d 1\n")
