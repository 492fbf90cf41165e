"""Evaluations in which a model ranks or reranks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from engine.assist.foreseeing import Foreseen, foreseen_helped, foreseen_reranked, ranking_sizes
from engine.assist.model import Model, model_name, settled, with_usage
from engine.assist.model_systems import Found, find_model_system, names_of
from engine.assist.reranking import (
    Assignment,
    Finished,
    Plan,
    criterion_for,
    model_report,
    rerank_all,
    texts_of,
    usage_report,
)
from engine.corpora.contracts import Request, Seed
from engine.evaluate.evaluation_records import with_reports
from engine.evaluate.model_runs import HelpedRun, Told, reranked_name
from engine.evaluate.system_runs import dense_run, human_runs, judge_runs, ranker_for
from engine.llm.budget import RoundProgress, Usage
from engine.llm.client import Client
from engine.llm.prompts import Criterion
from engine.llm.run import complete
from engine.search.searcher import Searcher
from engine.search.topics import SystemRun, topic_query
from engine.types.callbacks import Ask, tell_nobody
from engine.types.collections import Collection, Topic
from engine.types.evaluations import EvaluationRequest
from engine.types.reranking import ModelEvaluation, ModelReport
from engine.types.searches import Ranking


def evaluate_with_model(
    searcher: Searcher,
    collection: Collection,
    systems: Sequence[str],
    model: Model,
    plan: Plan | None = None,
    *,
    steer: float | None = None,
    sample: int | None = None,
    human: bool = False,
    on_query: Callable[[], None] = tell_nobody,
) -> ModelEvaluation:
    """As :func:`evaluate`, with systems that need a model and with reranking.

    A reranked system stands beside its first stage as ``<system>+<mode>``. A run that ends early
    (cancelled, budget, endpoint) still counts, as far as it came; its report says so.

    Args:
        plan: how to rerank every system; None not to.

    Raises:
        EndpointError: the endpoint refused, and there is not a single answer.
        UnknownNameError, BadInputError: as :func:`evaluate`.
    """
    own = names_of(systems)[0]
    ranker = ranker_for(searcher, collection, own, steer=steer, sample=sample, human=human)
    topics = ranker.topics
    by_name = {name: ranker.run(name, on_query) for name in own}
    runs, reports = _with_model(searcher, topics, systems, by_name, plan, model)
    if human:
        runs += human_runs(collection, topics, dense_run(ranker, runs))
    judged = judge_runs(searcher, collection, topics, runs)
    return ModelEvaluation(with_reports(judged, reports), reports)


def _with_model(
    searcher: Searcher,
    topics: Sequence[Topic],
    systems: Sequence[str],
    ranked: Mapping[str, SystemRun],
    plan: Plan | None,
    model: Model,
) -> tuple[list[SystemRun], dict[str, ModelReport]]:
    """All runs in their order; none that would begin after a cancel or a failing endpoint."""
    runs: list[SystemRun] = []
    reports: dict[str, ModelReport] = {}

    def went_on(run: SystemRun, report: ModelReport) -> bool:
        nonlocal model
        runs.append(run)
        reports[run.system] = report
        model = model.after(report)
        return report.stopped in ("", "budget")

    going = True
    for name in systems:
        if name in ranked:
            runs.append(ranked[name])
        elif going:
            going = went_on(*helped_run(searcher, topics, name, model))
        if plan is not None and going and runs[-1].system == name:
            going = went_on(*reranked_run(searcher, topics, runs[-1], plan, model))
    return runs, reports


def reranked_run(
    searcher: Searcher, topics: Sequence[Topic], first: SystemRun, plan: Plan, model: Model
) -> tuple[SystemRun, ModelReport]:
    """A first stage's rankings in the model's order, called ``<system>+<mode>``."""
    given = {r.query_id: r for r in first.rankings}
    load = texts_of(searcher)
    assignments = [
        Assignment(t.query_id, topic_criterion(searcher, t), given[t.query_id].doc_ids, load)
        for t in topics
    ]

    async def work(client: Client) -> list[Finished]:
        return await rerank_all(client, assignments, plan, model.connection.concurrency)

    outcome = complete(model.connection, model.store, work, model.tell, model.cancelled)
    report = model_report(plan, outcome.usage, outcome.value)
    rankings = tuple(
        ranking_of(a.name, f.reranked.order)
        for a, f in zip(assignments, outcome.value, strict=True)
    )
    seconds = first.seconds + outcome.usage.seconds
    name = reranked_name(first.system, plan.mode)
    return SystemRun(name, rankings, seconds, notes=_early(report)), report


def helped_run(
    searcher: Searcher, topics: Sequence[Topic], name: str, model: Model
) -> tuple[SystemRun, ModelReport]:
    """The rankings of a system that needs a model."""
    system = find_model_system(name)
    slots = model.connection.concurrency

    async def work(client: Client) -> list[Found]:
        at_once = asyncio.Semaphore(slots)

        async def one(topic: Topic) -> Found:
            async with at_once:
                criterion = topic_criterion(searcher, topic)
                return await system(client, searcher, _request(searcher, topic), criterion)

        return list(await asyncio.gather(*map(one, topics)))

    outcome = complete(model.connection, model.store, work, model.tell, model.cancelled)
    unanswered = sum(found.unanswered for found in outcome.value)
    report = usage_report(name, 0, len(topics), unanswered, outcome.usage)
    rankings = tuple(
        Ranking(t.query_id, tuple(f.ranking.doc_ids), tuple(f.ranking.scores.tolist()))
        for t, f in zip(topics, outcome.value, strict=True)
    )
    return SystemRun(name, rankings, outcome.usage.seconds, notes=_early(report)), report


def ranking_of(query_id: str, order: Sequence[str]) -> Ranking:
    """An order as a ranking: scores that fall by one from place to place."""
    return Ranking(query_id, tuple(order), tuple(map(float, range(len(order), 0, -1))))


def topic_criterion(searcher: Searcher, topic: Topic) -> Criterion:
    """What a topic's documents are judged by."""
    query = topic_query(topic, searcher, "dense", None)
    seed = _seed(searcher, topic)
    return criterion_for(searcher, query, seed, searcher.focus(query, seed)[0])


