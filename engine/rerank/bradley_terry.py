"""Bradley-Terry strengths from noisy comparisons, with the first stage's ranks as prior.

``P(a is preferred to b, a shown first) = sigmoid(strength_a - strength_b + first)`` (Bradley and
Terry 1952, with a position term as for the advantage of playing at home). A priori
``strength_i = trust * z_i + e_i``: ``z`` falls with the first stage's rank, ``e`` is normal, and
``trust`` is learnt with the rest, so that a first stage that the answers contradict loses its say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr, ndtri

Floats = NDArray[np.float64]

SPREAD = 2.0
"""Prior variance of a strength around what the first stage says."""
TRUST, TRUST_SPREAD = 1.5, 0.5
"""Prior mean and variance of ``trust``."""
FIRST_SPREAD = 9.0
"""Prior variance of ``first``: wide, for some judges hardly look at the second document."""
ITERATIONS = 30
LONGEST_STEP = 1.5
"""Newton's steps are cut to it: uncut they diverge where few answers agree perfectly."""
ENOUGH = 1e-6
PRECISION = 1e-12
"""Of a step: squared length of what is left, as a share of the slope's."""
LARGE = 300
"""Rows from which on a matrix is worth several threads."""


class Answer(NamedTuple):
    """One comparison between documents, which are known by their first-stage rank from 0.

    Attributes:
        won: 0 to 1, how surely ``first`` (shown first) is the better one.
        weight: how many independent answers it is worth.
    """

    first: int
    second: int
    won: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Strengths:
    """The most probable strengths.

    Attributes:
        values: (n,).
        covariance: (n, n) of the values, by Laplace's approximation.
        first: log-odds that the first of two equally strong documents is preferred.
    """

    values: Floats
    covariance: Floats
    first: float

    @property
    def deviations(self) -> Floats:
        """(n,) standard deviations of the values."""
        return np.sqrt(np.diagonal(self.covariance))

    @property
    def order(self) -> list[int]:
        """Best first; equals in the order of the first stage."""
        order: list[int] = np.argsort(-self.values, kind="stable").tolist()
        return order

    def cut(self, order: Sequence[int], top: int) -> float:
        """The value between the last of the first ``top`` in ``order`` and the next."""
        last, following = order[min(top, len(order)) - 1], order[min(top, len(order) - 1)]
        return float(self.values[last] + self.values[following]) / 2

    def confidence(self, order: Sequence[int], top: int) -> Floats:
        """(n,) probability, at least 0.5, that each is on its side of the cut behind ``top``.

        All ones where nothing is out.
        """
        if len(order) <= top:
            return np.ones(len(order))
        cut = self.cut(order, top)
        sign = np.full(len(order), -1.0)
        sign[list(order[:top])] = 1.0
        sure: Floats = np.maximum(ndtr(sign * (self.values - cut) / self.deviations), 0.5)
        return sure


class BradleyTerry:
    """Fits ``n`` documents' strengths again and again as answers come in."""

    def __init__(self, n: int) -> None:
        self.n = n
        self._prior = _Prior.of(n)
        self._last = self._prior.mean

    def fit(self, answers: Sequence[Answer]) -> Strengths:
        """The most probable strengths under all ``answers``; the prior's without any."""
        data = _Data.of(answers, self.n)
        x = self._last
        for _ in range(ITERATIONS):
            rest, curve = data.residuals(x)
            slope = data.gathered(rest) - self._prior.times(x - self._prior.mean)
            step = _solved(data, curve, self._prior, slope)
            longest = float(np.abs(step).max())
            x = x + step * min(1.0, LONGEST_STEP / longest if longest else 1.0)
            if longest < ENOUGH:
                break
        self._last = x
        information = self._prior.precision + data.information(data.residuals(x)[1])
        covariance = inverse(information)[: self.n, : self.n]
        return Strengths(x[: self.n], covariance, float(x[self.n]))


