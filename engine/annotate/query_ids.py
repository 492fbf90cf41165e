"""What a query id says: ``<seed>_<aspect>``, or ``<seed>_any`` without an aspect.

The other way round it is :func:`engine.queries.query_id`.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from engine.corpus import OpenCorpus
from engine.errors import BadInputError
from engine.types import Query

ANY = "any"


class SeedAspect(NamedTuple):
    """What a query starts from, and what should be alike; ``aspect`` None for all of it."""

    seed: str
    aspect: str | None


def read_query_id(
    query_id: str, seeds: Container[str], aspects: Sequence[str]
) -> SeedAspect | None:
    """Seed and aspect of a query id; None when it does not name a seed that there is.

    Args:
        seeds: the documents of the corpus.
        aspects: keys of its lens.

    >>> read_query_id("7_a_method", {"7_a"}, ["method"])
    SeedAspect(seed='7_a', aspect='method')
    >>> read_query_id("7_a_any", {"7_a"}, ["method"])
    SeedAspect(seed='7_a', aspect=None)
    >>> read_query_id("8_method", {"7_a"}, ["method"]) is None
    True
    """
    # The longest key first: aspects may be called "use" and "intended_use".
    for key in sorted(aspects, key=len, reverse=True):
        seed = query_id.removesuffix(f"_{key.lower()}")
        if seed != query_id and seed in seeds:
            return SeedAspect(seed, key)
    seed = query_id.removesuffix(f"_{ANY}")
    return SeedAspect(seed, None) if seed != query_id and seed in seeds else None


def read_queries(text: str, file: str, corpus: OpenCorpus) -> dict[str, Query]:
    """query_id -> query, of a file with one id on each line; empty lines are skipped.

    Raises:
        BadInputError: lists the lines that name no seed and aspect of the corpus.
    """
    found, broken = {}, []
    for number, line in enumerate(text.splitlines(), start=1):
        query_id = line.strip()
        named = read_query_id(query_id, corpus.row_of, corpus.aspects)
        if named is not None:
            found[query_id] = Query(corpus.name, seed=named.seed, aspect=named.aspect)
        elif query_id:
            broken.append(f"line {number:,} ('{query_id[:60]}')")
    if broken or not found:
        which = f"no seed and aspect in {', '.join(broken[:20])}" if broken else "no queries"
        raise BadInputError(
            f"{file}: {which}.", f"Write one id a line, like <seed>_{corpus.aspects[0]}."
        )
    return found


def is_free(query_id: str) -> bool:
    """Whether a query is named by a hash: a pasted text, picked sentences or an own wording.

    What was asked cannot be told from such an id.

    >>> is_free("text-0f1e2d3c4b5a_any"), is_free("7_method~0a1b2c3d"), is_free("7_method")
    (True, True, False)
    """
    name, _, digest = query_id.rpartition("~")
    if name and len(digest) == 8:
        return True
    return query_id.startswith("text-") and "_" in query_id
