"""Rankings in a model's order, against a real server that judges by known grades."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from benchmarks.simulated_judges import MIDDLE, SimulatedJudge
from engine.evaluate.evaluation_run import EvaluationRun
from engine.llm.client import complete, finish
from engine.llm.endpoints import EndpointError
from engine.llm.tasks import TaskRun
from engine.rerank.modes import MODES, estimate, rerank
from engine.rerank.protocols import Options
from engine.search.model.reranking import TOP
from engine.types.evaluations import Evaluation, EvaluationRequest
from tests.fakes.model_answers import MODEL
from tests.fakes.model_server import simulated
from tests.fakes.model_sessions import connection

Evaluate = Callable[..., Evaluation]


@pytest.fixture
def evaluated(tiny, collection, store):
    """Evaluates systems on one seed's queries with the model at a server."""

    def run(server, mode, systems="dense", **more):
        depth, sample = more.pop("depth", 30), more.pop("sample", 1)
        request = EvaluationRequest(
            "", tuple(systems.split(",")), sample=sample, rerank=mode or "", depth=depth
        )
        evaluation = EvaluationRun(tiny.searcher("lab"), collection, request, {})
        asked = connection(server.url, **more)
        report = complete(asked, store, lambda c: evaluation.compute(TaskRun(c))).value
        found = report.result.evaluation
        if not found or (not found.model_reports and report.problem):
            raise EndpointError(report.problem)
        return found

    return run


def ndcg(found, system):
    value = found.systems[system].metrics["nDCG@20"]
    assert value is not None
    return value


# -- evaluations -------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["pairwise", "pointwise", "listwise"])
def test_a_mode_improves_on_its_first_stage_and_reports_what_it_took(pool_server, evaluated, mode):
    """One of each kind of question; the order is that of ``engine.rerank``, tested there."""
    found = evaluated(pool_server, mode, depth=12)
    report = found.model_reports[f"dense+{mode}"]
    assert list(found.systems) == ["dense", f"dense+{mode}"]
    assert ndcg(found, f"dense+{mode}") > ndcg(found, "dense") + 0.02
    assert (report.queries, report.unanswered, report.failed, report.stopped) == (3, 0, 0, "")
    assert report.questions > 0
    assert report.rounds > 0
    assert report.calls >= pool_server.seen.questions > 0
    assert report.input_tokens > 0
    assert report.output_tokens > 0
    expected = estimate(mode, 12)
    assert (report.questions, report.rounds) == (3 * expected.calls, 3 * expected.rounds)
    assert (report.position_bias is not None) == (mode == "pairwise")
    for first, second in zip(*found.rankings.values(), strict=True):
        assert first.doc_ids[12:] == second.doc_ids[12:], "what is beyond the depth follows"
        assert list(second.scores) == sorted(set(second.scores), reverse=True)


@pytest.mark.parametrize(
    "mode", [m if m == "pairwise" else pytest.param(m, marks=pytest.mark.nightly) for m in MODES]
)
def test_over_http_the_order_is_that_of_the_judge_itself(pool_server, evaluated, collection, mode):
    """Prompts, parsing, the ledger and the endpoint in between change nothing."""
    knowledge = pool_server.answerer.knowledge
    character = replace(MIDDLE, failures=0.05)
    pool_server.behaviour.handlers = [simulated(character, knowledge)]
    found = evaluated(pool_server, mode, depth=10)
    assert found.model_reports[f"dense+{mode}"].unanswered > 0 or MODES[mode].asks == "order"
    firsts, reranked = found.rankings.values()
    for first, ranking in zip(firsts, reranked, strict=True):
        judge = SimulatedJudge(character, first.query_id, collection.qrels[first.query_id])
        wanted = finish(rerank(first.doc_ids, judge, mode, Options(depth=10, top=TOP)))
        assert ranking.doc_ids == wanted.order


