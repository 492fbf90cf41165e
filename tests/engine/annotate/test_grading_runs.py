"""A model that grades: answers that cannot be used, runs that end early, programs that meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.errors import BadInputError, CorpusBusyError
from engine.explorer import Explorer
from engine.types.annotating import GradingRequest
from engine.types.models import TRYING_OUT
from tests.engine.annotate.grading_steps import DEPTH, by_model, end_of, grade, make_project
from tests.grading_answers import candidate_of
from tests.model_answers import MODEL
from tests.model_server import ModelServer
from tests.support import ended, make_explorer, wait_until


@pytest.mark.parametrize("fault", ["other-json", "empty"])
def test_answers_that_cannot_be_read_are_nobodys_grade_and_asked_for_again(
    graded: Explorer, grader: ModelServer, fault: str
) -> None:
    project = make_project(graded, depth=20)
    grader.behaviour.faults = {fault: 0.7}
    report = grade(graded, project)
    assert 0 < report.failed < 20
    assert report.graded + report.failed == 20
    assert len(by_model(graded, project)) == report.graded
    grader.behaviour.faults = {}
    assert grade(graded, project).graded == report.failed
    assert len(by_model(graded, project)) == 20


@pytest.mark.parametrize("grade_said", [7, -1, "high"])
def test_a_grade_that_the_scale_does_not_have_is_no_grade(
    graded: Explorer, grader: ModelServer, grade_said: Any
) -> None:
    project = make_project(graded, depth=3)
    grader.behaviour.handlers = [
        lambda prompt, _: {"reason": "So.", "grade": grade_said} if candidate_of(prompt) else None
    ]
    report = grade(graded, project)
    assert (report.graded, report.failed) == (0, 3)
    assert by_model(graded, project) == {}


def test_a_model_whose_answers_cannot_be_read_stays_within_what_was_announced_and_fails(
    graded: Explorer, grader: ModelServer
) -> None:
    project = make_project(graded)
    grading = graded.annotation.grading
    grader.behaviour.faults = {"other-json": 1.0}
    announced = grading.estimate(project, GradingRequest())
    assert (announced.calls, announced.most_calls) == (DEPTH, 2 * DEPTH + TRYING_OUT)
    job = end_of(graded, grading.start(project, GradingRequest()))
    assert DEPTH < len(grader.seen.prompts) <= announced.most_calls
    assert job.state == "failed", "nothing was graded: that is not done"
    assert "Nothing was graded" in job.error
    assert f"{DEPTH} candidates" in job.error
    assert by_model(graded, project) == {}


def test_a_run_ends_at_the_calls_that_were_announced_however_often_it_has_to_repeat(
    graded: Explorer, grader: ModelServer
) -> None:
    project = make_project(graded)
    grading = graded.annotation.grading
    grade(graded, project, limit=1)
    before = len(grader.seen.prompts)
    grader.behaviour.faults = {"429": 0.9}
    announced = grading.estimate(project, GradingRequest())
    job = end_of(graded, grading.start(project, GradingRequest()))
    assert len(grader.seen.prompts) - before <= announced.most_calls
    assert job.report is None or job.report.calls <= announced.most_calls


def test_a_run_that_was_cancelled_goes_on_where_it_stopped(
    graded: Explorer, grader: ModelServer
) -> None:
    project = make_project(graded)
    grading = graded.annotation.grading
    grading.batch = 4
    grader.behaviour.latency = 0.1
    job_id = grading.start(project, GradingRequest())
    assert grading.start(project, GradingRequest()) == job_id, "two clicks are one run"
    assert grading.jobs.running(project.key) == job_id
    ended(lambda: grading.jobs.job(job_id), enough=lambda job: job.progress.done >= 4)
    grading.jobs.cancel(job_id)
    assert grading.jobs.job(job_id).stopping or grading.jobs.job(job_id).state == "cancelled"
    job = end_of(graded, job_id)
    assert job.state == "cancelled"
    assert job.report is not None
    assert 4 <= job.report.graded < DEPTH
    stored = by_model(graded, project)
    assert len(stored) == job.report.graded
    assert grading.jobs.running(project.key) is None

    asked = len(grader.seen.prompts)
    grader.behaviour.latency = 0.0
    rest = grade(graded, project)
    assert rest.graded == DEPTH - len(stored)
    assert len(grader.seen.prompts) - asked <= rest.graded
    assert by_model(graded, project) | stored == by_model(graded, project)


def test_a_budget_ends_a_run_with_what_it_has(graded: Explorer) -> None:
    project = make_project(graded)
    grading = graded.annotation.grading
    grading.batch = 5
    report = grading.run(project, GradingRequest(), most_calls=12)
    assert report.stopped == "budget"
    assert 0 < report.graded < DEPTH
    assert report.graded + report.failed + report.left == DEPTH
    assert len(by_model(graded, project)) == report.graded


def test_two_programs_never_pay_for_the_same_grades(
    graded: Explorer, home: Path, grader: ModelServer
) -> None:
    project = make_project(graded, depth=12)
    other = make_explorer(home, openai_base_url=grader.url, llm_model=MODEL).annotation.grading
    grader.behaviour.latency = 1.5  # longer than a lock is waited for
    job_id = graded.annotation.grading.start(project, GradingRequest())
    wait_until(lambda: grader.seen.prompts, what="the first question")
    for act in (other.run, other.start):
        with pytest.raises(CorpusBusyError, match=r"'p' of corpus 'small' is being graded.*Wait"):
            act(project, GradingRequest())
    assert end_of(graded, job_id).state == "done"
    assert other.run(project, GradingRequest()).calls == 0, "all of it is there"
    candidates = [candidate_of(p) for p in grader.seen.prompts if candidate_of(p)]
    assert len(candidates) == len(set(candidates)) == 12
    assert len(graded.annotation.history(project)) == 12


@pytest.mark.parametrize(
    "request_", [{"anchors": -1}, {"anchors": 99}, {"limit": 0}, {"query_ids": ("gone",)}]
)
def test_a_request_that_cannot_be_is_refused_before_anything_is_asked(
    graded: Explorer, grader: ModelServer, request_: dict[str, Any]
) -> None:
    project = make_project(graded, depth=2)
    for act in (graded.annotation.grading.run, graded.annotation.grading.start):
        with pytest.raises(BadInputError):
            act(project, GradingRequest(**request_))
    assert not grader.seen.requests
