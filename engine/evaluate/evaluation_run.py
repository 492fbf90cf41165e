"""Systems side by side on a test collection: what was ranked before is only measured."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from engine.corpora.contracts import Request, Seed
from engine.errors import BadInputError, SeedLensError
from engine.evaluate.measuring import (
    HUMAN,
    MAIN_MEASURE,
    TIE_BREAK,
    annotators_rankings,
    check_annotators,
    human_scores,
    ranking_of,
    reading_notes,
    summarised,
    unjudged,
    what_is_judged,
    without_own,
)
from engine.jobs.runner import CancelledWorkError
from engine.llm.client import Client, finish
from engine.llm.judges import Criterion
from engine.llm.tasks import Estimator, TaskRun
from engine.measures.per_query import query_rows
from engine.measures.significance import significance
from engine.rerank.modes import MODES
from engine.search.model.reranking import (
    DOCUMENTS,
    SAMPLE,
    Assignment,
    Counted,
    Plan,
    count_for_reranking,
    count_for_system,
    estimate_cost,
    model_report,
    ranking_sizes,
    rerank_all,
    texts_of,
    usage_report,
)
from engine.search.model.reranking import Sample as SampledQuery
from engine.search.model.systems import MODEL_SYSTEMS, SystemRanking, find_model_system
from engine.search.searcher import Searcher
from engine.search.systems import find_system
from engine.search.topics import (
    Ranker,
    SystemRun,
    check_documents,
    sampled,
    seed_of,
    topic_query,
    usable_topics,
)
from engine.text import counted
from engine.types.evaluations import (
    Collection,
    Evaluated,
    Evaluation,
    EvaluationRequest,
    Sample,
    Topic,
)
from engine.types.models import Estimate, ModelReport, TaskReport
from engine.types.searches import Query, Ranking


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
    return tuple(n for name in request.systems for n in (name, f"{name}+{request.rerank}"))


def needs_model(request: EvaluationRequest) -> bool:
    """Whether a language model takes part."""
    return any(map(asks_model, run_names(request)))


def topic_criterion(searcher: Searcher, topic: Topic) -> Criterion:
    """What a topic's documents are judged by."""
    return searcher.criterion(*_asked(searcher, topic))


def _asked(searcher: Searcher, topic: Topic) -> tuple[Query, Seed]:
    query = topic_query(topic, searcher, "dense", None)
    return query, searcher.seed(query)


def _request(searcher: Searcher, topic: Topic) -> Request:
    """A request on the corpus, or on the topic's judged pool."""
    query, seed = _asked(searcher, topic)
    request = searcher.request(query, seed, None)
    if topic.pool is None:
        return request
    scope = searcher.corpus.scope(query.filters, without=query.seed, pool=topic.pool)
    return replace(request, scope=scope)


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


