"""Variants in a model's order.

All rankings of a comparison are one run with one budget and report. Each system is also reranked
for the seed alone, to show a wording's effect on the model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import cast

from engine.assist.ranking_estimates import count_for_reranking, estimate_ranking
from engine.assist.reranking import (
    Assignment,
    Finished,
    Plan,
    model_report,
    recalled,
    rerank_one,
    texts_of,
)
from engine.compare.comparer import Comparer
from engine.config import Settings
from engine.lenses.variants import check_variants
from engine.llm.client import Client
from engine.llm.connecting import Estimator
from engine.llm.endpoints import Endpoint
from engine.llm.judging_prompts import Criterion
from engine.llm.tasks import ModelTask, TaskRun, TaskRunner
from engine.rerank import Progress, Reranked
from engine.search.searcher import criterion_for
from engine.types.comparisons import ModelOrders, Variant, VariantsRequest, VariantsSoFar
from engine.types.models import Estimate, TaskReport, summed
from storage.answers import Answers


@dataclass(slots=True)
class Reordering:
    """A ranking for the model to improve, and the model's order of it."""

    assignment: Assignment
    variants: list[str] = field(default_factory=list)  # names of the variants with this ranking
    # names of the systems with this ranking for the seed alone
    unworded: list[str] = field(default_factory=list)
    begun: Progress | None = None
    finished: Finished | None = None

    def begin(self, reached: Progress) -> None:
        """Take the order after a round."""
        self.begun = reached

    def order(self, *, ended: bool) -> tuple[str, ...] | None:
        """The model's order, an unfinished one once the run has ``ended``; None without answers."""
        ranked: Progress | Reranked | None = self.begun if ended else None
        if self.finished is not None:
            ranked = self.finished.reranked
        if ranked is None or (ranked.calls and ranked.unanswered >= ranked.calls):
            return None
        return ranked.order


class ModelComparisons(TaskRunner[VariantsRequest, VariantsSoFar]):
    """Rerankings of variants; thread-safe. A cancelled one keeps its orders so far."""

    def __init__(
        self, settings: Settings, answers: Answers, comparer: Callable[[VariantsRequest], Comparer]
    ) -> None:
        super().__init__(settings, answers)
        self._comparer = comparer

    def recall(self, request: VariantsRequest, endpoint: Endpoint | None = None) -> str | None:
        """The id of a job that is done, from answers in the ledger alone; None without all."""
        return recalled(self.jobs, self.start(request, endpoint, most_calls=0))

    def _task(self, request: VariantsRequest) -> RerankVariants:
        return RerankVariants(self._comparer(request), request)


class RerankVariants(ModelTask[VariantsSoFar]):
    """All different rankings of a comparison, few at once; ``items`` are questions."""

    phase = "Reranking"

    def __init__(self, comparer: Comparer, request: VariantsRequest) -> None:
        self.request, self.key = request, object()  # several may run at once
        self._plan = Plan(request.mode, request.depth)
        self._rankings = rankings_of(comparer, request)
        sizes = [len(ranking.assignment.doc_ids) for ranking in self._rankings]
        self._counted = count_for_reranking(self._plan, sizes)[1]
        self._ended = False

    def estimate(self, known: Estimator) -> Estimate:
        every = [estimate_ranking(self._plan, "", r.assignment, known) for r in self._rankings]
        return summed(every)

    async def run(self, run: TaskRun) -> TaskReport[VariantsSoFar]:
        client, counted = cast(Client, run.client), self._counted
        width = max(1.0, counted.calls / max(1, counted.rounds))  # questions of a ranking at once
        slots = asyncio.Semaphore(max(1, round(client.concurrency / width)))

        async def one(ranking: Reordering) -> None:
            async with slots:
                if not client.stopped:
                    ranking.finished = await rerank_one(
                        client, ranking.assignment, self._plan, ranking.begin
                    )

        run.partial = partial(self._so_far, run)
        run.questions(counted.calls, self.phase)
        try:
            await asyncio.gather(*map(one, self._rankings))
        finally:
            self._ended = True
            run.questions(0, self.phase)
        return TaskReport(result=self._so_far(run), failed=run.usage.failed)

    def _so_far(self, run: TaskRun) -> VariantsSoFar:
        orders = [(r, r.order(ended=self._ended)) for r in self._rankings]
        known = [(ranking, order) for ranking, order in orders if order is not None]
        finished = [r.finished for r in self._rankings if r.finished is not None]
        whole = [r for r in self._rankings if r.finished and not r.finished.reranked.stopped]
        return VariantsSoFar(
            estimate=self._counted,
            orders=ModelOrders(
                {name: order for ranking, order in known for name in ranking.variants},
                {name: order for ranking, order in known for name in ranking.unworded},
            ),
            whole=tuple(name for ranking in whole for name in ranking.variants),
            report=model_report(self._plan, run.usage, finished if self._ended else ()),
        )


def rankings_of(comparer: Comparer, request: VariantsRequest) -> list[Reordering]:
    """All different rankings, each variant's after its system's without a wording, so that an early
    end leaves complete comparisons."""
    check_variants(request.variants)
    load = texts_of(comparer.searcher)
    found: dict[tuple[Criterion, Hashable], Reordering] = {}

    def add(variant: Variant, name: str) -> Reordering:
        ranked = comparer.rank(variant)
        criterion = criterion_for(comparer.searcher, comparer.asked(variant), ranked.seed)
        assignment = Assignment(name, criterion, ranked.doc_ids, load)
        return found.setdefault((criterion, ranked.doc_ids), Reordering(assignment))

    systems: set[str] = set()
    for variant in request.variants:
        if variant.system not in systems:
            systems.add(variant.system)
            plain = Variant(variant.name, "", variant.system, variant.steer)
            add(plain, variant.system).unworded.append(variant.system)
        add(variant, variant.name).variants.append(variant.name)
    return list(found.values())
