"""Comparing wordings: how long five of them take, and the table of a whole collection."""

from __future__ import annotations

import sys

from benchmarks import homes
from benchmarks.figures import Figure, spread, timed
from benchmarks.homes import CORPUS, CSFCUBE
from benchmarks.query import draw
from engine.collections.readers import read_collection
from engine.compare.sensitivity_table import sensitivity
from engine.types.comparisons import ComparisonRequest
from engine.types.searches import Query

VARIANTS = 5


def measure(seeds: int = 12) -> list[Figure]:
    """Wordings of as many seeds, and of CSFCube's open half."""
    explorer = homes.explorer()

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
