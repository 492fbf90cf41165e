"""One query's ranking, reranked by a model or found with its help: as a task, and as a page."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from engine.corpora.contracts import RankedDocuments, Rows, ScoredDocument, Seed
from engine.corpora.recent import Recent
from engine.llm.budget import RoundProgress
from engine.llm.client import Client
from engine.llm.connecting import Estimator
from engine.llm.endpoints import Endpoint
from engine.llm.tasks import ModelTask, TaskRun
from engine.rerank.protocols import Progress
from engine.search.interpretation import Interpretation
from engine.search.model.estimates import estimate_ranking
from engine.search.model.reranking import (
    Assignment,
    Finished,
    Plan,
    model_report,
    rerank_one,
    texts_of,
    usage_report,
)
from engine.search.model.systems import MODEL_SYSTEMS, find_model_system
from engine.search.scenario_index import ranked_from
from engine.search.searcher import FirstStage, Searcher
from engine.types.models import Estimate, ModelReport, ModelUsage, TaskReport
from engine.types.reranking import Move, RankingProgress, Reranking, RerankRequest
from engine.types.searches import Query

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
    criterion = searcher.criterion(stage.query, stage.seed)
    return Assignment("", criterion, doc_ids, texts_of(searcher))
