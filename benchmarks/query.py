"""Searching: how long the engine takes for a page of 20 results with evidence, and for the
comparison of five wordings."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import replace

from benchmarks import homes
from benchmarks.figures import Figure, spread, timed
from benchmarks.homes import ASPECTS, CORPUS, CSFCUBE
from engine.collections.readers import read_collection
from engine.compare.sensitivity_table import sensitivity
from engine.explorer import Explorer
from engine.search.systems import SYSTEMS
from engine.types.comparisons import ComparisonRequest
from engine.types.searches import Query

VARIANTS = 5


def measure(queries: int = 100, seeds: int = 12) -> list[Figure]:
    """A page of each system, over 4,205 abstracts, and wordings of `seeds` side by side."""
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
    figures += spread("pasted text, encoded on the way", milliseconds(explorer, texts), "ms")
    return figures + comparisons(explorer, seeds)


def comparisons(explorer: Explorer, seeds: int) -> list[Figure]:
    """Wordings of as many seeds side by side, and the table of CSFCube's open half."""

    def compare(query: Query) -> None:
        aspect = query.aspect or ""
        variants = explorer.comparing.presets(CORPUS, aspect)[:VARIANTS]
        explorer.comparing.compare(ComparisonRequest(CORPUS, query.seed, None, aspect, variants))

    taken = [timed(lambda q=q: compare(q)) for q in draw(explorer, CORPUS, seeds + 2)]  # type: ignore[misc]
    figures = spread(f"{VARIANTS} variants of one system", taken[2:], "s", median=1.5)
    if not CSFCUBE.is_dir():
        print("The sensitivity table needs CSFCube's judgments: left out.", file=sys.stderr)
        return figures
    collection, searcher = read_collection(CSFCUBE), explorer.searcher(CORPUS)
    seconds = timed(lambda: sensitivity(searcher, collection, ["dense", "aspect"]))
    what = "the sensitivity table of CSFCube's open half, dense and aspect"
    return [*figures, Figure(what, seconds, "s", most=60)]


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
