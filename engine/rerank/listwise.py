"""Short lists ordered by the judge, joined into one ranking by the Bradley-Terry fit.

Each round cuts the remaining documents, in the order so far, twice into lists of neighbours, the
second shifted by half a list. An answer counts as comparisons of all pairs in its list.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from engine.rerank.bradley_terry import Answer, BradleyTerry, Strengths
from engine.rerank.rounds import Asking
from engine.rerank.tournament import completed, shuffled, split

LENGTH = 10
RACE = (1.0, 0.6, 0.4, 0.3)
"""Share of the documents that each round is about."""
LEAST_IN_RACE = 30
WEIGHT = 0.5
"""What one of a list's comparisons counts, beside one of a pair: they share the list's errors."""
REACH = 1.5
"""Standard deviations that a document's strength may lie above its estimate."""


async def listwise(asking: Asking) -> None:
    """Rounds of overlapping lists, each followed by a fit of all answers; a single list's order is
    final."""
    model = BradleyTerry(asking.n)
    strengths = model.fit([])
    for number, size in enumerate(_race_sizes(asking.n)):
        lists = [
            shuffled(each, asking.doc_ids, f"round {number}, list of {len(each)}")
            for each in _cut_twice(_in_race(strengths, size))
        ]
        answers = await asking.sort(lists)
        for shown, best in zip(lists, answers, strict=True):
            asking.answers += _comparisons(shown, best)
        if asking.n <= LENGTH:
            asking.tell(completed(lists[0], answers[0]))
            return
        strengths = model.fit(asking.answers)
        asking.tell(strengths.order)


def list_counts(n: int) -> list[int]:
    """Lists of each round, for ``n`` documents.

    >>> list_counts(100), list_counts(10)
    ([21, 13, 9, 7], [1])
    """
    return [len(_cut_twice(list(range(size)))) for size in _race_sizes(n)]


def _race_sizes(n: int) -> list[int]:
    """Documents of each round; a single list needs no second one."""
    if n < 2:
        return []
    if n <= LENGTH:
        return [n]
    return [min(n, max(LEAST_IN_RACE, round(share * n))) for share in RACE]


def _in_race(strengths: Strengths, size: int) -> list[int]:
    """The ``size`` documents that may be strongest, best first."""
    reach = strengths.values + REACH * strengths.deviations
    kept = set(np.argsort(-reach, kind="stable")[:size].tolist())
    return [i for i in strengths.order if i in kept]


def _cut_twice(documents: list[int]) -> list[list[int]]:
    """Lists of neighbours, and the same shifted by half a list; one where all fit into it."""
    straight = split(documents, LENGTH)
    if len(straight) == 1:
        return straight
    halves = [half for each in straight for half in split(each, (len(each) + 1) // 2)]
    between = [a + b for a, b in zip(halves[1:-1:2], halves[2::2], strict=True)]
    return [*straight, halves[0], *between, halves[-1]]


def _comparisons(shown: list[int], best: list[int]) -> list[Answer]:
    """All pairs of an ordered list, the one shown earlier as first."""
    rank = {i: place for place, i in enumerate(best)}
    listed = [i for i in shown if i in rank]
    return [Answer(a, b, float(rank[a] < rank[b]), WEIGHT) for a, b in combinations(listed, 2)]
