"""What the tests' model answers when it is asked to compare documents in one aspect."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

_SHOWN = re.compile(
    r"^=== (?:starting document|candidate) \w+ ===\n(.*?)\n=== end \w+ ===$",
    re.MULTILINE | re.DOTALL,
)
Alike = Callable[[str, str, str], int]


def grades_pairs(alike: Alike) -> Callable[[str, Mapping[str, Any]], dict[str, Any] | None]:
    """A handler for ``Behaviour.handlers`` of ``tests/model_answers.py``.

    Args:
        alike: the grade for the aspect's name, the seed's text and a candidate's.
    """

    def answer(prompt: str, _: Mapping[str, Any]) -> dict[str, Any] | None:
        if "Grade each of the candidates" not in prompt:
            return None
        seed, *candidates = _SHOWN.findall(prompt)
        aspect = re.findall(r"^Aspect: (.*)$", prompt, re.MULTILINE)[0]
        return {
            "grades": [
                {"candidate": number, "grade": alike(aspect, seed, text)}
                for number, text in enumerate(candidates, start=1)
            ]
        }

    return answer


def in_title(aspect: str, seed: str, candidate: str) -> int:
    """Of the small corpus's "bees by network": 3 for the same method, else for the same problem."""
    place = -1 if aspect == "Method" else 0
    words = [text.splitlines()[0].lower().split() for text in (seed, candidate)]
    return 3 * (words[0][place] == words[1][place])
