"""Roles of sentences of corpora without labels: by the shipped classifier, for other lenses by
prototypes of their aspects.

The classifier is a multinomial logistic regression over the words and word pairs of a sentence and
its two neighbours and its position (after Cohan et al. 2019), followed by a linear chain (Lafferty
et al. 2001) over the document. It needs no encoder; where sentences were encoded by the embedded
model, a second regression over their vectors is averaged with it. Weights:
``assets/roles/classifier.json``, made by ``tools/fit/roles.py``.

After prototypical networks (Snell et al. 2017), an aspect's prototype is the mean of its
definition, examples and phrases, and a sentence's role follows from its cosine with each. Two means
are subtracted first: of all prototypes, and of the document's sentences, which share its topic (the
more of it, the more sentences there are).
"""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from engine.config import ASSETS
from engine.numeric import FloatArray, unit
from engine.types.encoders import Encoder, Passage
from engine.types.lenses import Lens

Doubles = NDArray[np.float64]
WEIGHTS = ASSETS / "roles" / "classifier.json"
_WORD = re.compile(r"\w+|%")
_DIGITS = re.compile(r"\d+")


def ngrams(sentence: str) -> list[str]:
    """Lower-cased words and word pairs; digits become ``0`` so that figures look alike."""
    words = _WORD.findall(_DIGITS.sub("0", sentence.lower()))
    return words + [f"{a} {b}" for a, b in pairwise(words)]


def position_features(index: int, count: int) -> list[float]:
    """The place of sentence ``index`` of ``count``: relative position, ends, length."""
    relative = (index + 0.5) / count
    return [
        relative,
        relative**2,
        relative**3,
        float(index == 0),
        float(index == 1),
        float(index == count - 1),
        min(index, 6) / 6,
        min(count, 20) / 10,
    ]


@functools.lru_cache(maxsize=256)
def _positions(count: int) -> Doubles:
    """Position features (count, features) of a document; documents repeat their lengths."""
    return np.array([position_features(i, count) for i in range(count)])


def chain_marginals(logits: Doubles, transitions: Doubles) -> Doubles:
    """Probabilities (n, roles) of each sentence's role under a linear chain, by the rescaled
    forward-backward algorithm: `logits` (n, roles) are the evidence for each sentence alone,
    `transitions` (roles, roles) the log-weight of a role (column) after another (row)."""
    evidence = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
    step = np.exp(transitions)
    before, after = evidence.copy(), np.ones_like(evidence)
    for i in range(1, len(evidence)):
        forward = (before[i - 1] @ step) * evidence[i]
        before[i] = forward / forward.sum()
    for i in range(len(evidence) - 2, -1, -1):
        backward = step @ (after[i + 1] * evidence[i + 1])
        after[i] = backward / backward.sum()
    marginals = before * after
    return np.asarray(marginals / marginals.sum(axis=1, keepdims=True))


class RoleClassifier:
    """Predicts role probabilities, in the order of :attr:`roles`."""

    def __init__(self, path: Path = WEIGHTS) -> None:
        data = json.loads(path.read_text(encoding="utf-8"))
        self.roles: tuple[str, ...] = tuple(data["roles"])
        self._vocabulary = {term: i for i, term in enumerate(data["terms"])}
        self._idf = np.array(data["idf"])
        # (terms, 3 * roles): what a term says about its own sentence, about the one before
        # and about the one after, side by side for one look-up.
        self._terms = np.ascontiguousarray(
            np.concatenate([data["own"], data["from_next"], data["from_previous"]]).T
        )
        self._position = np.array(data["position_weights"]).T
        self._intercept = np.array(data["intercept"])
        self._transitions = np.array(data["transitions"])
        self._vectors = {name: np.array(values) for name, values in data["vectors"].items()}

    def predict(self, sentences: Sequence[str], vectors: FloatArray | None = None) -> Doubles:
        """Probabilities (n, roles) of all sentences of one document; rows sum to 1. With `vectors`
        (n, d) of the embedded model, both regressions are averaged in log units."""
        by_words = self._by_words(sentences)
        if vectors is None or not len(sentences):
            return by_words
        fitted, share = self._vectors, float(self._vectors["share"])
        features = np.hstack([vectors, _positions(len(sentences))])
        by_vectors = log_softmax(features @ fitted["weights"].T + fitted["intercept"], axis=1)
        joint = (1.0 - share) * np.log(by_words + 1e-9) + share * by_vectors
        return np.asarray(softmax(joint, axis=1))

    def _by_words(self, sentences: Sequence[str]) -> Doubles:
        count, roles = len(sentences), len(self.roles)
        if not count:
            return np.zeros((0, roles))
        votes = self._votes(sentences)
        logits = self._intercept + _positions(count) @ self._position + votes[:, :roles]
        logits[:-1] += votes[1:, roles : 2 * roles]
        logits[1:] += votes[:-1, 2 * roles :]
        return chain_marginals(logits, self._transitions)

    def evidence(self, texts: Sequence[str]) -> Doubles:
        """The evidence (n, roles) of the words of each text, without position."""
        return self._votes(texts)[:, : len(self.roles)]

    def _votes(self, sentences: Sequence[str]) -> Doubles:
        """Weighted terms (n, 3 * roles) of each sentence; zero where it has no known term."""
        size, look_up = len(self._vocabulary), self._vocabulary.get
        keys = [
            row * size + term
            for row, sentence in enumerate(sentences)
            for term in map(look_up, ngrams(sentence))
            if term is not None
        ]
        votes = np.zeros((len(sentences), self._terms.shape[1]))
        if not keys:
            return votes
        distinct, counts = np.unique(np.array(keys, dtype=np.int64), return_counts=True)
        rows, terms = np.divmod(distinct, size)
        tfidf = (1 + np.log(counts)) * self._idf[terms]
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        norms = np.sqrt(np.add.reduceat(tfidf**2, starts))
        sums = np.add.reduceat(self._terms[terms] * tfidf[:, None], starts, axis=0)
        votes[rows[starts]] = sums / norms[:, None]
        return votes


@functools.lru_cache(maxsize=1)
def role_classifier() -> RoleClassifier:
    """The shipped classifier, read once per process."""
    return RoleClassifier()


# -- prototypes -----------------------------------------------------------------------------------

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


_PROTOTYPES: WeakKeyDictionary[Encoder, dict[object, Prototypes]] = WeakKeyDictionary()


def prototypes(lens: Lens, encoder: Encoder) -> Prototypes:
    """The prototypes of a lens, encoded once per lens and model."""
    texts = tuple(((a.definition,), a.examples, a.phrases) for a in lens.aspects)
    known = _PROTOTYPES.setdefault(encoder, {})
    if texts not in known:
        # As sentence vectors: what is compared should have been pooled alike.
        flat = itertools.chain.from_iterable(itertools.chain(*texts))
        passages = [Passage("", text, ((0, len(text)),)) for text in flat]
        rows = np.concatenate([e.sentences for e in encoder.encode(passages)])
        ends = np.cumsum([len(group) for groups in texts for group in groups])
        parts = iter(np.split(rows, ends[:-1]))
        known[texts] = prototypes_from([[next(parts) for _ in groups] for groups in texts])
    return known[texts]
