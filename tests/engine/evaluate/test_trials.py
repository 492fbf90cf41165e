"""Evaluations and gaps that a language model takes part in: kept, resumed, never paid for twice."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from engine.assist.model_systems import MODEL_SYSTEMS
from engine.errors import BadInputError, CorpusBusyError, UnknownNameError
from engine.evaluate.model_runs import HELPED
from engine.explorer import Explorer
from engine.llm.endpoint_errors import NoEndpointError
from engine.types.evaluations import Evaluation, EvaluationJob, EvaluationRequest
from engine.types.reranking import GapJob, GapRequest
from tests.model_answers import MODEL, read_knowledge
from tests.model_server import ModelServer, serving
from tests.model_sessions import KEY, forget_answers, session
from tests.support import ended, make_explorer, wait_until

RERANKED = EvaluationRequest("lab", ("dense",), sample=1, rerank="pairwise", depth=20)
GAP = GapRequest("lab", "pointwise", ("bm25", "dense"), (5, 20), sample=1)


@pytest.fixture
def lab(lab_home: Path) -> Explorer:
    """Nobody was asked anything yet."""
    explorer = make_explorer(lab_home)
    forget_answers(lab_home)
    return explorer


@pytest.fixture
def server(lab_source: Path) -> Iterator[ModelServer]:
    """Its address, and so its runs, are new to the home."""
    with serving(read_knowledge(lab_source), noise=0.6) as running:
        yield running


def evaluated(
    lab: Explorer, server: ModelServer, request: EvaluationRequest, most: int | None = None
) -> EvaluationJob:
    helper = lab.trials.helper(session(server), most_calls=most)
    lab.laboratory.start(request, helper)
    return ended(lab.laboratory.job)


def kept(lab: Explorer, job: EvaluationJob) -> Evaluation:
    found = lab.laboratory.evaluation(job.request)
    assert found is not None
    return found


def test_the_laboratory_knows_the_systems_that_need_a_model() -> None:
    assert tuple(MODEL_SYSTEMS) == HELPED


# -- evaluations ---------------------------------------------------------------------------


def test_a_reranked_system_stands_beside_its_first_stage_and_outlives_the_app(
    lab: Explorer, lab_home: Path, server: ModelServer
) -> None:
    job = evaluated(lab, server, RERANKED)
    assert (job.state, job.error) == ("done", "")
    found = kept(make_explorer(lab_home), job)
    assert list(found.systems) == ["dense", "dense+pairwise"]
    dense, reranked = found.systems.values()
    assert (reranked.metrics["nDCG@20"] or 0) > (dense.metrics["nDCG@20"] or 0)
    assert dense.llm is None
    assert reranked.llm is not None
    assert reranked.llm.questions == server.seen.questions > 0
    assert (reranked.llm.model, reranked.llm.failed, reranked.llm.depth) == (MODEL, 0, 20)
    assert '"calls": ' in lab.laboratory.report(found)
    assert KEY not in lab.laboratory.report(found)
    assert lab.laboratory.run_file(job.request, "dense+pairwise").endswith("dense+pairwise\n")


def test_what_is_known_is_not_asked_again_and_another_model_is_another_run(
    lab: Explorer, server: ModelServer, lab_source: Path
) -> None:
    job = evaluated(lab, server, RERANKED)
    asked = server.seen.requests
    again = evaluated(lab, server, RERANKED)
    assert again.state == "done"
    with_another = EvaluationRequest(
        "lab", ("bm25", "dense"), sample=1, rerank="pairwise", depth=20, model=job.request.model
    )
    assert lab.laboratory.missing(with_another) == ("bm25+pairwise",) or (
        lab.laboratory.missing(with_another) == ("bm25", "bm25+pairwise")
    )
    assert server.seen.requests == asked
    with serving(read_knowledge(lab_source)) as other:
        assert evaluated(lab, other, RERANKED).state == "done"
        assert other.seen.questions > 0
    assert lab.laboratory.answered_by(RERANKED).model.endswith(other.url)


def test_systems_that_need_a_model_are_measured_like_the_others(
    lab: Explorer, server: ModelServer
) -> None:
    request = EvaluationRequest("lab", ("multi-hop", "rewrite", "dense"), sample=1)
    found = kept(lab, evaluated(lab, server, request))
    assert list(found.systems) == ["dense", "rewrite", "multi-hop"]
    assert [s.llm.questions if s.llm else None for s in found.systems.values()] == [None, 3, 9]


def test_a_budget_leaves_the_best_order_so_far_and_a_second_run_pays_for_the_rest_only(
    lab: Explorer, server: ModelServer
) -> None:
    stopped = evaluated(lab, server, RERANKED, most=40)
    assert stopped.state == "failed"
    assert "budget of 40 calls" in stopped.error
    assert server.seen.requests == 40
    assert stopped.partial is not None
    assert list(stopped.partial.systems) == ["dense", "dense+pairwise"]
    assert lab.laboratory.evaluation(stopped.request) is None, "it is not taken for the result"
    whole = kept(lab, evaluated(lab, server, RERANKED)).systems["dense+pairwise"].llm
    assert whole is not None
    # Trying the endpoint out took some of the 40; the others were answers.
    assert 30 <= whole.cached <= 40
    assert whole.questions == whole.cached + whole.calls


def test_a_cancelled_evaluation_can_still_be_read(lab: Explorer, server: ModelServer) -> None:
    server.behaviour.latency = 0.1
    lab.laboratory.start(RERANKED, lab.trials.helper(session(server)))
    wait_until(lambda: server.seen.questions >= 5, what="five questions")
    running = lab.laboratory.job()
    assert running is not None
    lab.laboratory.cancel(running.id)
    job = ended(lab.laboratory.job)
    assert (job.state, job.error) == ("cancelled", "")
    assert list(job.partial.systems) == ["dense", "dense+pairwise"]
    assert any("cancelled" in note for note in job.partial.notes)
    assert lab.laboratory.missing(job.request) == ("dense+pairwise",), "dense stays ranked"


def test_an_endpoint_that_does_not_answer_is_told_and_the_other_systems_are_there(
    lab: Explorer, server: ModelServer
) -> None:
    server.stop()
    job = evaluated(lab, server, RERANKED)
    assert job.state == "failed"
    assert job.error
    assert job.partial is not None
    assert list(job.partial.systems) == ["dense"]


def test_an_endpoint_that_is_down_is_told_when_all_systems_need_it(
    lab: Explorer, server: ModelServer
) -> None:
    server.stop()
    job = evaluated(lab, server, EvaluationRequest("lab", ("rewrite", "multi-hop"), sample=1))
    assert (job.state, job.partial) == ("failed", None)
    assert "127.0.0.1" in job.error


def test_questions_that_failed_are_asked_again(lab: Explorer, server: ModelServer) -> None:
    server.behaviour.faults = {"500": 0.7}
    request = EvaluationRequest("lab", ("dense",), sample=1, rerank="pointwise", depth=12)
    first = evaluated(lab, server, request)
    assert first.state == "done", first.error
    before = kept(lab, first).systems["dense+pointwise"].llm
    assert before is not None
    assert before.failed > 0
    laboratory = lab.laboratory
    assert laboratory.missing(first.request) == (), "its order is there"
    assert laboratory.missing(first.request, with_failed=True) == ("dense+pointwise",)
    server.behaviour.faults = {}
    after = kept(lab, evaluated(lab, server, request)).systems["dense+pointwise"].llm
    assert after is not None
    assert (after.failed, after.cached, after.calls) == (
        0,
        before.questions - before.failed,
        before.failed,
    )
    assert laboratory.missing(first.request, with_failed=True) == ()


def test_an_estimate_says_what_will_be_asked_and_asks_nothing(
    lab: Explorer, server: ModelServer
) -> None:
    trials, missing = lab.trials, ("dense", "dense+pairwise")
    plain = trials.estimate_evaluation(RERANKED, missing)
    assert plain.input_tokens is None, "nothing is known of the model"
    told = trials.estimate_evaluation(RERANKED, missing, session(server))
    assert (told.calls, told.rounds, told.exact) == (plain.calls, plain.rounds, True)
    assert server.seen.requests == 0
    report = kept(lab, evaluated(lab, server, RERANKED)).systems["dense+pairwise"].llm
    assert report is not None
    assert report.questions == told.calls
    assert report.rounds == told.rounds
    assert 0.4 < report.input_tokens / (told.input_tokens or 0) < 1.5
    assert trials.estimate_evaluation(RERANKED, (), session(server)).calls == 0


def test_without_an_endpoint_it_says_how_to_connect_one(lab: Explorer) -> None:
    assert lab.trials.model() == ""
    with pytest.raises(NoEndpointError, match="OPENAI_BASE_URL"):
        lab.trials.helper()
    with pytest.raises(BadInputError, match="needs a language model"):
        lab.laboratory.evaluate(
            EvaluationRequest("lab", ("dense",), sample=1, rerank="pairwise-thorough")
        )


def test_a_mode_or_depth_that_does_not_exist_is_refused(lab: Explorer) -> None:
    with pytest.raises(UnknownNameError, match="pairwise-lite"):
        lab.laboratory.checked(EvaluationRequest("lab", ("dense",), rerank="best"))
    with pytest.raises(BadInputError, match="depth is 0"):
        lab.laboratory.checked(EvaluationRequest("lab", ("dense",), rerank="pairwise", depth=0))


# -- the gap -------------------------------------------------------------------------------


def measured(lab: Explorer, server: ModelServer, most: int | None = None) -> GapJob:
    lab.trials.start_gap(GAP, session(server), most_calls=most)
    return ended(lambda: lab.trials.gap_job("lab"))


def test_a_gap_is_kept_and_found_again(lab: Explorer, lab_home: Path, server: ModelServer) -> None:
    job = measured(lab, server)
    assert (job.state, job.error, job.done) == ("done", "", job.total)
    restarted = make_explorer(lab_home).trials
    again = restarted.gap(GAP, restarted.model(session(server)))
    assert again is not None
    assert job.gap is not None
    assert replace(again, report=job.gap.report) == job.gap
    assert again.report.questions == job.gap.report.questions
    for point in again.points:
        low, high = again.gap(point)
        assert point.gap_lower_interval is not None
        assert point.gap_upper_interval is not None
        assert point.gap_lower_interval[0] <= low <= point.gap_lower_interval[1]
        assert point.gap_upper_interval[0] <= high <= point.gap_upper_interval[1]
    record = restarted.gaps("lab")[0]
    assert (record.request, record.bounds) == (GAP, again.gap(again.points[-1]))
    assert all(r.request.collection == "lab" for r in lab.laboratory.history("lab")), "apart"


def test_the_estimate_of_a_gap_is_not_exceeded(lab: Explorer, server: ModelServer) -> None:
    estimate = lab.trials.estimate_gap(GAP, session(server))
    assert server.seen.requests == 0
    job = measured(lab, server)
    assert job.report is not None
    assert 0 < job.report.questions <= estimate.calls
    assert job.settled <= job.at_most <= estimate.calls


def test_a_gap_that_two_people_ask_for_at_once_is_paid_for_once(
    lab: Explorer, server: ModelServer
) -> None:
    trials = lab.trials
    server.behaviour.latency = 0.2
    with ThreadPoolExecutor(4) as pool:
        started = set(pool.map(lambda _: trials.start_gap(GAP, session(server)), range(4)))
    assert len(started) == 1
    other = session(server, SEEDLENS_LLM_MODEL="another")
    for request, own in ((replace(GAP, sizes=(3,)), session(server)), (GAP, other)):
        with pytest.raises(CorpusBusyError, match="being measured"):
            trials.start_gap(request, own)
    trials.cancel_gap(started.pop())
    assert ended(lambda: trials.gap_job("lab")).state == "cancelled", "it can still be reached"


def test_a_gap_that_the_budget_ended_is_shown_but_not_kept(
    lab: Explorer, server: ModelServer
) -> None:
    job = measured(lab, server, most=20)
    assert job.gap is not None
    assert job.gap.report.stopped == "budget"
    trials = lab.trials
    assert trials.gap(GAP, trials.model(session(server))) is None
    assert measured(lab, server).gap is not None


def test_a_gap_can_be_cancelled_and_an_endpoint_that_is_gone_is_told(
    lab: Explorer, server: ModelServer
) -> None:
    server.behaviour.latency = 0.1
    job_id = lab.trials.start_gap(GAP, session(server))
    lab.trials.cancel_gap(job_id)
    assert ended(lambda: lab.trials.gap_job("lab")).state == "cancelled"
    server.stop()
    gone = measured(lab, server)
    assert gone.state == "failed"
    assert gone.error
    assert lab.trials.gap_job("lab") == gone
