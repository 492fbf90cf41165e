"""Variants in a model's order.

All rankings of a comparison are one run with one budget and report. Each system is also reranked
for the seed alone, to show a wording's effect on the model.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.assist.ranking_estimates import estimate_ranking
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
from engine.jobs.runner import JobRunner
from engine.lenses.variants import check_variants
from engine.llm.budget import RoundProgress
from engine.llm.client import Client, ask_model
from engine.llm.connecting import Estimator, connect, estimator
from engine.llm.endpoints import Connection, Endpoint
from engine.llm.judging_prompts import Criterion
from engine.rerank import Progress, Reranked
from engine.search.searcher import criterion_for
from engine.types.callbacks import Ask
from engine.types.comparisons import (
    ModelOrders,
    Variant,
    VariantsProgress,
    VariantsRequest,
)
from engine.types.models import Estimate, ModelReport, ModelUsage, summed
from engine.types.people import ForPerson
from storage.answers import Answers

_Key = tuple[Criterion, tuple[str, ...]]
"""What a reranking depends on: what documents are judged by, and the order they come in."""


@dataclass(frozen=True, slots=True)
class Task:
    """A ranking for the model to improve."""

    assignment: Assignment
    variants: tuple[str, ...]  # names of the variants with this ranking
    unworded: tuple[str, ...]  # names of the systems with this ranking for the seed alone


class ModelComparisons(ForPerson):
    """Rerankings of variants; thread-safe."""

    def __init__(
        self, settings: Settings, answers: Answers, comparer: Callable[[VariantsRequest], Comparer]
    ) -> None:
        self._settings, self._answers, self._comparer = settings, answers, comparer
        self.jobs = JobRunner()  # a cancelled one keeps its answers, and its orders so far

    def estimate(self, request: VariantsRequest, endpoint: Endpoint | None = None) -> Estimate:
        """What reranking all variants would cost at most; nothing is asked."""
        connection = connect(self._settings, endpoint, person=self.person)
        return _estimate(request, self._tasks(request), estimator(connection, self._answers))

    def start(
        self,
        request: VariantsRequest,
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
        owner: str = "",
    ) -> str:
        """Rerank in the background; returns the job's id."""
        connection = connect(self._settings, endpoint, most_calls, self.person)
        tasks, place = self._tasks(request), connection.endpoint
        estimate = _estimate(request, tasks, estimator(connection, self._answers))
        run = _Run(request, tasks, connection, self._answers, estimate)
        nothing = run.progress(ModelUsage(endpoint=place.address, model=place.model))
        return self.jobs.start(object(), run.work, nothing, request=request, owner=owner)

    def recall(self, request: VariantsRequest, endpoint: Endpoint | None = None) -> str | None:
        """The id of a job that is done, from answers in the ledger alone; None without all."""
        return recalled(self.jobs, self.start(request, endpoint, most_calls=0))

    def _tasks(self, request: VariantsRequest) -> list[Task]:
        return tasks_of(self._comparer(request), request)


class _Run:
    """Tasks that a model works on, few at once; all in the thread of the job."""

    def __init__(
        self,
        request: VariantsRequest,
        tasks: Sequence[Task],
        connection: Connection,
        answers: Answers,
        estimate: Estimate,
    ) -> None:
        self._request, self._tasks, self._estimate = request, tasks, estimate
        self._connection, self._answers = connection, answers
        self._plan = Plan(request.mode, request.depth)
        self._begun: dict[int, Progress] = {}
        self._finished: dict[int, Finished] = {}

    def work(self, tell: Callable[[VariantsProgress], None], cancelled: Ask) -> ModelReport:
        """Ask the model, as far as it comes."""
        usage = None

        def heard(questions: RoundProgress) -> None:
            nonlocal usage
            usage = questions.usage
            tell(self.progress(usage))

        try:
            outcome = ask_model(self._connection, self._answers, self._ask, heard, cancelled)
        except BaseException:
            if usage is not None:  # what was begun is an order of the model's all the same
                tell(self.progress(usage, ended=True))
            raise
        last = self.progress(outcome.usage, ended=True)
        tell(last)
        return last.report

    def progress(self, usage: ModelUsage, *, ended: bool = False) -> VariantsProgress:
        """Current progress; no order without any answer. With ``ended`` unfinished orders count
        too."""
        done = {n: f.reranked for n, f in self._finished.items()}
        orders: dict[int, Progress | Reranked] = {**(self._begun if ended else {}), **done}
        heard = {n: ranked.order for n, ranked in orders.items() if _heard(ranked)}
        whole = (n for n in sorted(done) if not done[n].stopped)
        finished = [self._finished[n] for n in sorted(done)] if ended else []
        return VariantsProgress(
            estimate=self._estimate,
            orders=ModelOrders(
                {v: order for n, order in heard.items() for v in self._tasks[n].variants},
                {s: order for n, order in heard.items() for s in self._tasks[n].unworded},
            ),
            whole=tuple(v for n in whole for v in self._tasks[n].variants),
            settled=usage.settled,
            report=model_report(self._plan, usage, finished),
        )

    async def _ask(self, client: Client) -> None:
        """All tasks in their order, few of them at once, as far as the run comes."""
        slots = asyncio.Semaphore(_at_once(self._estimate, client.concurrency))

        async def one(number: int, task: Task) -> None:
            async with slots:
                if client.stopped:  # untouched: not an order of the model's
                    return
                keep = functools.partial(self._begun.__setitem__, number)
                self._finished[number] = await rerank_one(client, task.assignment, self._plan, keep)

        await asyncio.gather(*(one(i, task) for i, task in enumerate(self._tasks)))


def _heard(ranked: Progress | Reranked) -> bool:
    """Whether any question of a reranking was answered, or none was needed."""
    return not ranked.calls or ranked.unanswered < ranked.calls


def tasks_of(comparer: Comparer, request: VariantsRequest) -> list[Task]:
    """All different rankings, each variant's after its system's without a wording, so that an early
    end leaves complete comparisons."""
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
            plain = Variant(variant.name, "", variant.system, variant.steer)
            worded.insert(0, (plain, unworded, variant.system))
        for asked, names, name in worded:
            ranked = comparer.rank(asked)
            query = comparer.asked(asked)
            criterion = criterion_for(comparer.searcher, query, ranked.seed)
            key = criterion, ranked.doc_ids
            assignments.setdefault(key, Assignment(name, criterion, ranked.doc_ids, load))
            names.setdefault(key, []).append(name)
    return [
        Task(assignment, tuple(variants.get(key, ())), tuple(unworded.get(key, ())))
        for key, assignment in assignments.items()
    ]


def _estimate(request: VariantsRequest, tasks: Sequence[Task], known: Estimator) -> Estimate:
    plan = Plan(request.mode, request.depth)
    return summed([estimate_ranking(plan, "", task.assignment, known) for task in tasks])


def _at_once(estimate: Estimate, concurrency: int) -> int:
    """Number of concurrent rankings, just enough to keep the endpoint busy."""
    width = estimate.calls / max(1, estimate.rounds)
    return max(1, round(concurrency / max(1.0, width)))
