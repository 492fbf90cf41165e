"""Evaluations and gaps that a language model takes part in: kept, resumed, never paid for twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.errors import BadInputError, UnknownNameError
from engine.types.evaluations import EvaluationRequest
from engine.types.models import TaskProgress
from engine.types.reranking import GapRequest
from tests.fakes.model_answers import MODEL, read_knowledge
from tests.fakes.model_server import serving
from tests.fakes.model_sessions import KEY, forget_answers, session
from tests.support import ended, make_explorer

RERANKED = EvaluationRequest("lab", ("dense",), sample=1, rerank="pairwise", depth=10)
GAP = GapRequest("lab", "pointwise", ("bm25", "dense"), (5, 20), sample=1)


@pytest.fixture
def lab(lab_home):
    """Nobody was asked anything yet."""
    explorer = make_explorer(lab_home)
    forget_answers(lab_home)
    return explorer


@pytest.fixture
def server(lab_source):
    """Its address, and so its runs, are new to the home."""
    with serving(read_knowledge(lab_source), noise=0.6) as running:
        yield running


def evaluated(lab, server, request):
    model = lab.evaluations.model(session(server))
    lab.evaluations.start(replace(request, model=model), session(server))
    return ended(lab.evaluations.job)


def kept(lab, job):
    return lab.evaluations.find(job.request)


# -- evaluations ---------------------------------------------------------------------------


def test_a_reranked_system_stands_beside_its_first_stage_and_outlives_the_app(
    lab, lab_home, server
):
    job = evaluated(lab, server, RERANKED)
    assert (job.state, job.error) == ("done", "")
    found = kept(make_explorer(lab_home), job)
    assert list(found.systems) == ["dense", "dense+pairwise"]
    dense, reranked = found.systems.values()
    assert (reranked.metrics["nDCG@20"] or 0) > (dense.metrics["nDCG@20"] or 0)
    assert dense.llm is None
    assert reranked.llm.questions == server.seen.questions > 0
    assert (reranked.llm.model, reranked.llm.failed, reranked.llm.depth) == (MODEL, 0, 10)
    assert '"calls": ' in lab.evaluations.to_json(found)
    assert KEY not in lab.evaluations.to_json(found)
    assert lab.evaluations.run_file(job.request, "dense+pairwise").endswith("dense+pairwise\n")


def test_the_time_that_is_left_is_of_all_runs_that_a_model_still_makes(lab, server):
    seen: list[TaskProgress] = []
    request = replace(RERANKED, systems=("dense", "bm25"), rerank="pointwise")
    lab.evaluations.run(request, endpoint=session(server), tell=seen.append)
    first = next(p for p in seen if p.phase.startswith("Reranking bm25") and p.done)
    last = next(p for p in seen if p.phase.startswith("Reranking dense") and p.done)
    assert first.done < last.done < first.total == last.total
    assert first.seconds_left == first.seconds * (first.total / first.done - 1)


def test_what_is_known_is_not_asked_again_and_another_model_is_another_run(lab, server, lab_source):
    job = evaluated(lab, server, RERANKED)
    asked = server.seen.requests
    again = evaluated(lab, server, RERANKED)
    assert again.state == "done"
    with_another = replace(job.request, systems=("hybrid", "dense"))
    assert lab.evaluations.missing(with_another)[-1] == "hybrid+pairwise"
    assert server.seen.requests == asked
    with serving(read_knowledge(lab_source)) as other:
        assert evaluated(lab, other, RERANKED).state == "done"
        assert other.seen.questions > 0
    assert lab.evaluations.answered_by(RERANKED).model.endswith(other.url)


def test_systems_that_need_a_model_are_measured_like_the_others(lab, server):
    request = EvaluationRequest("lab", ("multi-hop", "rewrite", "dense"), sample=1)
    found = kept(lab, evaluated(lab, server, request))
    assert list(found.systems) == ["dense", "rewrite", "multi-hop"]
    assert [s.llm.questions if s.llm else None for s in found.systems.values()] == [None, 3, 12]


def test_a_budget_leaves_the_best_order_so_far_and_a_second_run_pays_for_the_rest_only(lab, server):
    request = replace(RERANKED, model=lab.evaluations.model(session(server)))
    report = lab.evaluations.run(request, endpoint=session(server), most_calls=40)
    assert report.stopped == "budget"
    assert "budget of 40 calls" in report.problem
    assert server.seen.requests == 40
    assert list(report.result.evaluation.systems) == ["dense", "dense+pairwise"]
    assert lab.evaluations.find(request) is None, "it is not taken for the result"
    whole = kept(lab, evaluated(lab, server, RERANKED)).systems["dense+pairwise"].llm
    # Trying the endpoint out took some of the 40; the others were answers.
    assert 30 <= whole.cached <= 40
    assert whole.questions == whole.cached + whole.calls


def test_an_endpoint_that_does_not_answer_is_told_and_the_other_systems_are_there(lab, server):
    server.stop()
    report = evaluated(lab, server, RERANKED).report
    assert (report.stopped, [*report.result.evaluation.systems]) == ("endpoint", ["dense"])
    job = evaluated(lab, server, replace(RERANKED, systems=("rewrite", "multi-hop"), rerank=""))
    assert (job.state, job.report) == ("failed", None)
    assert "127.0.0.1" in job.error


def test_questions_that_failed_are_asked_again(lab, lab_home, server):
    lab = make_explorer(lab_home, llm_retries=1)
    server.behaviour.faults = {"500": 0.5}
    request = EvaluationRequest("lab", ("dense",), sample=1, rerank="pointwise", depth=12)
    first = evaluated(lab, server, request)
    assert first.state == "done", first.error
    before = kept(lab, first).systems["dense+pointwise"].llm
    assert before.failed > 0
    assert lab.evaluations.missing(first.request) == (), "its order is there"
    assert lab.evaluations.missing(first.request, with_failed=True) == ("dense+pointwise",)
    server.behaviour.faults = {}
    after = kept(lab, evaluated(lab, server, request)).systems["dense+pointwise"].llm
    answered = before.questions - before.failed
    assert (after.failed, after.cached, after.calls) == (0, answered, before.failed)
    assert lab.evaluations.missing(first.request, with_failed=True) == ()


def test_an_estimate_says_what_will_be_asked_and_asks_nothing(lab, server):
    plain = lab.evaluations.estimate(RERANKED)
    assert plain.input_tokens is None, "nothing is known of the model"
    connected = replace(RERANKED, model=lab.evaluations.model(session(server)))
    told = lab.evaluations.estimate(connected, session(server))
    assert (told.calls, told.rounds, told.exact) == (plain.calls, plain.rounds, True)
    assert server.seen.requests == 0
    report = kept(lab, evaluated(lab, server, RERANKED)).systems["dense+pairwise"].llm
    assert report.questions == told.calls
    assert report.rounds == told.rounds
    assert 0.4 < report.input_tokens / (told.input_tokens or 0) < 1.5
    assert not lab.evaluations.estimate(connected, session(server)).calls, "nothing is left to ask"


def test_what_no_model_can_do_is_refused(lab):
    with pytest.raises(BadInputError, match="needs a language model"):
        lab.evaluations.run(replace(RERANKED, rerank="pairwise-thorough"))
    with pytest.raises(UnknownNameError, match="pairwise-lite"):
        lab.evaluations.checked(replace(RERANKED, rerank="best"))
    with pytest.raises(BadInputError, match="depth is 0"):
        lab.evaluations.checked(replace(RERANKED, depth=0))


# -- the gap -------------------------------------------------------------------------------


def test_a_gap_is_kept_and_found_again(lab, lab_home, server):
    estimate = lab.gaps.estimate(GAP, session(server))
    assert server.seen.requests == 0
    first = lab.gaps.run(GAP, endpoint=session(server)).result
    assert 0 < first.report.questions <= estimate.calls
    restarted = make_explorer(lab_home)
    again = restarted.gaps.find(GAP, restarted.evaluations.model(session(server)))
    assert replace(again, report=first.report) == first
    for point in again.points:
        intervals = point.gap_lower_interval, point.gap_upper_interval
        for bound, (low, high) in zip(again.gap(point), intervals, strict=True):
            assert low <= bound <= high
    record = restarted.gaps.history("lab")[0]
    assert (record.request, record.bounds) == (GAP, again.gap(again.points[-1]))
    assert all(r.request.collection == "lab" for r in lab.evaluations.history("lab")), "apart"


def test_a_gap_that_the_budget_ended_is_shown_but_not_kept(lab, server):
    early = lab.gaps.run(GAP, endpoint=session(server), most_calls=20)
    assert (early.stopped, early.result is not None) == ("budget", True)
    assert lab.gaps.find(GAP, lab.evaluations.model(session(server))) is None
    assert lab.gaps.run(GAP, endpoint=session(server)).stopped == ""
