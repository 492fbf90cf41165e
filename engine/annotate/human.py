"""The human row of a project: how well one annotator's grades rank what the others decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.annotate.adjudication import decide
from engine.collections import Collection, Topic
from engine.lab.human import annotators_rankings, human_scores
from engine.searching import Searcher
from engine.types import Judgment, Project, Query, Ranking, SystemScores

TIE_BREAK = "dense"
"""Orders what an annotator gave the same grade, as on Evaluate."""
Qrels = Mapping[str, Mapping[str, int]]


def topics_of(queries: Mapping[str, Query]) -> tuple[Topic, ...]:
    """A project's queries as topics of a collection."""
    return tuple(
        Topic(
            query_id,
            seed=query.seed,
            text=query.text,
            aspect=query.aspect,
            instruction=query.instruction,
        )
        for query_id, query in queries.items()
    )


def own_grades(
    judgments: Sequence[Judgment], *, models: bool = False
) -> dict[str, dict[str, dict[str, int]]]:
    """annotator -> query_id -> doc_id -> grade, before adjudication; of people, with ``models``
    of these too."""
    origins = ("person", "import", *(("model",) if models else ()))
    found: dict[str, dict[str, dict[str, int]]] = {}
    for judgment in judgments:
        if judgment.relevance is not None and judgment.origin in origins:
            own = found.setdefault(judgment.annotator, {}).setdefault(judgment.query_id, {})
            own[judgment.doc_id] = judgment.relevance
    return dict(sorted(found.items()))


def human_rows(
    project: Project,
    queries: Mapping[str, Query],
    judgments: Sequence[Judgment],
    searcher: Searcher,
) -> dict[str, SystemScores]:
    """annotator -> all measures of their own grades as a ranking.

    Each is held against what there is without them: what others decided, else the grade that the
    others agree on (a model's, where the project lets it count). Only what both of them graded is
    ranked; who shares nothing with others has no row. What the corpus does not hold any more
    is left out.
    """
    held = searcher.corpus.row_of
    queries = {key: q for key, q in queries.items() if q.seed is None or q.seed in held}
    known = (None, *project.scale.values)
    judgments = [
        j for j in judgments if j.query_id in queries and j.doc_id in held and j.relevance in known
    ]
    topics = topics_of(queries)
    found = {}
    ties: dict[str, list[str]] = {}
    for annotator, own in own_grades(judgments).items():
        others = [j for j in judgments if j.annotator != annotator]
        decided = decide(others, model_grades=project.model_grades, scale=project.scale)
        shared, rest = _shared(own, decided.grades)
        asked = [topic for topic in topics if topic.query_id in shared]
        if not asked:
            continue
        for topic in asked:
            if topic.query_id not in ties:
                ties[topic.query_id] = _order(searcher, queries[topic.query_id])
        collection = Collection(
            name=project.name or project.corpus,
            topics=tuple(asked),
            qrels=rest,
            documents=None,
            source_format="",
            annotators={annotator: shared},
        )
        breaks = [_ranking(q, [d for d in ties[q] if d in shared[q]]) for q in shared if q in ties]
        rankings = annotators_rankings(collection, asked, breaks)
        found[annotator] = replace(human_scores(collection, asked, rankings), annotators={})
    return found


def _shared(own: Qrels, rest: Qrels) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]:
    """What both graded, as the one and as the others did."""
    mine, theirs = {}, {}
    for query_id, grades in own.items():
        both = {d: g for d, g in grades.items() if d in rest.get(query_id, {})}
        if both:
            mine[query_id] = both
            theirs[query_id] = {d: rest[query_id][d] for d in both}
    return mine, theirs


def _order(searcher: Searcher, query: Query) -> list[str]:
    plain = replace(query, system=TIE_BREAK)
    ranking = [s.doc_id for s in searcher.rank(plain, searcher.seed(query))]
    return [*ranking, query.seed] if query.seed is not None else ranking


def _ranking(query_id: str, doc_ids: Sequence[str]) -> Ranking:
    scores = tuple(float(len(doc_ids) - i) for i in range(len(doc_ids)))
    return Ranking(query_id, tuple(doc_ids), scores)
