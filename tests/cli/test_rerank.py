"""The command line with a language model: reranking, systems that need one, and the gap."""

import json
import os
import signal
import subprocess
import sys

import pytest

from engine.collections.readers import read_collection
from engine.config import ROOT
from storage.ledger import Ledger
from tests.cli.command_line import clean_environment, connected, run_inside
from tests.fakes.model_answers import MODEL, READ, WORDS, read_knowledge, reads
from tests.fakes.model_server import serving
from tests.fakes.model_sessions import forget_answers
from tests.support import wait_until

KEY = "sk-Rr7pT2vW9xYz4Lq1"
RERANK = ("--rerank", "pairwise", "--depth", "20", "--json")


@pytest.fixture
def collection(evaluated):
    return evaluated.collection


@pytest.fixture
def home(evaluated):
    return evaluated.home


@pytest.fixture
def server(collection, home):
    """A server whose answers nobody has asked for yet."""
    forget_answers(home)
    with serving(read_knowledge(collection)) as running:
        yield running


def settings(server):
    return {**connected(server), "OPENAI_API_KEY": KEY}


def evaluate(home, collection, server, *options):
    options = ("--systems", "dense", "--sample", 1, *options)
    return run_inside(home, "evaluate", collection, *options, **settings(server))


def test_evaluate_reports_calls_rounds_tokens_and_failures(home, collection, server):
    run = evaluate(home, collection, server, *RERANK)
    assert run.code == 0, run.stderr
    systems = run.json["systems"]
    assert list(systems) == ["dense", "dense+pairwise"]
    assert systems["dense"]["llm"] is None
    llm = systems["dense+pairwise"]["llm"]
    assert llm["calls"] >= llm["questions"] == server.seen.questions > 0
    assert llm["input_tokens"] > llm["output_tokens"] > 0
    assert (llm["failed"], llm["cached"], llm["unanswered"], llm["stopped"]) == (0, 0, 0, "")
    ndcg = {name: s["metrics"]["nDCG@20"] for name, s in systems.items()}
    assert ndcg["dense+pairwise"] > ndcg["dense"]
    assert run.json["significance"][0]["systems"] == ["dense", "dense+pairwise"]

    again = evaluate(home, collection, server, *RERANK)
    repeated = again.json["systems"]["dense+pairwise"]
    assert (repeated["llm"]["calls"], repeated["llm"]["cached"]) == (0, llm["questions"])
    assert repeated["metrics"] == systems["dense+pairwise"]["metrics"]


def test_a_model_reads_the_wording_and_where_it_does_not_the_search_goes_on(home, server):
    search = ("search", "tiny", "--seed", "demo-0001", "--instruction", WORDS, "--json")

    def found(*options):
        run = run_inside(home, *search, *options, **settings(server))
        assert run.code == 0, run.stderr
        return run

    server.behaviour.handlers = [reads(READ | {"wanted": ["taste"]})]
    unread = found("--model-reading")
    assert "reading" not in unread.json["query"]
    assert unread.json["results"]
    assert "did not read the wording; the built-in reading is used" in unread.stderr

    server.behaviour.handlers = [reads()]
    run = found("--model-reading")
    assert run.json["query"]["reading"] == ["+method", "-result"]
    assert "judge reads the wording as +method,-result" in run.stderr
    assert (list(run.json["understood"]), run.json["avoided"]) == (["Method"], ["Result"])
    assert "0 calls, 1 answers from the ledger" in found("--model-reading").stderr

    for options, says in ((("--reading", "any"), "Leave out"), (("--instruction", ""), "Give one")):
        refused = run_inside(home, *search, "--model-reading", *options, **settings(server))
        assert (refused.code, refused.stdout) == (2, "")
        assert says in refused.stderr


def test_a_wrong_key_ends_with_what_to_do_and_shows_no_key(home, collection, server):
    server.behaviour.key = "another"
    run = evaluate(home, collection, server, "--rerank", "pairwise")
    assert (run.code, run.stdout) == (2, "")
    assert run.stderr.count("\n") == 1
    assert KEY not in run.stderr


