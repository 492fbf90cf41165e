"""Rankings that a language model takes part in, and what they will cost."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from engine.assist.model import Model, model_name
from engine.assist.model_systems import MODEL_SYSTEMS, SystemRanking, find_model_system
from engine.assist.ranking_estimates import (
    DOCUMENTS,
    SAMPLE,
    EstimateCache,
    Sample,
    count_for_reranking,
    count_for_system,
    estimate_cost,
    ranking_sizes,
)
from engine.assist.reranking import (
    Assignment,
    Finished,
    Plan,
    model_report,
    rerank_all,
    texts_of,
    usage_report,
)
from engine.corpora.contracts import Request, Seed
from engine.evaluate.measuring import ranking_of
from engine.evaluate.watch import Watch
from engine.llm.budget import RoundProgress, Usage
from engine.llm.client import Client
from engine.llm.endpoints import Connection
from engine.llm.judging_prompts import Criterion
from engine.llm.run import ask_model
from engine.rerank import MODES
from engine.search.searcher import Searcher, criterion_for
from engine.search.topics import SystemRun, topic_query
from engine.text import counted
from engine.types.evaluations import EvaluationRequest, Topic
from engine.types.models import ModelReport
from engine.types.reranking import CostEstimate
from engine.types.searches import Ranking
from storage.answers import Answers


def reranked_name(system: str, mode: str) -> str:
    """What a reranked system is called.

    >>> reranked_name("dense", "pairwise")
    'dense+pairwise'
    """
    return f"{system}+{mode}"


def system_and_mode(run: str) -> tuple[str, str]:
    """The system of a run's name, and the mode that reranks it; "" where none does.

    >>> system_and_mode("hybrid+facts+pairwise"), system_and_mode("hybrid+facts")
    (('hybrid+facts', 'pairwise'), ('hybrid+facts', ''))
    """
    system, _, mode = run.rpartition("+")
    return (system, mode) if mode in MODES and system else (run, "")


def asks_model(run: str) -> bool:
    """Whether a model takes part in the run of this name."""
    system, mode = system_and_mode(run)
    return bool(mode) or system in MODEL_SYSTEMS


def run_names(request: EvaluationRequest) -> tuple[str, ...]:
    """The runs of a request in their order: every system, its reranking beside it."""
    if not request.rerank:
        return request.systems
    both = ((name, reranked_name(name, request.rerank)) for name in request.systems)
    return tuple(name for pair in both for name in pair)


def needs_model(request: EvaluationRequest) -> bool:
    """Whether a language model takes part."""
    return any(map(asks_model, run_names(request)))


class ModelRuns:
    """The rankings of one evaluation that a model takes part in: its budget is spent over all.

    Args:
        model: its own progress and cancelling are not used, but those of ``watch``.
    """

    def __init__(
        self, model: Model, searcher: Searcher, topics: Sequence[Topic], watch: Watch
    ) -> None:
        self._model, self._searcher, self._topics, self._watch = model, searcher, topics, watch

    def expect(self, names: Sequence[str], depth: int) -> None:
        """Say which runs follow the next one, for the time that is left."""
        ahead = foreseen_runs(names, depth, self._searcher, self._topics)
        self._watch.later = sum(estimate.calls for estimate in ahead)

    def rank(self, system: str) -> SystemRun:
        """The rankings of a system that needs a model."""
        rank_one = find_model_system(system)
        slots, count = self._model.connection.concurrency, len(self._topics)

        async def work(client: Client) -> list[SystemRanking]:
            at_once = asyncio.Semaphore(slots)

            async def one(topic: Topic) -> SystemRanking:
                async with at_once:
                    criterion = topic_criterion(self._searcher, topic)
                    request = _request(self._searcher, topic)
                    return await rank_one(client, self._searcher, request, criterion)

            return list(await asyncio.gather(*map(one, self._topics)))

        ahead = count_for_system(system, ranking_sizes(self._searcher, self._topics))

        def report_of(usage: Usage) -> ModelReport:
            return usage_report(system, 0, count, usage.failed + usage.unread, usage)

        model = self._watched(f"Searching with {system}", ahead.calls, report_of)
        outcome = ask_model(model.connection, model.store, work, model.tell, model.cancelled)
        unanswered = sum(found.unanswered for found in outcome.value)
        report = usage_report(system, 0, count, unanswered, outcome.usage)
        rankings = tuple(
            Ranking(
                topic.query_id,
                tuple(s.doc_id for s in found.ranking),
                tuple(s.score for s in found.ranking),
            )
            for topic, found in zip(self._topics, outcome.value, strict=True)
        )
        return self._run(system, rankings, outcome.usage.seconds, report)

    def rerank(self, first: SystemRun, plan: Plan) -> SystemRun:
        """A first stage's rankings in the model's order; raises as :meth:`rank`."""
        given = {r.query_id: r.doc_ids for r in first.rankings}
        load = texts_of(self._searcher)
        assignments = [
            Assignment(t.query_id, topic_criterion(self._searcher, t), given[t.query_id], load)
            for t in self._topics
        ]
        slots = self._model.connection.concurrency

        async def work(client: Client) -> list[Finished]:
            return await rerank_all(client, assignments, plan, slots)

        ahead = count_for_reranking(plan, [len(a.doc_ids) for a in assignments])
        step = f"Reranking {first.system}, {plan.mode}"
        model = self._watched(step, ahead.calls, functools.partial(model_report, plan))
        outcome = ask_model(model.connection, model.store, work, model.tell, model.cancelled)
        report = model_report(plan, outcome.usage, outcome.value)
        rankings = tuple(
            ranking_of(a.name, f.reranked.order)
            for a, f in zip(assignments, outcome.value, strict=True)
        )
        seconds = first.seconds + outcome.usage.seconds
        return self._run(reranked_name(first.system, plan.mode), rankings, seconds, report)

    def _watched(self, step: str, calls: int, report_of: Callable[[Usage], ModelReport]) -> Model:
        """The model, its progress told as questions settled of the calls foreseen."""
        endpoint = self._model.connection.endpoint
        nothing = Usage(endpoint=endpoint.address, model=endpoint.model)
        self._watch.begin(step, calls, "questions", report_of(nothing))

        def tell(progress: RoundProgress) -> None:
            self._watch.update(progress.usage.settled, report=report_of(progress.usage))

        return replace(self._model, tell=tell, cancelled=self._watch.cancelled)

    def _run(
        self, name: str, rankings: tuple[Ranking, ...], seconds: float, report: ModelReport
    ) -> SystemRun:
        self._model = self._model.after(report)
        notes: tuple[str, ...] = ()
        if report.stopped:
            words = {"cancelled": "it was cancelled", "budget": "its budget was reached"}
            why = words.get(report.stopped, "the endpoint failed")
            notes = (f"the model did not answer everything: {why}. The order is the best so far.",)
        elif report.unanswered:
            of_all = f"{report.unanswered:,} of {counted(report.questions, 'answer')}"
            notes = (f"{of_all} of the model could not be used.",)
        return SystemRun(name, rankings, seconds, notes=notes, llm=report)


def topic_criterion(searcher: Searcher, topic: Topic) -> Criterion:
    """What a topic's documents are judged by."""
    query = topic_query(topic, searcher, "dense", None)
    seed = _seed(searcher, topic)
    return criterion_for(searcher, query, seed)


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


