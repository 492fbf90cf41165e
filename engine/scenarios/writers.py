"""Who writes scenarios for documents: a language model, a small one of one's own, or nobody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engine.corpus import OpenCorpus
from engine.llm.client import Client
from engine.llm.messages import Prompt
from engine.llm.texts import estimate_tokens
from engine.scenarios.extract import extract, extract_version
from engine.scenarios.prompts import (
    FEWEST_TOKENS,
    PART_TOKENS,
    WRITING,
    Written,
    merged,
    most_tokens,
    parts_of,
    writing,
)
from engine.scenarios.store import Recipe
from engine.types import Document
from engine.types.scenarios import Scenario

Scenarios = tuple[Scenario, ...] | None
"""Of one document; () when nothing can be said of it, None when nobody has said it yet."""


class Writer(Protocol):
    """Writes scenarios for documents."""

    @property
    def recipe(self) -> Recipe:
        """How; equal recipes write alike."""
        ...

    @property
    def stopped(self) -> str:
        """Why it writes no more ("cancelled", "budget", "endpoint"); "" while it does."""
        ...

    async def write(self, documents: Sequence[Document]) -> list[Scenarios]:
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

    @property
    def stopped(self) -> str:
        return self._client.stopped

    async def write(self, documents: Sequence[Document]) -> list[Scenarios]:
        tokens = part_tokens(await self._client.context())
        prompts = [prompts_for(document, tokens) for document in documents]
        asked: list[Prompt[Written]] = [prompt for some in prompts for prompt in some]
        found = await self._client.ask(asked)
        answers = iter(found)
        return [self._read([next(answers) for _ in some]) for some in prompts]

    def _read(self, answers: Sequence[Written | None]) -> Scenarios:
        parts = [a.records("generated", self.recipe.model) for a in answers if a is not None]
        return merged(parts) if len(parts) == len(answers) else None


def prompts_for(document: Document, tokens: int = PART_TOKENS) -> list[Prompt[Written]]:
    """The questions about one document; none about one without text."""
    return [writing(document.title, part, tokens) for part in parts_of(document, tokens)]


def part_tokens(context: int | None) -> int:
    """Room for a part of a document in a model's context; None where nobody knows that."""
    if context is None:
        return PART_TOKENS
    blank = writing("", "")
    fixed = sum(estimate_tokens(message.content) for message in blank.messages)
    longest = most_tokens("x " * 2 * PART_TOKENS)
    return max(FEWEST_TOKENS, min(PART_TOKENS, context - fixed - longest))


class ExtractWriter:
    """Puts title and key sentences into the form of scenarios; see :mod:`.extract`."""

    stopped = ""

    def __init__(self, corpus: OpenCorpus) -> None:
        self._corpus = corpus
        self.recipe = Recipe("extractive", "", extract_version(corpus.lens))

    async def write(self, documents: Sequence[Document]) -> list[Scenarios]:
        vectors = dict(self._corpus.sentences([document.doc_id for document in documents]))
        return [extract(d, vectors[d.doc_id], self._corpus.lens) for d in documents]
