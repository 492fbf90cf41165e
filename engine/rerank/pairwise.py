"""Pairwise reranking in few rounds: ask what tells most, fit, repeat.

The first round compares neighbours of the first stage; every later one the pairs whose answers
would say most about the top, given all answers so far and the first stage's ranks
(:mod:`engine.rerank.bradley_terry`). Pairs of equal strength play each other, as in a Swiss
tournament, but those near the top and those little is known about more often.

Each pair is asked in one order only, chosen so that every document is shown first as often as
second; what position does to answers is a term of the fit. At equal cost that orders better than
both orders of half as many pairs.

The constants were chosen on simulated judges (``benchmarks/simulated_judges.py``: strong, middle,
weak, biased) over the dense ranking's first 100 of the 27 queries of CSFCube's open half and of
27 of the demo's, by mean nDCG@20: rounds and share for about half of heapsort's questions; most
meetings from 2 to 6; the cut at rank 15, 20 or 30, sharper or softer; the priors halved and
doubled. Most differences were below a point of nDCG (of 100), as between repeats.
``python -m benchmarks.reranking`` shows the figures.
"""

from __future__ import annotations

from engine.rerank.asking import Asking
from engine.rerank.bradley_terry import BradleyTerry
from engine.rerank.pairing import most_telling, neighbours, oriented

LITE, DEFAULT, THOROUGH = 4, 6, 9
"""Rounds that the three presets take."""
SHARE = 0.4
"""Questions of a later round, per document."""
LEAST = 16
"""Questions of a round, if there are as many to ask: fewer would hardly be faster."""


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
    """Questions of each round; none is asked twice, so that few documents end it early.

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
