"""What kind of text a clause is: which aspect its like name, or its like state.

"How they went about it" names a method with none of its usual words; "trained without labels"
names no aspect, but only a method is described so. Linear classifiers of embedded texts, fitted
by ``benchmarks/fit_reader.py`` on names and statements written for it and, for research, on parts
of sentences of the abstracts in ``assets/roles``, tell these kinds apart; for the research lens the
words and word pairs of the sentence-role classifier count besides. A lens of one's own has its
phrases and examples to go by: a ridge regression on them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from engine.config import ASSETS
from engine.lenses.roles import role_classifier
from engine.numeric import FloatArray
from engine.types.lenses import Lens

KINDS = ASSETS / "wordings" / "kinds.npz"
OUTSIDE = "outside"
"""The classifier of what speaks of no aspect: of a document's venue, year, or of nothing."""
NAMING = "naming"
"""The classifier of what names an aspect of some lens and states nothing."""
RIDGE = 0.3
FEW = 8.0
"""Scale of what the ridge regression says, as log odds."""


class Kinds:
    """The kinds of names and statements of one lens.

    Args:
        names, states: (n, d) per aspect, for a lens that no classifier was fitted for.
    """

    def __init__(
        self, lens: Lens, names: Sequence[FloatArray], states: Sequence[FloatArray]
    ) -> None:
        fitted = _fitted()
        known = names_key(lens) in fitted
        self._names = fitted[names_key(lens)] if known else _from_few(names)
        self._states = fitted[states_key(lens)] if known else _from_few(states)
        self._outside, self._naming = fitted[OUTSIDE], fitted[NAMING]
        self._classifier = role_classifier() if lens.key == "research" else None

    def names(self, vectors: FloatArray) -> FloatArray:
        """(n, a) log probability that what is named is each aspect, of unit rows (n, d)."""
        return _log_shares(_logits(vectors, self._names))

    def states(self, vectors: FloatArray) -> FloatArray:
        """(n, a) log probability that what is stated serves each aspect."""
        return _log_shares(_logits(vectors, self._states))

    def words(self, texts: Sequence[str]) -> FloatArray:
        """(n, a) the same by the words of the role classifier; 0 for other lenses."""
        if self._classifier is None:
            return np.zeros((len(texts), len(self._states)), dtype=np.float32)
        return _log_shares(self._classifier.evidence(texts).astype(np.float32))

    def outside(self, vectors: FloatArray) -> FloatArray:
        """(n,) log odds that a text speaks of no aspect."""
        return _logits(vectors, self._outside)

    def naming(self, vectors: FloatArray) -> FloatArray:
        """(n,) log odds that a text names something and states nothing."""
        return _logits(vectors, self._naming)


def names_key(lens: Lens) -> str:
    """The classifier of a lens's names in the file."""
    return f"{lens.key}-names"


def states_key(lens: Lens) -> str:
    """The classifier of a lens's statements in the file."""
    return f"{lens.key}-states"


def _logits(vectors: FloatArray, weights: FloatArray) -> FloatArray:
    return np.asarray(vectors @ weights[..., :-1].T + weights[..., -1])


def _log_shares(logits: FloatArray) -> FloatArray:
    top = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(top - np.log(np.exp(top).sum(axis=1, keepdims=True)), dtype=np.float32)


def _from_few(texts: Sequence[FloatArray]) -> FloatArray:
    """(a, d + 1) of a ridge regression of the aspect on the vector, aspects counting alike."""
    rows = np.concatenate(texts)
    target = np.repeat(np.eye(len(texts)), [len(t) for t in texts], axis=0) - 1.0 / len(texts)
    weight = np.repeat([1.0 / len(t) / len(texts) for t in texts], [len(t) for t in texts])
    mean = weight @ rows
    root = np.sqrt(weight)[:, None]
    x = root * (rows - mean)
    slope = FEW * (root * target).T @ np.linalg.solve(x @ x.T + RIDGE * np.eye(len(x)) / len(x), x)
    return np.asarray(np.column_stack([slope, -slope @ mean]), dtype=np.float32)


@functools.lru_cache(maxsize=1)
def _fitted() -> dict[str, FloatArray]:
    with np.load(KINDS) as stored:
        return {name: stored[name].astype(np.float32) for name in stored.files}