@dataclass(frozen=True, slots=True)
class _Prior:
    """Normal, of the strengths and of ``first``, which stands last.

    Attributes:
        mean: (n + 1,).  diagonal: (n + 1,), and z: (n + 1,): the precision is
            ``diag(diagonal) - scale * z z'``.
    """

    mean: Floats
    diagonal: Floats
    z: Floats
    scale: float

    @classmethod
    def of(cls, n: int) -> _Prior:
        z = np.append(ndtri(1 - (np.arange(n) + 0.5) / n), 0.0)
        # Inverse of SPREAD * I + TRUST_SPREAD * z z' (Sherman and Morrison).
        scale = TRUST_SPREAD / SPREAD**2 / (1 + TRUST_SPREAD * (z @ z) / SPREAD)
        diagonal = np.append(np.full(n, 1 / SPREAD), 1 / FIRST_SPREAD)
        return cls(TRUST * z, diagonal, z, float(scale))

    @property
    def precision(self) -> Floats:
        """(n + 1, n + 1)."""
        return np.diag(self.diagonal) - self.scale * np.outer(self.z, self.z)

    def times(self, x: Floats) -> Floats:
        """The precision times a vector."""
        product: Floats = self.diagonal * x - self.scale * (self.z @ x) * self.z
        return product


@dataclass(frozen=True, slots=True)
class _Data:
    """Answers as columns."""

    n: int
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    won: Floats
    weight: Floats

    @classmethod
    def of(cls, answers: Sequence[Answer], n: int) -> _Data:
        rows = np.array(answers, dtype=float).reshape(-1, 4)
        first, second = rows[:, 0].astype(np.intp), rows[:, 1].astype(np.intp)
        return cls(n, first, second, rows[:, 2], rows[:, 3])

    def margins(self, x: Floats) -> Floats:
        """Log-odds of each answer, where ``x`` are strengths and ``first``."""
        margins: Floats = x[self.first] - x[self.second] + x[self.n]
        return margins

    def residuals(self, x: Floats) -> tuple[Floats, Floats]:
        """Of each answer, the log-likelihood's slope and negated curvature in its margin."""
        p = expit(self.margins(x))
        return self.weight * (self.won - p), self.weight * p * (1 - p)

    def gathered(self, values: Floats) -> Floats:
        """(n + 1,): each answer's value to its documents and to ``first``; adjoint of margins."""
        sums = _sums(self.first, values, self.n) - _sums(self.second, values, self.n)
        return np.append(sums, values.sum())

    def information(self, curve: Floats) -> Floats:
        """(n + 1, n + 1): the log-likelihood's negated curvature."""
        n = self.n
        cells = _sums(self.first * n + self.second, curve, n * n).reshape(n, n)
        wins, losses = cells.sum(axis=1), cells.sum(axis=0)
        found = np.zeros((n + 1, n + 1))
        found[:n, :n] = np.diag(wins + losses) - cells - cells.T
        found[:n, n] = found[n, :n] = wins - losses
        found[n, n] = curve.sum()
        return found


def _solved(data: _Data, curve: Floats, prior: _Prior, slope: Floats) -> Floats:
    """Newton's step, by conjugate gradients.

    The answers are few beside the pairs, and a dense solver's threads would wait for each other
    longer than they compute.
    """
    ends = _sums(data.first, curve, data.n) + _sums(data.second, curve, data.n)
    scale = prior.diagonal + np.append(ends, curve.sum())
    x = np.zeros_like(slope)
    rest = slope.copy()
    direction = scaled = rest / scale
    left = start = float(rest @ scaled)
    for _ in range(2 * len(slope)):
        if left <= PRECISION * start:
            break
        image = data.gathered(curve * data.margins(direction)) + prior.times(direction)
        length = left / float(direction @ image)
        x += length * direction
        rest -= length * image
        scaled = rest / scale
        before, left = left, float(rest @ scaled)
        direction = scaled + left / before * direction
    return x


def inverse(matrix: Floats) -> Floats:
    """Of a symmetric positive definite (m, m) matrix.

    Small ones by the sweep operator (Goodnight 1979): where other processes keep the cores busy,
    the threads of a linear algebra library wait for each other much longer than they compute.
    """
    if len(matrix) > LARGE:
        return np.asarray(np.linalg.inv(matrix))
    swept = matrix.copy()
    for k in range(len(swept)):
        pivot, column = swept[k, k], swept[:, k].copy()
        row = swept[k] / pivot
        swept -= column[:, None] * row
        swept[:, k] = column / pivot
        swept[k] = row
        swept[k, k] = -1 / pivot
    return -swept


def _sums(where: NDArray[np.intp], values: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(where, values, size), dtype=np.float64)


def chance(log_odds: float) -> float:
    """Probability of log-odds.

    >>> chance(0.0)
    0.5
    """
    return 1 / (1 + math.exp(-log_odds))
