"""What holds for every task that a model does: costs, budgets, cancelling, resuming, faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest

from engine.assist.infer_facts import InferFacts, InferRequest
from engine.errors import CorpusBusyError
from engine.explorer import Explorer
from engine.generate.generator import GenerateCollection, GenerationRequest
from engine.generate.implicit_records import ImplicitRequest
from engine.llm.endpoints import EndpointError, NoEndpointError
from engine.llm.tasks import TaskRunner
from engine.types.annotating import GradingRequest, PoolRequest, Project
from engine.types.builds import StepRequest
from engine.types.reading import AskRequest
from engine.types.reranking import RerankRequest
from engine.types.scenarios import PairRequest, ScenarioRequest
from engine.types.searches import Query
from tests.fakes.build_answers import AUTHOR, LENS, NAME, SMALL_METHODS, builds_collections
from tests.fakes.model_answers import MODEL, grades_by, grades_pairs, in_title, writes_scenarios
from tests.fakes.model_server import serving
from tests.fakes.model_sessions import SEED, knowledge
from tests.support import ended, make_explorer, wait_until

Prepared = tuple[TaskRunner[Any, Any], Any]
ITEMS = 20
"""That a task goes through, where it can be limited: more than a budget of 12 calls reaches."""
AT_ONCE = 8
"""Questions that are under way when a run is cancelled, at most."""


def _runner(explorer):
    return TaskRunner(explorer.settings, explorer.ledger.answers)


def _scenarios(explorer):
    return explorer.scenarios, ScenarioRequest("small", component="M")  # quick to embed


def _facts(explorer):
    parts = explorer.home, explorer.ledger, explorer.settings, explorer.library
    return _runner(explorer), InferFacts(InferRequest("small", limit=ITEMS), *parts)


def _grades(explorer):
    annotation = explorer.annotation
    project = annotation.save(Project("small", "p"), "lead")
    annotation.add_queries(project, [Query("small", seed=SEED, aspect="method")])
    annotation.fill_pool(project, PoolRequest(("dense",), ITEMS))
    return annotation.grading, GradingRequest(project)


def _pairs(explorer):
    return explorer.pair_grading, PairRequest("small", 8, 4)


def _labels(explorer):
    explorer.builds.save(replace(LENS, limit=ITEMS), AUTHOR)
    return explorer.builds, StepRequest("small", NAME, "label", AUTHOR)


def _ranking(explorer):
    query = Query("small", seed=SEED, aspect="method", system="dense")
    return explorer.verifier, RerankRequest(query, "pairwise", 10)


def _answer(explorer):
    return explorer.reader, AskRequest("Why do bees die?", "small")


def _collection(explorer):
    implicit = ImplicitRequest("temporal", "multi", 1, 1, 4)
    out = explorer.home.root.parent / "collection"
    request = GenerationRequest(implicit, out, overwrite=True, with_model=True)
    return _runner(explorer), GenerateCollection(request)


def _no_facts(prompt, _):
    return {"facts": []} if "ISO 3166" in prompt else None


@dataclass(frozen=True)
class Task:
    """A task over the small corpus, and what the model answers to it."""

    prepare: Callable[[Explorer], Prepared]
    handler: Callable[[str, Mapping[str, Any]], Any]


TASKS = {
    "scenarios": Task(_scenarios, writes_scenarios),
    "facts": Task(_facts, _no_facts),
    "grading": Task(_grades, grades_by()),
    "pairs": Task(_pairs, grades_pairs(in_title)),
    "labelling": Task(_labels, builds_collections(SMALL_METHODS)),
}
ONE_RESULT = {
    "ranking": Task(_ranking, lambda *_: None),
    "answer": Task(_answer, lambda *_: None),
    "collection": Task(_collection, lambda *_: None),
}
"""Tasks whose questions lead to one result together, rather than to one for each item."""
ALL = TASKS | ONE_RESULT


@pytest.fixture(params=TASKS)
def task(request):
    return ALL[request.param]


@pytest.fixture
def server(task):
    with serving(knowledge(), handlers=[task.handler], latency=0.01) as running:
        yield running


@pytest.fixture
def prepared(task, server, small_copy):
    home = small_copy.home.root
    return task.prepare(make_explorer(home, openai_base_url=server.url, llm_model=MODEL))


def test_an_estimate_asks_nothing_and_is_a_bound_and_a_repeat_costs_no_call(prepared, server):
    tasks, request = prepared
    estimate = tasks.estimate(request)
    assert server.seen.requests == 0
    told = []
    report = tasks.run(request, tell=told.append)
    assert (report.failed, report.left, report.stopped, report.problem) == (0, 0, "", "")
    assert 0 < server.seen.questions <= estimate.calls + 1  # one whose quote was asked for again
    assert report.calls <= estimate.most_calls
    assert estimate.input_tokens is not None
    assert report.input_tokens <= 1.2 * estimate.input_tokens
    assert report.output_tokens <= estimate.output_tokens
    assert told[0].done == 0
    assert told[-1].done == told[-1].total == estimate.items
    assert server.seen.most_at_once > 1

    asked = server.seen.questions
    again = tasks.run(request)
    assert (again.calls, again.failed, again.left) == (0, 0, 0)
    assert server.seen.questions == asked


def test_a_budget_ends_a_run_and_the_next_asks_only_the_rest(prepared, server):
    tasks, request = prepared
    items = tasks.estimate(request).items
    first = tasks.run(request, most_calls=12)
    assert (first.stopped, first.failed) == ("budget", 0)
    assert server.seen.requests == first.calls <= 12
    assert 0 < first.left <= items
    assert (tasks.run(request).left, server.seen.questions <= items + 2) == (0, True)


def test_a_cancelled_run_keeps_what_was_answered_and_the_next_asks_only_the_rest(prepared, server):
    tasks, request = prepared
    items = tasks.estimate(request).items
    server.behaviour.latency = 0.1
    job_id = tasks.start(request)
    assert tasks.start(request) == job_id, "two clicks are one run"
    wait_until(lambda: server.seen.questions > 1.5 * AT_ONCE, what="some answers")
    tasks.jobs.cancel(job_id)
    job = ended(lambda: tasks.jobs.job(job_id))
    assert (job.state, job.report.failed) == ("cancelled", 0)
    assert job.report.left > 0
    server.behaviour.latency = 0.0
    assert tasks.run(request).left == 0
    assert server.seen.questions <= items + AT_ONCE + 1


def test_unreadable_answers_are_counted_never_guessed_and_asked_for_again(prepared, server):
    tasks, request = prepared
    items = tasks.estimate(request).items
    server.behaviour.faults = {"other-json": 0.4, "empty": 0.3}
    report = tasks.run(request)
    assert 0 < report.failed < items
    assert (report.left, report.stopped) == (0, "")
    server.behaviour.faults = {}
    asked = server.seen.questions
    again = tasks.run(request)
    assert (again.failed, again.left) == (0, 0)
    assert server.seen.questions - asked <= report.failed + 1


def test_failing_calls_are_repeated_within_what_was_announced(prepared, server):
    tasks, request = prepared
    estimate = tasks.estimate(request)
    server.behaviour.faults = {"500": 0.2, "429": 0.1}
    report = tasks.run(request)
    assert report.failed <= 0.04 * estimate.items
    assert report.calls <= estimate.most_calls


@pytest.mark.parametrize("task", [*TASKS, "ranking", "answer"], indirect=True)
def test_a_run_ends_at_the_calls_that_were_announced_however_often_it_has_to_repeat(
    prepared, server
):
    tasks, request = prepared
    announced = tasks.estimate(request)
    server.behaviour.faults = {"429": 0.9}
    with suppress(EndpointError):
        tasks.run(request)
    assert server.seen.requests <= announced.most_calls


@pytest.mark.parametrize("task", ALL, indirect=True)
def test_an_endpoint_that_refuses_or_is_missing_is_told(task, prepared, server, small_copy):
    tasks, request = prepared
    server.behaviour.faults = {"401": 1.0}
    with pytest.raises(EndpointError):
        tasks.run(request)
    job_id = tasks.start(request)
    failed = ended(lambda: tasks.jobs.job(job_id))
    assert (failed.state, bool(failed.error)) == ("failed", True)

    tasks, request = task.prepare(small_copy)
    assert tasks.estimate(request).input_tokens is None
    for act in (tasks.run, tasks.start):
        with pytest.raises(NoEndpointError, match="OPENAI_BASE_URL"):
            act(request)


@pytest.mark.parametrize("task", ["labelling"], indirect=True)
def test_another_program_does_not_run_the_same_task_at_once(task, prepared, server):
    tasks, request = prepared
    settings = {"openai_base_url": server.url, "llm_model": MODEL}
    other, _ = task.prepare(make_explorer(tasks._settings.home, **settings))
    server.behaviour.latency = 1.0
    job_id = tasks.start(request)
    wait_until(lambda: server.seen.prompts, what="the first question")
    with pytest.raises(CorpusBusyError):
        other.run(request)
    server.behaviour.latency = 0.0
    assert ended(lambda: tasks.jobs.job(job_id)).state == "done"
    assert other.run(request).calls == 0, "all of it is there"
