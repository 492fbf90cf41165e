"""Rankings that a model is asked about in a thread of their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from engine.llm.cache import AnswerStore
from engine.llm.client import Client
from engine.llm.connection import Connection
from engine.llm.run import Run
from engine.llm.usage import Usage
from engine.searching import FirstStage, Searcher
from engine.types import CostEstimate, Query
from engine.verify.jobs import RerankWork, SearchWork
from engine.verify.reranking import (
    Assignment,
    Finished,
    Plan,
    criterion_for,
    rerank_one,
    texts_of,
)
from engine.verify.systems import Found, find_model_system


def start_rerank(
    searcher: Searcher,
    stage: FirstStage,
    plan: Plan,
    estimate: CostEstimate,
    connection: Connection,
    store: AnswerStore,
) -> RerankWork:
    """A reranking of ``stage``, under way."""
    assignment = assignment_of(searcher, stage)
    work = RerankWork(searcher, stage, estimate, _nothing(connection), plan, assignment)

    async def rerank(client: Client) -> Finished:
        return await rerank_one(client, assignment, plan, work.note)

    work.run = Run(connection, store, rerank)
    return work


def start_search(
    searcher: Searcher,
    stage: FirstStage,
    query: Query,
    estimate: CostEstimate,
    connection: Connection,
    store: AnswerStore,
) -> SearchWork:
    """A search that a model helps with, under way.

    Args:
        stage: the same search on ``dense``.
    """
    work = SearchWork(searcher, stage, estimate, _nothing(connection), query)
    work.run = Run(connection, store, searching(searcher, stage, query))
    return work


def searching(
    searcher: Searcher, stage: FirstStage, query: Query
) -> Callable[[Client], Awaitable[Found]]:
    """What a run does for a search on one of the systems that ask a model."""
    system = find_model_system(query.system)
    criterion = criterion_for(searcher, stage.query, stage.seed, stage.focus)

    async def search(client: Client) -> Found:
        return await system(client, searcher, stage.request, criterion)

    return search


def assignment_of(searcher: Searcher, stage: FirstStage) -> Assignment:
    """The first stage's ranking as work for a model."""
    criterion = criterion_for(searcher, stage.query, stage.seed, stage.focus)
    doc_ids = tuple(s.doc_id for s in stage.ranking)
    return Assignment("", criterion, doc_ids, texts_of(searcher))


def _nothing(connection: Connection) -> Usage:
    return Usage(connection.endpoint.address, connection.endpoint.model)
