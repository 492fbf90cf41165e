"""A listwise tournament after OBLIQ-Bench, appendix C: the better half of every batch goes on."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from itertools import pairwise

from engine.rerank.rounds import Asking

BATCH = 20
PROMOTED = 10


async def tournament(asking: Asking) -> None:
    """Sort batches, promote the best of each, until those left fit into one batch.

    Result: that batch, then eliminated documents, the last eliminated first, by rank in the batch,
    then first stage. Batches are shuffled by hash.
    """
    left, out = list(range(asking.n)), list[int]()
    while len(left) > BATCH:
        batches = split(shuffled(left, asking.doc_ids, f"round {asking.rounds}"), BATCH)
        answers = await asking.sort(batches)
        if not any(answers):
            break  # promoting by chance would lose what the first stage knows
        results = [completed(*both) for both in zip(batches, answers, strict=True)]
        out = _merged([batch[PROMOTED:] for batch in results]) + out
        left = _merged([batch[:PROMOTED] for batch in results])
        asking.tell(left + out)
    else:
        if len(left) > 1:
            [best] = await asking.sort([left])
            left = completed(left, best)
    asking.tell(left + out)


def sizes(n: int) -> list[int]:
    """Batches of each round, for ``n`` documents.

    >>> sizes(100)
    [5, 3, 2, 1]
    """
    found = []
    while n > BATCH:
        batches = split(list(range(n)), BATCH)
        found.append(len(batches))
        n = sum(min(PROMOTED, len(batch)) for batch in batches)
    return [*found, 1] if n > 1 else found


def shuffled(documents: Sequence[int], doc_ids: Sequence[str], salt: str) -> list[int]:
    """In an order that only their ids and ``salt`` decide."""

    def key(i: int) -> bytes:
        return hashlib.sha256(f"{salt}\0{doc_ids[i]}".encode()).digest()

    return sorted(documents, key=key)


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
