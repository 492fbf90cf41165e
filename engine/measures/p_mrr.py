"""Instruction following: p-MRR (Weller et al., FollowIR, 2024), SICR and WISE.

SICR and WISE (InfoSearch: Zhou et al., "Beyond Content Relevance: Evaluating Instruction Following
in Retrieval Models", ICLR 2025, arXiv 2410.23841) take rankings without the instruction
(``plain``), with it and with its reverse; a missing document is behind the last. Duplicates raise
ValueError.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from engine.measures.metrics import mean
from engine.measures.ranking_change import ranks
from engine.types.evaluations import Collection, Grades, Qrels, Topic

P_MRR = "p-MRR"


def instruction_following(
    collection: Collection, topics: Sequence[Topic], ranked: Mapping[str, Sequence[str]]
) -> dict[str, float | None]:
    """p-MRR per query: the mean over the other judged aspects and wordings of the same seed."""
    of_seed: dict[str, list[str]] = {}
    for topic in topics:
        if topic.seed is not None and wanted_by(topic) and topic.query_id in ranked:
            of_seed.setdefault(topic.seed, []).append(topic.query_id)
    of_query: dict[str, float | None] = {}
    for query_ids in of_seed.values():
        for query_id in query_ids:
            of_query[query_id] = mean(
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
    return of_query


def wanted_by(topic: Topic) -> tuple[str, ...]:
    """What a topic asks for in a document; () for the document as a whole."""
    return tuple(filter(None, (topic.aspect, topic.instruction)))


def _complete(collection: Collection, query_id: str, ranked: Sequence[str]) -> Mapping[str, int]:
    """Grades, with the zeros that a complete collection does not list."""
    grades = collection.qrels.get(query_id, {})
    return {**dict.fromkeys(ranked, 0), **grades} if collection.complete else grades


def p_mrr_by_document(
    ranking: Sequence[str], grades: Grades, other_ranking: Sequence[str], other_grades: Grades
) -> dict[str, float]:
    """doc_id -> -1 (the wrong way) to 1 by which a document follows the instruction, in the order
    of ``ranking``; FollowIR's p-MRR (Weller et al. 2024) for the aspects of a seed.

    For documents relevant here (grade >= 1), judged not relevant for the other aspect (grade 0),
    and in both rankings. With ranks R here and R' there among common documents: R'/R - 1 if R > R',
    else 1 - R/R'.

    >>> p_mrr_by_document(["a", "b"], {"a": 2}, ["b", "a"], {"a": 0})
    {'a': 0.5}
    """
    here, there = ranks(ranking), ranks(other_ranking)
    if here.keys() != there.keys():
        here = ranks([doc_id for doc_id in ranking if doc_id in there])
        there = ranks([doc_id for doc_id in other_ranking if doc_id in here])
    telling = [
        doc_id
        for doc_id, grade in grades.items()
        if grade >= 1 and other_grades.get(doc_id) == 0 and doc_id in here
    ]
    telling.sort(key=here.__getitem__)
    return {doc_id: _rank_shift(here[doc_id], there[doc_id]) for doc_id in telling}


def _rank_shift(here: int, there: int) -> float:
    return there / here - 1 if here > there else 1 - here / there


def p_mrr(
    ranking: Sequence[str], grades: Grades, other_ranking: Sequence[str], other_grades: Grades
) -> float | None:
    """Mean of :func:`p_mrr_by_document`, -1 to 1; None without such documents."""
    return mean(tuple(p_mrr_by_document(ranking, grades, other_ranking, other_grades).values()))


def p_mrr_of_aspect(
    ranking: Sequence[str], others: Mapping[str, Sequence[str]], aspect: str, judgments: Qrels
) -> float | None:
    """p-MRR of one aspect of a seed, -1 to 1: the mean of :func:`p_mrr` over its other judged
    aspects; None where undefined.

    Args:
        others: aspect -> the ranking for it.
        judgments: aspect -> grades; documents judged for one of two aspects only are left out.
    """
    grades = judgments.get(aspect, {})
    values = []
    for other, other_ranking in others.items():
        if other != aspect:
            shared = grades.keys() & judgments.get(other, {}).keys()
            here, there = ([d for d in r if d in shared] for r in (ranking, other_ranking))
            values.append(p_mrr(here, grades, there, judgments.get(other, {})))
    return mean(values)


def rank_gain(
    ranking: Sequence[str], other_ranking: Sequence[str], aspect: str, judgments: Qrels
) -> float | None:
    """How far documents relevant only to ``aspect`` rank higher than in another ranking for it:
    p-MRR's formula, -1 to 1; None where undefined."""
    return p_mrr_of_aspect(ranking, dict.fromkeys(judgments, other_ranking), aspect, judgments)


SICR, WISE = "SICR", "WISE"
WISE_DEPTH = 20
"""K of WISE."""


def sicr(
    relevant: Iterable[str],
    plain: Sequence[str],
    instructed: Sequence[str],
    reverse: Sequence[str],
) -> float | None:
    """Strict Instruction Compliance Ratio: share of relevant documents that obey both ways; None
    without any.

    A document obeys when its rank is better with the instruction and worse with the reverse than
    without (first: stays first, and falls). The paper also compares scores, ours are not
    comparable: the value is at least the paper's.

    >>> sicr(["a"], ["x", "a", "y"], ["a", "x", "y"], ["x", "y", "a"])
    1.0
    """
    found = _ranks(relevant, plain, instructed, reverse)
    return mean([float(with_it < max(r, 2) and r < against) for r, with_it, against in found])


def wise(
    relevant: Iterable[str],
    plain: Sequence[str],
    instructed: Sequence[str],
    reverse: Sequence[str],
    candidates: int,
) -> float | None:
    """Weighted Instruction Sensitivity Evaluation: mean over relevant documents, -1 to 1; None
    without any.

    With its ranks R without the instruction, I with it and V with the reverse, and N ``candidates``
    (documents relevant to the seed in any aspect), a document has

    - where I <= R < V: 1 if R < N and I = 1; else (1 - sqrt(R - I) / 20) / sqrt(I) if R <= 20; else
      0.01
    - where V < R < I: -1
    - else: (R - I) / I where R <= I, and (V - R) / R where V <= R

    as in the authors' code of February 2025 (their formula of 2024 lacks the square root).

    >>> wise(["a"], ["x", "a", "y"], ["a", "x", "y"], ["x", "y", "a"], candidates=3)
    1.0
    """
    return mean([_wise(candidates, *r) for r in _ranks(relevant, plain, instructed, reverse)])


def _wise(candidates: int, without: int, with_it: int, against: int) -> float:
    if with_it <= without < against:
        if without < candidates and with_it == 1:
            return 1.0
        if without > WISE_DEPTH:
            return 0.01
        return (1 - math.sqrt(without - with_it) / WISE_DEPTH) / math.sqrt(with_it)
    if against < without < with_it:
        return -1.0
    if without <= with_it:
        return (without - with_it) / with_it
    return (against - without) / without


def _ranks(relevant: Iterable[str], *rankings: Sequence[str]) -> list[list[int]]:
    """Each relevant document's ranks in the rankings."""
    places = [ranks(ranking) for ranking in rankings]
    return [[place.get(doc_id, len(place) + 1) for place in places] for doc_id in relevant]
