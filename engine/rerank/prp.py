"""Pairwise ranking prompting as proposed (all pairs, heapsort, sliding window; Qin et al. 2024),
and pointwise grades.

Every pair is asked in both orders. Contradicting answers are a tie, which the first stage decides;
probabilities are averaged instead.
"""

from __future__ import annotations

import numpy as np

from engine.rerank.rounds import Asking


async def allpair(asking: Asking) -> None:
    """Every pair in both orders at once; documents by the sum of their preferences."""
    n = asking.n
    await asking.compare([(a, b) for a in range(n) for b in range(n) if a != b])
    wins = np.zeros(n)
    for a in range(n):
        for b in range(a + 1, n):
            preference = asking.preference(a, b)
            wins[a] += preference
            wins[b] += 1 - preference
    # Sums of the same fractions in another order are not quite equal.
    asking.tell(np.argsort(-wins.round(9), kind="stable").tolist())


async def heapsort(asking: Asking) -> None:
    """The best ``top`` one by one off a heap; the others keep their order. Sequential: the two
    orders of a pair are one round."""
    heap = list(range(asking.n))
    found: list[int] = []
    for parent in reversed(range(len(heap) // 2)):
        await _sift(asking, heap, parent, found)
    while heap and len(found) < asking.options.top:
        found.append(heap[0])
        last = heap.pop()
        if heap:
            heap[0] = last
            await _sift(asking, heap, 0, found)
        _tell_found(asking, found)


async def _sift(asking: Asking, heap: list[int], parent: int, found: list[int]) -> None:
    """Let the document at ``parent`` sink below every better one."""
    while (child := 2 * parent + 1) < len(heap):
        if child + 1 < len(heap):
            if await asking.better(heap[child + 1], heap[child]):
                child += 1
            _tell_found(asking, found)
        better = await asking.better(heap[child], heap[parent])
        _tell_found(asking, found)
        if not better:
            return
        heap[parent], heap[child] = heap[child], heap[parent]
        parent = child


def _tell_found(asking: Asking, found: list[int]) -> None:
    taken = set(found)
    asking.tell([*found, *(i for i in range(asking.n) if i not in taken)])


async def sliding(asking: Asking) -> None:
    """Bubble sort: a window of two slides from the last rank to the first, ``top`` times.
    Sequential: the two orders of a pair are one round."""
    order = list(range(asking.n))
    for settled in range(min(asking.options.top, asking.n - 1)):
        for place in reversed(range(settled + 1, asking.n)):
            above, below = order[place - 1], order[place]
            if await asking.better(below, above):
                order[place - 1], order[place] = below, above
            asking.tell(order)


async def pointwise(asking: Asking) -> None:
    """One question per document, all at once; equal grades in first-stage order. A document without
    an answer keeps its rank."""
    grades = await asking.grade_each()
    graded = [(-grade, i) for i, grade in enumerate(grades) if grade is not None]
    best_first = iter(sorted(graded))
    asking.tell([i if grade is None else next(best_first)[1] for i, grade in enumerate(grades)])
