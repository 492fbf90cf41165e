"""Runs: what they cost, what they keep, and what is left when they end early."""

import asyncio

import pytest

from engine.llm.client import ask_model, complete, finish, try_endpoint
from engine.llm.endpoints import Account, Budget, Price
from engine.llm.judges import ModelJudge, typical_question
from engine.llm.tasks import estimator
from engine.rerank.protocols import StopAsking
from storage.ledger import Ledger
from tests.fakes.model_answers import MODEL
from tests.fakes.model_sessions import (
    OTHERS,
    PAIRS,
    TEXTS,
    begun_comparing,
    compared,
    connection,
    criterion,
    judged,
)
from tests.support import wait_until


def kept(server, store, model=MODEL):
    """Answers in the ledger."""
    return len(store.heads(server.url, model))


def test_the_budget_of_calls_is_kept_to_the_call(server, store):
    outcome = compared(server, store, budget=Budget(calls=12))
    assert server.seen.requests == outcome.usage.calls == 12
    assert outcome.usage.stopped == "budget"
    assert "budget of 12 calls" in outcome.usage.problem
    assert sum(p is not None for p in outcome.value[0]) == outcome.usage.answered == 11


@pytest.mark.parametrize(
    "budget", [Budget(tokens=6_000), Budget(cost=0.01, price=Price(2.0, 8.0))], ids=str
)
def test_budgets_of_tokens_and_of_cost_are_not_exceeded(server, store, budget):
    usage = compared(server, store, budget=budget).usage
    assert usage.stopped == "budget"
    assert 3 < usage.answered < len(PAIRS)
    assert usage.input_tokens + usage.output_tokens <= (budget.tokens or 1e9)
    assert (usage.cost or 0) <= (budget.cost or 1e9)


def test_the_estimate_is_a_bound_that_is_not_far_off(server, store):
    budget = Budget(price=Price(1.0, 2.0))

    usage = judged(server, store, lambda judge: judge.compare(PAIRS), budget=budget).usage
    known = estimator(connection(server.url, budget=budget), store)
    typical = typical_question(criterion(), TEXTS, "compare", known.known.room)
    estimate = known.estimate([typical], len(PAIRS))
    assert estimate.calls == len(PAIRS)
    assert usage.input_tokens <= estimate.input_tokens <= 1.5 * usage.input_tokens
    assert usage.output_tokens <= estimate.output_tokens
    assert estimate.cost == Price(1.0, 2.0).cost(estimate.input_tokens, estimate.output_tokens)


def test_a_judge_that_has_stopped_ends_the_reranking(server, store):
    async def ask(judge):
        first = await judge.compare(PAIRS)
        assert judge.stopped == "budget"
        with pytest.raises(StopAsking):
            await judge.grade_each(OTHERS)
        assert await judge.compare(PAIRS) == first, "what is known is still told"
        return first

    assert judged(server, store, ask, budget=Budget(calls=9)).value[0].count(None) == 12


def test_the_same_questions_again_cost_no_call(server, store):
    first = compared(server, store)
    server.stop()
    again = compared(server, store)
    assert again.value[0] == first.value[0]
    assert (again.usage.calls, again.usage.cached) == (0, len(PAIRS))
    assert kept(server, store) == len(PAIRS)


def test_requests_that_are_cancelled_before_they_are_answered_count_for_the_day(
    server, store, tmp_path
):
    """Whoever cancels again and again has the model at work all the same."""
    try_endpoint(connection(server.url), store)
    spending = Ledger(tmp_path / "ledger.sqlite").spending
    account = Account("ada@example.org", Budget(tokens=10**6), spending)
    server.behaviour.latency = 30
    jobs, job_id = begun_comparing(server, store, concurrency=2, account=account)
    wait_until(lambda: server.seen.under_way == 2, what="two requests under way")
    held = spending.of(account.person)
    assert held.calls == 2
    jobs.cancel(job_id)
    assert jobs.result(job_id).usage.guessed == 2
    assert spending.of(account.person) == held


def test_rounds_at_once_ask_what_they_share_once(server, store):
    """As rankings of overlapping pools do, which are under way side by side."""
    server.behaviour.latency = 0.05

    async def work(client):
        judges = [ModelJudge(client, criterion(), TEXTS) for _ in range(3)]
        return await asyncio.gather(*(judge.compare(PAIRS) for judge in judges))

    outcome = complete(connection(server.url, concurrency=4), store, work)
    assert server.seen.questions == outcome.usage.answered == len(PAIRS)
    assert outcome.usage.cached == 2 * len(PAIRS)
    assert outcome.value[0] == outcome.value[1] == outcome.value[2]
    assert None not in outcome.value[0]


def test_where_a_loop_runs_already_as_in_a_notebook_a_model_is_asked_all_the_same(server, store):
    async def one(client):
        return len(await ModelJudge(client, criterion(), TEXTS).grade_each(OTHERS[:2]))

    async def cell():
        return ask_model(connection(server.url), store, one).value

    assert finish(cell()) == 2
