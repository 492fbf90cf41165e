"""Writers of scenarios: a language model, a small one trained from it, and extraction."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from engine.corpora.opened import OpenCorpus
from engine.corpora.scenario_store import Recipe
from engine.lenses.definitions import lens_to_json
from engine.llm.client import Client
from engine.llm.messages import Prompt, part_tokens
from engine.llm.texts import PART_TOKENS, parts_of
from engine.numeric import FloatArray, unit
from engine.scenarios.scenario_prompts import (
    FEWEST_TOKENS,
    WRITING,
    Written,
    merged,
    most_tokens,
    writing,
)
from engine.types.documents import Document, Sentence
from engine.types.lenses import Aspect, Lens
from engine.types.scenarios import Scenario

SENTENCES_EACH = 3  # A key sentence for every so many sentences that serve an aspect
MOST_EACH = 4  # Key sentences of one aspect
TOPIC_WORDS, NEED_WORDS = 24, 18
WHOLE = "Main point"
"""The aspect of documents none of whose sentences serves an aspect of the lens."""


def extract_version(lens: Lens) -> str:
    """Name and version of this way of extracting, with the lens that it goes by."""
    return f"extract/1 {hashlib.sha256(lens_to_json(lens).encode()).hexdigest()[:12]}"


def extract(document: Document, sentences: FloatArray, lens: Lens) -> tuple[Scenario, ...]:
    """The scenarios of one document; none for one without sentences.

    Args:
        sentences: (s, d), vectors of its sentences in context.
    """
    if not document.sentences:
        return ()
    topic = document.title.strip() or shortened(document.sentences[0].text, TOPIC_WORDS)
    central = centrality(sentences)
    return tuple(
        Scenario(topic, name, need(topic, name, lens, sentence.text), sentence.text)
        for name, rows in _by_aspect(document, lens)
        for sentence in _key_sentences(document, rows, central, lens, name)
    )


def centrality(sentences: FloatArray) -> FloatArray:
    """Cosine (s,) of each sentence with the mean of all: how much it speaks for the document."""
    return np.asarray(sentences @ unit(sentences.mean(axis=0)), dtype=np.float32)


def need(topic: str, aspect: str, lens: Lens, sentence: str) -> str:
    """An information need that a key sentence meets.

    >>> from engine.lenses.definitions import RESEARCH
    >>> need("Bees in winter", "Method", RESEARCH, "We weigh the hives every day.")
    'Somebody wants papers on Bees in winter, for the method: We weigh the hives every day.'
    """
    said = shortened(sentence, NEED_WORDS)
    return f"Somebody wants {lens.things} on {topic.rstrip('.')}, for the {aspect.lower()}: {said}"


def shortened(text: str, words: int) -> str:
    """The first ``words`` words of a text, with a mark where something is left out.

    >>> shortened("one two three", 2)
    'one two …'
    """
    parts = text.split()
    return " ".join(parts) if len(parts) <= words else f"{' '.join(parts[:words])} …"


def _by_aspect(document: Document, lens: Lens) -> list[tuple[str, list[int]]]:
    """Names of the aspects that sentences serve, and those sentences' numbers."""
    rows: dict[int, list[int]] = {}
    for number, sentence in enumerate(document.sentences):
        if sentence.role is not None and sentence.text.strip():
            rows.setdefault(sentence.role, []).append(number)
    if not rows:
        spoken = [n for n, s in enumerate(document.sentences) if s.text.strip()]
        return [(WHOLE, spoken)] if spoken else []
    aspects: Sequence[Aspect] = lens.aspects
    return [(aspects[role].name, numbers) for role, numbers in sorted(rows.items())]


def _key_sentences(
    document: Document, rows: Sequence[int], central: FloatArray, lens: Lens, name: str
) -> list[Sentence]:
    """The sentences that speak most clearly for an aspect and for the document, in order."""
    role = next((i for i, aspect in enumerate(lens.aspects) if aspect.name == name), None)
    worth = {
        row: float(central[row]) * (1.0 if role is None else document.sentences[row].roles[role])
        for row in rows
    }
    count = min(MOST_EACH, math.ceil(len(rows) / SENTENCES_EACH))
    best = sorted(rows, key=lambda row: (-worth[row], row))[:count]
    return [document.sentences[row] for row in sorted(best)]


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
        prompts = [prompts_for(document, tokens) for document in documents]
        asked: list[Prompt[Written]] = [prompt for some in prompts for prompt in some]
        answered = await self._client.ask(asked)
        answers = iter(answered)
        return [self._read([next(answers) for _ in some]) for some in prompts]

    def _read(self, answers: Sequence[Written | None]) -> Outcome:
        parts = [a.records("generated", self.recipe.model) for a in answers if a is not None]
        return merged(parts) if len(parts) == len(answers) else None


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
        self.recipe = Recipe("extractive", "", extract_version(corpus.lens))

    async def write(self, documents: Sequence[Document]) -> list[Outcome]:
        rows = self._corpus.rows([document.doc_id for document in documents])
        vectors = self._corpus.sentences(rows)
        return [
            extract(d, own, self._corpus.lens) for d, own in zip(documents, vectors, strict=True)
        ]
