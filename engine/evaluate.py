"""Systems side by side on a test collection."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from engine.callbacks import tell_nobody
from engine.collections import Collection, Topic
from engine.errors import BadInputError
from engine.metrics import (
    CSFCUBE_NDCG,
    P_MRR,
    csfcube_ndcg,
    mean,
    measure_runs,
    p_mrr,
    significance,
)
from engine.retrieve import find_system
from engine.retrieve.base import Seed
from engine.searching import Searcher
from engine.types import Query, Ranking

MAIN_MEASURE = "nDCG@20"
"""What significance is tested on."""


@dataclass(frozen=True, slots=True)
class SystemScores:
    """How one system did.

    Attributes:
        metrics: measure -> mean over queries, None where undefined (p-MRR without two aspects).
        per_query: one dict per query with ``query_id``, ``aspect`` and the measures.
        seconds: for all rankings of the system, evidence not included.
    """

    metrics: Mapping[str, float | None]
    by_aspect: Mapping[str, Mapping[str, float | None]]
    per_query: tuple[Mapping[str, Any], ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Systems on one collection, and the rankings that the numbers come from.

    Attributes:
        missing_documents: judged documents that the corpus does not hold; they count as
            never found.
    """

    collection: str
    corpus: str
    queries: int
    systems: Mapping[str, SystemScores]
    rankings: Mapping[str, tuple[Ranking, ...]]
    unjudged_in_top_k: Mapping[str, float]
    missing_documents: int
    significance: tuple[Mapping[str, object], ...]


def evaluate(
    searcher: Searcher,
    collection: Collection,
    systems: Sequence[str],
    *,
    steer: float | None = None,
    on_query: Callable[[], None] = tell_nobody,
) -> Evaluation:
    """Run every topic on every system and measure.

    Topics with a judged pool rank that pool only; the others rank the corpus.

    Args:
        steer: for systems that take it; None for the default of :class:`engine.types.Query`.
        on_query: told after each query.

    Raises:
        UnknownNameError: no such system.  BadInputError: a seed is not in the corpus.
    """
    for name in systems:
        find_system(name)
    topics = _usable(collection.topics, searcher)
    missing = _missing(collection, searcher)
    seeds = {t.query_id: searcher.seed(_query(t, searcher, "dense", steer)) for t in topics}
    rankings: dict[str, tuple[Ranking, ...]] = {}
    scores: dict[str, SystemScores] = {}
    for name in systems:
        started = time.perf_counter()
        ranked = []
        for topic in topics:
            query = _query(topic, searcher, name, steer)
            ranked.append(_ranking(searcher, query, topic, seeds[topic.query_id]))
            on_query()
        rankings[name] = tuple(ranked)
        scores[name] = _scores(collection, topics, ranked, time.perf_counter() - started)
    values = {n: [float(q[MAIN_MEASURE]) for q in s.per_query] for n, s in scores.items()}
    return Evaluation(
        collection=collection.name,
        corpus=searcher.corpus.name,
        queries=len(topics),
        systems=scores,
        rankings=rankings,
        unjudged_in_top_k={n: _unjudged(collection, s) for n, s in scores.items()},
        missing_documents=missing,
        significance=tuple(significance(values, MAIN_MEASURE)),
    )


def _usable(topics: Iterable[Topic], searcher: Searcher) -> list[Topic]:
    topics = list(topics)
    for topic in topics:
        if topic.seed is not None and topic.seed not in searcher.corpus.row_of:
            raise BadInputError(
                f"The seed '{topic.seed}' of query '{topic.query_id}' is not in corpus "
                f"'{searcher.corpus.name}'.",
                "Name the corpus that holds the collection's documents with --corpus.",
            )
    if not topics:
        raise BadInputError("The collection has no queries.")
    return topics


def _missing(collection: Collection, searcher: Searcher) -> int:
    """How many judged documents the corpus lacks.

    Raises:
        BadInputError: it has none of them: this is another corpus.
    """
    judged = {doc_id for grades in collection.qrels.values() for doc_id in grades}
    missing = sum(doc_id not in searcher.corpus.row_of for doc_id in judged)
    if judged and missing == len(judged):
        raise BadInputError(
            f"The corpus '{searcher.corpus.name}' holds none of the {len(judged)} documents "
            "that were judged.",
            "Name the corpus that holds the collection's documents with --corpus.",
        )
    return missing


def _query(topic: Topic, searcher: Searcher, system: str, steer: float | None) -> Query:
    query = Query(
        searcher.corpus.name, seed=topic.seed, text=topic.text, aspect=topic.aspect, system=system
    )
    return query if steer is None else replace(query, steer=steer)


