"""One evaluation over the ledger: what is known of it, and computing the rest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime

from engine import __version__
from engine.callbacks import Ask
from engine.config import ASSETS
from engine.evaluate import (
    Ranker,
    SystemRun,
    check_documents,
    dense_run,
    human_runs,
    judge_runs,
    usable_topics,
)
from engine.lab.measuring import MAIN_MEASURE
from engine.lab.shelf import Shelf
from engine.reports import evaluation_from_report, evaluation_report
from engine.retrieve import SYSTEMS
from engine.searching import Searcher
from engine.types import Evaluation, EvaluationRequest, Ranking
from storage.experiments import Experiments
from storage.records import EvaluationRow, RunRow

Watch = Callable[[str, int, int], None]
"""Told (step in words, queries ranked, queries to rank)."""
FITTED = ("aspect/weights.json", "roles/classifier.json", "wordings/reader.json")
"""Assets that rankings are made by: how signals are weighed, pasted text sorted, wordings read."""


class StoppedError(Exception):
    """Raised inside an evaluation that was cancelled."""


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
        # Equal versions rank alike: the same documents and vectors, and the same SeedLens.
        self._version = f"{searcher.corpus.identity} {_code_version()}"
        self._topics = shelf.digest(request.collection, request.sample)
        self._systems = _json(list(request.systems))
        self._settings = _json(
            {
                "request": asdict(request),
                "collection": self._topics,
                "runs": [run.id for run in shelf.runs(request.collection)],
            }
        )

    def stored(self) -> Evaluation | None:
        """The result of an equal request, without its rankings; None when there is none."""
        row = self._experiments.evaluation(
            self._request.collection, self._version, self._systems, self._settings
        )
        return None if row is None else evaluation_from_report(json.loads(row.result))

    def missing(self) -> tuple[str, ...]:
        """Systems that would have to be ranked first."""
        return tuple(s for s in self._needed() if not self._is_known(s))

    def known(self, system: str) -> SystemRun | None:
        """The rankings of one of our systems, None when they are not stored."""
        row = self._experiments.computed_run(
            self._corpus, self._version, system, self._run_settings(system)
        )
        if row is None:
            return None
        rankings = (Ranking(q, tuple(d), tuple(s)) for q, d, s in json.loads(row.run))
        return SystemRun(system, tuple(rankings), row.seconds)

    def compute(self, watch: Watch, cancelled: Ask) -> Evaluation:
        """Rank what is not known, measure, and store both.

        Raises:
            StoppedError: ``cancelled`` said so; systems that were done are stored.
        """
        request, collection = self._request, self._shelf.read(self._request.collection)
        asked = self._shelf.topics(request.collection, request.sample)
        topics = usable_topics(asked, self._searcher)
        check_documents(collection, self._searcher)
        ranker = Ranker(self._searcher, topics, request.steer)
        runs = self._ranked(ranker, watch, cancelled)
        watch("Measuring", 1, 1)
        people = []
        if request.human:
            people = human_runs(collection, topics, dense_run(ranker, runs))
        ours = [run for run in runs if run.system in request.systems]
        brought = self._shelf.brought(request.collection, request.sample)
        found = judge_runs(self._searcher, collection, topics, [*ours, *brought, *people])
        self._store_result(found)
        return found

    def _ranked(self, ranker: Ranker, watch: Watch, cancelled: Ask) -> list[SystemRun]:
        done, total = 0, len(self.missing()) * len(ranker.topics)
        runs = []
        for system in self._needed():

            def step(system: str = system) -> None:
                nonlocal done
                done += 1
                watch(f"Ranking with {system}", done, total)
                if cancelled():
                    raise StoppedError

            run = self.known(system)
            if run is None:
                run = ranker.run(system, step)
                self._store_run(run)
            runs.append(run)
        return runs

    def _needed(self) -> tuple[str, ...]:
        """What has to be ranked: people's equal grades are ordered by ``dense``."""
        request = self._request
        breaks_ties = request.human and "dense" not in request.systems
        return (*request.systems, *(["dense"] if breaks_ties else []))

    def _run_settings(self, system: str) -> str:
        """What a ranking depends on beside corpus and system."""
        steer = self._request.steer if SYSTEMS[system].reads_aspect else None
        return _json({"steer": steer, "topics": self._topics})

    def _is_known(self, system: str) -> bool:
        settings = self._run_settings(system)
        return system in self._experiments.computed_systems(self._corpus, self._version, settings)

    def _store_run(self, run: SystemRun) -> None:
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
                run=_json([[r.query_id, r.doc_ids, r.scores] for r in run.rankings]),
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
                result=_json(evaluation_report(found), in_order=True),
                time=datetime.now(UTC),
            )
        )


def _code_version() -> str:
    """Changes with what rankings are made by: this release, and the fitted weights."""
    weights = hashlib.sha256()
    for name in FITTED:
        weights.update((ASSETS / name).read_bytes())
    return f"{__version__} {weights.hexdigest()[:12]}"


def _json(value: object, *, in_order: bool = False) -> str:
    """Equal values give equal texts, unless they are to keep the order of their keys."""
    return json.dumps(value, ensure_ascii=False, sort_keys=not in_order)
