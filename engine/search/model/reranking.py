"""Rankings by a model: of one query, as a task and a page, and of many; and what they ask at most.

One client serves all rankings of a run, with its budget, concurrency and usage. Several run
concurrently, so that sequential modes keep the endpoint busy. In estimates, numbers of questions
follow from the modes; tokens from the lengths of some texts, not from a tokenizer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from engine.corpora.contracts import RankedDocuments, Rows, ScoredDocument, Seed
from engine.corpora.recent import Recent
from engine.errors import NotAllowedError, check_between, check_known
from engine.jobs.runner import JobRunner
from engine.llm.client import Client
from engine.llm.endpoints import Endpoint, EndpointError, RoundProgress
from engine.llm.judges import Criterion, JudgeReport, ModelJudge, document_text, typical_question
from engine.llm.messages import Prompt
from engine.llm.tasks import Estimator, ModelTask, TaskRun
from engine.measures.metrics import mean
from engine.rerank.listwise import BATCH, LENGTH
from engine.rerank.modes import MODES, estimate, find_mode, rerank
from engine.rerank.protocols import OnRound, Options, Progress, Reranked
from engine.search.interpretation import Interpretation
from engine.search.model.prompts import noting, rewording
from engine.search.model.systems import HOPS, MODEL_SYSTEMS, PER_HOP, find_model_system, question
from engine.search.scenario_index import ranked_from
from engine.search.searcher import FirstStage, Searcher
from engine.types.evaluations import Topic
from engine.types.models import Estimate, ModelReport, ModelUsage, TaskReport, summed
from engine.types.reranking import DEFAULT_DEPTH, Move, RankingProgress, Reranking, RerankRequest
from engine.types.searches import PAGE_SIZE, Query

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
    texts: Callable[[Sequence[str]], Mapping[str, str]]  # loads some texts when their turn comes


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
    client: Client, assignments: Sequence[Assignment], plan: Plan
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
_LIST = {"listwise": LENGTH, "tournament": BATCH}  # Documents per list at most


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
    rounds, calls = sum(one.rounds for one in each), sum(one.calls for one in each)
    return plan.mode, Estimate(rounds=rounds, calls=calls, exact=all(one.exact for one in each))


def count_for_system(system: str, sizes: Sequence[int]) -> Counted:
    """What a system that asks a model asks, whatever the answers are; ``sizes`` as above."""
    hops = [0 if system == "rewrite" else min(HOPS, -(-size // PER_HOP)) for size in sizes]
    calls = len(hops) + sum(hops)  # the first is for a rewording
    return system, Estimate(rounds=calls, calls=calls)


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
    plan: Plan | None, system: str, assignment: Assignment, known: Estimator
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


# -- one query ---------------------------------------------------------------------------------

Estimates = Recent[Hashable, Estimate]
"""Estimates that a facade remembers, by all that they depend on."""


class RankDocuments(ModelTask[RankingProgress]):
    """A ranking for a model to make: of the search's first stage by ``plan``, or (None) by a system
    that asks a model itself; the first stage is ``dense`` then."""

    def __init__(self, request: RerankRequest, searcher: Searcher, estimates: Estimates) -> None:
        query = self._query = request.query
        by_itself = query.system in MODEL_SYSTEMS
        self.plan = None if by_itself else Plan(request.mode, request.depth)
        self._searcher, self._estimates = searcher, estimates
        self._identity = ranked_from(searcher.corpus, [query.system])
        self.key = (replace(query, k=1, offset=0), self.plan, self._identity)

    @cached_property
    def stage(self) -> FirstStage:
        query = self._query if self.plan else replace(self._query, system="dense")
        return self._searcher.first_stage(query)

    def job_key(self, endpoint: Endpoint | None) -> Hashable:
        return self.key, endpoint

    def kept(self) -> KeptRanking:
        stage = self.stage
        return KeptRanking(
            self._query,
            self.plan,
            self._identity,
            stage.query,
            stage.seed if stage.query.text is not None else None,
            stage.read,
            stage.ranking.rows,
            stage.ranking.scores,
        )

    def estimate(self, known: Estimator) -> Estimate:
        def make() -> Estimate:
            assignment = assignment_of(self._searcher, self.stage)
            return estimate_ranking(self.plan, self._query.system, assignment, known)

        return self._estimates.one((self.key, known), make)

    def begun(self, estimate: Estimate, usage: ModelUsage) -> RankingProgress:
        """The order of the first stage."""
        order = tuple(s.doc_id for s in self.stage.ranking)
        return RankingProgress(estimate, order, self._report(usage))

    async def run(self, run: TaskRun) -> TaskReport[RankingProgress]:
        now: RankingProgress = run.latest
        client = cast(Client, run.client)

        def tell(**changes: Any) -> None:
            nonlocal now
            now = replace(now, **changes)
            run.on_progress(now)

        def settled(questions: RoundProgress) -> None:
            report = self._report(questions.usage)
            tell(done=questions.done, total=questions.total, report=report)

        def ranked(reached: Progress) -> None:
            tell(order=reached.order, rounds=reached.rounds)

        run.on_questions = settled
        assignment = assignment_of(self._searcher, self.stage)
        if self.plan is None:
            system, request = find_model_system(self._query.system), self.stage.request
            found = await system(client, self._searcher, request, assignment.criterion)
            tell(
                order=tuple(s.doc_id for s in found.ranking),
                scores={s.doc_id: s.score for s in found.ranking},
                queries=found.queries,
                rounds=run.usage.rounds,
                report=self._report(run.usage, unanswered=found.unanswered),
            )
        else:
            done = await rerank_one(client, assignment, self.plan, ranked)
            tell(
                order=done.reranked.order,
                confidence=done.reranked.confidence,
                rounds=done.reranked.rounds,
                report=self._report(run.usage, [done]),
            )
        return TaskReport(result=now, failed=run.usage.failed)

    def page(self, now: RankingProgress) -> Reranking:
        """The page that was asked for of an order."""
        return page_of(self._searcher, self.stage, self._query, self.plan, now, partial=False)

    def _report(
        self, usage: ModelUsage, finished: Sequence[Finished] = (), unanswered: int = 0
    ) -> ModelReport:
        if self.plan is None:
            return usage_report(self._query.system, 0, 1, unanswered, usage)
        return model_report(self.plan, usage, finished)


@dataclass(frozen=True, slots=True)
class KeptRanking:
    """A :class:`RankDocuments` without its corpus, which may take gigabytes: it can be closed or
    changed meanwhile."""

    query: Query
    plan: Plan | None
    identity: str  # of the corpus, and of its scenarios where used
    staged: Query  # the query of the first stage
    pasted: Seed | None  # its seed, where not in the corpus
    read: Interpretation  # read, rows, scores: the query's reading, and the ranking
    rows: Rows
    scores: NDArray[np.floating]

    def page(
        self, searcher: Searcher, now: RankingProgress, query: Query, *, partial: bool
    ) -> Reranking:
        """A page of an order, on the corpus, which may have been opened again."""
        staged = self.staged
        seed = searcher.seed(staged) if self.pasted is None else self.pasted
        ranking = RankedDocuments(searcher.corpus.doc_ids, self.rows, self.scores)
        request = searcher.request(staged, seed, self.read.focus)
        terms = searcher.terms(staged, self.read)
        # In a model's order, no change of rank is due to the aspect.
        stage = FirstStage(staged, seed, self.read, request, ranking, None, terms)
        return page_of(searcher, stage, query, self.plan, now, partial=partial)


def page_of(
    searcher: Searcher,
    stage: FirstStage,
    query: Query,
    plan: Plan | None,
    now: RankingProgress,
    *,
    partial: bool,
) -> Reranking:
    """A page of an order, with evidence; moves are against the first stage."""
    first = {s.doc_id: (rank, s.score) for rank, s in enumerate(stage.ranking, start=1)}
    ranking: list[ScoredDocument] = []
    moves: dict[str, Move] = {}
    for rank, doc_id in enumerate(now.order, start=1):
        first_rank, score = first.get(doc_id, (0, 0.0))
        if first_rank:
            moves[doc_id] = Move(
                *(doc_id, rank, first_rank, now.confidence.get(doc_id)),
                reranked=plan is None or first_rank <= plan.depth,
            )
        ranking.append(ScoredDocument(doc_id, now.scores.get(doc_id, score)))
    paged = replace(stage.query, k=query.k, offset=query.offset)
    page = searcher.page(replace(stage, query=paged), ranking)
    searched = (f"The model searched for: {words}" for words in now.queries)
    page = replace(page, query=query, notes=(*page.notes, *searched))
    return Reranking(page, moves, now.report, partial or bool(now.report.stopped))


def assignment_of(searcher: Searcher, stage: FirstStage) -> Assignment:
    """The first stage's ranking as work for a model."""
    doc_ids = tuple(s.doc_id for s in stage.ranking)
    criterion = searcher.criterion(stage.query, stage.seed)
    return Assignment("", criterion, doc_ids, texts_of(searcher))
