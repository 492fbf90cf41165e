"""The ways to rerank, by name."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from engine.rerank.listwise import batch_counts, list_counts, listwise, tournament
from engine.rerank.pairwise import DEFAULT, LITE, THOROUGH, pairwise, round_sizes
from engine.rerank.protocols import Estimate, Judge, OnRound, Options, Reranked, StopAsking
from engine.rerank.rounds import Asking, Stopped

# Pairwise ranking prompting as published (Qin et al. 2024): every pair is asked in both orders, and
# contradicting answers are a tie, which the first stage decides; probabilities are averaged.


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


Algorithm = Callable[[Asking], Awaitable[None]]
Question = Literal["compare", "grade", "order"]


@dataclass(frozen=True, slots=True)
class Mode:
    """A way to rerank."""

    name: str
    description: str  # one line for people
    algorithm: Algorithm  # asks until the order is found
    # questions of each round for n documents; None where they depend on the answers
    rounds: Callable[[int], list[int]] | None = None
    asks: Question = "compare"  # the judge's method


def _pairwise(name: str, rounds: int, description: str) -> Mode:
    algorithm = functools.partial(pairwise, rounds=rounds)
    return Mode(name, description, algorithm, lambda n: round_sizes(n, rounds))


_MODES = (
    _pairwise("pairwise", DEFAULT, "Compares the pairs that tell most, in a few rounds."),
    _pairwise("pairwise-lite", LITE, "The same with fewer comparisons: cheaper, less sure."),
    _pairwise("pairwise-thorough", THOROUGH, "The same with more comparisons: surer."),
    Mode("heapsort", "Compares one pair after the other, as published: many rounds.", heapsort),
    Mode(
        "allpair",
        "Compares every pair in both orders: the surest and by far the dearest.",
        allpair,
        lambda n: [n * (n - 1)] if n > 1 else [],
    ),
    Mode("sliding", "Lets better documents climb past their neighbours: many rounds.", sliding),
    Mode(
        "pointwise",
        "Grades each document by itself: one round, least sure.",
        pointwise,
        lambda n: [n] if n else [],
        "grade",
    ),
    Mode(
        "listwise",
        "Has short overlapping lists ordered: few but longer questions.",
        listwise,
        list_counts,
        "order",
    ),
    Mode(
        "tournament",
        "The better half of each list goes on to the next: fewest questions.",
        tournament,
        batch_counts,
        "order",
    ),
)
MODES: Mapping[str, Mode] = MappingProxyType({mode.name: mode for mode in _MODES})
DEFAULT_MODE = "pairwise"


async def rerank(
    candidates: Sequence[str],
    judge: Judge,
    mode: str = DEFAULT_MODE,
    options: Options | None = None,
    on_round: OnRound | None = None,
) -> Reranked:
    """Order ``candidates``, given in the order of the first stage, by one of :data:`MODES`.

    Deterministic; no ordered pair is asked twice. Without any information from the judge the order
    stays. Where ``on_round`` returns True after a round, or the judge raises :class:`StopAsking`,
    the best order so far is the result.
    """
    asking = Asking(candidates, judge, options or Options(), on_round)
    stopped = False
    try:
        await find_mode(mode).algorithm(asking)
    except (Stopped, StopAsking):
        stopped = True
    return asking.result(stopped)


def find_mode(name: str) -> Mode:
    """The mode of this name."""
    if name not in MODES:
        raise ValueError(f"There is no reranking mode '{name}'; there are {', '.join(MODES)}.")
    return MODES[name]


@functools.lru_cache(maxsize=256)
def estimate(mode: str, depth: int, top: int = 20) -> Estimate:
    """What reranking ``depth`` documents will cost; where it depends on the answers, for a
    consistent judge with random preferences.

    >>> estimate("pairwise", 100)
    Estimate(calls=300, rounds=6, exact=True)
    """
    options = Options(depth=depth, top=top)
    found = find_mode(mode)
    if found.rounds is not None:
        questions = found.rounds(depth)
        return Estimate(sum(questions), len(questions), exact=True)
    asking = Asking([str(i) for i in range(depth)], _Consistent(), options, None)
    run = found.algorithm(asking).__await__()
    with contextlib.suppress(StopIteration):  # it answers at once and needs no event loop
        next(run)
    return Estimate(asking.calls, asking.rounds, exact=False)


class _Consistent:
    """Prefers by hash of the id."""

    async def compare(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        return [float(_hash(first) < _hash(second)) for first, second in pairs]

    async def grade_each(self, doc_ids: Sequence[str]) -> list[float | None]:
        return [_hash(doc_id) / 2**64 for doc_id in doc_ids]

    async def order(self, lists: Sequence[Sequence[str]]) -> list[list[str] | None]:
        return [sorted(each, key=_hash) for each in lists]


def _hash(doc_id: str) -> int:
    return int.from_bytes(hashlib.sha256(doc_id.encode()).digest()[:8], "big")