def _ranking(searcher: Searcher, query: Query, topic: Topic, seed: Seed) -> Ranking:
    scored = searcher.rank(query, seed, topic.pool)
    found = {s.doc_id for s in scored}
    # bm25 leaves out what shares no word: a judged pool is still ranked whole.
    missing = sorted(d for d in topic.pool or () if d not in found and d in searcher.corpus.row_of)
    floor = min((s.score for s in scored), default=0.0)
    return Ranking(
        query_id=topic.query_id,
        doc_ids=(*(s.doc_id for s in scored), *missing),
        scores=(*(s.score for s in scored), *(floor - 1.0 - i for i in range(len(missing)))),
    )


def _scores(
    collection: Collection, topics: Sequence[Topic], rankings: Sequence[Ranking], seconds: float
) -> SystemScores:
    values = measure_runs(collection.qrels, rankings)
    ranked = {r.query_id: r.doc_ids for r in rankings}
    pmrr = _obedience(collection, topics, ranked)
    per_query = []
    for topic in topics:
        row: dict[str, Any] = {"query_id": topic.query_id, "aspect": topic.aspect}
        row |= values[topic.query_id]
        if collection.complete:
            row["Judged@20"] = 1.0
        grades = collection.qrels.get(topic.query_id, {})
        row[CSFCUBE_NDCG] = csfcube_ndcg(ranked[topic.query_id], grades)
        row[P_MRR] = pmrr.get(topic.query_id)
        per_query.append(row)
    aspects = sorted({t.aspect for t in topics if t.aspect is not None})
    return SystemScores(
        metrics=_means(per_query),
        by_aspect={a: _means([q for q in per_query if q["aspect"] == a]) for a in aspects},
        per_query=tuple(per_query),
        seconds=seconds,
    )


def _means(per_query: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    names = [k for k in per_query[0] if k not in ("query_id", "aspect")]
    return {name: mean([q[name] for q in per_query]) for name in names}


def _obedience(
    collection: Collection, topics: Sequence[Topic], ranked: Mapping[str, Sequence[str]]
) -> dict[str, float | None]:
    """p-MRR per query: the mean over the other judged aspects of the same seed."""
    of_seed: dict[str, list[str]] = {}
    for topic in topics:
        if topic.seed is not None and topic.aspect is not None:
            of_seed.setdefault(topic.seed, []).append(topic.query_id)
    found: dict[str, float | None] = {}
    for query_ids in of_seed.values():
        for query_id in query_ids:
            found[query_id] = mean(
                [
                    p_mrr(
                        ranked[query_id],
                        _complete(collection, query_id, ranked[query_id]),
                        ranked[other],
                        _complete(collection, other, ranked[other]),
                    )
                    for other in query_ids
                    if other != query_id
                ]
            )
    return found


def _complete(collection: Collection, query_id: str, ranked: Sequence[str]) -> Mapping[str, int]:
    """Grades, with the zeros that a complete collection does not list."""
    grades = collection.qrels.get(query_id, {})
    return {**dict.fromkeys(ranked, 0), **grades} if collection.complete else grades


def _unjudged(collection: Collection, scores: SystemScores) -> float:
    if collection.complete:
        return 0.0
    return 1.0 - (mean([q["Judged@20"] for q in scores.per_query]) or 0.0)


def write_run(rankings: Sequence[Ranking], path: Path, system: str) -> None:
    """A TREC run file: query_id Q0 doc_id rank score system, ranks from 1."""
    with path.open("w", encoding="utf-8") as out:
        for ranking in rankings:
            spaced = [i for i in (ranking.query_id, *ranking.doc_ids) if len(i.split()) != 1]
            if spaced:
                raise BadInputError(
                    f"The id '{spaced[0]}' holds a space, which a TREC run cannot.",
                    "Import the documents with other ids, or leave --run-out away.",
                )
            pairs = zip(ranking.doc_ids, _falling(ranking.scores), strict=True)
            for rank, (doc_id, score) in enumerate(pairs, start=1):
                out.write(f"{ranking.query_id} Q0 {doc_id} {rank} {score:.9g} {system}\n")


def _falling(scores: Iterable[float]) -> Iterator[float]:
    """The scores, equal ones set apart by the least step that a 32-bit number can take.

    trec_eval goes by the score as such a number, never by the rank, and breaks ties by
    doc_id backwards: without this it would measure another order than ours.
    """
    last = np.float32(np.inf)
    for score in scores:
        last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
        yield float(last)
