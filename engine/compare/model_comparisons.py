"""Variants in a model's order.

All rankings of a comparison are one run: one budget, one limit of concurrency, one report. A
wording's effect on the model shows only against the model without that wording, so each system
is also reranked for the seed alone.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from engine.assist.model import Model, settled
from engine.assist.ranking_jobs import Ending, ending
from engine.assist.rerank_estimates import priced
from engine.assist.reranking import (
    Assignment,
    Finished,
    Plan,
    model_report,
    rerank_one,
    texts_of,
)
from engine.compare.comparer import Comparer
from engine.jobs.threads import Jobs
from engine.lenses.variants import check_variants
from engine.llm.budget import Usage
from engine.llm.client import Client
from engine.llm.endpoint_errors import EndpointError
from engine.llm.prompts import Criterion
from engine.llm.run import Outcome, Run
from engine.rerank import Progress, Reranked
from engine.search.criterion import criterion_for
from engine.types.comparisons import ModelOrders, VariantsJob, VariantsRequest
from engine.types.reranking import CostEstimate, ModelReport

_Key = tuple[Criterion, tuple[str, ...]]
"""What a reranking depends on: what documents are judged by, and the order they come in."""


@dataclass(frozen=True, slots=True)
class Task:
    """A ranking for the model to improve.

    Attributes:
        variants: names of those that rank so.
        unworded: names of the systems that rank so for the seed alone.
    """

    assignment: Assignment
    variants: tuple[str, ...]
    unworded: tuple[str, ...]


@dataclass(slots=True)
class VariantsWork:
    """Tasks under way; looked at by pages while the run's thread writes.

    Attributes:
        progress, finished: by the number of the task.
    """

    request: VariantsRequest
    plan: Plan
    tasks: Sequence[Task]
    estimate: CostEstimate
    nothing: Usage
    progress: dict[int, Progress] = field(default_factory=dict)
    finished: dict[int, Finished] = field(default_factory=dict)
    run: Run[list[Finished]] = field(init=False)

    async def work(self, client: Client, at_once: int) -> list[Finished]:
        """All tasks in their order, few of them at once, as far as the run comes."""
        slots = asyncio.Semaphore(at_once)

        async def one(number: int, task: Task) -> Finished | None:
            async with slots:
                if client.stopped:  # untouched: not an order of the model's
                    return None
                keep = functools.partial(self.progress.__setitem__, number)
                done = await rerank_one(client, task.assignment, self.plan, keep)
                self.finished[number] = done
                return done

        found = await asyncio.gather(*(one(i, task) for i, task in enumerate(self.tasks)))
        return [done for done in found if done is not None]

    def job(self, job_id: str) -> VariantsJob:
        """What a page shows of it."""
        end = ending(self.run)
        usage = self._usage(end)
        whole = {n for n, f in list(self.finished.items()) if not f.reranked.stopped}
        return VariantsJob(
            id=job_id,
            request=self.request,
            state=end.state,
            estimate=self.estimate,
            orders=self._orders(ended=end.state != "running"),
            whole=tuple(v for n in sorted(whole) for v in self.tasks[n].variants),
            settled=settled(usage),
            report=self._report(end, usage),
            error=end.error,
            remedy=end.remedy,
        )

    def _orders(self, *, ended: bool) -> ModelOrders:
        """Where nothing was answered, there is no order of the model's."""
        begun = {n: p.order for n, p in list(self.progress.items()) if ended and _heard(p)}
        done = {n: f.reranked.order for n, f in list(self.finished.items()) if _heard(f.reranked)}
        orders = {**begun, **done}
        return ModelOrders(
            {v: order for n, order in orders.items() for v in self.tasks[n].variants},
            {s: order for n, order in orders.items() for s in self.tasks[n].unworded},
        )

    def _usage(self, end: Ending[list[Finished]]) -> Usage:
        if end.outcome is not None:
            return end.outcome.usage
        now = self.run.progress
        return now.usage if now else self.nothing

    def _report(self, end: Ending[list[Finished]], usage: Usage) -> ModelReport:
        return model_report(self.plan, usage, end.outcome.value if end.outcome else ())


def _heard(found: Progress | Reranked) -> bool:
    """Whether any question of a reranking was answered, or none was needed."""
    return not found.calls or found.unanswered < found.calls


