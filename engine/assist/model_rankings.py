"""One query's ranking, reranked by a model or found with its help: asked for, and shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.assist.model_systems import MODEL_SYSTEMS, SystemRanking, find_model_system
from engine.assist.reranking import (
    Assignment,
    Finished,
    Plan,
    model_report,
    rerank_one,
    texts_of,
    usage_report,
)
from engine.corpora.contracts import RankedDocuments, Rows, ScoredDocument, Seed
from engine.llm.budget import RoundProgress, Usage
from engine.llm.client import Client, Outcome, ask_model
from engine.llm.endpoints import Connection
from engine.llm.judging_prompts import Criterion
from engine.rerank import Progress
from engine.search.interpretation import Interpretation
from engine.search.scenario_index import ranked_from
from engine.search.searcher import FirstStage, Searcher, criterion_for
from engine.types.callbacks import Ask, never, tell_nobody
from engine.types.models import Estimate, ModelReport
from engine.types.reranking import Move, RankingProgress, Reranking, RerankRequest
from engine.types.searches import Query
from storage.answers import Answers


@dataclass(frozen=True, slots=True)
class ModelRanking:
    """A ranking task for a model."""

    query: Query  # with the name of a system that asks a model where it has one
    plan: Plan | None  # how to rerank; None for a system that asks a model itself
    searcher: Searcher
    stage: FirstStage  # the ranking to rerank; without a plan, the same search on ``dense``
    estimate: Estimate  # upper estimate

    @property
    def kept(self) -> KeptRanking:
        """What is kept of it once it has ended."""
        stage = self.stage
        pasted = stage.seed if stage.query.text is not None else None
        identity = ranked_from(self.searcher.corpus, [self.query.system])
        ranking = stage.ranking
        return KeptRanking(
            self.query,
            self.plan,
            self.estimate,
            identity,
            stage.query,
            pasted,
            stage.read,
            ranking.rows,
            ranking.scores,
        )

    def begun(self, connection: Connection) -> RankingProgress:
        """Before anything was asked: the order of the first stage."""
        place = connection.endpoint
        return RankingProgress(
            self.estimate,
            tuple(s.doc_id for s in self.stage.ranking),
            self._report(Usage(endpoint=place.address, model=place.model)),
        )

    def ask(
        self,
        connection: Connection,
        store: Answers,
        tell: Callable[[RankingProgress], None] = tell_nobody,
        cancelled: Ask = never,
        heard: Callable[[RoundProgress], None] = tell_nobody,
    ) -> RankingProgress:
        """Ask the model in this thread; on cancellation, the progress so far.

        Args:
            tell: called after every settled question and every round.
            heard: called after every settled question.
        """
        now = self.begun(connection)

        def settled(questions: RoundProgress) -> None:
            nonlocal now
            report = self._report(questions.usage)
            now = replace(now, done=questions.done, total=questions.total, report=report)
            heard(questions)
            tell(now)

        def ranked(reached: Progress) -> None:
            nonlocal now
            now = replace(now, order=reached.order, rounds=reached.rounds)
            tell(now)

        if self.plan is None:
            helped = ask_model(connection, store, self._search, settled, cancelled)
            now = self._found(now, helped)
        else:
            plan, assignment = self.plan, assignment_of(self.searcher, self.stage)

            async def rerank(client: Client) -> Finished:
                return await rerank_one(client, assignment, plan, ranked)

            outcome = ask_model(connection, store, rerank, settled, cancelled)
            now = self._reranked(now, outcome)
        tell(now)
        return now

    def page(self, now: RankingProgress, query: Query, *, partial: bool) -> Reranking:
        """A page of an order, with evidence; moves are against the first stage.

        Args:
            query: :attr:`query` with another page or page size.
            partial: the model is not finished.
        """
        first = {s.doc_id: (rank, s.score) for rank, s in enumerate(self.stage.ranking, start=1)}
        depth = len(first) if self.plan is None else self.plan.depth
        ranking: list[ScoredDocument] = []
        moves: dict[str, Move] = {}
        for rank, doc_id in enumerate(now.order, start=1):
            first_rank, score = first.get(doc_id, (0, 0.0))
            if first_rank:
                sure = now.confidence.get(doc_id)
                moves[doc_id] = Move(doc_id, rank, first_rank, sure, reranked=first_rank <= depth)
            ranking.append(ScoredDocument(doc_id, now.scores.get(doc_id, score)))
        paged = replace(self.stage.query, k=query.k, offset=query.offset)
        page = self.searcher.page(replace(self.stage, query=paged), ranking)
        searched = (f"The model searched for: {words}" for words in now.queries)
        asked = replace(self.query, k=query.k, offset=query.offset)
        page = replace(page, query=asked, notes=(*page.notes, *searched))
        return Reranking(page, moves, now.report, partial or bool(now.report.stopped))

    async def _search(self, client: Client) -> SystemRanking:
        system = find_model_system(self.query.system)
        criterion = _criterion(self.searcher, self.stage)
        return await system(client, self.searcher, self.stage.request, criterion)

    def _found(self, now: RankingProgress, helped: Outcome[SystemRanking]) -> RankingProgress:
        found = helped.value
        return replace(
            now,
            order=tuple(s.doc_id for s in found.ranking),
            scores={s.doc_id: s.score for s in found.ranking},
            queries=found.queries,
            rounds=helped.usage.rounds,
            report=self._report(helped.usage, unanswered=found.unanswered),
        )

    def _reranked(self, now: RankingProgress, outcome: Outcome[Finished]) -> RankingProgress:
        reranked = outcome.value.reranked
        return replace(
            now,
            order=reranked.order,
            confidence=reranked.confidence,
            rounds=reranked.rounds,
            report=self._report(outcome.usage, [outcome.value]),
        )

    def _report(
        self, usage: Usage, finished: Sequence[Finished] = (), unanswered: int = 0
    ) -> ModelReport:
        if self.plan is None:
            return usage_report(self.query.system, 0, 1, unanswered, usage)
        return model_report(self.plan, usage, finished)


@dataclass(frozen=True, slots=True)
class KeptRanking:
    """A :class:`ModelRanking` without its corpus, which may take gigabytes: it can be closed or
    changed meanwhile."""

    query: Query
    plan: Plan | None
    estimate: Estimate
    identity: str  # of the corpus, and of its scenarios where used
    staged: Query  # the query of the first stage
    pasted: Seed | None  # its seed, where not in the corpus
    read: Interpretation  # read, rows, scores: the query's reading, and the ranking
    rows: Rows
    scores: NDArray[np.floating]

    def on(self, searcher: Searcher) -> ModelRanking:
        """The ranking on its corpus, which may have been opened anew."""
        query = self.staged
        seed = searcher.seed(query) if self.pasted is None else self.pasted
        ranking = RankedDocuments(searcher.corpus.doc_ids, self.rows, self.scores)
        request = searcher.request(query, seed, self.read.focus)
        terms = searcher.terms(query, self.read)
        stage = FirstStage(query, seed, self.read, request, ranking, None, terms)
        return ModelRanking(self.query, self.plan, searcher, stage, self.estimate)


def plan_for(request: RerankRequest) -> Plan | None:
    """How to rerank; None for a system that asks a model by itself. Raises as :class:`Plan`."""
    by_itself = request.query.system in MODEL_SYSTEMS
    return None if by_itself else Plan(request.mode, request.depth)


def assignment_of(searcher: Searcher, stage: FirstStage) -> Assignment:
    """The first stage's ranking as work for a model."""
    doc_ids = tuple(s.doc_id for s in stage.ranking)
    return Assignment("", _criterion(searcher, stage), doc_ids, texts_of(searcher))


def _criterion(searcher: Searcher, stage: FirstStage) -> Criterion:
    return criterion_for(searcher, stage.query, stage.seed)
