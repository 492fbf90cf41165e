"""Pairwise reranking in few rounds: ask the most informative pairs, fit, repeat.

The first round compares neighbours of the first stage; later ones the pairs most informative about
the top, given all answers and the first stage's ranks (:mod:`engine.rerank.bradley_terry`): as in a
Swiss tournament, but more often near the top and for uncertain documents.

Each pair is asked in one order, so that every document is shown first as often as second; position
is a term of the fit. At equal cost that orders better than both orders of half as many pairs.

Constants were chosen on simulated judges over the first 100 of 54 queries, half of them of CSFCube,
by mean nDCG@20; most differences were below a point. ``python -m benchmarks.run --part reranking``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from engine.rerank.bradley_terry import BradleyTerry, Strengths
from engine.rerank.rounds import Asking, Pair

MOST_MEETINGS = 4
"""Pairs of one round that a document stands in: what it has learnt by the end of a round is not
known within it, so that more of them would ask the same thing several times over."""


def neighbours(n: int) -> list[Pair]:
    """``n`` (at least 3) pairs that make a ring through all documents, at most two ranks apart.

    >>> neighbours(5)
    [(0, 1), (0, 2), (1, 3), (2, 4), (3, 4)]
    """
    return [(0, 1), *((i, i + 2) for i in range(n - 2)), (n - 2, n - 1)]


def most_telling(asking: Asking, strengths: Strengths, wanted: int) -> list[Pair]:
    """The ``wanted`` pairs whose answers would say most about the first ``top`` ranks, those never
    asked before those asked in one order.

    The value of a pair is the geometric mean of both chances of being above the cut, times ``log(1
    + p (1 - p) v)``, twice the information about the difference of variance ``v`` (Laplace).
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
    """Each pair in the order to show it: the other order of an asked one, else so that documents
    are first as often as second; ties by hash of the ids."""
    balance = [0] * asking.n
    for a, b in asking.pairs:
        balance[a] += 1
        balance[b] -= 1
    shown: list[Pair] = []
    for a, b in pairs:
        free = (b, a) not in asking.pairs
        if (a, b) in asking.pairs or (free and _turn(asking, a, b, balance)):
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
    """(n, n), symmetric: the value of asking each pair."""
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


LITE, DEFAULT, THOROUGH = 4, 6, 9  # Rounds that the three presets take
SHARE = 0.4  # Questions of a later round, per document
LEAST = 16  # Questions of a round, if there are as many to ask: fewer would hardly be faster


async def pairwise(asking: Asking, rounds: int = DEFAULT) -> None:
    """Rounds of the most telling pairs, each followed by a fit of all answers."""
    n = asking.n
    model = BradleyTerry(n)
    strengths = model.fit([])
    for number, size in enumerate(round_sizes(n, rounds)):
        if size == n * (n - 1):
            shown = [(a, b) for a in range(n) for b in range(n) if a != b]
        else:
            pairs = most_telling(asking, strengths, size) if number else neighbours(n)
            shown = oriented(asking, pairs)
        await asking.compare(shown)
        strengths = model.fit(asking.answers)
        # Ties alone draw strengths together, unevenly; they are no reason to change the order.
        decided = any(answer.won != 0.5 for answer in asking.answers)
        asking.tell(strengths.order if decided else range(n))


def round_sizes(n: int, rounds: int) -> list[int]:
    """Questions of each round, none asked twice, so that few documents end it early.

    >>> round_sizes(100, 6)
    [100, 40, 40, 40, 40, 40]
    >>> round_sizes(4, 6), round_sizes(5, 6), round_sizes(1, 6)
    ([12], [5, 10, 5], [])
    """
    if n * (n - 1) <= LEAST:
        return [n * (n - 1)] if n > 1 else []
    sizes: list[int] = []
    unasked, asked_once = n * (n - 1) // 2, 0
    for number in range(rounds):
        wanted = max(LEAST, round(SHARE * n)) if number else n
        fresh = min(unasked, wanted)
        turned = min(asked_once, wanted - fresh)
        unasked, asked_once = unasked - fresh, asked_once + fresh - turned
        sizes += [fresh + turned] if fresh + turned else []
    return sizes
