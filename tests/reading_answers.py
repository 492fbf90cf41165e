"""What the tests' model says when it reads a wording."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.grading_answers import fenced_texts

ASKED = "What does this wording ask for?"
"""Words that stand in every such question."""
WORDS = "trained without labelled photographs, never mind what came out"
CONTENT = "trained without labelled photographs"
READ: dict[str, Any] = {"content": CONTENT, "wanted": ["method"], "ruled_out": ["result"]}
"""What :data:`WORDS` mean under the lens of research abstracts."""


def reads(answer: Any = READ, words: str = "") -> Callable[..., Any]:
    """A handler for ``Behaviour.handlers``: this answer to every wording, or to ``words`` only."""

    def handler(prompt: str, _: Mapping[str, Any]) -> Any:
        if ASKED not in prompt or words not in "".join(fenced_texts(prompt, "wording")):
            return None
        return answer

    return handler