def foreseen_runs(
    names: Sequence[str], depth: int, searcher: Searcher, topics: Sequence[Topic]
) -> list[CostEstimate]:
    """What is asked at most for those of the named runs that need a model."""
    sizes = ranking_sizes(searcher, topics)
    return [
        count_for_reranking(Plan(system_and_mode(name)[1], depth), sizes)
        if "+" in name
        else count_for_system(name, sizes)
        for name in names
        if asks_model(name)
    ]


class EvaluationEstimates:
    """What measurements with a model will cost. Nothing is asked; safe to share between threads."""

    def __init__(self, answers: Answers) -> None:
        self._answers, self._known = answers, EstimateCache()

    def estimate(
        self,
        key: Hashable,
        depth: int,
        ahead: Sequence[CostEstimate],
        searcher: Searcher,
        topics: Sequence[Topic],
        connection: Connection | None,
    ) -> CostEstimate:
        """The sum of what is foreseen; tokens only with a connection.

        Args:
            key: tells requests apart; estimates are kept by it, the corpus and the model.
            depth: what the estimate says of itself.
        """
        name, known = "", None
        if connection is not None:
            place = connection.endpoint
            name = model_name(connection)
            known = self._answers.capabilities(place.address, place.model)

        def make() -> CostEstimate:
            some = _samples(searcher, topics) if connection is not None and ahead else []
            return estimate_cost(depth, ahead, some, connection, self._answers)

        return self._known.get((key, searcher.corpus.identity, name, known), make)


def _samples(searcher: Searcher, topics: Sequence[Topic]) -> list[Sample]:
    """Queries spread over all, each with some of its candidates."""
    load, known = texts_of(searcher), searcher.corpus.row_of
    specimens = []
    for topic in topics[:: max(1, len(topics) // SAMPLE)][:SAMPLE]:
        pool = searcher.corpus.doc_ids if topic.pool is None else sorted(topic.pool)
        own = [doc_id for doc_id in pool if doc_id in known]
        texts = load(own[:: max(1, len(own) // DOCUMENTS)][:DOCUMENTS])
        specimens.append(Sample(topic_criterion(searcher, topic), texts))
    return specimens
