"""From rankings to the numbers of an evaluation; nothing is ranked in here."""

from __future__ import annotations

import functools
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.annotate.adjudication import decide, own_grades
from engine.annotate.pool import unaskable
from engine.errors import BadInputError
from engine.measures.metrics import mean, ranking_by_grades
from engine.measures.p_mrr import P_MRR, wanted_by
from engine.measures.per_query import JUDGED, Row, means, measures_of, query_rows
from engine.measures.significance import confidence_interval, paired_tests
from engine.search.searcher import Searcher
from engine.text import counted
from engine.types.annotating import Item, Judgment, Project, Scale
from engine.types.evaluations import (
    CSFCUBE_NDCG,
    NDCG,
    RELEVANT,
    Collection,
    Difference,
    Evaluation,
    Interval,
    Judged,
    Qrels,
    SystemKind,
    SystemScores,
    Topic,
)
from engine.types.models import ModelReport
from engine.types.searches import Query, Ranking

MAIN_MEASURE = NDCG
"""What significance is tested on."""
MAIN_MEASURES = (MAIN_MEASURE, CSFCUBE_NDCG, P_MRR)
"""What every aspect gets an interval of."""


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


def differences(first: Evaluation, second: Evaluation) -> tuple[Difference, ...]:
    """Every measure of the systems in both, on the queries of both; where they share no system, of
    the best ones. p-MRR only of equal queries: it depends on the other queries of a seed."""
    one, two = first.systems, second.systems
    shared = [(name, name) for name in one if name in two]
    if not shared and one and two:
        shared = [(_best(first), _best(second))]
    rows = {names: _both(one[names[0]], two[names[1]]) for names in shared}
    measures = measures_of([pair[0] for pairs in rows.values() for pair in pairs][:1])
    made = []
    for measure in measures:
        values = {
            names: _defined(pairs, measure)
            for names, pairs in rows.items()
            if measure != P_MRR
            or len(pairs) == len(one[names[0]].per_query) == len(two[names[1]].per_query)
        }
        changes = {names: [round(b - a, 12) for a, b in own] for names, own in values.items()}
        for test in paired_tests(changes, measure):
            names = test["systems"]
            before, after = map(mean, zip(*values[names], strict=True))
            made.append(
                Difference(
                    names,
                    measure,
                    test["queries"],
                    (before or 0.0, after or 0.0),
                    test["difference"],
                    confidence_interval(changes[names]),
                    test["t_test_p_holm"],
                    test["randomisation_p_holm"],
                )
            )
    return tuple(made)


def _best(evaluation: Evaluation) -> str:
    means = {name: s.metrics[MAIN_MEASURE] or 0.0 for name, s in evaluation.systems.items()}
    return max(means, key=means.__getitem__)


def _both(first: SystemScores, second: SystemScores) -> list[tuple[Row, Row]]:
    """The rows of the queries that are in both."""
    theirs = {row["query_id"]: row for row in second.per_query}
    return [(r, theirs[r["query_id"]]) for r in first.per_query if r["query_id"] in theirs]


def _defined(pairs: Sequence[tuple[Row, Row]], measure: str) -> list[tuple[float, float]]:
    values = ((a[measure], b.get(measure)) for a, b in pairs)
    return [(a, b) for a, b in values if a is not None and b is not None]


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
    of_query: dict[str, list[Row]] = {}
    for row in (row for rows in own_rows.values() for row in rows):
        of_query.setdefault(row["query_id"], []).append(row)
    graded_rows = [of_query[t.query_id] for t in topics if t.query_id in of_query]
    merged = [{**rows[0], **means(rows)} for rows in graded_rows]
    scores = summarised(merged, 0.0, "human")
    return replace(scores, annotators={a: means(rows) for a, rows in own_rows.items()})


def from_zero(qrels: Qrels, scale: Scale) -> dict[str, dict[str, int]]:
    """Grades counted from the lowest of their scale: 0 is not relevant."""
    lowest = min(scale.values)
    return {q: {d: grade - lowest for d, grade in grades.items()} for q, grades in qrels.items()}


def topic_of(query_id: str, query: Query) -> Topic:
    """A project's query as a topic of a collection."""
    return Topic(query_id, query.seed, query.text, query.aspect, instruction=query.instruction)


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
        both = _items(own) & _items(decided.grades)
        shared, rest = (from_zero(among(q, both), project.scale) for q in (own, decided.grades))
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


def among(qrels: Qrels, items: Container[Item]) -> dict[str, dict[str, int]]:
    """The grades of some items, without queries that have none of them."""
    kept = {q: {d: g for d, g in own.items() if (q, d) in items} for q, own in qrels.items()}
    return {query_id: grades for query_id, grades in kept.items() if grades}


def _items(qrels: Qrels) -> set[Item]:
    return {(query_id, doc_id) for query_id, grades in qrels.items() for doc_id in grades}
