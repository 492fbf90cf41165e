"""Scenarios without a model: a document's own title and key sentences, put into the form.

They say nothing that the document does not say, so that they cannot bring out what it only
implies; what they add is a vector for each aspect of a document beside the one of its whole.
Everything made of them is labelled as an extract.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import numpy as np

from engine.lenses import lens_to_json
from engine.numeric import FloatArray, unit
from engine.types import Aspect, Document, Lens, Sentence
from engine.types.scenarios import Scenario

SENTENCES_EACH = 3
"""A key sentence for every so many sentences that serve an aspect."""
MOST_EACH = 4
"""Key sentences of one aspect."""
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

    >>> from engine.lenses import RESEARCH
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
