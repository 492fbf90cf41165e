"""p-MRR over the queries of a collection: how far rankings follow aspect and wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.measures.metrics import mean, p_mrr
from engine.types.collections import Collection, Topic


def instruction_following(
    collection: Collection, topics: Sequence[Topic], ranked: Mapping[str, Sequence[str]]
) -> dict[str, float | None]:
    """p-MRR per query: the mean over the other judged aspects and wordings of the same seed."""
    of_seed: dict[str, list[str]] = {}
    for topic in topics:
        if topic.seed is not None and wanted_by(topic) and topic.query_id in ranked:
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


def wanted_by(topic: Topic) -> tuple[str, ...]:
    """What a topic asks for in a document; () for the document as a whole."""
    return tuple(filter(None, (topic.aspect, topic.instruction)))


def _complete(collection: Collection, query_id: str, ranked: Sequence[str]) -> Mapping[str, int]:
    """Grades, with the zeros that a complete collection does not list."""
    grades = collection.qrels.get(query_id, {})
    return {**dict.fromkeys(ranked, 0), **grades} if collection.complete else grades
