"""What reranking will cost, before anything is asked."""

from __future__ import annotations

from dataclasses import replace

from engine.llm.budget import Estimate
from engine.llm.cache import AnswerStore
from engine.llm.client import Client
from engine.llm.connection import Connection
from engine.llm.judges import ModelJudge, Question
from engine.llm.run import complete
from engine.rerank import estimate, find_mode
from engine.rerank.listwise import LENGTH
from engine.rerank.tournament import BATCH
from engine.types import CostEstimate
from engine.verify.reranking import TOP, Assignment, Plan

SAMPLE = 30
"""Documents whose lengths stand for all."""
_LIST = {"listwise": LENGTH, "tournament": BATCH}
"""Documents per list at most."""


def questions(plan: Plan, documents: int) -> CostEstimate:
    """Calls and rounds for a first stage of so many documents; nothing about tokens."""
    depth = min(plan.depth, documents)
    if depth < 1:
        return CostEstimate(plan.mode, plan.depth, 0, 0, exact=True)
    found = estimate(plan.mode, depth, TOP)
    return CostEstimate(plan.mode, plan.depth, found.calls, found.rounds, found.exact)


def priced(
    plan: Plan, assignment: Assignment, connection: Connection, store: AnswerStore
) -> CostEstimate:
    """The same with tokens and cost. Asks nothing, whatever is known of the endpoint."""
    found = questions(plan, len(assignment.doc_ids))
    depth = min(plan.depth, len(assignment.doc_ids))
    if not found.calls:
        return replace(found, input_tokens=0, output_tokens=0)
    step = max(1, depth // SAMPLE)
    texts = assignment.texts(assignment.doc_ids[:depth:step])
    question: Question = find_mode(plan.mode).asks

    async def work(client: Client) -> Estimate:
        judge = ModelJudge(client, assignment.criterion, texts)
        return await judge.estimate(question, found.calls, _LIST.get(plan.mode, 2))

    # Cancelled from the start: what is remembered of the endpoint is used, nothing is sent.
    tokens = complete(connection, store, work, cancelled=lambda: True).value
    return replace(
        found,
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        cost=tokens.cost,
    )
