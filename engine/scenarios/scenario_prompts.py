"""What a model is asked for when it writes scenarios, and what of its answer counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, field_validator

from engine.llm.judging_prompts import halved
from engine.llm.messages import Prompt, Words, json_prompt
from engine.llm.texts import PART_TOKENS, cut_text, estimate_tokens, fenced
from engine.types.scenarios import Scenario, ScenarioSource

WRITING = "scenarios/1"
FEWEST_TOKENS = 80
"""A part is never cut below this; a model that cannot take it cannot write about it."""
MOST_PER_PART = 12
TOKENS_PER_SCENARIO = 40  # A text of so many tokens carries one scenario more, as a rule
ANSWER_TOKENS = 160  # Of one scenario in an answer, on the high side
SYSTEM = """\
You prepare a collection of documents for search. People will look for these documents in words \
that the documents do not use: they describe their own situation, and only somebody who thinks \
about a document sees that it helps. You write down that thought beforehand.
Keep to what the document says or what follows from it. Speak of ideas, findings and principles, \
not of single names, numbers or lines, unless the document is about those."""


class WrittenScenario(BaseModel):
    """One need, in the order in which one should think of it."""

    key_aspect: Words = Field(
        max_length=300, description="one part of what the document has to say"
    )
    information_need: Words = Field(
        max_length=600,
        description="a situation in which somebody would be helped by that part, and what they "
        "want to know, in their own words, begun with 'Somebody wants to know'",
    )
    explanation: Words = Field(
        max_length=1500,
        description="why and how the document meets this need, the step of thought included",
    )


class Written(BaseModel):
    """What a text is about, and the needs that it meets."""

    # Models read the docstrings of these two classes: what only concerns us stands in comments.

    main_topic: Words = Field(max_length=400, description="what the document as a whole is about")
    scenarios: list[WrittenScenario] = Field(description="one for every need worth looking for")

    # Entries that are empty, too long or no scenarios are left out; an answer in which none is
    # left is no answer.
    @field_validator("scenarios", mode="before")
    @classmethod
    def _usable(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        entries = different(entry for item in value if (entry := _entry(item)) is not None)
        if not entries:
            raise ValueError("no scenario is complete")
        return entries[:MOST_PER_PART]

    def records(self, source: ScenarioSource, model: str) -> list[Scenario]:
        """The same as scenarios of a document."""
        return [
            Scenario(
                self.main_topic, s.key_aspect, s.information_need, s.explanation, source, model
            )
            for s in self.scenarios
        ]


_ENTRY = TypeAdapter(WrittenScenario)


def _entry(value: Any) -> WrittenScenario | None:
    try:
        return _ENTRY.validate_python(value)
    except ValidationError:
        return None


def different(entries: Iterable[WrittenScenario]) -> list[WrittenScenario]:
    """Entries without those that repeat an earlier one's need or explanation."""
    seen: set[str] = set()
    kept = []
    for entry in entries:
        said = {_letters(entry.information_need), _letters(entry.explanation)}
        if seen.isdisjoint(said):
            kept.append(entry)
            seen |= said
    return kept


def merged(parts: Iterable[Sequence[Scenario]]) -> tuple[Scenario, ...]:
    """The scenarios of all parts of a document under the topic of the first, each need once."""
    by_need: dict[str, Scenario] = {}
    for part in parts:
        for scenario in part:
            by_need.setdefault(_letters(scenario.need), scenario)
    return tuple(by_need.values())


def _letters(text: str) -> str:
    return re.sub(r"\W+", " ", text.casefold()).strip()


def most_scenarios(text: str) -> int:
    """How many scenarios a text is asked for at most.

    >>> most_scenarios("A text of one sentence."), most_scenarios("word " * 5000)
    (2, 12)
    """
    return min(MOST_PER_PART, 2 + estimate_tokens(text) // TOKENS_PER_SCENARIO)


def writing(title: str, text: str, tokens: int = PART_TOKENS) -> Prompt[Written]:
    """Which needs does this text meet? Read as the topic and its scenarios."""
    shown = cut_text(text.strip(), tokens).text
    most = most_scenarios(shown)
    document = f"{title.strip()}\n{shown}".strip()
    user = f"""\
{fenced("document", document)}

Say first what the document above is about as a whole. Then go through what it has to say, part \
by part. For each part think of people who would be helped by it and would not know its words: \
write what such a person wants to know, then why and how the document answers it.
Write as many scenarios as the text carries, each for a different need: one or two for a short \
note, {most} at most. None may rest on a single remark in passing."""
    return json_prompt(
        WRITING,
        SYSTEM,
        user,
        Written,
        most_tokens=most_tokens(shown),
        shorter=halved(tokens, lambda less: writing(title, shown, less), FEWEST_TOKENS),
    )


def most_tokens(text: str) -> int:
    """The length of an answer about a text, on the high side."""
    return 120 + ANSWER_TOKENS * most_scenarios(text)
