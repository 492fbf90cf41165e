"""Answers that come piece by piece: what is shown, how long is waited, and what is paid."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from engine.llm.client import complete, try_endpoint
from engine.llm.endpoints import Budget, EndpointError, RefusedError
from engine.llm.messages import Message, Prompt, answer_so_far
from tests.fakes.model_answers import MODEL
from tests.fakes.model_server import serving
from tests.fakes.model_sessions import KEY, begun, compared, connection, knowledge
from tests.support import wait_until

CHAT = [Message("system", "You are helpful."), Message("user", "Tell me about bees.")]
SAID = "Bees dance to tell their sisters where the flowers are, and how far away."
PIECES = 5
"""In which the tests' model sends it."""


@pytest.fixture
def server(server):
    """A model that knows about bees."""
    server.behaviour.handlers = [knows_bees]
    return server


def knows_bees(prompt, body):
    return SAID if "about bees" in prompt else None


def streamed(server, store, heard=str, **changes):
    """The whole of a streamed answer; ``heard`` gets each piece as it comes."""

    async def work(client):
        pieces: list[str] = []

        def keep(piece):
            heard(piece)
            pieces.append(piece)

        await client.say(CHAT, keep, 1500)
        return answer_so_far("".join(pieces), complete=True)

    url = server if isinstance(server, str) else server.url
    return complete(connection(url, **changes), store, work)


def question(number):
    """One whose answer is a text."""

    def read(reply, _):
        return reply.text or None

    return Prompt("bees/1", (Message("user", f"Tell me about bees, {number}."),), read, "", 40)


def asked(server, store, count=1, **changes):
    """Answers that are asked for as a whole."""

    async def work(client):
        return await client.ask([question(number) for number in range(count)])

    return complete(connection(server.url, **changes), store, work)


# -- streams that are shown ---------------------------------------------------------------


def test_an_answer_comes_while_it_is_written(server, store):
    server.behaviour.pause = 0.1
    times: list[float] = []
    outcome = streamed(server, store, lambda _: times.append(time.monotonic()))
    assert outcome.value == SAID
    assert times[-1] - times[0] > 0.2, "not all at once"
    assert outcome.usage.answered == 1
    assert outcome.usage.output_tokens > len(SAID) // 4
    assert outcome.usage.guessed == 0
    assert len(store.heads(server.url, MODEL)) == 0


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("Plain.", "Plain."),
        (" <b>bold</b> is no reasoning", "<b>bold</b> is no reasoning"),
        ("<think>Is it </b>?</think>\n\nYes.", "Yes."),
        ("[THINK]a[/THINK]No <think> now.", "No <think> now."),
        ("<think>without end", ""),
        ("<", "<"),
        ("", ""),
    ],
)
def test_what_is_shown_of_an_answer_grows_and_is_never_taken_back(reply, shown):
    steps = [answer_so_far(reply[:end]) for end in range(len(reply) + 1)]
    steps.append(answer_so_far(reply, complete=True))
    assert all(later.startswith(earlier) for earlier, later in pairwise(steps))
    assert steps[-1].strip() == shown


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("cut", "broke off"),
        ("401", "does not accept the key"),
        ("html", "no chat completion"),
        ("timeout", "answered nothing within 1 s"),
        ("stall", "sent nothing for 1 s"),
    ],
)
def test_a_stream_that_fails_says_so_after_what_came(server, store, fault, says):
    try_endpoint(connection(server.url), store)
    server.behaviour.faults = {fault: 1.0}
    # The shortest wait is for those faults only that are about it: a busy machine takes as long.
    timeout = 1.0 if fault in ("timeout", "stall") else 15
    pieces: list[str] = []
    with pytest.raises(EndpointError, match=says) as caught:
        streamed(server, store, pieces.append, timeout=timeout, retries=1)
    assert KEY not in str(caught.value)
    assert SAID.startswith("".join(pieces)), "what was said is never said twice"
    assert bool(pieces) == (fault in ("cut", "stall"))


def test_the_budget_holds_for_streams(server, store):
    with pytest.raises(EndpointError, match="budget of 1 calls"):
        streamed(server, store, budget=Budget(calls=1))
    assert server.seen.questions == 0


# -- answers that are asked for as a whole ------------------------------------------------


def test_an_answer_may_take_longer_than_the_longest_silence(server, store):
    """As from the model of a laptop: few words a second, but steadily."""
    try_endpoint(connection(server.url), store)
    server.behaviour.pause = 0.4
    began = time.monotonic()
    outcome = asked(server, store, 3, timeout=1.8, budget=Budget(calls=3))
    assert time.monotonic() - began > PIECES * 0.4 > 1.8
    assert outcome.value == [SAID] * 3
    assert (outcome.usage.calls, outcome.usage.repeats, outcome.usage.guessed) == (3, 0, 0)
    assert server.seen.bodies[-1]["stream"] is True


