"""Rankings for a model to improve, and what that asks at most.

One client serves all rankings of a run, with its budget, concurrency and usage. Several run
concurrently, so that sequential modes keep the endpoint busy. In estimates, numbers of questions
follow from the modes; tokens from the lengths of some texts, not from a tokenizer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from engine.assist.assist_prompts import noting, rewording
from engine.assist.model_systems import HOPS, PER_HOP, question
from engine.errors import NotAllowedError, check_between, check_known
from engine.jobs.runner import JobRunner
from engine.llm.client import Client
from engine.llm.endpoints import EndpointError
from engine.llm.judges import Criterion, JudgeReport, ModelJudge, document_text, typical_question
from engine.llm.messages import Prompt
from engine.llm.tasks import Estimator
from engine.measures.metrics import mean
from engine.rerank import MODES, OnRound, Options, Reranked, estimate, find_mode, rerank
from engine.rerank.listwise import BATCH, LENGTH
from engine.search.searcher import Searcher
from engine.types.evaluations import Topic
from engine.types.models import Estimate, ModelReport, ModelUsage, summed
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


# -- estimates ---------------------------------------------------------------------------------

SAMPLE = 6  # Queries whose documents are measured where there are many
DOCUMENTS = 12  # Documents of each of these queries that are measured
OF_ONE = 30  # Documents that are measured where there is one query only
KEPT = 256  # Estimates that a facade remembers, by all that they depend on
_LIST = {"listwise": LENGTH, "tournament": BATCH}
"""Documents per list at most."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A query and some of its documents, whose lengths are taken for those of all."""

    criterion: Criterion
    texts: Mapping[str, str]


Counted = tuple[str, Estimate]
"""A mode of reranking, or the name of a system that asks a model; and what it asks, without
tokens."""


def count_for_reranking(plan: Plan, sizes: Sequence[int]) -> Counted:
    """What reranking asks; ``sizes`` are the documents of each ranking."""
    depths = [min(plan.depth, size) for size in sizes]
    each = [estimate(plan.mode, depth, TOP) for depth in depths if depth > 0]
    return plan.mode, Estimate(
        rounds=sum(one.rounds for one in each),
        exact=all(one.exact for one in each),
        calls=sum(one.calls for one in each),
    )


def count_for_system(system: str, sizes: Sequence[int]) -> Counted:
    """What a system that asks a model asks, whatever the answers are; ``sizes`` as above."""
    hops = [1 if system == "rewrite" else min(HOPS, -(-size // PER_HOP)) for size in sizes]
    return system, Estimate(rounds=sum(hops), calls=sum(hops))


def ranking_sizes(searcher: Searcher, topics: Sequence[Topic]) -> list[int]:
    """How many documents a ranking of each topic may hold."""
    known = searcher.corpus.row_of
    return [
        len(known) - (topic.seed in known)
        if topic.pool is None
        else sum(doc_id in known for doc_id in topic.pool)
        for topic in topics
    ]


def estimate_cost(
    counts: Sequence[Counted], samples: Sequence[Sample], known: Estimator
) -> Estimate:
    """The sum, with tokens and cost where there are samples. Asks nothing."""
    costs = [count for _, count in counts]
    for at, (mode, count) in enumerate(counts):
        if samples:  # the mean over them, each asked all the questions
            asked = [_question(known, mode, sample) for sample in samples]
            cost = known.estimate(asked, count.calls)
            costs[at] = replace(cost, rounds=count.rounds, exact=count.exact)
    return summed(costs)


def estimate_ranking(
    plan: Plan | None,
    system: str,
    assignment: Assignment,
    known: Estimator,
) -> Estimate:
    """What one ranking costs; tokens only where a model is connected."""
    total = len(assignment.doc_ids)
    if plan is None:
        count, doc_ids = count_for_system(system, [total]), assignment.doc_ids[:PER_HOP]
    else:
        count, depth = count_for_reranking(plan, [total]), min(plan.depth, total)
        doc_ids = assignment.doc_ids[: depth : max(1, depth // OF_ONE)]
    samples = []
    if known.model:  # else no text need be read
        samples.append(Sample(assignment.criterion, assignment.texts(doc_ids)))
    return estimate_cost([count], samples, known)


def _question(known: Estimator, mode: str, sample: Sample) -> Prompt[Any]:
    """A question of this mode, or of a system with a model, in the sample's lengths."""
    wish = question(sample.criterion)
    if mode == "rewrite":
        return rewording(wish, 1)
    if mode == "multi-hop":  # as many documents as a hop reads, repeated if necessary
        texts = list(sample.texts.values())
        documents = {str(i): texts[i % len(texts)] for i in range(PER_HOP) if texts}
        return noting(wish, [], documents)
    asks, room = find_mode(mode).asks, known.known.room
    return typical_question(sample.criterion, sample.texts, asks, room, _LIST.get(mode, 2))
