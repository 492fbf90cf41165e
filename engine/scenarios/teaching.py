"""A training set from scenarios that a teacher wrote: the texts a small model learns from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.corpora.scenario_store import ScenarioStore
from engine.errors import BadInputError
from engine.llm.texts import cut_text, harmless
from engine.scenarios.scenario_prompts import Written, WrittenScenario
from engine.types.documents import Document
from engine.types.scenarios import Scenario

INSTRUCTION = "distilled/1"
"""Version of the wording below; another one is another model."""
LESSON_TOKENS = 1200  # What of a document's text is shown
HELD_OUT = 20  # One document in so many is kept for the evaluation loss, at least one
FEWEST = 2
_TASK = """\
Read the document. Say what it is about, then which needs it meets that it does not name, each \
with the reason why it helps. Answer with one JSON object: main_topic, and scenarios with \
key_aspect, information_need and explanation.

Document:
"""
_ANSWER = "\n\nAnswer:\n"


@dataclass(frozen=True, slots=True)
class Lesson:
    """One example: what the small model is shown, and what it should write."""

    doc_id: str
    prompt: str
    completion: str


def question(document: Document) -> str:
    """What the small model is shown of a document, in training and afterwards."""
    text = harmless(f"{document.title.strip()}\n{document.text.strip()}".strip())
    return f"{_TASK}{cut_text(text, LESSON_TOKENS).text}{_ANSWER}"


def answer(scenarios: Sequence[Scenario]) -> str:
    """Scenarios of one document as the JSON that models write."""
    entries = [
        WrittenScenario(
            key_aspect=s.aspect, information_need=s.need, explanation=s.explanation
        ).model_dump()
        for s in scenarios
    ]
    return json.dumps({"main_topic": scenarios[0].topic, "scenarios": entries}, ensure_ascii=False)


def read_answer(text: str) -> Written | None:
    """What a small model wrote, None when it is not what was asked for.

    What follows the first JSON object is left aside: small models do not always stop.
    """
    try:
        value, _ = json.JSONDecoder().raw_decode(text.lstrip())
        return Written.model_validate(value)
    except (ValueError, RecursionError):  # pydantic's error is a ValueError
        return None


def lessons(store: ScenarioStore, limit: int | None = None) -> list[Lesson]:
    """Examples of the documents that a model wrote scenarios for, in the order of the corpus."""
    fresh = store.fresh()
    taught = [d for d in store.hashes if d in fresh and fresh[d].recipe.source == "generated"]
    taught = taught[:limit]
    if len(taught) < FEWEST:
        raise BadInputError(
            f"A language model has written scenarios for {len(taught)} documents of "
            f"'{store.corpus.name}'; at least {FEWEST} are needed to learn from.",
            f"Let one write more: seedlens scenarios {store.corpus.name} --limit 300",
        )
    return list(_lessons(store, taught))


def _lessons(store: ScenarioStore, doc_ids: Sequence[str], batch: int = 256) -> Iterator[Lesson]:
    for start in range(0, len(doc_ids), batch):
        group = doc_ids[start : start + batch]
        scenarios = store.of(group)
        for document in store.corpus.documents(group):
            said = answer(scenarios[document.doc_id])
            yield Lesson(document.doc_id, question(document), said)


def split(examples: Sequence[Lesson]) -> tuple[list[Lesson], list[Lesson]]:
    """Lessons to learn from, and lessons to measure by; the ids decide which.

    >>> train, held_out = split([Lesson(str(n), "", "") for n in range(40)])
    >>> len(train), len(held_out)
    (38, 2)
    """
    order = sorted(examples, key=lambda lesson: hashlib.sha256(lesson.doc_id.encode()).digest())
    count = max(1, len(order) // HELD_OUT)
    return order[count:], order[:count]
