"""One query's ranking, reranked by a model or found with its help: as a task, and as a page."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from engine.assist.assist_prompts import noting, rewording
from engine.assist.model_systems import HOPS, MODEL_SYSTEMS, PER_HOP, find_model_system, question
from engine.assist.reranking import (
    TOP,
    Assignment,
    Finished,
    Plan,
    model_report,
    rerank_one,
    texts_of,
    usage_report,
)
from engine.corpora.contracts import RankedDocuments, Rows, ScoredDocument, Seed
from engine.corpora.recent import Recent
from engine.llm.budget import RoundProgress
from engine.llm.client import Client
from engine.llm.connecting import Estimator
from engine.llm.endpoints import Endpoint
from engine.llm.judges import typical_question
from engine.llm.judging_prompts import Criterion
from engine.llm.messages import Prompt
from engine.llm.tasks import ModelTask, TaskRun
from engine.rerank import Progress, estimate, find_mode
from engine.rerank.listwise import BATCH, LENGTH
from engine.search.interpretation import Interpretation
from engine.search.scenario_index import ranked_from
from engine.search.searcher import FirstStage, Searcher, criterion_for
from engine.types.evaluations import Topic
from engine.types.models import Estimate, ModelReport, ModelUsage, TaskReport, summed
from engine.types.reranking import Move, RankingProgress, Reranking, RerankRequest
from engine.types.searches import Query

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
    if not samples:
        return summed([count for _, count in counts])
    return summed([_with_tokens(known, mode, count, samples) for mode, count in counts])


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


def _with_tokens(
    known: Estimator, mode: str, count: Estimate, samples: Sequence[Sample]
) -> Estimate:
    """With the mean over the samples, each asked all the questions."""
    cost = known.estimate([_question(known, mode, sample) for sample in samples], count.calls)
    return replace(cost, rounds=count.rounds, exact=count.exact)


def _question(known: Estimator, mode: str, sample: Sample) -> Prompt[Any]:
    """A question of this mode, or of a system with a model, in the sample's lengths."""
    wish = question(sample.criterion)
    if mode == "rewrite":
        return rewording(wish, 1)
    if mode == "multi-hop":
        return noting(wish, [], _batch(sample.texts))
    asks, room = find_mode(mode).asks, known.known.room
    return typical_question(sample.criterion, sample.texts, asks, room, _LIST.get(mode, 2))


def _batch(texts: Mapping[str, str]) -> dict[str, str]:
    """As many documents as a hop reads, repeated if necessary."""
    own = list(texts.values())
    return {str(i): own[i % len(own)] for i in range(PER_HOP)} if own else {}


Estimates = Recent[Hashable, Estimate]
"""Estimates that a facade remembers, by all that they depend on."""


class RankDocuments(ModelTask[RankingProgress]):
    """A ranking for a model to make: of the search's first stage by ``plan``, or (None) by a system
    that asks a model itself; the first stage is ``dense`` then."""

    def __init__(self, request: RerankRequest, searcher: Searcher, estimates: Estimates) -> None:
        query = self._query = request.query
        self.plan = plan_for(request)
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


def plan_for(request: RerankRequest) -> Plan | None:
    """How to rerank; None for a system that asks a model by itself. Raises as :class:`Plan`."""
    by_itself = request.query.system in MODEL_SYSTEMS
    return None if by_itself else Plan(request.mode, request.depth)


def assignment_of(searcher: Searcher, stage: FirstStage) -> Assignment:
    """The first stage's ranking as work for a model."""
    doc_ids = tuple(s.doc_id for s in stage.ranking)
    criterion = criterion_for(searcher, stage.query, stage.seed)
    return Assignment("", criterion, doc_ids, texts_of(searcher))
