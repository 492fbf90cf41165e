"""Rankings that a language model takes part in, and what they will cost."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from engine.assist.model_systems import MODEL_SYSTEMS, SystemRanking, find_model_system
from engine.assist.ranking_estimates import (
    DOCUMENTS,
    SAMPLE,
    Counted,
    Sample,
    count_for_reranking,
    count_for_system,
    estimate_cost,
    ranking_sizes,
)
from engine.assist.reranking import (
    Assignment,
    Plan,
    model_report,
    rerank_all,
    texts_of,
    usage_report,
)
from engine.corpora.contracts import Request, Seed
from engine.evaluate.measuring import ranking_of
from engine.llm.client import Client
from engine.llm.connecting import Estimator
from engine.llm.judging_prompts import Criterion
from engine.llm.tasks import TaskRun
from engine.rerank import MODES
from engine.search.searcher import Searcher, criterion_for
from engine.search.topics import SystemRun, topic_query
from engine.text import counted
from engine.types.evaluations import EvaluationRequest, Topic
from engine.types.models import Estimate, ModelReport
from engine.types.searches import Ranking


def reranked_name(system: str, mode: str) -> str:
    """The name of a reranked system.

    >>> reranked_name("dense", "pairwise")
    'dense+pairwise'
    """
    return f"{system}+{mode}"


def system_and_mode(run: str) -> tuple[str, str]:
    """System and reranking mode ("" for none) in a run's name.

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
    """The rankings of one evaluation that a model takes part in."""

    def __init__(self, run: TaskRun, searcher: Searcher, topics: Sequence[Topic]) -> None:
        self._run, self._client = run, cast(Client, run.client)
        self._searcher, self._topics = searcher, topics

    async def make(
        self, name: str, made: Mapping[str, SystemRun], depth: int, left: Sequence[str]
    ) -> SystemRun:
        """The run of this name.

        Args:
            made: first-stage rankings.
            left: this run and those after it.
        """
        ahead = foreseen_runs(left, depth, self._searcher, self._topics)
        calls = sum(estimate.calls for _, estimate in ahead)
        system, mode = system_and_mode(name)
        if mode:
            self._run.questions(calls, f"Reranking {system}, {mode}")
            return await self._rerank(made[system], Plan(mode, depth))
        self._run.questions(calls, f"Searching with {system}")
        return await self._rank(system)

    async def _rank(self, system: str) -> SystemRun:
        client, before = self._client, self._client.usage
        rank_one, at_once = find_model_system(system), asyncio.Semaphore(client.concurrency)

        async def one(topic: Topic) -> SystemRanking:
            async with at_once:
                criterion = topic_criterion(self._searcher, topic)
                request = _request(self._searcher, topic)
                return await rank_one(client, self._searcher, request, criterion)

        all_found = await asyncio.gather(*map(one, self._topics))
        usage = client.raise_if_nothing_came(before)
        unanswered = sum(found.unanswered for found in all_found)
        report = usage_report(system, 0, len(self._topics), unanswered, usage)
        rankings = tuple(
            Ranking(
                topic.query_id,
                tuple(s.doc_id for s in found.ranking),
                tuple(s.score for s in found.ranking),
            )
            for topic, found in zip(self._topics, all_found, strict=True)
        )
        return _system_run(system, rankings, usage.seconds, report)

    async def _rerank(self, first: SystemRun, plan: Plan) -> SystemRun:
        client, before = self._client, self._client.usage
        given = {r.query_id: r.doc_ids for r in first.rankings}
        load = texts_of(self._searcher)
        assignments = [
            Assignment(t.query_id, topic_criterion(self._searcher, t), given[t.query_id], load)
            for t in self._topics
        ]
        finished = await rerank_all(client, assignments, plan)
        usage = client.raise_if_nothing_came(before)
        rankings = tuple(
            ranking_of(a.name, f.reranked.order) for a, f in zip(assignments, finished, strict=True)
        )
        name, seconds = reranked_name(first.system, plan.mode), first.seconds + usage.seconds
        return _system_run(name, rankings, seconds, model_report(plan, usage, finished))


def _system_run(
    name: str, rankings: tuple[Ranking, ...], seconds: float, report: ModelReport
) -> SystemRun:
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
    """A request on the corpus, or on the topic's judged pool."""
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
) -> list[Counted]:
    """What is asked at most for those of the named runs that need a model."""
    sizes = ranking_sizes(searcher, topics)
    return [
        count_for_reranking(Plan(system_and_mode(name)[1], depth), sizes)
        if "+" in name
        else count_for_system(name, sizes)
        for name in names
        if asks_model(name)
    ]


def estimated(
    ahead: Sequence[Counted], searcher: Searcher, topics: Sequence[Topic], known: Estimator
) -> Estimate:
    """The sum of what is foreseen; tokens only where a model is connected."""
    some = _samples(searcher, topics) if known.model and ahead else []
    return estimate_cost(ahead, some, known)


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
