"""Searching: how long the engine takes for a page of 20 results with evidence."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from benchmarks import homes
from benchmarks.figures import Figure, spread, timed
from benchmarks.homes import ASPECTS, CORPUS
from engine.explorer import Explorer
from engine.search.systems import SYSTEMS
from engine.types.searches import Query


def measure(queries: int = 100) -> list[Figure]:
    """A page of each system, over 4,205 abstracts."""
    explorer = homes.explorer()
    drawn = draw(explorer, CORPUS, queries + 5)
    default = drawn[0].system
    note = f"{queries} queries, 20 results with evidence each"
    figures = spread(
        f"default system ({default})", milliseconds(explorer, drawn), "ms", median=100, note=note
    )
    for system in SYSTEMS:
        if system != default:
            asked = [replace(query, system=system) for query in drawn]
            figures += spread(system, milliseconds(explorer, asked), "ms")
    texts = [
        replace(query, seed=None, text=explorer.document(CORPUS, query.seed or "").text)
        for query in drawn
    ]
    return figures + spread("pasted text, encoded on the way", milliseconds(explorer, texts), "ms")


def draw(explorer: Explorer, corpus: str, queries: int) -> list[Query]:
    """Random (seed, aspect) pairs, the same in every run."""
    doc_ids = sorted(explorer.library.open(corpus).doc_ids)
    dice = random.Random(11)
    return [
        Query(corpus, seed=dice.choice(doc_ids), aspect=dice.choice(ASPECTS))
        for _ in range(queries)
    ]


def milliseconds(explorer: Explorer, queries: Sequence[Query], warm_up: int = 5) -> list[float]:
    """One wall time per query behind the first ``warm_up``."""
    taken = [1000 * timed(lambda q=query: explorer.search(q)) for query in queries]  # type: ignore[misc]
    return taken[warm_up:]
