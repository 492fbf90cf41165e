"""From rankings to the numbers of an evaluation; nothing is ranked in here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.measures.metrics import MEASURES, csfcube_ndcg, mean, measure_runs
from engine.measures.p_mrr import P_MRR, instruction_following, wanted_by
from engine.measures.significance import confidence_interval
from engine.text import counted
from engine.types.evaluations import (
    CSFCUBE_NDCG,
    NDCG,
    RELEVANT,
    Collection,
    Interval,
    Judged,
    SystemKind,
    SystemScores,
    Topic,
)
from engine.types.models import ModelReport
from engine.types.searches import Ranking

MAIN_MEASURE = NDCG
"""What significance is tested on."""
MAIN_MEASURES = (MAIN_MEASURE, CSFCUBE_NDCG, P_MRR)
"""What every aspect gets an interval of."""
JUDGED = "Judged@20"
_NAMES = ("query_id", "aspect")
Row = Mapping[str, Any]


def system_scores(
    collection: Collection,
    topics: Sequence[Topic],
    rankings: Sequence[Ranking],
    seconds: float = 0.0,
    kind: SystemKind = "system",
    llm: ModelReport | None = None,
) -> SystemScores:
    """All measures of one system; a topic without a ranking counts as an empty one."""
    return summarised(query_rows(collection, topics, rankings), seconds, kind, llm)


def without_own(
    collection: Collection, topics: Sequence[Topic], rankings: Sequence[Ranking]
) -> tuple[Ranking, ...]:
    """The rankings without the document of the query's own id (ArguAna), unless judged relevant, as
    in BEIR."""
    own = {
        topic.query_id
        for topic in topics
        if topic.text is not None
        and collection.qrels.get(topic.query_id, {}).get(topic.query_id, 0) < RELEVANT
    }
    return tuple(but(r, r.query_id) if r.query_id in own else r for r in rankings)


def but(ranking: Ranking, doc_id: str | None) -> Ranking:
    """The ranking without one document."""
    pairs = zip(ranking.doc_ids, ranking.scores, strict=True)
    kept = [pair for pair in pairs if pair[0] != doc_id]
    return Ranking(ranking.query_id, tuple(d for d, _ in kept), tuple(s for _, s in kept))


def query_rows(
    collection: Collection, topics: Sequence[Topic], rankings: Sequence[Ranking]
) -> list[dict[str, Any]]:
    """One dict per topic: ``query_id``, ``aspect`` and every measure."""
    given = {r.query_id: r for r in rankings}
    every = [given.get(t.query_id, Ranking(t.query_id, (), ())) for t in topics]
    # The library divides by the length of a ranking.
    values = measure_runs(collection.qrels, [r for r in every if r.doc_ids])
    nothing = {str(measure): 0.0 for measure in MEASURES}
    ranked = {r.query_id: r.doc_ids for r in every}
    pmrr = instruction_following(collection, topics, ranked)
    rows = []
    for topic in topics:
        row: dict[str, Any] = {"query_id": topic.query_id, "aspect": topic.aspect}
        row |= values.get(topic.query_id, nothing)
        if collection.complete:
            row[JUDGED] = 1.0
        grades = collection.qrels.get(topic.query_id, {})
        row[CSFCUBE_NDCG] = csfcube_ndcg(ranked[topic.query_id], grades)
        row[P_MRR] = pmrr.get(topic.query_id)
        rows.append(row)
    return rows


def summarised(
    rows: Sequence[Row],
    seconds: float,
    kind: SystemKind = "system",
    llm: ModelReport | None = None,
) -> SystemScores:
    """Means and intervals of rows like those of :func:`query_rows`."""
    aspects = sorted({row["aspect"] for row in rows if row["aspect"] is not None})
    of_aspect = {a: [row for row in rows if row["aspect"] == a] for a in aspects}
    return SystemScores(
        metrics=means(rows),
        by_aspect={a: means(own) for a, own in of_aspect.items()},
        per_query=tuple(rows),
        seconds=seconds,
        confidence=_intervals(rows, measures_of(rows)),
        confidence_by_aspect={a: _intervals(own, MAIN_MEASURES) for a, own in of_aspect.items()},
        kind=kind,
        llm=llm,
    )


def measures_of(rows: Sequence[Row]) -> list[str]:
    """Names of the measures in rows."""
    return [name for name in rows[0] if name not in _NAMES]


def means(rows: Sequence[Row]) -> dict[str, float | None]:
    """Measure -> mean over the rows where it is defined, None where it is nowhere."""
    return {name: mean([row[name] for row in rows]) for name in measures_of(rows)}


def _intervals(rows: Sequence[Row], measures: Sequence[str]) -> dict[str, Interval]:
    return {name: confidence_interval([row[name] for row in rows]) for name in measures}


def ranking_of(query_id: str, order: Sequence[str]) -> Ranking:
    """An order as a ranking: scores that fall by one from place to place."""
    return Ranking(query_id, tuple(order), tuple(map(float, range(len(order), 0, -1))))


def unjudged(collection: Collection, scores: SystemScores) -> float:
    """Share of the top 20 without a grade, 0 to 1."""
    if collection.complete:
        return 0.0
    return 1.0 - (mean([row[JUDGED] for row in scores.per_query]) or 0.0)


def what_is_judged(collection: Collection, topics: Sequence[Topic], missing: int) -> Judged:
    """What the numbers rest on."""
    grades = [collection.qrels.get(t.query_id, {}) for t in topics]
    return Judged(
        queries=sum(bool(g) for g in grades),
        grades=sum(map(len, grades)),
        relevant=sum(grade >= 1 for g in grades for grade in g.values()),
        complete=collection.complete,
        missing_documents=missing,
    )


def reading_notes(
    topics: Sequence[Topic], judged: Judged, scores: Mapping[str, SystemScores]
) -> list[str]:
    """What a reader should know before the numbers."""
    notes = []
    if all(s.metrics[P_MRR] is None for s in scores.values()):
        of_seed: dict[str, set[tuple[str, ...]]] = {}
        for topic in topics:
            if topic.seed is not None and (wanted := wanted_by(topic)):
                of_seed.setdefault(topic.seed, set()).add(wanted)
        reason = (
            "no document is relevant to one aspect of a seed and not to another"
            if any(len(aspects) > 1 for aspects in of_seed.values())
            else "no seed is judged for two aspects"
        )
        notes.append(f"p-MRR is undefined here, not 0: {reason}.")
    silent = len(topics) - judged.queries
    if silent:
        which = counted(silent, "query has", "queries have")
        notes.append(f"{which} no judgment at all and counts as 0 in every mean.")
    return notes
