"""One evaluation over the ledger: what is known of it, and computing the rest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from engine import __version__
from engine.config import ASSETS
from engine.errors import BadInputError, SeedLensError
from engine.evaluate.collection_store import Shelf
from engine.evaluate.evaluation_records import (
    evaluation_from_json,
    evaluation_json,
    helped_from_json,
    reports_of,
    request_json,
    run_from_json,
    run_json,
    with_reports,
)
from engine.evaluate.measuring import MAIN_MEASURE
from engine.evaluate.model_runs import HELPED, HelpedRun, Helper, run_names
from engine.evaluate.system_runs import dense_run, human_runs, judge_runs
from engine.search.scenario_index import scenario_index
from engine.search.searcher import Searcher
from engine.search.systems import PREPARED, find_system
from engine.search.topics import Ranker, SystemRun, check_documents, usable_topics
from engine.types.callbacks import Ask
from engine.types.evaluations import Evaluation, EvaluationRequest
from engine.types.reranking import ModelReport
from storage.experiments import Experiments
from storage.records import EvaluationRow, RunRow

FITTED = ("aspect/weights.json", "roles/classifier.json", "wordings/reader.json")
"""Assets that rankings are made by: how signals are weighed, pasted text sorted, wordings read."""


@dataclass(frozen=True, slots=True)
class Step:
    """How far an evaluation is: ``done`` of ``total`` units; see :class:`EvaluationJob`."""

    step: str
    done: int
    total: int
    unit: str = "queries"
    report: ModelReport | None = None


Watch = Callable[[Step], None]


class StoppedError(Exception):
    """Raised by an evaluation that was cancelled, or that its model left unfinished.

    Attributes:
        found: what there is, the best orders so far among it; None when nothing was measured.
        problem: why, where nobody cancelled it.
    """

    def __init__(
        self, found: Evaluation | None = None, problem: SeedLensError | None = None
    ) -> None:
        super().__init__()
        self.found, self.problem = found, problem


def _scenarios(searcher: Searcher, request: EvaluationRequest) -> dict[str, str]:
    """Which scenarios a request goes by, where it does; a corpus may get others."""
    if not set(request.systems) & set(PREPARED):
        return {}
    return {"scenarios": scenario_index(searcher.corpus).identity}


class Bench:
    """A request on one version of one corpus.

    Args:
        request: its systems are in one order, so that equal requests are equal.
    """

    def __init__(
        self,
        experiments: Experiments,
        shelf: Shelf,
        searcher: Searcher,
        request: EvaluationRequest,
    ) -> None:
        self._experiments, self._shelf = experiments, shelf
        self._searcher, self._request = searcher, request
        self._corpus = searcher.corpus.name
        self._version = corpus_version(searcher)
        self._topics = shelf.digest(request.collection, request.sample)
        self._systems = _json(list(request.systems))
        self._settings = _json(
            {
                "request": request_json(request),
                "collection": self._topics,
                "runs": [run.id for run in shelf.runs(request.collection)],
                **_scenarios(searcher, request),
            }
        )

    def stored(self) -> Evaluation | None:
        """The result of an equal request, without its rankings; None when there is none."""
        row = self._experiments.evaluation(
            self._request.collection, self._version, self._systems, self._settings
        )
        return None if row is None else evaluation_from_json(json.loads(row.result))

    def missing(self, *, with_failed: bool = False) -> tuple[str, ...]:
        """Runs that would have to be made first.

        Args:
            with_failed: those of which questions failed, too: a helper is asked these again.
        """
        helped = tuple(name for name in run_names(self._request) if _by_model(name))
        missing = tuple(s for s in (*self._needed(), *helped) if not self._is_known(s))
        if not with_failed:
            return missing
        kept = {name: self._kept_helped(name) for name in helped}
        return (*missing, *(name for name, run in kept.items() if run and run.report.failed))

    def known(self, name: str) -> SystemRun | None:
        """The rankings of one of our runs, None when they are not stored."""
        row = self._row(name)
        return None if row is None else run_from_json(row.run, name, row.seconds)

    def compute(self, watch: Watch, cancelled: Ask, helper: Helper | None = None) -> Evaluation:
        """Rank what is not known, measure, and store both.

        Raises:
            StoppedError: ``cancelled`` said so, or the helper's budget or endpoint; runs that
                were done are stored, and so is every answer of the model.
            BadInputError: a run needs a model, and there is no helper.
        """
        collection = self._shelf.read(self._request.collection)
        asked = self._shelf.topics(self._request.collection, self._request.sample)
        topics = usable_topics(asked, self._searcher)
        check_documents(collection, self._searcher)
        self._check_helper(helper)
        ranker = Ranker(self._searcher, topics, self._request.steer)
        own = self._ranked(ranker, watch, cancelled)
        helped, problem = self._helped(own, ranker, watch, cancelled, helper)
        watch(Step("Measuring", 1, 1))
        runs = self._in_order(own, helped)
        if self._request.human:
            runs += human_runs(collection, topics, dense_run(ranker, own))
        if not runs:  # there is nothing to measure, not even a best order so far
            raise StoppedError(None, problem)
        found = judge_runs(self._searcher, collection, topics, runs)
        found = with_reports(found, {h.run.system: h.report for h in helped})
        if problem is not None or not all(h.whole for h in helped):
            raise StoppedError(found, problem)
        self._store_result(found)
        return found

    # -- ranking -----------------------------------------------------------------------

    def _ranked(self, ranker: Ranker, watch: Watch, cancelled: Ask) -> list[SystemRun]:
        """The systems that need no model, those that only break ties included."""
        missing = [name for name in self._needed() if not self._is_known(name)]
        done, total = 0, len(missing) * len(ranker.topics)
        runs = []
        for system in self._needed():

            def step(system: str = system) -> None:
                nonlocal done
                done += 1
                watch(Step(f"Ranking with {system}", done, total))
                if cancelled():
                    raise StoppedError

            run = self.known(system)
            if run is None:
                run = ranker.run(system, step)
                self._store_run(run)
            runs.append(run)
        return runs

    def _check_helper(self, helper: Helper | None) -> None:
        """BadInputError before anything is ranked when a model is needed and not there."""
        needed = [n for n in run_names(self._request) if _by_model(n) and not self._is_known(n)]
        if needed and helper is None:
            raise BadInputError(
                f"'{needed[0]}' needs a language model, and none is connected.", "Connect one."
            )

    def _helped(
        self,
        own: Sequence[SystemRun],
        ranker: Ranker,
        watch: Watch,
        cancelled: Ask,
        helper: Helper | None,
    ) -> tuple[list[HelpedRun], SeedLensError | None]:
        """The runs that a model takes part in, as far as it came, and why it came no further."""
        found: list[HelpedRun] = []
        firsts = {run.system: run for run in own}
        for name in filter(_by_model, run_names(self._request)):
            kept = self._kept_helped(name)
            # Failures are asked again: answers that are there cost nothing.
            if helper is not None and (kept is None or kept.report.failed):
                try:
                    kept = self._ask(name, firsts, ranker, watch, cancelled, helper)
                except SeedLensError as error:
                    return found, error
            if kept is None:
                continue
            found.append(kept)
            firsts[name] = kept.run
            if kept.report.stopped not in ("", "budget"):
                break
        problems = [h.report.problem for h in found if h.report.stopped in ("budget", "endpoint")]
        return found, SeedLensError(problems[0]) if problems else None

    def _ask(
        self,
        name: str,
        firsts: dict[str, SystemRun],
        ranker: Ranker,
        watch: Watch,
        cancelled: Ask,
        helper: Helper,
    ) -> HelpedRun:
        system, _, mode = name.partition("+")

        def told(settled: int, at_most: int, report: ModelReport) -> None:
            step = f"Reranking {system}, {mode}" if mode else f"Searching with {system}"
            watch(Step(step, settled, at_most, "questions", report))

        if mode:
            request, first = self._request, firsts[system]
            found = helper.rerank(self._searcher, ranker.topics, first, request, told, cancelled)
        else:
            found = helper.rank(self._searcher, ranker.topics, system, told, cancelled)
        if found.whole:
            self._store_run(found.run, found.report)
        return found

    def _in_order(self, own: Sequence[SystemRun], helped: Sequence[HelpedRun]) -> list[SystemRun]:
        """Ours as they were asked for, then what people brought."""
        by_name = {run.system: run for run in [*own, *(h.run for h in helped)]}
        ours = [by_name[name] for name in run_names(self._request) if name in by_name]
        return [*ours, *self._shelf.brought(self._request.collection, self._request.sample)]

    def _needed(self) -> tuple[str, ...]:
        """What has to be ranked without a model: people's equal grades are ordered by ``dense``."""
        own = tuple(name for name in self._request.systems if name not in HELPED)
        breaks_ties = self._request.human and "dense" not in own
        return (*own, *(["dense"] if breaks_ties else []))

    # -- the ledger --------------------------------------------------------------------

    def _run_settings(self, name: str) -> str:
        """What a ranking depends on beside corpus and system."""
        system, _, mode = name.partition("+")
        found: dict[str, object] = {"topics": self._topics}
        if system not in HELPED:
            found["steer"] = self._request.steer if find_system(system).reads_aspect else None
        if system in PREPARED:
            found["scenarios"] = scenario_index(self._searcher.corpus).identity
        if _by_model(name):
            found["model"] = self._request.model
        if mode:
            found["depth"] = self._request.depth
        return _json(found)

    def _is_known(self, name: str) -> bool:
        settings = self._run_settings(name)
        return name in self._experiments.computed_systems(self._corpus, self._version, settings)

    def _row(self, name: str) -> RunRow | None:
        return self._experiments.computed_run(
            self._corpus, self._version, name, self._run_settings(name)
        )

    def _kept_helped(self, name: str) -> HelpedRun | None:
        row = self._row(name)
        return None if row is None else helped_from_json(row.run, name, row.seconds)

    def _store_run(self, run: SystemRun, report: ModelReport | None = None) -> None:
        self._experiments.add_run(
            RunRow(
                id=0,
                collection=self._request.collection,
                corpus=self._corpus,
                corpus_version=self._version,
                system=run.system,
                settings=self._run_settings(run.system),
                uploaded=False,
                seconds=run.seconds,
                run=run_json(run, report),
                time=datetime.now(UTC),
            )
        )

    def _store_result(self, found: Evaluation) -> None:
        headline = {name: s.metrics[MAIN_MEASURE] for name, s in found.systems.items()}
        self._experiments.add_evaluation(
            EvaluationRow(
                collection=self._request.collection,
                corpus=self._corpus,
                corpus_version=self._version,
                systems=self._systems,
                settings=self._settings,
                summary=_json({"queries": found.queries, "headline": headline}),
                result=_json(evaluation_json(found), in_order=True),
                time=datetime.now(UTC),
            )
        )


def failures(found: Evaluation) -> int:
    """Questions of an evaluation that got no answer in spite of repeats."""
    return sum(report.failed for report in reports_of(found).values())


def corpus_version(searcher: Searcher) -> str:
    """Equal versions rank alike: the same documents and vectors, and the same SeedLens."""
    return f"{searcher.corpus.identity} {_code_version()}"


def _by_model(name: str) -> bool:
    return name in HELPED or "+" in name


def _code_version() -> str:
    """Changes with what rankings are made by: this release, and the fitted weights."""
    weights = hashlib.sha256()
    for name in FITTED:
        weights.update((ASSETS / name).read_bytes())
    return f"{__version__} {weights.hexdigest()[:12]}"


def _json(value: object, *, in_order: bool = False) -> str:
    """Equal values give equal texts, unless they are to keep the order of their keys."""
    return json.dumps(value, ensure_ascii=False, sort_keys=not in_order)
