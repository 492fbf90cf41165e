"""A model that goes by the words it is given, where the plain test server goes by aspects only."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.model_answers import Answerer, aspect_of

WORDS = {"method": "method", "procedure": "method", "finding": "result", "result": "result",
         "problem": "background", "background": "background"}  # fmt: skip


def obedient(answerer: Answerer) -> Callable[[str, Mapping[str, Any]], Any]:
    """A handler that takes the aspect from the wording; without one, whatever is alike counts."""

    def answer(prompt: str, body: Mapping[str, Any]) -> Any:
        wording = re.search(r"=== wording \w+ ===\n(.*?)\n=== end ", prompt, re.DOTALL)
        if wording is None or aspect_of(prompt):
            return None
        said = re.findall(r"\w+", wording[1].lower())
        aspect = next((WORDS[word] for word in said if word in WORDS), "")
        return answerer.answer(f"{prompt}\nAspect: {aspect}", body) if aspect else None

    return answer
