"""Reading answers, strictly: an answer is what was asked for, or it is none.

Nothing here ever falls back to one of the choices: what cannot be read is None, and the caller
counts it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from engine.llm.messages import Reply

LEAST_MASS = 0.5
"""Probability that the choices must have together for their shares to mean something."""
_REASONING = re.compile(
    r"<(think|thinking|reasoning|thought)>.*?</\1>"
    r"|<\|channel\|>analysis.*?<\|channel\|>final<\|message\|>"
    r"|\[THINK\].*?\[/THINK\]",
    re.DOTALL | re.IGNORECASE,
)
_HALF = re.compile(r"^.*</(?:think|thinking|reasoning|thought)>", re.DOTALL | re.IGNORECASE)
_UNFINISHED = re.compile(r"<(?:think|thinking|reasoning|thought)>|\[THINK\]", re.IGNORECASE)
_AROUND = " \t\r\n\"'`*_()[]{}.:“”‘’Ġ▁"
_LEAD = re.compile(
    r"^(?:(?:the\s+)?(?:final\s+)?answer(?:\s+is)?|candidate|document|passage)[\s:*]+",
    re.IGNORECASE,
)
_ORDER = re.compile(r"\[?\d{1,4}\]?(?:\s*>\s*\[?\d{1,4}\]?)+")
_BLOCK = re.compile(r"^```(?:json)?\s*(.*?)\s*```$", re.DOTALL)


def without_reasoning(text: str) -> str:
    """The answer behind the reasoning; empty when the reasoning never ended.

    Some endpoints swallow the opening sign, so that a closing one alone ends it too.

    >>> without_reasoning("<think>Is it A? No.</think> B")
    'B'
    >>> without_reasoning("<think>Is it A")
    ''
    """
    text = _HALF.sub("", _REASONING.sub("", text))
    return "" if _UNFINISHED.search(text) else text.strip()


def read_choice(text: str, choices: Sequence[str]) -> str | None:
    """The one of ``choices`` that is the whole answer, None when there is none.

    >>> read_choice("**B**", ("A", "B"))
    'B'
    >>> read_choice("A is less similar than B", ("A", "B")) is None
    True
    """
    answer = _LEAD.sub("", without_reasoning(text).strip(_AROUND)).strip(_AROUND)
    return next((c for c in choices if c.lower() == answer.lower()), None)


def read_probability(reply: Reply, choices: tuple[str, str]) -> float | None:
    """Probability of the first choice against the second.

    From the log probabilities where the endpoint gave them, else 1 or 0 by the answer. Only an
    answer that is one of the choices counts, whatever the log probabilities say.
    """
    answer = read_choice(reply.text, choices)
    if answer is None:
        return None
    mass = dict.fromkeys(choices, 0.0)
    for token, logprob in reply.options:
        spelled = read_choice(token, choices)
        if spelled is not None and math.isfinite(logprob):
            mass[spelled] += math.exp(min(logprob, 0.0))
    both = sum(mass.values())
    return mass[choices[0]] / both if both >= LEAST_MASS else float(answer == choices[0])


def read_order(text: str, count: int, *, incomplete: bool = False) -> list[int] | None:
    """The numbers 1 to ``count`` in the order of the answer, counted from 0.

    Args:
        incomplete: an answer that leaves some out is good enough.

    >>> read_order("[2] > [3] > [1]", 3)
    [1, 2, 0]
    """
    answer = without_reasoning(text).strip(" \t\r\n\"'`*.")
    if not _ORDER.fullmatch(answer):
        return None
    order = [int(number) - 1 for number in re.findall(r"\d+", answer)]
    if len(set(order)) < len(order) or not all(0 <= number < count for number in order):
        return None
    return order if incomplete or len(order) == count else None


def json_text(text: str) -> str:
    """The answer without reasoning and without a code block around it."""
    answer = without_reasoning(text)
    block = _BLOCK.match(answer)
    return block[1] if block else answer


def read_object(text: str) -> dict[str, Any] | None:
    """The JSON object that is the whole answer, a code block around it aside."""
    try:
        value = json.loads(json_text(text))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
