"""What an endpoint may do wrong: repeats where they help, an end where they do not."""

import time

import pytest

from engine.llm.endpoints import Budget, EndpointError, RefusedError
from tests.fakes.model_sessions import OTHERS, PAIRS, compared, judged


@pytest.mark.parametrize("fault", ["429", "503", "cut", "malformed"])
def test_a_passing_fault_costs_a_repeat_and_no_answer(server, store, fault):
    server.behaviour.faults = {fault: 0.3}
    outcome = compared(server, store, retries=11)
    assert all((p or 0) > 0.9 for p in outcome.value[0])
    assert outcome.usage.repeats > 2
    assert outcome.usage.failed == 0
    assert outcome.usage.calls == server.seen.requests


def test_a_request_that_is_never_answered_is_given_up_and_sent_again(server, store):
    compared(server, store)
    server.behaviour.faults = {"timeout": 0.2}
    swapped = [(b, a) for a, b in PAIRS]
    outcome = judged(server, store, lambda j: j.compare(swapped), timeout=0.4, retries=7)
    assert all(p is not None and p < 0.1 for p in outcome.value[0])
    assert outcome.usage.repeats > 0


def test_a_pause_that_the_endpoint_asks_for_is_kept(server, store):
    compared(server, store)
    server.behaviour.faults = {"429": 0.1}
    server.behaviour.retry_after = 0.3
    began = time.monotonic()
    outcome = judged(server, store, lambda j: j.compare([(b, a) for a, b in PAIRS]))
    assert outcome.usage.failed == 0
    assert time.monotonic() - began > 0.3


def test_a_pause_of_an_hour_is_not_waited_for(server, store):
    server.behaviour.faults = {"429": 1.0}
    server.behaviour.retry_after = 3600
    with pytest.raises(EndpointError, match=r"is busy.*Run again later"):
        compared(server, store)
    assert server.seen.requests == 1


def test_an_answer_that_cannot_be_read_is_asked_for_once_more_then_nobodys(server, store):
    compared(server, store)
    server.behaviour.faults = {"prose": 0.7, "empty": 0.3}
    swapped = [(b, a) for a, b in PAIRS]
    outcome = judged(server, store, lambda judge: judge.compare(swapped))
    assert outcome.value[0] == [None] * len(PAIRS)
    assert outcome.value[1].first_share is None
    assert outcome.usage.unread == len(PAIRS)
    assert outcome.usage.calls == 2 * len(PAIRS)

    server.behaviour.faults = {}
    again = judged(server, store, lambda judge: judge.compare(swapped))
    assert again.usage.cached == 0, "no failure is remembered"
    assert None not in again.value[0]


def test_with_a_third_of_all_calls_failing_for_good_the_rest_is_right(server, store):
    compared(server, store, budget=Budget(calls=1))  # tries the endpoint out
    server.behaviour.faults = {"500": 0.3}
    outcome = compared(server, store, retries=0)
    found = outcome.value[0]
    assert outcome.usage.failed == found.count(None)
    assert 2 <= outcome.usage.failed <= 12
    assert all(p > 0.9 for p in found if p is not None)
    assert not outcome.usage.stopped

    server.behaviour.faults = {}
    again = compared(server, store)
    assert again.usage.calls == outcome.usage.failed
    assert None not in again.value[0]


def test_an_endpoint_that_is_set_up_wrongly_stops_the_run_at_the_first_call(server, store):
    with pytest.raises(RefusedError, match=r"has no model 'gpt-0'.*It offers: judge\."):
        compared(server, store, model="gpt-0")
    assert server.seen.requests == 1
    server.behaviour.key = "another"
    with pytest.raises(RefusedError, match=r"does not accept the key.*OPENAI_API_KEY"):
        compared(server, store)
    assert server.seen.turned_away <= 2  # its list of models, and the first question
    with pytest.raises(EndpointError, match=r"http://127\.0\.0\.1:9/v1 cannot be reached"):
        compared("http://127.0.0.1:9/v1", store)


def test_when_the_endpoint_goes_away_what_was_answered_stays(server, store):
    server.behaviour.most_requests = 12
    outcome = compared(server, store, concurrency=4)
    found = outcome.value[0]
    assert outcome.usage.stopped == "endpoint"
    assert "cannot be reached, or broke off" in outcome.usage.problem
    assert outcome.usage.answered == sum(p is not None for p in found) == 11
    assert outcome.usage.calls < 12 + 4 * 12, "it is not asked for every pair in vain"

    async def ask(judge):
        await judge.grade_each(OTHERS)
        assert judge.stopped == "endpoint"
        return await judge.compare(PAIRS)

    later = judged(server, store, ask)
    assert sum(p is not None for p in later.value[0]) == 11, "kept answers need no endpoint"
