"""The table of an evaluation: a row for each query, from which all summaries are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.measures.metrics import MEASURES, csfcube_ndcg, mean, measure_runs
from engine.measures.p_mrr import P_MRR, instruction_following
from engine.types.evaluations import CSFCUBE_NDCG, Collection, Topic
from engine.types.searches import Ranking

JUDGED = "Judged@20"
_ALL = (*map(str, MEASURES), CSFCUBE_NDCG, P_MRR)
_NAMES = ("query_id", "aspect")
Row = Mapping[str, Any]


def query_rows(
    collection: Collection, topics: Sequence[Topic], rankings: Sequence[Ranking]
) -> list[dict[str, Any]]:
    """One dict per topic: ``query_id``, ``aspect`` and every measure."""
    given = {r.query_id: r for r in rankings}
    every = [given.get(t.query_id, Ranking(t.query_id, (), ())) for t in topics]
    # The library divides by the length of a ranking.
    ranked_ones = [r for r in every if r.doc_ids]
    values = measure_runs(collection.qrels, ranked_ones, collection.relevant_from)
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


def with_all_measures(report: dict[str, Any]) -> dict[str, Any]:
    """A stored evaluation; measures that are newer are undefined."""
    for scores in report["systems"].values():
        by_group = [scores["by_aspect"], scores.get("annotators", {})]
        means = [values for groups in by_group for values in groups.values()]
        for values in (
            scores["metrics"],
            scores.setdefault("confidence", {}),
            *means,
            *scores["per_query"],
        ):
            for measure in _ALL:
                values.setdefault(measure, None)
    return report


def measures_of(rows: Sequence[Row]) -> list[str]:
    """Names of the measures in rows."""
    return [name for name in rows[0] if name not in _NAMES] if rows else []


def means(rows: Sequence[Row]) -> dict[str, float | None]:
    """Measure -> mean over the rows where it is defined, None where it is nowhere."""
    return {name: mean([row[name] for row in rows]) for name in measures_of(rows)}