def _request(searcher: Searcher, topic: Topic) -> Request:
    """What is searched: the corpus, or the topic's judged pool."""
    query = topic_query(topic, searcher, "dense", None)
    request = searcher.request(query, _seed(searcher, topic), None)
    if topic.pool is None:
        return request
    scope = searcher.corpus.scope(query.filters, without=query.seed, pool=topic.pool)
    return replace(request, scope=scope)


def _seed(searcher: Searcher, topic: Topic) -> Seed:
    return searcher.seed(topic_query(topic, searcher, "dense", None))


def _early(report: ModelReport) -> tuple[str, ...]:
    """What a reader of the numbers has to know first."""
    if not report.stopped:
        return ()
    words = {"cancelled": "it was cancelled", "budget": "its budget was reached"}
    why = words.get(report.stopped, "the endpoint failed")
    return (f"the model did not answer everything: {why}. The order is the best so far.",)


class ModelHelper:
    """A model that helps the laboratory (:class:`engine.evaluate.model_runs.Helper`).

    Its budget is spent over everything that it is asked.
    """

    def __init__(self, model: Model) -> None:
        self._given = model

    @property
    def model(self) -> str:
        """Which model, and where."""
        return model_name(self._given.connection)

    def rank(
        self, searcher: Searcher, topics: Sequence[Topic], system: str, told: Told, cancelled: Ask
    ) -> HelpedRun:
        """See :meth:`engine.evaluate.model_runs.Helper.rank`."""
        ahead = foreseen_helped(system, ranking_sizes(searcher, topics))
        report = usage_report(system, 0, len(topics), 0, Usage(*self._place))
        watched = self._watched(ahead, report, told, cancelled)
        return self._done(*helped_run(searcher, topics, system, watched))

    def rerank(
        self,
        searcher: Searcher,
        topics: Sequence[Topic],
        first: SystemRun,
        request: EvaluationRequest,
        told: Told,
        cancelled: Ask,
    ) -> HelpedRun:
        """See :meth:`engine.evaluate.model_runs.Helper.rerank`."""
        plan = Plan(request.rerank, request.depth)
        ahead = foreseen_reranked(plan, [len(r.doc_ids) for r in first.rankings])
        report = model_report(plan, Usage(*self._place))
        watched = self._watched(ahead, report, told, cancelled)
        return self._done(*reranked_run(searcher, topics, first, plan, watched))

    @property
    def _place(self) -> tuple[str, str]:
        place = self._given.connection.endpoint
        return place.address, place.model

    def _watched(self, ahead: Foreseen, report: ModelReport, told: Told, cancelled: Ask) -> Model:
        """The model, its progress told as questions settled of those foreseen."""

        def tell(progress: RoundProgress) -> None:
            usage = progress.usage
            told(settled(usage), ahead.calls, with_usage(report, usage))

        told(0, ahead.calls, report)
        return replace(self._given, tell=tell, cancelled=cancelled)

    def _done(self, run: SystemRun, report: ModelReport) -> HelpedRun:
        self._given = self._given.after(report)
        return HelpedRun(run, report)
