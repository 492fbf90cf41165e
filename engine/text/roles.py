"""Sentence roles for corpora that come without labels.

A multinomial logistic regression over word uni- and bigrams and the sentence's position,
after the sequential sentence classification literature (Cohan et al. 2019). It needs no
encoder, so it serves every model. Weights: ``assets/roles/classifier.json``, made by
``benchmarks/fit_roles.py`` from abstracts written for this project.
"""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.config import ASSETS

FloatArray = NDArray[np.float64]
WEIGHTS = ASSETS / "roles" / "classifier.json"
_WORD = re.compile(r"\w+|%")


def ngrams(sentence: str) -> list[str]:
    """Lower-cased words and word pairs; digits become ``0`` so that figures look alike."""
    words = [re.sub(r"\d+", "0", w) for w in _WORD.findall(sentence.lower())]
    return words + [f"{a} {b}" for a, b in pairwise(words)]


def position_features(index: int, count: int) -> list[float]:
    """Where sentence ``index`` of ``count`` stands: relative position, ends, length."""
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


class RoleClassifier:
    """Predicts role probabilities, in the order of :attr:`roles`."""

    def __init__(self, path: Path = WEIGHTS) -> None:
        data = json.loads(path.read_text(encoding="utf-8"))
        self.roles: tuple[str, ...] = tuple(data["roles"])
        self._vocabulary = {term: i for i, term in enumerate(data["terms"])}
        self._idf = np.array(data["idf"])
        self._terms = np.array(data["term_weights"])
        self._position = np.array(data["position_weights"])
        self._intercept = np.array(data["intercept"])

    def predict(self, sentences: Sequence[str]) -> FloatArray:
        """Probabilities (len(sentences), len(roles)); rows sum to 1.

        Args:
            sentences: all sentences of one document, in order.
        """
        rows = [self._logits(s, i, len(sentences)) for i, s in enumerate(sentences)]
        logits = np.array(rows).reshape(len(sentences), len(self.roles))
        odds = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def _logits(self, sentence: str, index: int, count: int) -> FloatArray:
        counts = Counter(t for t in ngrams(sentence) if t in self._vocabulary)
        at = np.array([self._vocabulary[t] for t in counts], dtype=np.int64)
        logits = self._intercept + self._position @ np.array(position_features(index, count))
        if len(at):
            tfidf = (1 + np.log(np.array(list(counts.values())))) * self._idf[at]
            logits = logits + self._terms[:, at] @ (tfidf / np.linalg.norm(tfidf))
        return np.asarray(logits)


@functools.lru_cache(maxsize=1)
def role_classifier() -> RoleClassifier:
    """The shipped classifier, read once per process."""
    return RoleClassifier()
