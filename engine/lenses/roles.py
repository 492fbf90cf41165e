"""Sentence roles for corpora that come without labels.

A multinomial logistic regression over the words and word pairs of a sentence and its two
neighbours and its position (after Cohan et al. 2019), followed by a linear chain (Lafferty et al.
2001) over the document. It needs no encoder; where sentences were encoded by the embedded model, a
second regression over their vectors is averaged with it. Weights: ``assets/roles/classifier.json``,
made by ``benchmarks/fit_roles.py``.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from engine.config import ASSETS

FloatArray = NDArray[np.float64]
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
def _positions(count: int) -> FloatArray:
    """Position features (count, features) of a document; documents repeat their lengths."""
    return np.array([position_features(i, count) for i in range(count)])


def chain_marginals(logits: FloatArray, transitions: FloatArray) -> FloatArray:
    """Probabilities (n, roles) of each sentence's role under a linear chain: the forward-backward
    algorithm, rescaled at every step.

    `logits`: (n, roles) evidence for each sentence alone, in log units. `transitions`: (roles,
    roles) log-weight of a role (column) after another (row).
    """
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

    def predict(
        self, sentences: Sequence[str], vectors: NDArray[np.float32] | None = None
    ) -> FloatArray:
        """Probabilities (n, roles) of all sentences of one document; rows sum to 1.

        `vectors`: (n, d) of the embedded model; both regressions are then averaged in log units.
        """
        by_words = self._by_words(sentences)
        if vectors is None or not len(sentences):
            return by_words
        fitted, share = self._vectors, float(self._vectors["share"])
        features = np.hstack([vectors, _positions(len(sentences))])
        by_vectors = log_softmax(features @ fitted["weights"].T + fitted["intercept"], axis=1)
        joint = (1.0 - share) * np.log(by_words + 1e-9) + share * by_vectors
        return np.asarray(softmax(joint, axis=1))

    def _by_words(self, sentences: Sequence[str]) -> FloatArray:
        count, roles = len(sentences), len(self.roles)
        if not count:
            return np.zeros((0, roles))
        votes = self._votes(sentences)
        logits = self._intercept + _positions(count) @ self._position + votes[:, :roles]
        logits[:-1] += votes[1:, roles : 2 * roles]
        logits[1:] += votes[:-1, 2 * roles :]
        return chain_marginals(logits, self._transitions)

    def evidence(self, texts: Sequence[str]) -> FloatArray:
        """The evidence (n, roles) of the words of each text, without position."""
        return self._votes(texts)[:, : len(self.roles)]

    def _votes(self, sentences: Sequence[str]) -> FloatArray:
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
