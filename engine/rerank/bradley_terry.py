"""Bradley-Terry strengths from noisy comparisons, with the first stage's ranks as prior.

``P(a is preferred to b, a shown first) = sigmoid(strength_a - strength_b + first)`` (Bradley and
Terry 1952, with a position term). Prior: ``strength_i = trust * z_i + e_i``, where ``z`` falls with
the first stage's rank, ``e`` is normal, and ``trust`` is fitted too, so that a contradicted first
stage loses weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr, ndtri

Floats = NDArray[np.float64]

SPREAD = 2.0  # Prior variance of a strength around what the first stage says
TRUST, TRUST_SPREAD = 1.5, 0.5  # Prior mean and variance of `trust`
FIRST_SPREAD = 9.0
"""Prior variance of ``first``: wide, for some judges hardly look at the second document."""
ITERATIONS = 30
LONGEST_STEP = 1.5
"""Newton's steps are cut to it: uncut they diverge where few answers agree perfectly."""
ENOUGH = 1e-6


class Answer(NamedTuple):
    """One comparison between documents, given as first-stage ranks from 0."""

    first: int
    second: int
    won: float  # 0 to 1, probability that ``first`` (shown first) is better
    weight: float = 1.0  # number of independent answers


@dataclass(frozen=True, slots=True)
class Strengths:
    """The most probable strengths."""

    values: Floats  # (n,)
    covariance: Floats  # (n, n) of the values, by Laplace's approximation
    first: float  # log-odds that the first of two equally strong documents is preferred

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
        """(n,) probability, at least 0.5, that each is on its side of the cut behind ``top``; ones
        without a cut."""
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
        # Of the strengths and of ``first``, which is the last.
        z = np.append(ndtri(1 - (np.arange(n) + 0.5) / n), 0.0)
        spread = np.diag(np.append(np.full(n, SPREAD), FIRST_SPREAD))
        self._mean: Floats = TRUST * z
        self._precision = _inverse(spread + TRUST_SPREAD * np.outer(z, z))
        self._last = self._mean

    def fit(self, answers: Sequence[Answer]) -> Strengths:
        """The most probable strengths under all ``answers``; the prior's without any."""
        data = _Data.of(answers, self.n)
        x = self._last
        for _ in range(ITERATIONS):
            rest, curve = data.residuals(x)
            slope = data.gathered(rest) - self._precision @ (x - self._mean)
            step = np.linalg.solve(self._precision + data.information(curve), slope)
            longest = float(np.abs(step).max())
            x = x + step * min(1.0, LONGEST_STEP / longest if longest else 1.0)
            if longest < ENOUGH:
                break
        self._last = x
        information = self._precision + data.information(data.residuals(x)[1])
        covariance = _inverse(information)[: self.n, : self.n]
        return Strengths(x[: self.n], covariance, float(x[self.n]))


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

    def residuals(self, x: Floats) -> tuple[Floats, Floats]:
        """Each answer's slope and negated curvature of the log-likelihood at ``x`` (n + 1,)."""
        p = expit(x[self.first] - x[self.second] + x[self.n])
        return self.weight * (self.won - p), self.weight * p * (1 - p)

    def gathered(self, values: Floats) -> Floats:
        """(n + 1,): each answer's value added to its documents and to ``first``."""
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


def _inverse(matrix: Floats) -> Floats:
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def _sums(where: NDArray[np.intp], values: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(where, values, size), dtype=np.float64)
