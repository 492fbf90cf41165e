"""Writers of scenarios: a language model, what it is asked for and what of its answer counts, and
extraction."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from pydantic import BaseModel, Field, field_validator

from engine.corpora.opened import OpenCorpus
from engine.corpora.scenario_store import Recipe
from engine.lenses.definitions import lens_to_json
from engine.llm.client import Client, ask_groups
from engine.llm.judges import halved
from engine.llm.messages import Prompt, Words, json_prompt, lenient, part_tokens
from engine.llm.texts import PART_TOKENS, cut_text, estimate_tokens, fenced, parts_of
from engine.numeric import FloatArray, unit
from engine.types.documents import Document, Sentence
from engine.types.lenses import Lens
from engine.types.scenarios import Scenario, ScenarioSource

# -- what a model is asked for ------------------------------------------------------------

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
        entries = different(filter(None, (lenient(WrittenScenario, item) for item in value)))
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


def different(entries: Iterable[WrittenScenario]) -> list[WrittenScenario]:
    """Entries without those that repeat an earlier one's need or explanation."""
    seen: set[str] = set()
    kept = []
    for entry in entries:
        letters = {_letters(entry.information_need), _letters(entry.explanation)}
        if seen.isdisjoint(letters):
            kept.append(entry)
            seen |= letters
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


# -- extraction ----------------------------------------------------------------------------

SENTENCES_EACH = 3  # A key sentence for every so many sentences that serve an aspect
MOST_EACH = 4  # Key sentences of one aspect
TOPIC_WORDS, NEED_WORDS = 24, 18
WHOLE = "Main point"
"""The aspect of documents none of whose sentences serves an aspect of the lens."""


def extract(document: Document, sentences: FloatArray, lens: Lens) -> tuple[Scenario, ...]:
    """The scenarios of one document; none for one without sentences.

    Args:
        sentences: (s, d), vectors of its sentences in context.
    """
    if not document.sentences:
        return ()
    topic = document.title.strip() or shortened(document.sentences[0].text, TOPIC_WORDS)
    # The cosine of each sentence with the mean of all: how much it speaks for the document.
    central = np.asarray(sentences @ unit(sentences.mean(axis=0)), dtype=np.float32)
    rows: dict[int | None, list[int]] = {}
    for number, sentence in enumerate(document.sentences):
        if sentence.text.strip():
            rows.setdefault(sentence.role, []).append(number)
    roles = [role for role in rows if role is not None]
    return tuple(
        Scenario(topic, name, need(topic, name, lens, sentence.text), sentence.text)
        for role in sorted(roles) or rows
        for name in [WHOLE if role is None else lens.aspects[role].name]
        for sentence in _key_sentences(document, rows[role], central, role)
    )


def need(topic: str, aspect: str, lens: Lens, sentence: str) -> str:
    """An information need that a key sentence meets.

    >>> from engine.lenses.definitions import RESEARCH
    >>> need("Bees in winter", "Method", RESEARCH, "We weigh the hives every day.")
    'Somebody wants papers on Bees in winter, for the method: We weigh the hives every day.'
    """
    words = shortened(sentence, NEED_WORDS)
    return f"Somebody wants {lens.things} on {topic.rstrip('.')}, for the {aspect.lower()}: {words}"


def shortened(text: str, words: int) -> str:
    """The first ``words`` words of a text, with a mark where something is left out.

    >>> shortened("one two three", 2)
    'one two …'
    """
    parts = text.split()
    return " ".join(parts) if len(parts) <= words else f"{' '.join(parts[:words])} …"


def _key_sentences(
    document: Document, rows: Sequence[int], central: FloatArray, role: int | None
) -> list[Sentence]:
    """The sentences that speak most clearly for an aspect and for the document, in order."""
    worth = {
        row: float(central[row]) * (1.0 if role is None else document.sentences[row].roles[role])
        for row in rows
    }
    count = min(MOST_EACH, math.ceil(len(rows) / SENTENCES_EACH))
    best = sorted(rows, key=lambda row: (-worth[row], row))[:count]
    return [document.sentences[row] for row in sorted(best)]


# -- writers -------------------------------------------------------------------------------

Outcome = tuple[Scenario, ...] | None
"""Of one document; () when nothing can be said of it, None when nobody has said it yet."""


class Writer(Protocol):
    """Writes scenarios for documents."""

    recipe: Recipe  # how; equal recipes write alike

    async def write(self, documents: Sequence[Document]) -> list[Outcome]:
        """The scenarios of each document."""
        ...


class ModelWriter:
    """Asks a language model; the questions about all documents go out at once.

    A document whose parts were not all answered counts as unanswered; answers that came are in
    the ledger, and are not asked for again.
    """

    def __init__(self, client: Client, model: str) -> None:
        self._client = client
        self.recipe = Recipe("generated", model, WRITING)

    async def write(self, documents: Sequence[Document]) -> list[Outcome]:
        tokens = room_for_part(await self._client.context())
        answers = await ask_groups(self._client.ask, [prompts_for(d, tokens) for d in documents])
        model = self.recipe.model
        return [
            None if parts is None else merged(p.records("generated", model) for p in parts)
            for parts in answers
        ]


def prompts_for(document: Document, tokens: int = PART_TOKENS) -> list[Prompt[Written]]:
    """The questions about one document; none about one without text."""
    return [writing(document.title, part, tokens) for part in parts_of(document, tokens)]


def room_for_part(context: int | None) -> int:
    """Room for a part of a document in a model's context; None where nobody knows that."""
    return part_tokens(context, writing("", ""), most_tokens, FEWEST_TOKENS)


class ExtractWriter:
    """Puts title and key sentences into the form of scenarios."""

    def __init__(self, corpus: OpenCorpus) -> None:
        self._corpus = corpus
        lens = hashlib.sha256(lens_to_json(corpus.lens).encode()).hexdigest()[:12]
        self.recipe = Recipe("extractive", "", f"extract/1 {lens}")

    async def write(self, documents: Sequence[Document]) -> list[Outcome]:
        rows = self._corpus.rows([document.doc_id for document in documents])
        vectors = self._corpus.sentences(rows)
        return [
            extract(d, own, self._corpus.lens) for d, own in zip(documents, vectors, strict=True)
        ]