def _samples(searcher: Searcher, topics: Sequence[Topic]) -> list[SampledQuery]:
    """Queries spread over all, each with some of its candidates."""
    load, known = texts_of(searcher), searcher.corpus.row_of
    specimens = []
    for topic in topics[:: max(1, len(topics) // SAMPLE)][:SAMPLE]:
        pool = searcher.corpus.doc_ids if topic.pool is None else sorted(topic.pool)
        own = [doc_id for doc_id in pool if doc_id in known]
        texts = load(own[:: max(1, len(own) // DOCUMENTS)][:DOCUMENTS])
        specimens.append(SampledQuery(topic_criterion(searcher, topic), texts))
    return specimens


class RunStore(Protocol):
    """Where the rankings of an evaluation are kept, by name; a dict will do."""

    def __contains__(self, name: object, /) -> bool: ...
    def get(self, name: str, /) -> SystemRun | None: ...
    def __setitem__(self, name: str, run: SystemRun, /) -> None: ...


def evaluate(
    searcher: Searcher,
    collection: Collection,
    systems: Sequence[str],
    *,
    steer: float | None = None,
    sample: int | None = None,
    human: bool = False,
) -> Evaluation:
    """Run every topic on every system and measure; nothing is stored.

    Topics with a judged pool rank that pool only; the others rank the corpus.

    Args:
        systems: without a model; for others see :class:`EvaluationRun`.
        steer: for systems that take it; None for the default of :class:`engine.types.Query`.
        sample: only this many seeds; see :func:`sampled`.
        human: also measure the annotators' own grades.
    """
    steer = Query("").steer if steer is None else steer
    request = EvaluationRequest("", tuple(systems), steer, sample, human)
    for name in systems:
        find_system(name)
    report = finish(EvaluationRun(searcher, collection, request, {}).compute(TaskRun()))
    evaluation = report.result.evaluation
    if evaluation is None:
        raise BadInputError("No system is chosen.", "Choose at least one.")
    return evaluation


@dataclass(frozen=True)
class EvaluationRun:
    """One request on one corpus."""

    searcher: Searcher
    collection: Collection
    request: EvaluationRequest
    runs: RunStore  # existing rankings, to which new ones are added system by system
    uploaded: Sequence[SystemRun] = ()  # rankings of people, cut to the topics of the request

    def missing(self, *, with_failed: bool = False) -> tuple[str, ...]:
        """Runs to be made; ``with_failed`` adds those with failed questions, which are asked
        again."""
        by_model = [name for name in run_names(self.request) if asks_model(name)]
        missing = [name for name in (*self._without_model(), *by_model) if name not in self.runs]
        if with_failed:
            made = {name: self.runs.get(name) for name in by_model if name not in missing}
            missing += [name for name, run in made.items() if run and run.llm and run.llm.failed]
        return tuple(missing)

    async def compute(self, run: TaskRun) -> TaskReport[Evaluated]:
        """Rank what is missing, and measure; failed questions to a model are asked again."""
        request, collection = self.request, self.collection
        if request.human:
            check_annotators(collection)
        topics = usable_topics(sampled(collection.topics, request.sample), self.searcher)
        check_documents(collection, self.searcher)
        unmade = [name for name in self.missing() if asks_model(name)]
        if unmade and run.client is None:
            raise BadInputError(
                f"'{unmade[0]}' needs a language model, and none is connected.", "Connect one."
            )
        try:
            made, known = self._rank(Ranker(self.searcher, topics, request.steer), run)
        except CancelledWorkError:
            return TaskReport(result=Evaluated(None), stopped="cancelled")
        error: SeedLensError | None = None
        try:
            known += await self._rank_with_model(made, run, topics)
        except SeedLensError as failure:
            error = failure
        run.progress(0, 1, phase="Measuring")
        runs = [made[name] for name in run_names(request) if name in made]
        runs += self.uploaded
        if request.human:
            people = annotators_rankings(collection, topics, made[TIE_BREAK].rankings)
            runs += [SystemRun(f"{HUMAN}-{a}", own, kind="human") for a, own in people.items()]
        if not runs and error is not None:  # there is not even a best order so far
            raise error
        found = judge_runs(self.searcher, collection, topics, runs)
        stops = [r for r in found.model_reports.values() if r.stopped]
        stopped, problem = (stops[0].stopped, stops[0].problem) if stops else ("", "")
        if error is not None:
            stopped, problem = "endpoint", str(error)
        result = Evaluated(found, tuple(known))
        return TaskReport(result=result, stopped=stopped, problem=problem)

    def _without_model(self) -> tuple[str, ...]:
        """Rankings made without a model, in order, including the one that breaks people's ties."""
        own = tuple(name for name in self.request.systems if name not in MODEL_SYSTEMS)
        return (*own, TIE_BREAK) if self.request.human and TIE_BREAK not in own else own

    def _rank(self, ranker: Ranker, run: TaskRun) -> tuple[dict[str, SystemRun], list[str]]:
        """Runs without a model by name, and which existed; CancelledWorkError."""
        names = self._without_model()
        known = [name for name in names if name in self.runs]
        count = run.counter(len(ranker.topics) * (len(names) - len(known)), "Ranking")
        made: dict[str, SystemRun] = {}
        for name in names:
            ranked = self.runs.get(name)
            if ranked is None:
                phase = f"Ranking with {name}"
                ranked = self.runs[name] = ranker.run(name, partial(count, phase))
            made[name] = ranked
        return made, known

    async def _rank_with_model(
        self, made: dict[str, SystemRun], run: TaskRun, topics: Sequence[Topic]
    ) -> list[str]:
        """Add the runs with a model, as far as it comes; returns which existed."""
        known, left = [], [n for n in self.missing(with_failed=True) if asks_model(n)]
        for name in filter(asks_model, run_names(self.request)):
            ranked = self.runs.get(name)
            # Failures are asked again: answers that are there cost nothing.
            if run.client is not None and name in left:
                ahead = foreseen_runs(
                    left[left.index(name) :], self.request.depth, self.searcher, topics
                )
                system, mode = system_and_mode(name)
                phase = f"Reranking {system}, {mode}" if mode else f"Searching with {system}"
                run.questions(sum(count.calls for _, count in ahead), phase)
                ranked = await self._ask_model(run.client, name, made.get(system), topics)
                if ranked.llm is not None and not ranked.llm.stopped:  # everything was asked
                    self.runs[name] = ranked
            elif ranked is not None:
                known.append(name)
            if ranked is not None:
                made[name] = ranked
                if ranked.llm is not None and ranked.llm.stopped not in ("", "budget"):
                    break
        return known

    async def _ask_model(
        self, client: Client, name: str, first: SystemRun | None, topics: Sequence[Topic]
    ) -> SystemRun:
        """The run of this name; ``first`` is what is reranked."""
        searcher, before = self.searcher, client.usage
        system, mode = system_and_mode(name)
        if mode and first is not None:
            plan, load = Plan(mode, self.request.depth), texts_of(searcher)
            given = {r.query_id: r.doc_ids for r in first.rankings}
            assignments = [
                Assignment(t.query_id, topic_criterion(searcher, t), given[t.query_id], load)
                for t in topics
            ]
            finished = await rerank_all(client, assignments, plan)
            orders = zip(topics, finished, strict=True)
            rankings = tuple(ranking_of(t.query_id, f.reranked.order) for t, f in orders)
            usage = client.raise_if_nothing_came(before)
            report, seconds = model_report(plan, usage, finished), first.seconds
        else:
            rank_one, at_once = find_model_system(system), asyncio.Semaphore(client.concurrency)

            async def one(topic: Topic) -> SystemRanking:
                async with at_once:
                    criterion = topic_criterion(searcher, topic)
                    return await rank_one(client, searcher, _request(searcher, topic), criterion)

            found = await asyncio.gather(*map(one, topics))
            usage = client.raise_if_nothing_came(before)
            unanswered = sum(ranked.unanswered for ranked in found)
            report, seconds = usage_report(system, 0, len(topics), unanswered, usage), 0.0
            rankings = tuple(
                Ranking(
                    t.query_id,
                    tuple(s.doc_id for s in ranked.ranking),
                    tuple(s.score for s in ranked.ranking),
                )
                for t, ranked in zip(topics, found, strict=True)
            )
        seconds += usage.seconds
        return SystemRun(name, rankings, seconds, notes=_notes_on(report), llm=report)


def _notes_on(report: ModelReport) -> tuple[str, ...]:
    if report.stopped:
        words = {"cancelled": "it was cancelled", "budget": "its budget was reached"}
        why = words.get(report.stopped, "the endpoint failed")
        return (f"the model did not answer everything: {why}. The order is the best so far.",)
    if not report.unanswered:
        return ()
    of_all = f"{report.unanswered:,} of {counted(report.questions, 'answer')}"
    return (f"{of_all} of the model could not be used.",)


def judge_runs(
    searcher: Searcher, collection: Collection, topics: Sequence[Topic], runs: Sequence[SystemRun]
) -> Evaluation:
    """Measure runs against the judgments; those of annotators become one row, ``human``.

    An uploaded run is measured and compared on the queries that it ranks.
    """
    runs = [replace(run, rankings=without_own(collection, topics, run.rankings)) for run in runs]
    scores = {}
    for run in runs:
        ranked = {r.query_id for r in run.rankings}
        own = [t for t in topics if run.kind != "run" or t.query_id in ranked]
        if own and run.kind != "human":
            rows = query_rows(collection, own, run.rankings)
            scores[run.system] = summarised(rows, run.seconds, run.kind, run.llm)
    people = {r.system.removeprefix(f"{HUMAN}-"): r.rankings for r in runs if r.kind == "human"}
    main = {n: {q["query_id"]: q[MAIN_MEASURE] for q in s.per_query} for n, s in scores.items()}
    values = {n: [own.get(t.query_id) for t in topics] for n, own in main.items()}
    if people:
        scores[HUMAN] = human_scores(collection, topics, people)
    missing = check_documents(collection, searcher)
    judged = what_is_judged(collection, topics, missing)
    seeds, every = ({seed_of(t) for t in some} for some in (topics, collection.topics))
    run_notes = [f"Run '{run.system}': {note}" for run in runs for note in run.notes]
    return Evaluation(
        collection=collection.name,
        corpus=searcher.corpus.name,
        queries=len(topics),
        systems=scores,
        rankings={r.system: r.rankings for r in runs},
        unjudged_in_top_k={n: unjudged(collection, s) for n, s in scores.items()},
        missing_documents=missing,
        significance=tuple(significance(values, MAIN_MEASURE)),
        judged=judged,
        sample=None if len(seeds) == len(every) else Sample(len(seeds), len(every)),
        notes=(*reading_notes(topics, judged, scores), *run_notes),
    )
