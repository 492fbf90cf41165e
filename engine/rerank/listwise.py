"""Lists ordered by the judge: short overlapping ones, and a tournament.

Short lists are joined by the Bradley-Terry fit: each round cuts the remaining documents, in the
order so far, twice into lists of neighbours, the second shifted by half a list. An answer counts as
comparisons of all pairs in its list. In the tournament, after OBLIQ-Bench, appendix C, the better
half of every batch goes on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np

from engine.rerank.bradley_terry import Answer, BradleyTerry, Strengths
from engine.rerank.candidates import by_chance
from engine.rerank.rounds import TOLD_FROM_POSITION, Asking

LENGTH = 10
RACE = (1.0, 0.6, 0.4, 0.3)  # Share of the documents that each round is about
LEAST_IN_RACE = 30
WEIGHT = 0.5
"""What one of a list's comparisons counts, beside one of a pair: they share the list's errors."""
REACH = 1.5  # Standard deviations that a document's strength may lie above its estimate


async def listwise(asking: Asking) -> None:
    """Rounds of overlapping lists, each followed by a fit of all answers; a single list's order is
    final."""
    model = BradleyTerry(asking.n)
    strengths = model.fit([])
    for number, size in enumerate(_race_sizes(asking.n)):
        lists = [
            _shuffled(each, asking.doc_ids, f"round {number}, list of {len(each)}")
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


# -- tournament ----------------------------------------------------------------------------------

BATCH = 20
PROMOTED = 10


async def tournament(asking: Asking) -> None:
    """Sort batches, shuffled by hash, and promote the best of each, until those left fit into one:
    then follow those eliminated, the last first, by rank in the batch, then first stage."""
    left, out = list(range(asking.n)), list[int]()
    while len(left) > BATCH:
        batches = split(_shuffled(left, asking.doc_ids, f"round {asking.rounds}"), BATCH)
        answers = await asking.sort(batches)
        if not any(answers):
            break  # promoting by chance would lose what the first stage knows
        results = [completed(*both) for both in zip(batches, answers, strict=True)]
        out = _merged([batch[PROMOTED:] for batch in results]) + out
        left = _merged([batch[:PROMOTED] for batch in results])
        asking.tell(left + out)
    else:
        if len(left) > 1:
            left = completed(left, (await asking.sort([left]))[0])
    asking.tell(left + out)


def batch_counts(n: int) -> list[int]:
    """Batches of each round, for ``n`` documents.

    >>> batch_counts(100)
    [5, 3, 2, 1]
    """
    found = []
    while n > BATCH:
        batches = split(list(range(n)), BATCH)
        found.append(len(batches))
        n = sum(min(PROMOTED, len(batch)) for batch in batches)
    return [*found, 1] if n > 1 else found


def _shuffled(documents: Sequence[int], doc_ids: Sequence[str], salt: str) -> list[int]:
    """In an order that only their ids and ``salt`` decide; a few in that of the first stage."""
    if len(documents) < TOLD_FROM_POSITION:
        return list(documents)
    return sorted(documents, key=lambda i: by_chance(doc_ids[i], salt))


def split(documents: Sequence[int], most: int) -> list[list[int]]:
    """Into as few batches of at most ``most`` as there must be, as even as possible."""
    parts = math.ceil(len(documents) / most)
    edges = [len(documents) * i // parts for i in range(parts + 1)]
    return [list(documents[a:b]) for a, b in pairwise(edges)]


def completed(batch: Sequence[int], best: Sequence[int]) -> list[int]:
    """The answer, then what it lacks, in the order of the first stage."""
    return [*best, *sorted(set(batch) - set(best))]


def _merged(batches: Sequence[Sequence[int]]) -> list[int]:
    """By the place in their batch, then by the first stage."""
    placed = [(place, i) for batch in batches for place, i in enumerate(batch)]
    return [i for _, i in sorted(placed)]
