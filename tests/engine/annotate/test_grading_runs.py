"""A model that grades: answers that cannot be used, runs that end early, programs that meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.annotate.model_grading import NothingGradedError
from engine.errors import BadInputError, CorpusBusyError
from engine.explorer import Explorer
from engine.types.annotating import GradingRequest
from engine.types.models import TRYING_OUT
from tests.engine.annotate.grading_steps import DEPTH, by_model, end_of, grade, make_project
from tests.fakes.model_answers import MODEL, candidate_of
from tests.fakes.model_server import ModelServer
from tests.support import make_explorer, wait_until


@pytest.mark.parametrize("grade_said", [7, -1, "high"])
def test_a_grade_that_the_scale_does_not_have_is_no_grade(
    graded: Explorer, grader: ModelServer, grade_said: Any
) -> None:
    project = make_project(graded, depth=3)
    grader.behaviour.handlers = [
        lambda prompt, _: {"reason": "So.", "grade": grade_said} if candidate_of(prompt) else None
    ]
    with pytest.raises(NothingGradedError, match="3 candidates"):
        grade(graded, project)
    assert by_model(graded, project) == {}


def test_a_model_whose_answers_cannot_be_read_stays_within_what_was_announced_and_fails(
    graded: Explorer, grader: ModelServer
) -> None:
    project = make_project(graded)
    grading = graded.annotation.grading
    grader.behaviour.faults = {"other-json": 1.0}
    announced = grading.estimate(GradingRequest(project))
    assert (announced.calls, announced.most_calls) == (DEPTH, 2 * DEPTH + TRYING_OUT)
    job = end_of(graded, grading.start(GradingRequest(project)))
    assert DEPTH < len(grader.seen.prompts) <= announced.most_calls
    assert job.state == "failed", "nothing was graded: that is not done"
    assert "Nothing was graded" in job.error
    assert f"{DEPTH} candidates" in job.error
    assert by_model(graded, project) == {}


def test_two_programs_never_pay_for_the_same_grades(
    graded: Explorer, home: Path, grader: ModelServer
) -> None:
    project = make_project(graded, depth=12)
    other = make_explorer(home, openai_base_url=grader.url, llm_model=MODEL).annotation.grading
    grader.behaviour.latency = 1.5  # longer than a lock is waited for
    job_id = graded.annotation.grading.start(GradingRequest(project))
    wait_until(lambda: grader.seen.prompts, what="the first question")
    with pytest.raises(CorpusBusyError, match=r"'p' of corpus 'small' is being graded.*Wait"):
        other.run(GradingRequest(project))
    assert end_of(graded, job_id).state == "done"
    assert other.run(GradingRequest(project)).calls == 0, "all of it is there"
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
            act(GradingRequest(project, **request_))
    assert not grader.seen.requests
