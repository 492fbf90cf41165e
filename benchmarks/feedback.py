"""What the grades of first results are good for: a better ranking of the others, nDCG%20, and an
estimate of how many more are relevant."""

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
from engine.measures.recall_estimate import estimate_recall
from engine.numeric import FloatArray
from engine.search.topics import sampled
from engine.types.evaluations import Collection, Topic

RELEVANT = 2
"""Grade from which a document counts as liked; those of grade 0 are rejected."""


def measure(
    graded: tuple[int, ...] = (5, 10), judged: tuple[int, ...] = (10, 20, 40, 80), seeds: int = 20
) -> list[Figure]:
    """CSFCube's open half and the demo. `graded`, `judged`: first results, for learning and for
    estimates; `seeds`: of the demo."""
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
        rankings = [*ranked(explorer, corpus, collection, topics)]
        figures += [_estimated(corpus, count, rankings) for count in judged]
    return figures


def _estimated(
    corpus: str, judged: int, rankings: Sequence[tuple[FloatArray, list[bool]]]
) -> Figure:
    """How often the interval of the estimate holds the number of relevant documents."""
    covered, widths, ratios = [], [], []
    for scores, relevant in rankings:
        total = sum(relevant)
        made = estimate_recall(scores, dict(enumerate(relevant[:judged])))
        if made is None or not total:
            continue
        covered.append(made.low <= total <= made.high)
        widths.append((made.high - made.low) / total)
        ratios.append(made.total / total)
    note = (
        f"{len(covered)} queries; medians: estimate over truth {np.median(ratios):.2f}, width of "
        f"the interval over truth {np.median(widths):.1f}"
    )
    what = f"{corpus}: the first {judged} judged, share of 95 % intervals that hold the truth"
    return Figure(what, float(np.mean(covered)), "", note)


def ranked(
    explorer: Explorer, corpus: str, collection: Collection, topics: Sequence[Topic]
) -> Iterator[tuple[FloatArray, list[bool]]]:
    """Scores of each topic's ranking, and which of its documents are relevant."""
    searcher = explorer.searcher(corpus)
    for topic in topics:
        query, grades = topic.query(corpus), collection.qrels[topic.query_id]
        ranking = searcher.rank(query, searcher.seed(query), topic.pool)
        relevant = [grades.get(doc_id, 0) >= RELEVANT for doc_id in ranking.doc_ids]
        yield np.asarray(ranking.scores), relevant


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
