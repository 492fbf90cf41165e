"""A reranked page of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.assist.model_systems import Found
from engine.corpora.contracts import ScoredDocument
from engine.search.searcher import FirstStage, Searcher
from engine.types.reranking import ModelReport, Move, Reranking
from engine.types.searches import Query


def reranking(
    searcher: Searcher,
    stage: FirstStage,
    order: Sequence[str],
    report: ModelReport,
    *,
    confidence: Mapping[str, float] | None = None,
    depth: int,
    partial: bool,
    query: Query | None = None,
) -> Reranking:
    """A page in the model's ``order``, with evidence.

    Args:
        order: the ids of the first stage's ranking, all of them.
        confidence: doc_id -> 0.5 to 1, where it is known.
        query: that of ``stage`` with another page or page size; None for its own.
    """
    first = {s.doc_id: (rank, s) for rank, s in enumerate(stage.ranking, start=1)}
    ranking: list[ScoredDocument] = []
    moves: dict[str, Move] = {}
    for rank, doc_id in enumerate(order, start=1):
        first_rank, scored = first[doc_id]
        ranking.append(scored)
        sure = (confidence or {}).get(doc_id)
        moves[doc_id] = Move(doc_id, rank, first_rank, sure, reranked=first_rank <= depth)
    page = searcher.page(replace(stage, query=query or stage.query), ranking)
    return Reranking(page, moves, report, partial)


def helped(
    searcher: Searcher, stage: FirstStage, found: Found, report: ModelReport, query: Query
) -> Reranking:
    """A page of a system that a model helped; moves are against the first stage.

    Args:
        query: what was asked, with the system's own name.
    """
    first = {doc_id: rank for rank, doc_id in enumerate(stage.ranking.doc_ids, start=1)}
    moves = {
        doc_id: Move(doc_id, rank, first[doc_id])
        for rank, doc_id in enumerate(found.ranking.doc_ids, start=1)
        if doc_id in first
    }
    page = searcher.page(stage, found.ranking)
    said = tuple(f"The model searched for: {words}" for words in found.queries)
    page = replace(page, query=query, notes=(*page.notes, *said))
    return Reranking(page, moves, report, partial=bool(report.stopped))
