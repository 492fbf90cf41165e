"""One question to a model and one reply, as plain records."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Message:
    """One turn; ``role`` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered.

    Attributes:
        text: the answer, whatever reasoning stood before it included.
        options: ((token, log probability), ...) of what could have stood at the place of the
            answer, where the endpoint told; empty otherwise.
        used: (input, output) tokens as reported, or None.
        model: what the endpoint says has answered.
        cut: the answer stopped at the limit of tokens.
        reasoned: the endpoint reports reasoning outside of ``text``.
    """

    text: str
    options: tuple[tuple[str, float], ...] = ()
    used: tuple[int, int] | None = None
    model: str = ""
    cut: bool = False
    reasoned: bool = False

    def to_json(self) -> str:
        """What is kept in the ledger: enough to read the answer again."""
        kept: dict[str, Any] = {"text": self.text}
        if self.options:
            kept["options"] = self.options
        return json.dumps(kept)  # in ASCII: halves of surrogate pairs cannot be stored

    @staticmethod
    def from_json(text: str) -> Reply:
        """What :meth:`to_json` wrote."""
        kept = json.loads(text)
        options = tuple((str(token), float(lp)) for token, lp in kept.get("options", ()))
        return Reply(str(kept["text"]), options)


@dataclass(frozen=True, slots=True)
class Prompt(Generic[Value]):
    """One question, and how to read its answer.

    Attributes:
        name: kind and version of the wording (``pairwise/1``); another wording, another name.
        read: the answer's value, None when it cannot be read. The second argument is True for
            the last reading, where an incomplete answer is better than none.
        nudge: what is said after an answer that could not be read.
        most_tokens: an answer's length, reasoning aside.
        choices: the answers that there are, where one of a few words is asked for.
        schema: JSON schema of the answer, where one is asked for.
        shorter: the same question with shorter texts, where there can be one.
    """

    name: str
    messages: tuple[Message, ...]
    read: Callable[[Reply, bool], Value | None]
    nudge: str
    most_tokens: int
    choices: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None
    shorter: Callable[[], Prompt[Value]] | None = field(default=None, compare=False)


def answer_key(address: str, prompt: Prompt[Any], mode: str, parameters: Mapping[str, Any]) -> str:
    """64 hex digits that stand for the question: endpoint, wording, mode, parameters and texts.

    ``parameters`` name the model. Texts count as they are sent and in their order: A against B
    and B against A are two questions.
    """
    content = {
        "address": address,
        "prompt": prompt.name,
        "mode": mode,
        "parameters": parameters,
        "messages": [[m.role, m.content] for m in prompt.messages],
    }
    # Half of a surrogate pair cannot be sent either; here it must not stop the run.
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