@pytest.mark.nightly
def test_with_a_third_of_the_calls_failing_the_order_is_nearly_as_good(
    pool_server, evaluated, store
):
    pool_server.behaviour.faults = {"500": 0.15, "prose": 0.1, "cut": 0.05}
    failing = evaluated(pool_server, "pairwise", depth=30)
    report = failing.model_reports["dense+pairwise"]
    assert report.failed + report.unread == report.unanswered > 0
    kept = len(store.heads(pool_server.url, MODEL))
    assert kept == report.questions - report.unanswered, "failures are not kept"
    pool_server.behaviour.faults = {}
    sound = evaluated(pool_server, "pairwise", depth=30)
    assert ndcg(sound, "dense+pairwise") - ndcg(failing, "dense+pairwise") <= 0.03


def test_an_endpoint_that_goes_away_leaves_the_order_so_far(pool_server, evaluated):
    pool_server.behaviour.most_requests = 60
    found = evaluated(pool_server, "pairwise", "dense,bm25", depth=12)
    report = found.model_reports["dense+pairwise"]
    assert report.stopped == "endpoint"
    assert report.problem
    assert ndcg(found, "dense+pairwise") >= ndcg(found, "dense")
    assert "bm25+pairwise" not in found.systems, "nothing new is begun"
    pool_server.behaviour.most_requests = None
    whole = evaluated(pool_server, "pairwise", depth=12).model_reports["dense+pairwise"]
    assert whole.cached > 25
    assert whole.unanswered == 0


def test_an_endpoint_that_gives_no_usable_answer_leaves_the_first_stage(
    pool_server, evaluated, store
):
    pool_server.behaviour.faults = {"prose": 1.0}
    found = evaluated(pool_server, "pairwise", depth=8)
    report = found.model_reports["dense+pairwise"]
    assert report.unanswered == report.questions == report.unread
    first, reranked = (found.rankings[n] for n in ("dense", "dense+pairwise"))
    assert [r.doc_ids for r in first] == [r.doc_ids for r in reranked]
    assert len(store.heads(pool_server.url, MODEL)) == 0


# -- systems that need a model -------------------------------------------------------------


def test_rewriting_asks_one_question_a_query(pool_server, evaluated):
    found = evaluated(pool_server, None, "dense,rewrite")
    report = found.model_reports["rewrite"]
    assert (report.questions, report.unanswered) == (3, 0)
    dense, rewritten = found.rankings["dense"], found.rankings["rewrite"]
    assert [r.doc_ids for r in dense] != [r.doc_ids for r in rewritten]
    pool_server.behaviour.faults = {"empty": 1.0}
    pool_server.behaviour.model = "silent"
    silent = evaluated(pool_server, None, "dense,rewrite", model="silent")
    assert silent.model_reports["rewrite"].unanswered == 3
    assert [r.doc_ids for r in silent.rankings["rewrite"]] == [r.doc_ids for r in dense]


def test_several_hops_read_on_carry_notes_and_put_what_was_selected_first(pool_server, evaluated):
    found = evaluated(pool_server, None, "dense,multi-hop", sample=1)
    report = found.model_reports["multi-hop"]
    assert report.unanswered == 0
    assert report.questions == report.rounds == 3 * (1 + 3), "a rewording, and three hops of 25"
    later = [p for p in pool_server.seen.prompts if "known so far" in p and "It says so." in p]
    assert len(later) == 6, "notes reach the second and the third hop"
    for ranking in found.rankings["multi-hop"]:
        assert len(set(ranking.doc_ids)) == len(ranking.doc_ids) == 59


def test_several_hops_read_as_much_as_the_models_context_holds(pool_server, evaluated):
    context = 1500
    pool_server.behaviour.context = context
    report = evaluated(pool_server, None, "dense,multi-hop").model_reports["multi-hop"]
    assert (report.unanswered, report.failed, report.stopped) == (0, 0, "")
    assert 12 <= report.questions <= 15
    for prompt, body in zip(pool_server.seen.prompts, pool_server.seen.bodies, strict=True):
        assert len(prompt) / 4 + body["max_tokens"] < context