def test_a_request_that_is_queued_behind_others_is_waited_for(store):
    """A small server answers one at a time, and eight requests go out at once."""
    with serving(knowledge(), at_once=1, pause=0.16, handlers=[knows_bees]) as server:
        try_endpoint(connection(server.url), store)
        began = time.monotonic()
        outcome = asked(server, store, 4, timeout=1.5)
        assert time.monotonic() - began > 4 * PIECES * 0.16 > 2 * 1.5
        assert outcome.value == [SAID] * 4
        assert (outcome.usage.repeats, outcome.usage.calls) == (0, 4)


def test_silence_in_the_middle_of_an_answer_is_a_failure_that_is_tried_again(server, store):
    try_endpoint(connection(server.url), store)
    server.behaviour.faults = {"stall": 1.0}
    with pytest.raises(EndpointError, match=r"sent nothing for 0\.8 s") as caught:
        asked(server, store, timeout=0.8, retries=1)
    assert "SEEDLENS_LLM_TIMEOUT_SECONDS" in str(caught.value)
    assert server.seen.questions == 2


def test_where_the_first_requests_all_time_out_the_run_ends_and_says_what_to_set(server, store):
    try_endpoint(connection(server.url), store)
    server.behaviour.faults = {"timeout": 1.0}
    before, began = server.seen.requests, time.monotonic()
    with pytest.raises(RefusedError, match=r"answered nothing within 0\.5 s") as caught:
        compared(server, store, timeout=0.5, concurrency=4)
    assert time.monotonic() - began < 2, "nothing is repeated"
    assert server.seen.requests - before == 4, "none but the first are sent"
    for name in ("SEEDLENS_LLM_TIMEOUT_SECONDS", "SEEDLENS_LLM_CONCURRENCY"):
        assert name in str(caught.value)


def test_an_endpoint_that_refuses_streams_answers_as_a_whole(server, store):
    server.behaviour.refuses = frozenset({"stream"})
    server.behaviour.refusal = "Bad request."
    first = compared(server, store)
    assert all((p or 0) > 0.9 for p in first.value[0])
    assert "stream" not in server.seen.bodies[-1]
    assert "top_logprobs" in server.seen.bodies[-1], "nothing else is given up"
    before = server.seen.requests
    assert asked(server, store).value == [SAID]
    assert streamed(server, store).value == SAID
    assert server.seen.requests - before == 2, "it is remembered"


def test_an_endpoint_that_does_not_tell_the_usage_streams_all_the_same(server, store):
    try_endpoint(connection(server.url), store)
    server.behaviour.refuses = frozenset({"stream_options"})
    for calls in (2, 1):  # once known, it is not asked for again
        outcome = streamed(server, store)
        assert outcome.value == SAID
        assert (outcome.usage.calls, outcome.usage.guessed) == (calls, 1)
        assert server.seen.bodies[-1]["stream"] is True


def test_an_endpoint_that_sends_the_whole_answer_unasked_is_understood(server, store):
    server.behaviour.streams = False
    assert asked(server, store).value == [SAID]
    assert streamed(server, store).value == SAID
    outcome = compared(server, store)
    assert all(0.9 < (p or 0) < 1 for p in outcome.value[0])
    assert outcome.usage.guessed == 0


def test_cancelling_in_the_middle_of_an_answer_drops_its_connection(server, store):
    try_endpoint(connection(server.url), store)
    server.behaviour.pause = 0.3

    async def work(client):
        return await client.ask([question(1), question(2)])

    jobs, job_id = begun(connection(server.url), store, work)
    wait_until(lambda: server.seen.under_way == 2, what="two answers under way")
    jobs.cancel(job_id)
    began = time.monotonic()
    outcome = jobs.result(job_id)
    assert time.monotonic() - began < 2
    assert outcome.value == [None, None]
    assert outcome.usage.stopped == "cancelled"
    assert outcome.usage.guessed == 2, "what has come is paid for"
    wait_until(lambda: server.seen.dropped == 2, what="both connections are dropped")


def test_an_answer_without_end_is_cut_off(server, store):
    """By an endpoint that takes a limit and does not keep it."""
    endless = "bees " * 3000
    server.behaviour.handlers = [lambda prompt, _: endless if "about bees" in prompt else None]
    server.behaviour.pause = 0.001
    [text] = asked(server, store).value
    assert 1000 < len(text) < 2000
    wait_until(lambda: server.seen.dropped == 1, what="the connection is dropped")
