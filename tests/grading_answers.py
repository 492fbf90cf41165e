"""What the tests' model says when it grades candidates of an annotation project."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.small_corpus import METHODS

ASKED = "annotators of a test collection"
"""Words that stand in every such question."""
_TEXTS = re.compile(r"^=== ([a-z ]+) (\w+) ===\n(.*?)\n=== end \2 ===$", re.MULTILINE | re.DOTALL)


def fenced_texts(prompt: str, name: str) -> list[str]:
    """The quoted texts of a prompt by this name, in their order."""
    return [text for found, _, text in _TEXTS.findall(prompt) if found == name]


def candidate_of(prompt: str) -> str:
    """Title and text of the candidate; "" for prompts that ask for no grade."""
    found = fenced_texts(prompt, "candidate") if ASKED in prompt else []
    return found[0] if found else ""


def grades_by(words: str = METHODS["network"], high: int = 3, low: int = 0) -> Callable[..., Any]:
    """A handler for ``Behaviour.handlers``: ``high`` where the candidate has these words."""

    def handler(prompt: str, _: Mapping[str, Any]) -> dict[str, Any] | None:
        text = candidate_of(prompt)
        if not text:
            return None
        title = text.partition("\n")[0]
        same = words in text
        reason = f"{title} {'does the same' if same else 'does something else'}."
        return {"reason": reason, "grade": high if same else low}

    return handler
