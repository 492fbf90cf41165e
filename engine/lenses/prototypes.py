"""Sentence roles for lenses without a classifier, from the sentence vectors themselves.

After prototypical networks (Snell et al. 2017): an aspect's prototype is the mean of what is
known of it (definition, examples, phrases), and a sentence's role follows from its cosine with
each. Two things stand in the way and are subtracted first. All prototypes of a lens share what
any text has in common with any other; their mean is taken off. And all sentences of a document
share its topic, which is nearer to one prototype than to another for no good reason; the
document's mean is taken off, the more of it the more sentences it is the mean of. So every
aspect gets its share of a document, and a document's roles depend on nothing but itself.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.numeric import FloatArray, unit
from engine.types.encoders import Encoder, Passage
from engine.types.lenses import Lens

SHARPNESS = 8.0
"""Probabilities go with ``exp(SHARPNESS * cosine)``.

Least log loss of 0 to 16 on the first demo corpus (research lens, 2,335 sentences) and on the
abstracts of ``assets/roles``; the lenses' own examples, each left out in turn, would have it
sharper.
"""
TOPIC_SENTENCES = 1.0
"""A document's mean is trusted to be its topic by ``(n - 1) / (n - 1 + TOPIC_SENTENCES)``."""


@dataclass(frozen=True)
class Prototypes:
    """The aspects of one lens as one encoder sees them."""

    directions: FloatArray  # (aspects, d), unit length: prototypes less their mean
    common: FloatArray  # (d,), the mean of the prototypes

    def probabilities(self, sentences: FloatArray) -> FloatArray:
        """Role probabilities (sentences, aspects) of one document; rows sum to 1.

        Args:
            sentences: (sentences, d) vectors of all its sentences, in context; one that is all
                zeros (no tokens) serves every aspect alike.
        """
        count = len(sentences)
        if not count:
            return np.zeros((0, len(self.directions)), dtype=np.float32)
        trust = (count - 1) / (count - 1 + TOPIC_SENTENCES)
        shared = trust * sentences.mean(axis=0) + (1 - trust) * self.common
        own = np.where(sentences.any(axis=1, keepdims=True), sentences - shared, 0.0)
        logits = SHARPNESS * (unit(np.asarray(own, dtype=np.float32)) @ self.directions.T)
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True), dtype=np.float32)


def prototypes_from(vectors: Sequence[Sequence[FloatArray]]) -> Prototypes:
    """Prototypes from what is known of each aspect.

    Args:
        vectors: per aspect the groups (n, d) of its vectors (definition, examples, phrases);
            groups weigh alike, however many texts they hold, and empty ones not at all.
    """
    means = unit(
        np.stack(
            [np.sum([unit(g.mean(axis=0)) for g in groups if len(g)], axis=0) for groups in vectors]
        )
    )
    common = means.mean(axis=0)
    return Prototypes(unit(means - common), common)


def prototypes(lens: Lens, encoder: Encoder) -> Prototypes:
    """The prototypes of a lens, encoded once per lens and model as long as they are in use."""
    texts = tuple(((a.definition,), a.examples, a.phrases) for a in lens.aspects)
    return _encoded(texts, _Model(encoder))


class _Model:
    """An encoder as a key of a cache: two with the same weights give the same vectors."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    def __hash__(self) -> int:
        return hash(self.encoder.spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Model) and other.encoder.spec == self.encoder.spec


@functools.lru_cache(maxsize=8)
def _encoded(texts: tuple[tuple[tuple[str, ...], ...], ...], model: _Model) -> Prototypes:
    flat = [text for groups in texts for group in groups for text in group]
    # As sentence vectors: what is compared should have been pooled alike.
    passages = [Passage("", text, ((0, len(text)),)) for text in flat]
    rows = iter(np.concatenate([e.sentences for e in model.encoder.encode(passages)]))
    empty = np.zeros((0, model.encoder.spec.dimension), dtype=np.float32)
    return prototypes_from(
        [
            [np.array([next(rows) for _ in group]) if group else empty for group in groups]
            for groups in texts
        ]
    )
