"""How many questions a way to rerank takes: calls and rounds, before any is asked."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Sequence

from engine.rerank.modes import find_mode
from engine.rerank.protocols import Estimate, Options
from engine.rerank.rounds import Asking


@functools.lru_cache(maxsize=256)
def estimate(mode: str, depth: int, top: int = 20) -> Estimate:
    """What reranking ``depth`` documents will cost.

    Where the answers decide what is asked next, the cost for a consistent judge that agrees
    with the first stage no more than chance.

    Raises:
        ValueError: no such mode, or ``depth`` or ``top`` is below 1.

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
