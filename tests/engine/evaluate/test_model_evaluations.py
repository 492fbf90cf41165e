"""Evaluations and gaps that a language model takes part in: kept, resumed, never paid for twice."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import BadInputError, CorpusBusyError, UnknownNameError
from engine.evaluate.verification_gap import GapJob
from engine.explorer import Explorer
from engine.llm.endpoints import NoEndpointError
from engine.types.evaluations import (
    Evaluated,
    Evaluation,
    EvaluationJob,
    EvaluationRequest,
)
from engine.types.models import TaskProgress, TaskReport
from engine.types.reranking import Gap, GapRequest
from tests.fakes.model_answers import MODEL, read_knowledge
from tests.fakes.model_server import ModelServer, serving
from tests.fakes.model_sessions import KEY, forget_answers, session
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
    model = lab.evaluations.model(session(server))
    lab.evaluations.start(replace(request, model=model), session(server), most)
    return ended(lab.evaluations.job)


def kept(lab: Explorer, job: EvaluationJob) -> Evaluation:
    found = lab.evaluations.find(job.request)
    assert found is not None
    return found


def reported(job: EvaluationJob) -> TaskReport[Evaluated]:
    assert job.report is not None
    return job.report


def partial(job: EvaluationJob) -> Evaluation:
    """What an evaluation that ended early came to."""
    found = reported(job).result.evaluation
    assert found is not None
    return found


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
    assert '"calls": ' in lab.evaluations.to_json(found)
    assert KEY not in lab.evaluations.to_json(found)
    assert lab.evaluations.run_file(job.request, "dense+pairwise").endswith("dense+pairwise\n")


def test_the_time_that_is_left_is_of_all_runs_that_a_model_still_makes(
    lab: Explorer, server: ModelServer
) -> None:
    seen: list[TaskProgress] = []
    request = replace(RERANKED, systems=("dense", "bm25"))
    lab.evaluations.run(request, endpoint=session(server), tell=seen.append)
    first = next(p for p in seen if p.phase.startswith("Reranking bm25") and p.done)
    last = next(p for p in seen if p.phase.startswith("Reranking dense") and p.done)
    assert first.done < last.done < first.total == last.total
    assert first.seconds_left == first.seconds * (first.total / first.done - 1)


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
    assert lab.evaluations.missing(with_another) == ("bm25+pairwise",) or (
        lab.evaluations.missing(with_another) == ("bm25", "bm25+pairwise")
    )
    assert server.seen.requests == asked
    with serving(read_knowledge(lab_source)) as other:
        assert evaluated(lab, other, RERANKED).state == "done"
        assert other.seen.questions > 0
    assert lab.evaluations.answered_by(RERANKED).model.endswith(other.url)


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
    assert reported(stopped).stopped == "budget"
    assert "budget of 40 calls" in reported(stopped).problem
    assert server.seen.requests == 40
    assert list(partial(stopped).systems) == ["dense", "dense+pairwise"]
    assert lab.evaluations.find(stopped.request) is None, "it is not taken for the result"
    whole = kept(lab, evaluated(lab, server, RERANKED)).systems["dense+pairwise"].llm
    assert whole is not None
    # Trying the endpoint out took some of the 40; the others were answers.
    assert 30 <= whole.cached <= 40
    assert whole.questions == whole.cached + whole.calls


def test_a_cancelled_evaluation_can_still_be_read(lab: Explorer, server: ModelServer) -> None:
    server.behaviour.latency = 0.1
    lab.evaluations.start(RERANKED, session(server))
    wait_until(lambda: server.seen.questions >= 5, what="five questions")
    running = lab.evaluations.job()
    assert running is not None
    lab.evaluations.jobs.cancel(running.id)
    job = ended(lab.evaluations.job)
    assert (job.state, job.error) == ("cancelled", "")
    assert list(partial(job).systems) == ["dense", "dense+pairwise"]
    assert any("cancelled" in note for note in partial(job).notes)
    assert lab.evaluations.missing(job.request) == ("dense+pairwise",), "dense stays ranked"


def test_an_endpoint_that_does_not_answer_is_told_and_the_other_systems_are_there(
    lab: Explorer, server: ModelServer
) -> None:
    server.stop()
    job = evaluated(lab, server, RERANKED)
    assert reported(job).stopped == "endpoint"
    assert reported(job).problem
    assert list(partial(job).systems) == ["dense"]


def test_an_endpoint_that_is_down_is_told_when_all_systems_need_it(
    lab: Explorer, server: ModelServer
) -> None:
    server.stop()
    job = evaluated(lab, server, EvaluationRequest("lab", ("rewrite", "multi-hop"), sample=1))
    assert (job.state, job.report) == ("failed", None)
    assert "127.0.0.1" in job.error


def test_questions_that_failed_are_asked_again(
    lab: Explorer, lab_home: Path, server: ModelServer
) -> None:
    lab = make_explorer(lab_home, llm_retries=1)
    server.behaviour.faults = {"500": 0.5}
    request = EvaluationRequest("lab", ("dense",), sample=1, rerank="pointwise", depth=12)
    first = evaluated(lab, server, request)
    assert first.state == "done", first.error
    before = kept(lab, first).systems["dense+pointwise"].llm
    assert before is not None
    assert before.failed > 0
    assert lab.evaluations.missing(first.request) == (), "its order is there"
    assert lab.evaluations.missing(first.request, with_failed=True) == ("dense+pointwise",)
    server.behaviour.faults = {}
    after = kept(lab, evaluated(lab, server, request)).systems["dense+pointwise"].llm
    assert after is not None
    assert (after.failed, after.cached, after.calls) == (
        0,
        before.questions - before.failed,
        before.failed,
    )
    assert lab.evaluations.missing(first.request, with_failed=True) == ()


def test_an_estimate_says_what_will_be_asked_and_asks_nothing(
    lab: Explorer, server: ModelServer
) -> None:
    plain = lab.evaluations.estimate(RERANKED)
    assert plain.input_tokens is None, "nothing is known of the model"
    connected = replace(RERANKED, model=lab.evaluations.model(session(server)))
    told = lab.evaluations.estimate(connected, session(server))
    assert (told.calls, told.rounds, told.exact) == (plain.calls, plain.rounds, True)
    assert server.seen.requests == 0
    report = kept(lab, evaluated(lab, server, RERANKED)).systems["dense+pairwise"].llm
    assert report is not None
    assert report.questions == told.calls
    assert report.rounds == told.rounds
    assert 0.4 < report.input_tokens / (told.input_tokens or 0) < 1.5
    assert not lab.evaluations.estimate(connected, session(server)).calls, "nothing is left to ask"


def test_without_an_endpoint_it_says_how_to_connect_one(lab: Explorer) -> None:
    assert lab.evaluations.model() == ""
    with pytest.raises(NoEndpointError, match="OPENAI_BASE_URL"):
        lab.verifier.connection()
    with pytest.raises(BadInputError, match="needs a language model"):
        lab.evaluations.run(
            EvaluationRequest("lab", ("dense",), sample=1, rerank="pairwise-thorough")
        )


def test_a_mode_or_depth_that_does_not_exist_is_refused(lab: Explorer) -> None:
    with pytest.raises(UnknownNameError, match="pairwise-lite"):
        lab.evaluations.checked(EvaluationRequest("lab", ("dense",), rerank="best"))
    with pytest.raises(BadInputError, match="depth is 0"):
        lab.evaluations.checked(EvaluationRequest("lab", ("dense",), rerank="pairwise", depth=0))


# -- the gap -------------------------------------------------------------------------------


def measured(lab: Explorer, server: ModelServer, most: int | None = None) -> GapJob:
    lab.gaps.start(GAP, session(server), most)
    return ended(lambda: lab.gaps.job("lab"))


def gap_of(job: GapJob) -> Gap:
    assert job.report is not None
    assert job.report.result is not None
    return job.report.result


def test_a_gap_is_kept_and_found_again(lab: Explorer, lab_home: Path, server: ModelServer) -> None:
    job = measured(lab, server)
    assert (job.state, job.error) == ("done", "")
    first = gap_of(job)
    restarted = make_explorer(lab_home)
    again = restarted.gaps.find(GAP, restarted.evaluations.model(session(server)))
    assert again is not None
    assert replace(again, report=first.report) == first
    assert again.report.questions == first.report.questions
    for point in again.points:
        low, high = again.gap(point)
        assert point.gap_lower_interval is not None
        assert point.gap_upper_interval is not None
        assert point.gap_lower_interval[0] <= low <= point.gap_lower_interval[1]
        assert point.gap_upper_interval[0] <= high <= point.gap_upper_interval[1]
    record = restarted.gaps.history("lab")[0]
    assert (record.request, record.bounds) == (GAP, again.gap(again.points[-1]))
    assert all(r.request.collection == "lab" for r in lab.evaluations.history("lab")), "apart"


def test_the_estimate_of_a_gap_is_not_exceeded(lab: Explorer, server: ModelServer) -> None:
    estimate = lab.gaps.estimate(GAP, session(server))
    assert server.seen.requests == 0
    job = measured(lab, server)
    assert 0 < gap_of(job).report.questions <= estimate.calls
    assert job.progress.done <= job.progress.total <= estimate.calls


def test_a_gap_that_two_people_ask_for_at_once_is_paid_for_once(
    lab: Explorer, server: ModelServer
) -> None:
    gaps = lab.gaps
    server.behaviour.latency = 0.2
    with ThreadPoolExecutor(4) as pool:
        started = set(pool.map(lambda _: gaps.start(GAP, session(server)), range(4)))
    assert len(started) == 1
    with pytest.raises(CorpusBusyError, match="being measured"):
        gaps.start(replace(GAP, sizes=(3,)), session(server))
    gaps.jobs.cancel(started.pop())
    assert ended(lambda: gaps.job("lab")).state == "cancelled", "it can still be reached"


def test_a_gap_that_the_budget_ended_is_shown_but_not_kept(
    lab: Explorer, server: ModelServer
) -> None:
    job = measured(lab, server, most=20)
    assert gap_of(job).report.stopped == "budget"
    assert lab.gaps.find(GAP, lab.evaluations.model(session(server))) is None
    assert gap_of(measured(lab, server)).report.stopped == ""
