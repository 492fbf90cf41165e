"""What an endpoint sends to do harm: each costs an answer at most."""

from __future__ import annotations

import time
from typing import Any

import pytest

from engine.ask.answering import read_citations
from engine.llm.messages import answer_so_far, json_text, without_reasoning
from engine.llm.transport import StreamedReply

LONG = 100_000


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (json_text, "``` a" + " \n" * LONG + "x"),
        (without_reasoning, "<think>" * LONG),
        (without_reasoning, "<|channel|>analysis" * LONG),
        (answer_so_far, "<think>" + "<" * LONG),
        (lambda text: read_citations(text, (), complete=False), "a" + " \t" * LONG + "b"),
    ],
)  # fmt: skip
def test_the_time_to_read_an_answer_grows_with_its_length_alone(read, text):
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
def test_what_stands_around_an_answer_is_taken_off(answer, left):
    assert json_text(answer) == left


def test_alternatives_and_usage_that_cannot_be_read_are_left_aside():
    odd: list[Any] = [{"a": 1}, [5], [{"token": "A", "top_logprobs": [{"token": "A"}]}]]
    for content in odd:
        reply = StreamedReply(("A", "B"))
        choice = {"message": {"content": "A"}, "logprobs": {"content": content}}
        usage = {"prompt_tokens": "many", "completion_tokens": 1}
        reply.add({"model": "m" * LONG, "choices": [choice], "usage": usage})
        read = reply.reply()
        assert (read.text, read.options, reply.used) == ("A", (), None)
        assert len(read.model) < 1_000
