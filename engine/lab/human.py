"""The human row: how far one person's own grades agree with what was adjudicated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.collections import Collection, Topic
from engine.errors import BadInputError
from engine.lab.measuring import means, query_rows, summarised
from engine.metrics import mean, ranking_by_grades
from engine.types import Ranking, SystemScores

HUMAN = "human"


def check_annotators(collection: Collection) -> None:
    """BadInputError when nobody's own grades were kept."""
    if not collection.annotators:
        raise BadInputError(
            f"The collection '{collection.name}' has no grades of single annotators.",
            "Leave --human away, or use one that keeps them, such as CSFCube "
            "(lists 'relevance_ann1' ... beside 'relevance_adju').",
        )


def annotators_rankings(
    collection: Collection, topics: Sequence[Topic], tie_break: Sequence[Ranking]
) -> dict[str, tuple[Ranking, ...]]:
    """annotator -> a ranking of every pool that they graded, by their own grades.

    Args:
        tie_break: a ranking of every pool; equal grades keep its order.
    """
    order = {r.query_id: r.doc_ids for r in tie_break}
    asked = [t.query_id for t in topics]
    found = {}
    for annotator, graded in collection.annotators.items():
        rankings = []
        for query_id in asked:
            if query_id in graded:
                doc_ids = ranking_by_grades(graded[query_id], order[query_id])
                scores = tuple(float(len(doc_ids) - i) for i in range(len(doc_ids)))
                rankings.append(Ranking(query_id, tuple(doc_ids), scores))
        if rankings:
            found[annotator] = tuple(rankings)
    return found


def human_scores(
    collection: Collection,
    topics: Sequence[Topic],
    rankings: Mapping[str, Sequence[Ranking]],
) -> SystemScores:
    """Every annotator against the adjudicated grades, and their mean query by query.

    p-MRR compares an annotator's ranking for one aspect with that for another aspect of the
    seed. Where they graded only one of the two, another annotator's stands in for it: it is
    two different people's grades then, as it is when a seed's aspects were shared out.
    """
    own_rows: dict[str, list[dict[str, Any]]] = {}
    for annotator, own in rankings.items():
        graded = {r.query_id for r in own}
        stand_ins = [r for other, theirs in rankings.items() if other != annotator for r in theirs]
        together = {r.query_id: r for r in (*reversed(stand_ins), *own)}
        rows = query_rows(collection, topics, list(together.values()))
        own_rows[annotator] = [row for row in rows if row["query_id"] in graded]
    merged = [_merged(topic, own_rows) for topic in topics]
    scores = summarised([row for row in merged if row is not None], 0.0, "human")
    return replace(scores, annotators={a: means(rows) for a, rows in own_rows.items()})


def _merged(
    topic: Topic, own_rows: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, Any] | None:
    """The mean over the annotators who graded a query; None when nobody did."""
    rows = [r for rows in own_rows.values() for r in rows if r["query_id"] == topic.query_id]
    if not rows:
        return None
    names = ("query_id", "aspect")
    values = {m: mean([row[m] for row in rows]) for m in rows[0] if m not in names}
    return {"query_id": topic.query_id, "aspect": topic.aspect, **values}
