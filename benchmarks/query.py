"""Searching: how long the engine takes for a page of 20 results with evidence."""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.figures import Figure, percentile, timed
from benchmarks.sources import abstracts, cache
from engine.config import Settings
from engine.explorer import Explorer
from engine.search.systems import SYSTEMS
from engine.types.corpora import ImportRequest
from engine.types.searches import Query

PART = "query"
CORPUS = "abstracts"
ASPECTS = ("background", "method", "result")


def measure(queries: int = 100) -> list[Figure]:
    """All figures of this part."""
    source = abstracts()
    print(f"Query: {source.words}", file=sys.stderr)
    explorer = Explorer(Settings(home=cache() / "home"))
    explorer.library.import_documents(ImportRequest(source.path, CORPUS))
    drawn = draw(explorer, CORPUS, queries + 5)
    default = drawn[0].system
    figures = _both(f"default system ({default})", milliseconds(explorer, drawn), 100.0)
    figures[0] = replace(figures[0], note=f"{queries} queries, 20 results with evidence each, "
                         f"over {source.words}")  # fmt: skip
    for system in SYSTEMS:
        if system != default:
            asked = [replace(query, system=system) for query in drawn]
            figures += _both(system, milliseconds(explorer, asked))
    texts = [
        replace(query, seed=None, text=explorer.document(CORPUS, query.seed or "").text)
        for query in drawn
    ]
    return figures + _both("pasted text, encoded on the way", milliseconds(explorer, texts))


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


def _both(what: str, taken: Sequence[float], target: float | None = None) -> list[Figure]:
    return [
        Figure(PART, f"{what}: median", statistics.median(taken), "ms", target=target,
               at_least=False),
        Figure(PART, f"{what}: 95th percentile", percentile(taken, 0.95), "ms"),
    ]  # fmt: skip
