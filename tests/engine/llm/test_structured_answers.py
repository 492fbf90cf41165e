"""Records from a model, for the parts that need more than a choice."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, Field

from engine.llm.client import complete
from engine.llm.messages import QUOTED_RULE, json_prompt, sent_schema
from engine.llm.texts import fenced
from tests.fakes.model_answers import MODEL
from tests.fakes.model_sessions import connection

COUNT = 12


class Need(BaseModel):
    topic: str = Field(min_length=1, description="in a few words")
    weight: float = Field(0.5, ge=0, le=1)


class Scenario(BaseModel):
    title: str
    needs: list[Need] = Field(min_length=1, max_length=4)
    best: Need | None = None


GOOD = {"title": "Bees", "needs": [{"topic": "dances", "weight": 0.7}], "best": None}


def question(number):
    return f"What is document {number} for?\n{fenced('document', f'Bees, part {number}.')}"


def asked(server, store, count=COUNT, **changes):
    """Scenarios of ``count`` documents, in one round."""

    async def work(client):
        prompts = [scenario(number) for number in range(count)]
        return await client.ask(prompts)

    return complete(connection(server.url, **changes), store, work)


def scenario(number):
    return json_prompt("scenario/1", "You write scenarios.", question(number), Scenario)


def knows(server, answer):
    """Have the model answer questions of these tests."""

    def handler(prompt, body):
        return answer if "What is document" in prompt else None

    server.behaviour.handlers = [handler]


def test_a_record_is_asked_for_by_its_schema_and_kept(server, store):
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


def test_without_a_schema_at_the_endpoint_the_question_says_it_all(server, store):
    server.behaviour.refuses = frozenset({"response_format"})
    knows(server, f"<think>Hm. A?</think>\n```json\n{Scenario(**GOOD).model_dump_json()}\n```")
    found = asked(server, store)
    assert found.value == [Scenario(**GOOD)] * COUNT
    assert "response_format" not in server.seen.bodies[-1]
    assert '"required":["title","needs","best"]' in server.seen.prompts[-1]


@pytest.mark.parametrize("said", ["Unsupported parameter: '{}'.", "Bad request."])
def test_an_endpoint_that_takes_no_schema_is_told_to_answer_in_json(server, store, said):
    server.behaviour.refuses, server.behaviour.refusal = frozenset({"json_schema"}), said
    knows(server, GOOD)
    found = asked(server, store)
    assert found.value == [Scenario(**GOOD)] * COUNT
    assert server.seen.bodies[-1]["response_format"] == {"type": "json_object"}
    assert asked(server, store).usage.calls == 0, "it is remembered"


@pytest.mark.parametrize(
    "answer",
    [
        "Bees dance.",
        {"title": "Bees", "needs": []},
        {"title": "Bees", "needs": [{"topic": "dances", "weight": 7}]},
        [GOOD],
        '{"title": "\\ud800", "needs": [{"topic": "dances"}]}',
    ],
    ids=str,
)
def test_what_does_not_keep_to_the_schema_is_asked_for_once_more_then_nobodys(
    server, store, answer
):
    knows(server, answer)
    found = asked(server, store, 3)
    assert found.value == [None] * 3
    assert (found.usage.unread, found.usage.answered) == (3, 0)
    assert any("Example of an invalid response: “" in note for note in found.usage.notes)
    assert server.seen.questions == 6, "each twice"
    assert len(store.heads(server.url, MODEL)) == 0

    knows(server, GOOD)
    assert None not in asked(server, store, 3).value


def test_a_check_sees_what_a_schema_cannot(server, store):
    """Say, that a topic occurs in the document; the record may be mended."""
    two = {"title": "Bees", "needs": [{"topic": "bees"}, {"topic": "wasps"}]}
    knows(server, two)

    def founded(record):
        needs = [need for need in record.needs if need.topic == "bees"]
        return record.model_copy(update={"needs": needs}) if needs else None

    async def work(client):
        mended = json_prompt("a/1", "", question(0), Scenario, check=founded)
        refused = json_prompt("b/1", "", question(0), Scenario, check=lambda _: None)
        return await client.ask([mended, refused])

    mended, refused = complete(connection(server.url), store, work).value
    assert [need.topic for need in mended.needs] == ["bees"]
    assert refused is None


def test_schemas_are_sent_in_the_form_that_strict_endpoints_accept():
    sent = sent_schema(Scenario)
    need = sent["$defs"]["Need"]
    assert (need["required"], need["additionalProperties"]) == (["topic", "weight"], False)
    assert need["properties"]["topic"] == {"description": "in a few words", "type": "string"}
    assert sent["properties"]["title"] == {"type": "string"}, "a field may be called title"
    with pytest.raises(TypeError, match="named fields"):
        sent_schema(type("Names", (Scenario,), {"model_json_schema": lambda: {"type": "array"}}))
