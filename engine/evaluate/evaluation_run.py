"""Systems side by side on a test collection: what was ranked before is only measured."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from engine.assist.model_systems import MODEL_SYSTEMS
from engine.errors import BadInputError, SeedLensError
from engine.evaluate.human import (
    HUMAN,
    TIE_BREAK,
    annotators_rankings,
    check_annotators,
    human_scores,
)
from engine.evaluate.measuring import (
    MAIN_MEASURE,
    reading_notes,
    system_scores,
    unjudged,
    what_is_judged,
    without_own,
)
from engine.evaluate.model_runs import ModelRuns, asks_model, run_names
from engine.jobs.runner import CancelledWorkError
from engine.llm.client import finish
from engine.llm.tasks import TaskRun
from engine.measures.significance import significance
from engine.search.searcher import Searcher
from engine.search.systems import find_system
from engine.search.topics import Ranker, SystemRun, check_documents, sampled, seed_of, usable_topics
from engine.types.evaluations import (
    Collection,
    Evaluated,
    Evaluation,
    EvaluationRequest,
    Sample,
    Topic,
)
from engine.types.models import TaskReport
from engine.types.searches import Query


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


class EvaluationRun:
    """One request on one corpus.

    Args:
        runs: existing rankings, to which new ones are added system by system.
        uploaded: rankings of people, cut to the topics of the request.
    """

    def __init__(
        self,
        searcher: Searcher,
        collection: Collection,
        request: EvaluationRequest,
        runs: RunStore,
        uploaded: Sequence[SystemRun] = (),
    ) -> None:
        self._searcher, self._collection, self._request = searcher, collection, request
        self._runs, self._uploaded = runs, uploaded

    def missing(self, *, with_failed: bool = False) -> tuple[str, ...]:
        """Runs to be made; ``with_failed`` adds those with failed questions, which are asked
        again."""
        by_model = [name for name in run_names(self._request) if asks_model(name)]
        missing = [name for name in (*self._without_model(), *by_model) if name not in self._runs]
        if with_failed:
            rest = (name for name in by_model if name not in missing)
            missing += [name for name in rest if _has_failures(self._runs.get(name))]
        return tuple(missing)

    async def compute(self, run: TaskRun) -> TaskReport[Evaluated]:
        """Rank what is missing, and measure; failed questions to a model are asked again."""
        request, collection = self._request, self._collection
        if request.human:
            check_annotators(collection)
        topics = usable_topics(sampled(collection.topics, request.sample), self._searcher)
        check_documents(collection, self._searcher)
        unmade = [name for name in self.missing() if asks_model(name)]
        if unmade and run.client is None:
            raise BadInputError(
                f"'{unmade[0]}' needs a language model, and none is connected.", "Connect one."
            )
        try:
            made, known = self._rank(Ranker(self._searcher, topics, request.steer), run)
        except CancelledWorkError:
            return TaskReport(result=Evaluated(None), stopped="cancelled")
        error: SeedLensError | None = None
        try:
            known += await self._rank_with_model(made, run, topics)
        except SeedLensError as failure:
            error = failure
        run.progress(0, 1, phase="Measuring")
        runs = [made[name] for name in run_names(request) if name in made]
        runs += self._uploaded
        if request.human:
            runs += human_runs(collection, topics, made[TIE_BREAK])
        if not runs and error is not None:  # there is not even a best order so far
            raise error
        found = judge_runs(self._searcher, collection, topics, runs)
        stops = [r for r in found.model_reports.values() if r.stopped]
        stopped, problem = (stops[0].stopped, stops[0].problem) if stops else ("", "")
        if error is not None:
            stopped, problem = "endpoint", str(error)
        result = Evaluated(found, tuple(known))
        return TaskReport(result=result, stopped=stopped, problem=problem)

    def _without_model(self) -> tuple[str, ...]:
        """Rankings made without a model, in order, including the one that breaks people's ties."""
        own = tuple(name for name in self._request.systems if name not in MODEL_SYSTEMS)
        return (*own, TIE_BREAK) if self._request.human and TIE_BREAK not in own else own

    def _rank(self, ranker: Ranker, run: TaskRun) -> tuple[dict[str, SystemRun], list[str]]:
        """Runs without a model by name, and which existed; CancelledWorkError."""
        names = self._without_model()
        known = [name for name in names if name in self._runs]
        total, done = len(ranker.topics) * (len(names) - len(known)), itertools.count(1)

        def count(name: str) -> None:
            run.progress(next(done), total, phase=f"Ranking with {name}")
            if run.cancelled():
                raise CancelledWorkError

        run.progress(0, total, phase="Ranking")
        made: dict[str, SystemRun] = {}
        for name in names:
            ranked = self._runs.get(name)
            if ranked is None:
                ranked = self._runs[name] = ranker.run(name, partial(count, name))
            made[name] = ranked
        return made, known

    async def _rank_with_model(
        self, made: dict[str, SystemRun], run: TaskRun, topics: Sequence[Topic]
    ) -> list[str]:
        """Add the runs with a model, as far as it comes; returns which existed."""
        known, depth = [], self._request.depth
        by_model = None if run.client is None else ModelRuns(run, self._searcher, topics)
        left = [n for n in self.missing(with_failed=True) if asks_model(n)]
        for name in filter(asks_model, run_names(self._request)):
            ranked = self._runs.get(name)
            # Failures are asked again: answers that are there cost nothing.
            if by_model is not None and name in left:
                ranked = await by_model.make(name, made, depth, left[left.index(name) :])
                if ranked.llm is not None and not ranked.llm.stopped:  # everything was asked
                    self._runs[name] = ranked
            elif ranked is not None:
                known.append(name)
            if ranked is None:
                continue
            made[name] = ranked
            if ranked.llm is not None and ranked.llm.stopped not in ("", "budget"):
                break
        return known


def _has_failures(run: SystemRun | None) -> bool:
    return run is not None and run.llm is not None and run.llm.failed > 0


def human_runs(
    collection: Collection, topics: Sequence[Topic], tie_break: SystemRun
) -> list[SystemRun]:
    """One run per annotator, called ``human-<annotator>``."""
    rankings = annotators_rankings(collection, topics, tie_break.rankings)
    return [SystemRun(f"{HUMAN}-{a}", own, kind="human") for a, own in rankings.items()]


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
            scores[run.system] = system_scores(
                collection, own, run.rankings, run.seconds, run.kind, run.llm
            )
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
