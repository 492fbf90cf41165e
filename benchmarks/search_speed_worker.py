"""CPU milliseconds of searches, wordings side by side and reruns of Explore, of either version.

Run as a file, with the modules of one version: it imports nothing of the benchmarks.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from engine.explorer import Explorer
from engine.types.comparisons import ComparisonRequest
from engine.types.searches import Query

QUERIES, RERUNS = 20, 8
WARM_UP = 20
"""Searches before those that are measured: what is kept in memory is there by then."""
SEEDS, VARIANTS = 8, 5
"""Comparisons of wordings, and wordings of each."""
ASPECTS = ("background", "method", "result")
LARGE = "large"
"""Name of the corpus that is searched through the vector index, by the default system alone."""


def worker(corpus: str) -> dict[str, float]:
    """All of one version."""
    explorer = Explorer()

    def drawn(system: str) -> list[Query]:
        doc_ids = sorted(explorer.library.open(corpus).doc_ids)
        dice = random.Random(11)
        return [
            Query(corpus, seed=dice.choice(doc_ids), aspect=dice.choice(ASPECTS), system=system)
            for _ in range(WARM_UP + QUERIES)
        ]

    def compare(query: Query) -> None:
        aspect = query.aspect or ""
        variants = explorer.comparing.presets(corpus, aspect)[:VARIANTS]
        explorer.comparing.compare(ComparisonRequest(corpus, query.seed, None, aspect, variants))

    search = _cpu(explorer.search, drawn("aspect"), WARM_UP)
    if corpus == LARGE:
        return {"search": search}
    late = _cpu(explorer.search, drawn("late-interaction"), WARM_UP)
    wordings = _cpu(compare, drawn("aspect")[: SEEDS + 2], 2)
    return {"search": search, "late": late, "wordings": wordings, **_reruns(corpus)}


def _cpu(act: Callable[[Query], object], queries: Sequence[Query], warm_up: int) -> float:
    """Mean CPU milliseconds, the first ``warm_up`` queries left out."""
    for query in queries[:warm_up]:
        act(query)
    started = time.process_time()
    for query in queries[warm_up:]:
        act(query)
    return 1000 * (time.process_time() - started) / (len(queries) - warm_up)


def _reruns(corpus: str) -> dict[str, float]:
    from streamlit.testing.v1 import AppTest

    page: Any = AppTest.from_file(str(Path.cwd() / "pages" / "explore.py"), default_timeout=600)
    page.query_params["corpus"] = corpus
    for _ in range(3):
        page.run()
    started = time.process_time()
    for i in range(RERUNS):
        page.slider(key="explore_steer").set_value(5 * (i + 1)).run()
    middle = time.process_time()
    for _ in range(RERUNS):
        page.run()
    if page.exception:
        raise RuntimeError(page.exception)
    rerun, same = middle - started, time.process_time() - middle
    return {"rerun": 1000 * rerun / RERUNS, "same": 1000 * same / RERUNS}


if __name__ == "__main__":
    print(json.dumps(worker(sys.argv[1])))