def test_search_tells_where_each_result_came_from(home, collection, server):
    topic = read_collection(collection).topics[0]
    seed = ("--seed", topic.seed, "--aspect", topic.aspect, "--system", "dense")
    options = ("--rerank", "pairwise", "--depth", 30, "--json")
    plain = run_inside(home, "search", "tiny", *seed, "--k", 60, "--json")
    run = run_inside(home, "search", "tiny", *seed, *options, **settings(server))
    assert run.code == 0, run.stderr
    first = {r["doc_id"]: r["rank"] for r in plain.json["results"]}
    for result in run.json["results"]:
        assert result["first_rank"] == first[result["doc_id"]]
        assert result["moved"] == result["first_rank"] - result["rank"]
    assert any(result["evidence"] for result in run.json["results"])
    assert run.json["llm"]["unanswered"] == 0
    assert run.json["partial"] is False
    shown = run_inside(home, "search", "tiny", *seed, *options[:-1], **settings(server))
    assert "questions in" in shown.stderr
    assert "0 calls" in shown.stderr


def test_the_gap_is_a_table_and_json(home, collection, server):
    options = ("--verifier", "pointwise", "--pool-sizes", "5,20", "--sample", 1)
    options = (*options, "--systems", "bm25,dense")
    run = run_inside(home, "gap", collection, *options, "--json", **settings(server))
    assert run.code == 0, run.stderr
    found = run.json
    assert [p["size"] for p in found["points"]] == [5, 20]
    assert found["best"] in found["retrievers"]
    for point in found["points"]:
        assert point["lower"] <= point["upper"]
        assert point["gap_upper"] == point["upper"] - found["retrievers"][found["best"]]
    table = run_inside(home, "gap", collection, *options, **settings(server))
    assert "best retriever" in table.stdout
    assert "gap, upper" in table.stdout
    assert run_inside(home, "gap", collection, "--pool-sizes", "a,b").code == 2


# -- ended early ---------------------------------------------------------------------------


def start(home, collection, server):
    """An evaluation of its own process that takes a while."""
    environment = {**os.environ, **clean_environment(home, **settings(server))}
    command = [sys.executable, "-m", "engine.cli", "evaluate", str(collection)]
    return subprocess.Popen(
        [*command, "--systems", "dense", "--sample", "1", *RERANK],
        env={k: v for k, v in environment.items() if v is not None},
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Tests in the background of a shell inherit that Ctrl-C is ignored; a person's do not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def reranked(text):
    """What an evaluation printed of the reranking."""
    return json.loads(text)["systems"]["dense+pairwise"]


@pytest.mark.nightly
def test_ctrl_c_prints_the_order_so_far_and_a_killed_run_goes_on_where_it_was(
    home, collection, server
):
    server.behaviour.latency = 0.2
    process = start(home, collection, server)
    wait_until(lambda: server.seen.questions >= 30, what="30 questions", seconds=90)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert reranked(stdout)["llm"]["stopped"] == "cancelled"
    assert "Traceback" not in stderr

    process = start(home, collection, server)
    wait_until(lambda: server.seen.questions >= 80, what="80 questions", seconds=90)
    process.kill()
    process.communicate()
    server.behaviour.latency = 0.0
    kept = len(Ledger(home / "ledger.sqlite").answers.heads(server.url, MODEL))
    assert kept > 30
    before = server.seen.requests
    whole = evaluate(home, collection, server, *RERANK)
    report = reranked(whole.stdout)["llm"]
    assert (report["cached"], report["unanswered"]) == (kept, 0)
    assert report["calls"] == server.seen.requests - before == report["questions"] - kept

    forget_answers(home)
    undisturbed = evaluate(home, collection, server, *RERANK)
    assert reranked(whole.stdout)["metrics"] == reranked(undisturbed.stdout)["metrics"]
