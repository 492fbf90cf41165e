"""The human row of a project: how well one annotator's grades rank what the others decided."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.annotate.adjudication import decide, own_grades
from engine.annotate.pool import unaskable
from engine.errors import BadInputError
from engine.evaluate.judged_projects import from_zero, topic_of
from engine.evaluate.measuring import means, measures_of, query_rows, ranking_of, summarised
from engine.measures.metrics import mean, ranking_by_grades
from engine.search.searcher import Searcher
from engine.types.annotating import Judgment, Project
from engine.types.evaluations import Collection, Qrels, SystemScores, Topic
from engine.types.searches import Query, Ranking

HUMAN = "human"
TIE_BREAK = "dense"
"""Orders what an annotator gave the same grade; ranked for that where nobody asked for it."""


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
    """annotator -> a ranking, by their own grades, of every pool that they graded; ties in the
    order of ``tie_break``."""
    order = {r.query_id: r.doc_ids for r in tie_break}
    by_annotator = {}
    for annotator, graded in collection.annotators.items():
        own = [t.query_id for t in topics if t.query_id in graded]
        if own:
            orders = ((q, ranking_by_grades(graded[q], order[q])) for q in own)
            by_annotator[annotator] = tuple(ranking_of(*one) for one in orders)
    return by_annotator


def human_scores(
    collection: Collection,
    topics: Sequence[Topic],
    rankings: Mapping[str, Sequence[Ranking]],
) -> SystemScores:
    """Every annotator against the adjudicated grades, and their mean per query.

    p-MRR compares an annotator's rankings for two aspects of a seed. Where they graded one only,
    another annotator's ranking is used for the other.
    """
    own_rows: dict[str, list[dict[str, Any]]] = {}
    for annotator, own in rankings.items():
        graded = {r.query_id for r in own}
        stand_ins = [r for other, theirs in rankings.items() if other != annotator for r in theirs]
        together = {r.query_id: r for r in (*reversed(stand_ins), *own)}
        rows = query_rows(collection, topics, list(together.values()))
        own_rows[annotator] = [row for row in rows if row["query_id"] in graded]
    merged: list[dict[str, Any]] = []
    for topic in topics:
        rows = [r for rows in own_rows.values() for r in rows if r["query_id"] == topic.query_id]
        if rows:
            values = {name: mean([row[name] for row in rows]) for name in measures_of(rows)}
            merged.append({"query_id": topic.query_id, "aspect": topic.aspect, **values})
    scores = summarised(merged, 0.0, "human")
    return replace(scores, annotators={a: means(rows) for a, rows in own_rows.items()})


def human_rows(
    project: Project,
    queries: Mapping[str, Query],
    judgments: Sequence[Judgment],
    searcher: Searcher,
) -> dict[str, SystemScores]:
    """annotator -> all measures of their own grades as a ranking.

    Measured against the grades without theirs: others' adjudications, else the grade that the
    others agree on (or a model's, where the project counts it), on documents with both. No row for
    annotators without any.
    """
    held, gone = searcher.corpus.row_of, unaskable(searcher.corpus, queries)
    known = (None, *project.scale.values)
    topics = {key: topic_of(key, query) for key, query in queries.items() if key not in gone}
    judgments = [
        j for j in judgments if j.query_id in topics and j.doc_id in held and j.relevance in known
    ]

    @functools.cache
    def ties(query_id: str) -> list[str]:
        query = replace(queries[query_id], system=TIE_BREAK)
        ranking = searcher.rank(query, searcher.seed(query)).doc_ids
        return [*ranking, query.seed] if query.seed is not None else [*ranking]

    scores = {}
    for annotator, own in own_grades(judgments).items():
        others = [j for j in judgments if j.annotator != annotator]
        decided = decide(others, model_grades=project.model_grades, scale=project.scale)
        shared, rest = (from_zero(q, project.scale) for q in _shared(own, decided.grades))
        asked = tuple(topic for key, topic in topics.items() if key in shared)
        if asked:
            name = project.name or project.corpus
            collection = Collection(name, asked, rest, None, "", annotators={annotator: shared})
            breaks = [
                ranking_of(q, [d for d in ties(q) if d in grades]) for q, grades in shared.items()
            ]
            rankings = annotators_rankings(collection, asked, breaks)
            found = human_scores(collection, asked, rankings)
            scores[annotator] = replace(found, annotators={})
    return scores


def _shared(own: Qrels, rest: Qrels) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]:
    """The grades of items that both graded."""
    mine, theirs = {}, {}
    for query_id, grades in own.items():
        both = {d: g for d, g in grades.items() if d in rest.get(query_id, {})}
        if both:
            mine[query_id] = both
            theirs[query_id] = {d: rest[query_id][d] for d in both}
    return mine, theirs
