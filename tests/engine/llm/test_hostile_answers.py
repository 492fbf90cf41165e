"""What an endpoint sends to do harm: each costs an answer at most."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from engine.ask.answering import read_citations
from engine.llm.client import complete
from engine.llm.endpoints import EndpointError
from engine.llm.messages import (
    Message,
    Prompt,
    answer_so_far,
    json_text,
    without_reasoning,
)
from engine.llm.transport import StreamedReply
from storage.answers import Answers
from tests.fakes.model_server import ModelRequests, ModelServer
from tests.fakes.model_sessions import connection

LONG = 100_000


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (json_text, "``` a" + " \n" * 1_500 + "x"),
        (json_text, "``` a" + " \n" * LONG + "x"),
        (without_reasoning, "<think>" * LONG),
        (without_reasoning, "<|channel|>analysis" * LONG),
        (answer_so_far, "<think>" + "<" * LONG),
        (lambda text: read_citations(text, ()), "a" + " " * LONG + "b"),
        (lambda text: read_citations(text, (), complete=False), "a" + " \t" * LONG + "b"),
    ],
)  # fmt: skip
def test_the_time_to_read_an_answer_grows_with_its_length_alone(
    read: Callable[[str], object], text: str
) -> None:
    began = time.process_time()
    read(text)
    assert time.process_time() - began < 1.5


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ("```\nx\n```", "x"),
        ("``````", ""),
        ("```", "```"),
        ("<think>a</think> <THINK>b</think>B <reasoning>c</reasoning>C", "C"),
        ("<think>a</thinking>b</think>c", "c"),
        ("[think]a[/THINK]b", "b"),
        ("<|channel|>analysis a<|channel|>final<|message|>b", "b"),
    ],
)
def test_what_stands_around_an_answer_is_taken_off(answer: str, left: str) -> None:
    assert json_text(answer) == left


@pytest.mark.parametrize("content", [b"[" * 10_000, b'{"choices":' * 10_000])
@pytest.mark.parametrize("streamed", [True, False])
def test_an_answer_that_cannot_be_read_by_a_program_is_said_to_be_none(
    server: ModelServer,
    store: Answers,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
    streamed: bool,
) -> None:
    def answer(handler: ModelRequests, *_: object) -> None:
        kind = "text/event-stream" if streamed else "application/json"
        handler._raw(200, b"data: " * streamed + content + b"\n\n", kind)

    monkeypatch.setattr(ModelRequests, "_answer", answer)
    prompt = Prompt("bees/1", (Message("user", "Bees?"),), lambda r, _: r.text, "", 40)
    with pytest.raises(EndpointError, match="no chat completion"):
        complete(connection(server.url), store, lambda c: c.ask([prompt]))


@pytest.mark.parametrize(
    "content", [{"a": 1}, [5], [{"token": 5}], [{"token": "A", "top_logprobs": [{"token": "A"}]}],
                [{"token": "A", "top_logprobs": [{"token": "A", "logprob": "x"}]}]],
)  # fmt: skip
def test_alternatives_that_cannot_be_read_are_left_aside(content: object) -> None:
    reply = StreamedReply(("A", "B"))
    choice = {"message": {"content": "A"}, "logprobs": {"content": content}}
    reply.add(json.loads(json.dumps({"model": "m" * LONG, "choices": [choice]})))
    read = reply.reply()
    assert (read.text, read.options) == ("A", ())
    assert len(read.model) < 1_000


def test_half_a_character_in_an_answer_is_a_mark_and_two_halves_are_one() -> None:
    reply = StreamedReply()
    pieces = ["a\ud83d", "\ude00 b\udc00"]
    shown = [
        reply.add({"model": "m\ud800", "choices": [{"delta": {"content": p}}]}) for p in pieces
    ]
    read = reply.reply()
    assert (read.text, read.model) == ("a\N{GRINNING FACE} b\ufffd", "m\ufffd")
    assert "".join(shown).encode()


@pytest.mark.parametrize("tokens", [-1_000, 10**30, "many", None, 1.5])
def test_usage_that_cannot_be_is_not_counted(tokens: object) -> None:
    reply = StreamedReply()
    reply.add({"choices": [], "usage": {"prompt_tokens": tokens, "completion_tokens": 1}})
    assert reply.used is None
