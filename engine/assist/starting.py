"""Rankings that a model is asked about in a thread of their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from engine.assist.model_systems import MODEL_SYSTEMS, Found, find_model_system
from engine.assist.ranking_jobs import RankingWork, RerankWork, SearchWork, Task
from engine.assist.reranking import Assignment, Finished, Plan, criterion_for, rerank_one, texts_of
from engine.llm.budget import Usage
from engine.llm.cache import AnswerStore
from engine.llm.client import Client
from engine.llm.endpoints import Connection
from engine.llm.run import Run
from engine.search.searcher import FirstStage, Searcher
from engine.types.reranking import CostEstimate
from engine.types.searches import Query


def start_rerank(
    task: Task,
    searcher: Searcher,
    stage: FirstStage,
    plan: Plan,
    estimate: CostEstimate,
    connection: Connection,
    store: AnswerStore,
) -> RerankWork:
    """A reranking of ``stage``, under way."""
    assignment = assignment_of(searcher, stage)
    work = RerankWork(task, searcher, stage, estimate, _nothing(connection), plan, assignment)

    async def rerank(client: Client) -> Finished:
        return await rerank_one(client, assignment, plan, work.note)

    work.run = Run(connection, store, rerank)
    return work


def start_search(
    task: Task,
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
    work = SearchWork(task, searcher, stage, estimate, _nothing(connection), query)
    work.run = Run(connection, store, searching(searcher, stage, query))
    return work


def prepared(
    searcher: Searcher,
    stage: FirstStage,
    query: Query,
    plan: Plan | None,
    estimate: CostEstimate,
    connection: Connection,
    store: AnswerStore,
) -> tuple[Task, Callable[[], RankingWork]]:
    """What a model is to rank, and what begins it. Nothing is asked before that is called.

    Args:
        stage: what is reranked; without a plan, the same search on ``dense``.
    """
    task = Task(query, plan, connection.endpoint, searcher.corpus.identity)
    rest = (estimate, connection, store)
    if plan is None:
        return task, partial(start_search, task, searcher, stage, query, *rest)
    return task, partial(start_rerank, task, searcher, stage, plan, *rest)


def plan_for(query: Query, mode: str, depth: int) -> Plan | None:
    """How to rerank; None for a system that asks a model by itself. Raises as :class:`Plan`."""
    return None if query.system in MODEL_SYSTEMS else Plan(mode, depth)


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
    doc_ids = tuple(stage.ranking.doc_ids)
    return Assignment("", criterion, doc_ids, texts_of(searcher))


def _nothing(connection: Connection) -> Usage:
    return Usage(connection.endpoint.address, connection.endpoint.model)