class ModelComparisons:
    """Rerankings of variants under way, by id. Safe to share between threads.

    Args:
        comparer: for a corpus, a seed or a text, and an aspect.
    """

    def __init__(self, comparer: Callable[[str, str | None, str | None, str], Comparer]) -> None:
        self._comparer = comparer
        self._jobs = Jobs()

    def estimate(self, request: VariantsRequest, model: Model) -> CostEstimate:
        """What reranking all variants would cost at most; nothing is asked.

        Raises:
            UnknownNameError, BadInputError: as a comparison, or no such mode or depth.
        """
        return _estimate(request, self._tasks(request), model)

    def start(self, request: VariantsRequest, model: Model) -> str:
        """Rerank in the background; returns the job's id. Raises as :meth:`estimate`."""
        return self._jobs.add(self._begin(request, model))

    def recall(self, request: VariantsRequest, model: Model) -> str | None:
        """The id of a job that is done, from answers in the ledger alone.

        None where the model would have to be asked; nothing is sent. Raises as :meth:`estimate`.
        """
        budget = replace(model.connection.budget, calls=0)
        free = replace(model, connection=replace(model.connection, budget=budget))
        work = self._begin(request, free)
        try:
            outcome: Outcome[list[Finished]] = work.run.result()
        except EndpointError:
            return None
        return None if outcome.usage.stopped else self._jobs.add(work)

    def state(self, job_id: str) -> VariantsJob:
        """How far a reranking is; UnknownNameError."""
        return self._jobs.get(job_id, VariantsWork).job(job_id)

    def cancel(self, job_id: str) -> None:
        """End a job soon; what was answered is kept, and so are the orders so far."""
        self._jobs.cancel(job_id)

    def _tasks(self, request: VariantsRequest) -> list[Task]:
        return tasks_of(
            self._comparer(request.corpus, request.seed, request.text, request.aspect), request
        )

    def _begin(self, request: VariantsRequest, model: Model) -> VariantsWork:
        tasks = self._tasks(request)
        estimate = _estimate(request, tasks, model)
        place = model.connection.endpoint
        plan = Plan(request.mode, request.depth)
        work = VariantsWork(request, plan, tasks, estimate, Usage(place.address, place.model))
        at_once = _at_once(estimate, model.connection.concurrency)
        work.run = Run(
            model.connection, model.store, lambda client: work.work(client, at_once), model.tell
        )
        return work


def tasks_of(comparer: Comparer, request: VariantsRequest) -> list[Task]:
    """Every ranking that is different, each variant's right behind its system's without a wording.

    So a run that ends early leaves whole comparisons rather than halves of all.
    """
    check_variants(request.variants)
    load = texts_of(comparer.searcher)
    assignments: dict[_Key, Assignment] = {}
    variants: dict[_Key, list[str]] = {}
    unworded: dict[_Key, list[str]] = {}
    seen: set[str] = set()
    for variant in request.variants:
        worded = [(variant, variants, variant.name)]
        if variant.system not in seen:
            seen.add(variant.system)
            plain = replace(variant, instruction="", subset=False)
            worded.insert(0, (plain, unworded, variant.system))
        for asked, names, name in worded:
            ranked = comparer.rank(asked)
            query = comparer.asked(asked)
            criterion = criterion_for(comparer.searcher, query, ranked.seed, ranked.focus)
            key = criterion, ranked.doc_ids
            assignments.setdefault(key, Assignment(name, criterion, ranked.doc_ids, load))
            names.setdefault(key, []).append(name)
    return [
        Task(assignment, tuple(variants.get(key, ())), tuple(unworded.get(key, ())))
        for key, assignment in assignments.items()
    ]


def _estimate(request: VariantsRequest, tasks: Sequence[Task], model: Model) -> CostEstimate:
    plan = Plan(request.mode, request.depth)
    each = [priced(plan, task.assignment, model.connection, model.store) for task in tasks]
    costs = [e.cost for e in each if e.cost is not None]
    return CostEstimate(
        plan.mode,
        plan.depth,
        sum(e.calls for e in each),
        sum(e.rounds for e in each),
        exact=all(e.exact for e in each),
        input_tokens=sum(e.input_tokens or 0 for e in each),
        output_tokens=sum(e.output_tokens or 0 for e in each),
        cost=sum(costs) if costs else None,
    )


def _at_once(estimate: CostEstimate, concurrency: int) -> int:
    """Rankings under way at once: as many as it takes to keep the endpoint busy, no more.

    The others wait: a budget then buys whole rankings, and a question that two of them share
    is in the ledger when the second comes to it.
    """
    width = estimate.calls / max(1, estimate.rounds)
    return max(1, round(concurrency / max(1.0, width)))
