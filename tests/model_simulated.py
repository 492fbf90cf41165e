"""A simulated judge of the benchmarks behind the tests' model: the same answers, over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from benchmarks.simulated_judges import Character, SimulatedJudge
from tests.model_answers import Handler, Knowledge, aspect_of

UNSURE = "I cannot tell."
"""Said twice, it is no answer."""


def simulated(character: Character, knowledge: Knowledge) -> Handler:
    """Answers pairs, single documents and lists as ``SimulatedJudge`` does, query by query."""

    @lru_cache(maxsize=256)
    def judge(seed: str, aspect: str) -> SimulatedJudge:
        return SimulatedJudge(character, f"{seed}_{aspect}", knowledge.grades(seed, aspect))

    def answer(prompt: str, _: Mapping[str, Any]) -> Any:
        seed, shown = knowledge.documents(prompt)
        if not seed or not shown:
            return None
        if "A or B" in prompt:
            return _said("A", "B", judge(seed, aspect_of(prompt)).pair(*shown[-2:]))
        if "yes or no" in prompt:
            return _said("yes", "no", judge(seed, aspect_of(prompt)).grade(shown[-1]))
        if "[2] > [1]" in prompt:
            order = judge(seed, aspect_of(prompt)).listing(shown) or []
            return " > ".join(f"[{shown.index(doc_id) + 1}]" for doc_id in order) or UNSURE
        return None

    return answer


def _said(first: str, second: str, probability: float | None) -> Any:
    if probability is None:
        return UNSURE
    options = [(first, probability), (second, 1 - probability)]
    likely = max(options, key=lambda option: option[1])[0]
    return likely, [(token, share) for token, share in options if share]
