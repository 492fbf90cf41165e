"""Learning from grades: nDCG%20 of what is left when the first results have been graded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from benchmarks import homes
from benchmarks.figures import Figure
from benchmarks.homes import CORPUS, CSFCUBE
from engine.collections.readers import read_collection
from engine.config import DEMO, DEMO_CORPUS
from engine.explorer import Explorer
from engine.measures.metrics import csfcube_ndcg
from engine.search.topics import sampled
from engine.types.evaluations import Collection, Topic

RELEVANT = 2
"""Grade from which a document counts as liked; those of grade 0 are rejected."""


def measure(graded: tuple[int, ...] = (5, 10), seeds: int = 20) -> list[Figure]:
    """CSFCube's open half and the demo. `graded`: first results; `seeds`: of the demo."""
    explorer = homes.explorer()
    explorer.library.add_demo()
    demo = read_collection(DEMO)
    plain = [topic for topic in sampled(demo.topics, seeds) if not topic.instruction]
    sets = [(DEMO_CORPUS, demo, plain)]
    if CSFCUBE.is_dir():
        cube = read_collection(CSFCUBE)
        sets.insert(0, (CORPUS, cube, cube.topics))
    figures = []
    for corpus, collection, topics in sets:
        for count in graded:
            found = list(gains(explorer, corpus, collection, topics, count))
            before, after = np.mean(found, axis=0)
            note = f"{before:.3f} without learning, {len(found)} queries"
            what = f"{corpus}: the first {count} graded, nDCG%20 of the others"
            figures.append(Figure(what, float(after), "", note))
    return figures


def gains(
    explorer: Explorer, corpus: str, collection: Collection, topics: Sequence[Topic], graded: int
) -> Iterator[tuple[float, float]]:
    """nDCG%20 of the ungraded results of each topic, before and after learning."""
    searcher = explorer.searcher(corpus)
    for topic in topics:
        grades, query = collection.qrels[topic.query_id], topic.query(corpus)
        seed = searcher.seed(query)
        plain = searcher.rank(query, seed, topic.pool).doc_ids
        first = plain[:graded]
        left = {d: grade for d, grade in grades.items() if d not in first}
        if not any(left.values()):
            continue
        learning = replace(
            query,
            like=tuple(d for d in first if grades.get(d, 0) >= RELEVANT),
            unlike=tuple(d for d in first if not grades.get(d, 0)),
        )
        learned = searcher.rank(learning, seed, topic.pool).doc_ids
        before, after = (
            csfcube_ndcg([d for d in ids if d not in first], left) for ids in (plain, learned)
        )
        yield before, after
