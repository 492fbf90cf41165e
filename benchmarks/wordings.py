"""Comparing wordings: how long five of them take, and the table of a whole collection."""

from __future__ import annotations

import statistics
import sys

from benchmarks.figures import Figure, timed
from benchmarks.query import CORPUS, draw
from benchmarks.sources import CSFCUBE, abstracts, cache
from engine.collections.readers import read_collection
from engine.compare.sensitivity_table import sensitivity
from engine.config import Settings
from engine.explorer import Explorer
from engine.types.comparisons import ComparisonRequest
from engine.types.corpora import ImportRequest

PART = "wordings"
VARIANTS = 5


def measure(seeds: int = 12) -> list[Figure]:
    """All figures of this part."""
    explorer = Explorer(Settings(home=cache() / "home"))
    explorer.library.import_documents(ImportRequest(abstracts().path, CORPUS))
    taken = []
    for query in draw(explorer, CORPUS, seeds + 2):
        aspect = query.aspect or ""
        variants = explorer.comparing.presets(CORPUS, aspect)[:VARIANTS]
        taken.append(
            timed(
                lambda q=query, a=aspect, v=variants: explorer.comparing.compare(
                    ComparisonRequest(CORPUS, q.seed, None, a, v)
                )
            )
        )
    figures = [
        Figure(PART, f"{VARIANTS} variants of one system: median", statistics.median(taken[2:]),
               "s", target=1.5, at_least=False),
    ]  # fmt: skip
    if not CSFCUBE.is_dir():
        print("The sensitivity table needs CSFCube's judgments: left out.", file=sys.stderr)
        return figures
    collection = read_collection(CSFCUBE)
    searcher = explorer.searcher(CORPUS)
    seconds = timed(lambda: sensitivity(searcher, collection, ["dense", "aspect"]))
    return [
        *figures,
        Figure(PART, "the sensitivity table of CSFCube's open half, dense and aspect", seconds, "s",
               target=60, at_least=False),
    ]  # fmt: skip
