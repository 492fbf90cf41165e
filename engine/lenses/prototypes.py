"""Sentence roles for lenses without a classifier, from the sentence vectors themselves.

After prototypical networks (Snell et al. 2017): an aspect's prototype is the mean of its
definition, examples and phrases, and a sentence's role follows from its cosine with each. Two means
are subtracted first: of all prototypes, and of the document's sentences, which share its topic (the
more of it, the more sentences there are).
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
"""Of ``exp(SHARPNESS * cosine)``: least log loss of 0 to 16 on the first demo (research lens,
2,335 sentences) and on the abstracts of ``assets/roles``."""
TOPIC_SENTENCES = 1.0
"""A document's mean counts as its topic by ``(n - 1) / (n - 1 + TOPIC_SENTENCES)``."""


@dataclass(frozen=True)
class Prototypes:
    """The aspects of one lens as one encoder sees them."""

    directions: FloatArray  # (aspects, d), unit length: prototypes less their mean
    common: FloatArray  # (d,), the mean of the prototypes

    def probabilities(self, sentences: FloatArray) -> FloatArray:
        """Role probabilities (sentences, aspects) of the sentence vectors (sentences, d) of one
        document; rows sum to 1, equal for zero vectors."""
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
    """Prototypes from the vectors (n, d) of each aspect in groups (definition, examples, phrases),
    which weigh equally; empty ones do not count."""
    means = unit(
        np.stack(
            [np.sum([unit(g.mean(axis=0)) for g in groups if len(g)], axis=0) for groups in vectors]
        )
    )
    common = means.mean(axis=0)
    return Prototypes(unit(means - common), common)


def prototypes(lens: Lens, encoder: Encoder) -> Prototypes:
    """The prototypes of a lens, encoded once per lens and model."""
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
