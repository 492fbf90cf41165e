"""The candidates that a judge gets: drawn from several rankings, in an order that says nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import zip_longest


def merged(rankings: Sequence[Sequence[str]], size: int) -> list[str]:
    """The first ``size`` different documents, drawn from all rankings in turn.

    >>> merged([["a", "b", "c"], ["b", "d"]], 3)
    ['a', 'b', 'd']
    """
    in_turn = (doc_id for row in zip_longest(*rankings) for doc_id in row if doc_id is not None)
    return list(dict.fromkeys(in_turn))[:size]


def shuffled(doc_ids: Sequence[str], query_id: str) -> tuple[str, ...]:
    """In an order that only the ids decide: nothing tells what was put in, or found first."""
    return tuple(sorted(doc_ids, key=lambda doc_id: by_chance(doc_id, query_id)))


def by_chance(doc_id: str, salt: str) -> bytes:
    """A key to sort by that only the id and ``salt`` decide."""
    return hashlib.sha256(f"{salt}\0{doc_id}".encode()).digest()
