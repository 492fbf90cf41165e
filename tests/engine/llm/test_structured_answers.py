"""Records and streamed answers from a model, for the parts that need more than a choice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import BaseModel, Field

from engine.llm.budget import Budget
from engine.llm.client import Client
from engine.llm.endpoint_errors import EndpointError, RefusedError
from engine.llm.messages import QUOTED_RULE, Message, Prompt, json_prompt, sent_schema
from engine.llm.run import Outcome, TextStream, Visible, complete, stream_text
from engine.llm.texts import fenced
from storage.answers import Answers
from tests.model_answers import MODEL
from tests.model_server import ModelServer
from tests.model_sessions import IMPATIENT, KEY, connection

COUNT = 12
CHAT = [Message("system", "You are helpful."), Message("user", "Tell me about bees.")]
SAID = "Bees dance to tell their sisters where the flowers are, and how far away."


class Need(BaseModel):
    topic: str = Field(min_length=1, description="in a few words")
    weight: float = Field(0.5, ge=0, le=1)


class Scenario(BaseModel):
    title: str
    needs: list[Need] = Field(min_length=1, max_length=4)
    best: Need | None = None


GOOD = {"title": "Bees", "needs": [{"topic": "dances", "weight": 0.7}], "best": None}


def question(number: int) -> str:
    return f"What is document {number} for?\n{fenced('document', f'Bees, part {number}.')}"


def asked(server: ModelServer, store: Answers, count: int = COUNT, **changes: Any) -> Outcome[Any]:
    """Scenarios of ``count`` documents, in one round."""

    async def work(client: Client) -> list[Scenario | None]:
        prompts = [scenario(number) for number in range(count)]
        return await client.ask(prompts)

    return complete(connection(server.url, **changes), store, work)


def scenario(number: int) -> Prompt[Scenario]:
    return json_prompt("scenario/1", "You write scenarios.", question(number), Scenario)


def knows(server: ModelServer, answer: Any) -> None:
    """Have the model answer questions of these tests."""

    def handler(prompt: str, body: Mapping[str, Any]) -> Any:
        return answer if "What is document" in prompt or "about bees" in prompt else None

    server.behaviour.handlers = [handler]


def test_a_record_is_asked_for_by_its_schema_and_kept(server: ModelServer, store: Answers) -> None:
    knows(server, GOOD)
    first = asked(server, store)
    assert first.value == [Scenario(**GOOD)] * COUNT
    body = server.seen.bodies[-1]
    sent = body["response_format"]["json_schema"]
    assert sent["strict"] is True
    assert sent["schema"]["required"] == ["title", "needs", "best"]
    assert QUOTED_RULE in body["messages"][0]["content"]
    assert len(store.heads(server.url, MODEL)) == COUNT

    server.stop()
    again = asked(server, store)
    assert again.value == first.value
    assert (again.usage.calls, again.usage.cached) == (0, COUNT)


@pytest.mark.parametrize("form", ["{}", "```json\n{}\n```", "<think>Hm. A?</think>\n{}"])
def test_without_a_schema_at_the_endpoint_the_question_says_it_all(
    server: ModelServer, store: Answers, form: str
) -> None:
    server.behaviour.refuses = frozenset({"response_format"})
    knows(server, form.replace("{}", Scenario(**GOOD).model_dump_json()))
    found = asked(server, store)
    assert found.value == [Scenario(**GOOD)] * COUNT
    assert "response_format" not in server.seen.bodies[-1]
    assert '"required":["title","needs","best"]' in server.seen.prompts[-1]


@pytest.mark.parametrize(
    "answer",
    [
        "Bees dance.",
        '{"title": "Bees", "needs": [',
        {"title": "Bees", "needs": []},
        {"title": "Bees", "needs": [{"topic": "dances", "weight": 7}]},
        [GOOD],
        "",
        'Here it is: {"title": "Bees"}',
        '{"title": "\\ud800", "needs": [{"topic": "dances"}]}',
    ],
    ids=str,
)
def test_what_does_not_keep_to_the_schema_is_asked_for_once_more_then_nobodys(
    server: ModelServer, store: Answers, answer: Any
) -> None:
    knows(server, answer)
    found = asked(server, store, 3)
    assert found.value == [None] * 3
    assert (found.usage.unread, found.usage.answered) == (3, 0)
    assert server.seen.questions == 6, "each twice"
    assert len(store.heads(server.url, MODEL)) == 0

    knows(server, GOOD)
    assert None not in asked(server, store, 3).value


def test_a_second_try_may_be_better(server: ModelServer, store: Answers) -> None:
    knows(server, GOOD)
    server.behaviour.faults = {"other-json": 0.2, "prose": 0.2, "500": 0.2}
    found = asked(server, store)
    right = [record for record in found.value if record is not None]
    assert right == [Scenario(**GOOD)] * len(right)
    assert found.usage.unread + found.usage.failed == COUNT - len(right)
    assert len(store.heads(server.url, MODEL)) == len(right) > COUNT / 2


def test_a_check_sees_what_a_schema_cannot(server: ModelServer, store: Answers) -> None:
    """Say, that a topic occurs in the document; the record may be mended."""
    two = {"title": "Bees", "needs": [{"topic": "bees"}, {"topic": "wasps"}]}
    knows(server, two)

    def founded(record: Scenario) -> Scenario | None:
        needs = [need for need in record.needs if need.topic == "bees"]
        return record.model_copy(update={"needs": needs}) if needs else None

    async def work(client: Client) -> Any:
        mended = json_prompt("a/1", "", question(0), Scenario, check=founded)
        refused = json_prompt("b/1", "", question(0), Scenario, check=lambda _: None)
        return await client.ask([mended, refused])

    mended, refused = complete(connection(server.url), store, work).value
    assert [need.topic for need in mended.needs] == ["bees"]
    assert refused is None


def test_schemas_are_sent_in_the_form_that_strict_endpoints_accept() -> None:
    sent = sent_schema(Scenario)
    need = sent["$defs"]["Need"]
    assert (need["required"], need["additionalProperties"]) == (["topic", "weight"], False)
    assert need["properties"]["topic"] == {"description": "in a few words", "type": "string"}
    assert sent["properties"]["title"] == {"type": "string"}, "a field may be called title"
    with pytest.raises(TypeError, match="named fields"):
        sent_schema(type("Names", (Scenario,), {"model_json_schema": lambda: {"type": "array"}}))


# -- streams ------------------------------------------------------------------------------


def streamed(server: ModelServer, store: Answers, **changes: Any) -> TextStream:
    return TextStream(connection(server.url, **changes), store, CHAT)


def test_an_answer_comes_while_it_is_written(server: ModelServer, store: Answers) -> None:
    knows(server, SAID)
    server.behaviour.pause = 0.1
    stream = streamed(server, store)
    pieces, times = [], []
    for piece in stream:
        pieces.append(piece)
        times.append(time.monotonic())
    assert "".join(pieces) == stream.text == SAID
    assert times[-1] - times[0] > 0.2, "not all at once"
    assert stream.usage is not None
    assert stream.usage.answered == 1
    assert stream.usage.output_tokens > len(SAID) // 4
    assert stream.usage.guessed == 0
    assert len(store.heads(server.url, MODEL)) == 0


def test_an_endpoint_that_does_not_tell_the_usage_streams_all_the_same(
    server: ModelServer, store: Answers
) -> None:
    knows(server, SAID)
    server.behaviour.refuses = frozenset({"stream_options"})
    for refusals in (1, 0):  # once learnt, it is not asked for again
        before = server.seen.requests
        stream = streamed(server, store)
        assert "".join(stream) == SAID
        assert stream.usage is not None
        assert stream.usage.guessed == 1
        streams = [b for b in server.seen.bodies if b.get("stream")]
        assert len([b for b in streams if "stream_options" in b]) == 1
        tried_out = 2 if refusals else 0
        assert server.seen.requests - before == 1 + refusals + tried_out


def test_reasoning_is_not_shown(server: ModelServer, store: Answers) -> None:
    knows(server, SAID)
    server.behaviour.thinks = True
    assert "".join(streamed(server, store)) == SAID


@pytest.mark.parametrize("size", [1, 3, 1000])
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
def test_what_is_shown_does_not_depend_on_how_it_is_cut_into_pieces(
    reply: str, shown: str, size: int
) -> None:
    visible = Visible()
    pieces = [visible.add(reply[at : at + size]) for at in range(0, len(reply), size)]
    assert ("".join(pieces) + visible.rest()).strip() == shown


def test_a_busy_endpoint_is_waited_for(server: ModelServer, store: Answers) -> None:
    knows(server, SAID)
    for fault in ("429", "503"):
        server.behaviour.faults = {}
        list(streamed(server, store))
        server.behaviour.faults = {fault: 0.5}
        server.seen.repeats.clear()
        stream = streamed(server, store, patience=IMPATIENT.__class__(attempts=20, first_wait=0.01))
        assert "".join(stream) == SAID


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("cut", "broke off"),
        ("401", "does not accept the key"),
        ("malformed", "broke off|no chat completion"),
        ("html", "broke off|no chat completion"),
        ("timeout", "did not answer within"),
    ],
)
def test_a_stream_that_fails_says_so_after_what_came(
    server: ModelServer, store: Answers, fault: str, says: str
) -> None:
    knows(server, SAID)
    list(streamed(server, store))  # tries the endpoint out
    server.behaviour.faults = {fault: 1.0}
    patience = IMPATIENT.__class__(timeout=0.3, attempts=2, first_wait=0.01)
    stream = streamed(server, store, patience=patience)
    with pytest.raises(EndpointError, match=says) as caught:
        list(stream)
    assert KEY not in str(caught.value)
    assert SAID.startswith(stream.text)
    assert bool(stream.text) == (fault == "cut"), "what was said is never said twice"


def test_who_stops_listening_pays_for_no_more(server: ModelServer, store: Answers) -> None:
    knows(server, SAID)
    server.behaviour.pause = 0.2
    stream = streamed(server, store)
    for _ in stream:
        break
    began = time.monotonic()
    while stream.usage is None:
        assert time.monotonic() - began < 5
        time.sleep(0.01)
    assert stream.usage.stopped == "cancelled"
    assert stream.text != SAID


def test_the_budget_holds_for_streams(server: ModelServer, store: Answers) -> None:
    knows(server, SAID)
    with pytest.raises(EndpointError, match="budget of 2 calls"):
        list(streamed(server, store, budget=Budget(calls=2)))
    assert not [body for body in server.seen.bodies if body.get("stream")]


def test_streams_and_records_share_a_client(server: ModelServer, store: Answers) -> None:
    """As a page that answers and extracts in one run."""

    def handler(prompt: str, body: Mapping[str, Any]) -> Any:
        return SAID if body.get("stream") else GOOD if "What is document" in prompt else None

    server.behaviour.handlers = [handler]

    async def work(client: Client) -> Any:
        async def say() -> str:
            return "".join([piece async for piece in stream_text(client, CHAT)])

        return await asyncio.gather(say(), client.ask([scenario(1)]))

    outcome = complete(connection(server.url), store, work)
    assert outcome.value == [SAID, [Scenario(**GOOD)]]
    assert outcome.usage.answered == 2


def test_a_stream_from_nowhere_is_an_error(store: Answers) -> None:
    with pytest.raises((RefusedError, EndpointError), match="cannot be reached"):
        list(TextStream(connection("http://127.0.0.1:9/v1"), store, CHAT))
