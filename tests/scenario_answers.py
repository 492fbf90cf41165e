"""What the tests' model writes when it is asked for scenarios."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

IMPLIED = {
    "Tides by sensor": (
        "Somebody plans when the ferry may leave, and wants to know how late it can be.",
        "The turn of the tide decides when a ferry gets through, so that foretelling it is "
        "what a timetable of ferries rests on.",
    )
}
"""Title -> a need that the document meets without a word of it, and why it does."""
_DOCUMENT = re.compile(r"^=== document \w+ ===\n(.*?)\n=== end \w+ ===$", re.MULTILINE | re.DOTALL)


def shown_document(prompt: str) -> tuple[str, str]:
    """Title and text of the document that a prompt asks scenarios for; "" for other prompts."""
    shown = _DOCUMENT.search(prompt)
    if shown is None or "information_need" not in prompt:
        return "", ""
    title, _, text = shown[1].partition("\n")
    return title, text


def writes_scenarios(prompt: str, _: Mapping[str, Any]) -> dict[str, Any] | None:
    """A scenario per sentence of the document, and what :data:`IMPLIED` says of it.

    A handler for ``Behaviour.handlers`` of ``tests/model_answers.py``.
    """
    title, text = shown_document(prompt)
    if not title:
        return None
    sentences = [s.strip() for s in re.split(r"(?<=[.!?])\s+", text or title) if s.strip()]
    entries = [
        {
            "key_aspect": " ".join(sentence.split()[:4]),
            "information_need": f"Somebody wants to know whether this holds: {sentence}",
            "explanation": f"It is answered by what was found: {sentence}",
        }
        for sentence in sentences[:6]
    ]
    for need, why in [IMPLIED[title]] if title in IMPLIED else []:
        entries.append({"key_aspect": title, "information_need": need, "explanation": why})
    return {"main_topic": title, "scenarios": entries}
