"""How far two rankings differ, without any judgment: the label-free half of sensitivity."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

PERSISTENCE = 0.9
"""Of rank-biased overlap: the first 10 ranks then carry 86 % of the weight."""
TOP = 20
"""Depth of :func:`overlap`: a page of results."""


@dataclass(frozen=True, slots=True)
class RankingChange:
    """Two rankings compared; 1 throughout means that nothing changed."""

    rbo: float | None  # :func:`rank_biased_overlap`, 0 to 1; None when both are empty
    tau: float | None  # :func:`kendall_tau`, -1 to 1; None where undefined
    overlap: float | None  # :func:`overlap` of the first 20, 0 to 1; None when both are empty


def ranks(doc_ids: Sequence[str]) -> dict[str, int]:
    """doc_id -> rank, from 1, in the order given.

    >>> ranks(["b", "a"])
    {'b': 1, 'a': 2}
    """
    found = dict(zip(doc_ids, range(1, len(doc_ids) + 1), strict=True))
    if len(found) < len(doc_ids):
        doc_id, times = Counter(doc_ids).most_common(1)[0]
        raise ValueError(f"A ranking holds each document once; '{doc_id}' is there {times} times.")
    return found


def compare_rankings(a: Sequence[str], b: Sequence[str]) -> RankingChange:
    """All three measures at their default parameters; symmetric.

    >>> compare_rankings(["a", "b", "c"], ["a", "b", "c"])
    RankingChange(rbo=1.0, tau=1.0, overlap=1.0)
    """
    return RankingChange(rank_biased_overlap(a, b), kendall_tau(a, b), overlap(a, b))


def rank_biased_overlap(a: Sequence[str], b: Sequence[str], p: float = PERSISTENCE) -> float | None:
    """Extrapolated rank-biased overlap, 0 to 1, top-weighted; None when both are empty.

    RBO_ext of Webber, Moffat & Zobel (2010), equation 32, for uneven lengths, with persistence
    ``p``. A ranking and its own beginning agree fully; against an empty ranking it is 0.

    >>> round(rank_biased_overlap(["a", "b", "c"], ["b", "a", "c"]), 6)
    0.9
    """
    first, second = ranks(a), ranks(b)
    shorter, longer = sorted((len(first), len(second)))
    if not longer:
        return None
    if list(first) == list(second):
        return 1.0  # the sum below misses it by rounding
    if not shorter:
        return 0.0
    meet = [max(rank, second[doc_id]) for doc_id, rank in first.items() if doc_id in second]
    # common[d - 1]: how many documents both have within their first d.
    common = np.bincount(np.array(meet, dtype=np.intp), minlength=longer + 1)[1:].cumsum()
    depth = np.arange(1, longer + 1)
    # Past the end of the shorter ranking, its share of common documents is taken to go on.
    unseen = np.maximum(depth - shorter, 0) * (common[shorter - 1] / shorter)
    agreement = (common + unseen) / depth
    seen = (1 - p) / p * float(agreement @ p**depth)
    return min(1.0, seen + float(agreement[-1]) * p**longer)


def kendall_tau(a: Sequence[str], b: Sequence[str]) -> float | None:
    """Kendall's tau-b, -1 to 1, over all documents of either ranking; missing ones are tied behind
    the last.

    None with fewer than two documents or when one ranking is empty.

    >>> kendall_tau(["a", "b"], ["b", "a"])
    -1.0
    """
    from scipy.stats import kendalltau

    first, second = ranks(a), ranks(b)
    union = list(first | second)
    if len(union) < 2 or not first or not second:
        return None
    if list(first) == list(second):
        return 1.0  # scipy misses it by rounding
    found = kendalltau(
        [first.get(doc_id, len(first) + 1) for doc_id in union],
        [second.get(doc_id, len(second) + 1) for doc_id in union],
    )
    tau = float(found.statistic)
    return None if math.isnan(tau) else tau


def overlap(a: Sequence[str], b: Sequence[str], k: int = TOP) -> float | None:
    """Share, 0 to 1, of the first ``k`` (of the longer one's length if shorter) in both rankings;
    None when both are empty.

    >>> overlap(["a", "b", "c"], ["b", "x", "y"])
    0.3333333333333333
    """
    first, second = list(ranks(a))[:k], list(ranks(b))[:k]
    most = max(len(first), len(second))
    return len(set(first) & set(second)) / most if most else None


def movers(a: Sequence[str], b: Sequence[str], limit: int) -> dict[str, float]:
    """doc_id -> move, -1 to 1, positive when it rose, of at most ``limit`` documents that moved
    from ``a`` to ``b``, the largest move first.

    A move is the difference of nDCG's discounts ``1 / log2(r + 1)``: from 2 to 1 is 0.37, from 20
    to 10 is 0.06. A missing document is behind the last. Ties by the better rank, then doc_id.
    """
    first, second = ranks(a), ranks(b)
    moved = []
    for doc_id in first | second:
        before, after = first.get(doc_id, len(first) + 1), second.get(doc_id, len(second) + 1)
        if before != after:
            change = 1 / math.log2(after + 1) - 1 / math.log2(before + 1)
            moved.append((-abs(change), min(before, after), doc_id, change))
    return {doc_id: change for _, _, doc_id, change in sorted(moved)[:limit]}
