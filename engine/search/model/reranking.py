"""Rankings for a model to improve.

One client serves all rankings of a run, with its budget, concurrency and usage. Several run
concurrently, so that sequential modes keep the endpoint busy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from engine.errors import NotAllowedError, check_between, check_known
from engine.jobs.runner import JobRunner
from engine.llm.client import Client
from engine.llm.endpoint_errors import EndpointError
from engine.llm.judges import JudgeReport, ModelJudge, document_text
from engine.llm.judging_prompts import Criterion
from engine.measures.metrics import mean
from engine.rerank.modes import MODES, rerank
from engine.rerank.protocols import OnRound, Options, Reranked
from engine.search.searcher import Searcher
from engine.types.models import ModelReport, ModelUsage
from engine.types.reranking import DEFAULT_DEPTH
from engine.types.searches import PAGE_SIZE

TOP = PAGE_SIZE  # Ranks that matter: effort goes there, confidence is about its cut


@dataclass(frozen=True, slots=True)
class Plan:
    """How to rerank."""

    mode: str
    depth: int = DEFAULT_DEPTH  # reranked documents of the first stage; the others follow

    def __post_init__(self) -> None:
        check_known("reranking mode", self.mode, MODES)
        check_between("The depth", self.depth, 1)


@dataclass(frozen=True, slots=True)
class Assignment:
    """One ranking for a model to improve."""

    name: str  # unique in a run
    criterion: Criterion
    doc_ids: tuple[str, ...]  # in the order of the first stage
    # loads the texts of some of them, when their turn comes
    texts: Callable[[Sequence[str]], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Finished:
    """An assignment's new order, and what its judge saw."""

    reranked: Reranked
    judge: JudgeReport | None


def texts_of(searcher: Searcher) -> Callable[[Sequence[str]], dict[str, str]]:
    """Loads what a judge reads of the corpus's documents, by ``doc_id``."""

    def load(doc_ids: Sequence[str]) -> dict[str, str]:
        return {d.doc_id: document_text(d) for d in searcher.corpus.documents(list(doc_ids))}

    return load


async def rerank_one(
    client: Client, assignment: Assignment, plan: Plan, on_round: OnRound | None = None
) -> Finished:
    """The model's order of one ranking; as far as it came when the run was stopped."""
    texts = assignment.texts(assignment.doc_ids[: plan.depth])
    judge = ModelJudge(client, assignment.criterion, texts)
    options = Options(depth=plan.depth, top=TOP, texts=texts)
    reranked = await rerank(assignment.doc_ids, judge, plan.mode, options, on_round)
    return Finished(reranked, judge.report)


async def rerank_all(
    client: Client,
    assignments: Sequence[Assignment],
    plan: Plan,
) -> list[Finished]:
    """Rerank all; earlier ones finish first, so that a budget buys whole rankings."""
    slots = asyncio.Semaphore(client.concurrency)

    async def one(assignment: Assignment) -> Finished:
        async with slots:
            if client.stopped == "cancelled":
                unasked = Reranked(assignment.doc_ids, 0, 0, 0, {}, None, stopped=True)
                return Finished(unasked, None)
            return await rerank_one(client, assignment, plan)

    return list(await asyncio.gather(*map(one, assignments)))


def model_report(plan: Plan, usage: ModelUsage, finished: Sequence[Finished] = ()) -> ModelReport:
    """The figures of a run; those of its algorithms too once they are ``finished``."""
    asked = [f for f in finished if f.judge is not None]
    # Orders of lists go into the same fit as pairs, but there the winner stands first.
    compared = [f.reranked for f in asked if f.judge and f.judge.comparisons]
    rounds = sum(f.reranked.rounds for f in asked) if finished else usage.rounds
    return ModelReport(
        mode=plan.mode,
        depth=plan.depth,
        queries=len(asked),
        questions=sum(f.reranked.calls for f in asked),
        unanswered=sum(f.reranked.unanswered for f in asked)
        if finished
        else usage.failed + usage.unread,
        position_bias=mean([reranked.position_bias for reranked in compared]),
        first_share=mean([f.judge.first_share for f in asked if f.judge]),
        cut=sum(len(f.judge.cut) for f in asked if f.judge),
        empty=sum(len(f.judge.empty) for f in asked if f.judge),
        **{**usage.figures, "rounds": rounds},
    )


def usage_report(
    name: str, depth: int, queries: int, unanswered: int, usage: ModelUsage
) -> ModelReport:
    """The figures of a run that does not rerank; ``unanswered`` of its questions led nowhere."""
    return ModelReport(
        mode=name,
        depth=depth,
        queries=queries,
        questions=usage.asked,
        unanswered=unanswered,
        **usage.figures,
    )


def recalled(jobs: JobRunner, job_id: str) -> str | None:
    """Wait for a job that may send nothing; its id where the ledger had all answers, else None."""
    with suppress(EndpointError):
        if not jobs.result(job_id).stopped:
            return job_id
    with suppress(NotAllowedError):  # of somebody else, who asked for the same just now
        jobs.dismiss(job_id)
    return None
