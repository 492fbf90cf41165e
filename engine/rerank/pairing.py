"""Which pairs to ask next, and in which order to show them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from engine.rerank.asking import Asking, Pair
from engine.rerank.bradley_terry import Strengths

MOST_MEETINGS = 4
"""Pairs of one round that a document stands in: what it has learnt by the end of a round is not
known within it, so that more of them would ask the same thing several times over."""


def neighbours(n: int) -> list[Pair]:
    """``n`` pairs that make a ring through all documents, none further apart than two ranks.

    Every document stands in two of them.

    Args:
        n: at least 3.

    >>> neighbours(5)
    [(0, 1), (0, 2), (1, 3), (2, 4), (3, 4)]
    """
    return [(0, 1), *((i, i + 2) for i in range(n - 2)), (n - 2, n - 1)]


def most_telling(asking: Asking, strengths: Strengths, wanted: int) -> list[Pair]:
    """The ``wanted`` pairs whose answers would say most about the first ``top`` ranks.

    A pair says much when both documents may belong there, its outcome is open, and their
    strengths are unsure: the geometric mean of both chances of being above the cut, times
    ``log(1 + p (1 - p) v)``, twice what the answer tells about the difference of variance ``v``
    (Laplace's approximation). Pairs never asked come first, then those asked in one order only.
    Fewer than ``wanted`` only where all pairs were asked in both orders.
    """
    scores = _worth(strengths, asking.options.top)
    first, second = np.triu_indices(asking.n, 1)
    worth = scores[first, second]
    asked = _times_asked(asking)[first, second]
    meetings = [0] * asking.n
    chosen: list[Pair] = []
    for times in (0, 1):
        places = np.flatnonzero(asked == times)
        ranked = places[np.argsort(-worth[places], kind="stable")]
        put_off: list[Pair] = []
        for a, b in zip(first[ranked].tolist(), second[ranked].tolist(), strict=True):
            if len(chosen) == wanted:
                return chosen
            if max(meetings[a], meetings[b]) >= MOST_MEETINGS:
                put_off.append((a, b))
                continue
            meetings[a] += 1
            meetings[b] += 1
            chosen.append((a, b))
        chosen += put_off[: wanted - len(chosen)]
    return chosen


def oriented(asking: Asking, pairs: Sequence[Pair]) -> list[Pair]:
    """Each pair in the order to show it in, so that everybody is shown first as often as second.

    Where that leaves both orders open, the hash of the ids decides: the same in every repeat. A
    pair that was asked in one order is shown in the other.
    """
    balance = [0] * asking.n
    for a, b in asking.pairs:
        balance[a] += 1
        balance[b] -= 1
    shown: list[Pair] = []
    for a, b in pairs:
        free = not asking.asked((b, a))
        if asking.asked((a, b)) or (free and _turn(asking, a, b, balance)):
            a, b = b, a
        balance[a] += 1
        balance[b] -= 1
        shown.append((a, b))
    return shown


def _turn(asking: Asking, a: int, b: int, balance: Sequence[int]) -> bool:
    """Whether ``b`` should be shown first."""
    if balance[a] != balance[b]:
        return balance[a] > balance[b]
    names = sorted((asking.doc_ids[a], asking.doc_ids[b]))
    odd = hashlib.sha256("\0".join(names).encode()).digest()[0] % 2
    return asking.doc_ids[b] == names[odd]


def _worth(strengths: Strengths, top: int) -> NDArray[np.float64]:
    """(n, n), symmetric: what an answer about each pair would say about the top."""
    values, covariance = strengths.values, strengths.covariance
    variance = np.diagonal(covariance)
    above = ndtr((values - strengths.cut(strengths.order, top)) / np.sqrt(variance))
    p = expit(values[:, None] - values[None, :])
    of_difference = variance[:, None] + variance[None, :] - 2 * covariance
    both = np.sqrt(above[:, None] * above[None, :])
    worth: NDArray[np.float64] = both * np.log1p(p * (1 - p) * np.maximum(of_difference, 0))
    return worth


def _times_asked(asking: Asking) -> NDArray[np.int_]:
    """(n, n), symmetric: in how many orders each pair was asked."""
    times = np.zeros((asking.n, asking.n), dtype=int)
    for a, b in asking.pairs:
        times[a, b] += 1
        times[b, a] += 1
    return times
