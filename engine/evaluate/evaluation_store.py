"""Evaluations and their rankings in the ledger: by what they are found again, and as JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from engine.assist.model_systems import MODEL_SYSTEMS
from engine.config import ASSETS, __version__
from engine.errors import BadInputError
from engine.evaluate.collection_store import CollectionStore
from engine.evaluate.measuring import MAIN_MEASURE
from engine.evaluate.model_runs import asks_model, system_and_mode
from engine.search.reports import (
    evaluation_from_report,
    evaluation_report,
    llm_from_report,
    llm_report,
)
from engine.search.scenario_index import scenarios_of
from engine.search.searcher import Searcher
from engine.search.systems import PREPARED, SYSTEMS, find_system
from engine.search.topics import SystemRun
from engine.types.evaluations import Evaluation, EvaluationRecord, EvaluationRequest
from engine.types.searches import Ranking
from storage.experiments import Experiments
from storage.records import EvaluationRow, RunRow

FITTED = (
    *("aspect/weights.json", "roles/classifier.json"),
    *("wordings/reader.npz", "wordings/glossary.txt"),
)
"""Assets that rankings are made by: how signals are weighed, pasted text sorted, wordings read."""
_LATER = ("rerank", "depth", "model")
"""Fields of a request that came later: left out without a model, so that what was kept before
they came is still found."""


class EvaluationStore:
    """The ledger's rankings for one request on one version of a corpus: a
    :class:`engine.evaluate.evaluation_run.RunStore`."""

    def __init__(
        self,
        experiments: Experiments,
        collections: CollectionStore,
        searcher: Searcher,
        request: EvaluationRequest,
    ) -> None:
        self._experiments, self._searcher = experiments, searcher
        self._corpus, self._version = searcher.corpus.name, corpus_version(searcher)
        self._request = replace(request, systems=in_one_order(request.systems))
        self._topics = collections.digest(request.collection, request.sample)
        self._systems = canonical_json(list(self._request.systems))
        settings: dict[str, Any] = {
            "request": request_json(self._request),
            "collection": self._topics,
            "runs": [run.id for run in collections.runs(request.collection)],
        }
        self._scenarios = scenarios_of(searcher.corpus, request.systems)
        if self._scenarios:
            settings["scenarios"] = self._scenarios
        self._settings = canonical_json(settings)

    # -- the result --------------------------------------------------------------------

    def evaluation(self) -> Evaluation | None:
        """The result, without its rankings; None when there is none."""
        row = self._experiments.evaluation(
            self._request.collection, self._version, self._systems, self._settings
        )
        return None if row is None else evaluation_from_report(json.loads(row.result))

    def keep(self, evaluation: Evaluation) -> None:
        """Add the result."""
        headline = {name: s.metrics[MAIN_MEASURE] for name, s in evaluation.systems.items()}
        self._experiments.add_evaluation(
            EvaluationRow(
                collection=self._request.collection,
                corpus=self._corpus,
                corpus_version=self._version,
                systems=self._systems,
                settings=self._settings,
                summary=canonical_json({"queries": evaluation.queries, "headline": headline}),
                # Systems stay in their order.
                result=json.dumps(evaluation_report(evaluation), ensure_ascii=False),
                time=datetime.now(UTC),
            )
        )

    # -- rankings ----------------------------------------------------------------------

    def __contains__(self, name: object) -> bool:
        settings = self._run_settings(str(name))
        return name in self._experiments.computed_systems(self._corpus, self._version, settings)

    def get(self, name: str) -> SystemRun | None:
        """The rankings of a run; None when they are not there."""
        row = self._experiments.computed_run(
            self._corpus, self._version, name, self._run_settings(name)
        )
        return None if row is None else run_from_json(row.run, name, row.seconds)

    def __setitem__(self, name: str, run: SystemRun) -> None:
        """Add the rankings of a run."""
        if name in PREPARED:
            check_scenarios(self._searcher, [name], self._scenarios)
        self._experiments.add_run(
            RunRow(
                id=0,
                collection=self._request.collection,
                corpus=self._corpus,
                corpus_version=self._version,
                system=name,
                settings=self._run_settings(name),
                uploaded=False,
                seconds=run.seconds,
                run=run_json(run),
                time=datetime.now(UTC),
            )
        )

    def _run_settings(self, name: str) -> str:
        """What a ranking depends on besides corpus and system."""
        system, mode = system_and_mode(name)
        settings: dict[str, object] = {"topics": self._topics}
        if system not in MODEL_SYSTEMS:
            reads_steer = find_system(system).reads_aspect
            settings["steer"] = self._request.steer if reads_steer else None
        if system in PREPARED:
            settings["scenarios"] = self._scenarios
        if asks_model(name):
            settings["model"] = self._request.model
        if mode:
            settings["depth"] = self._request.depth
        return canonical_json(settings)


def in_one_order(systems: tuple[str, ...]) -> tuple[str, ...]:
    """Systems in one order, each once, so that equal requests are equal."""
    return tuple(name for name in (*SYSTEMS, *PREPARED, *MODEL_SYSTEMS) if name in systems)


def corpus_version(searcher: Searcher) -> str:
    """Equal versions rank alike: the same documents and vectors, and the same SeedLens."""
    weights = hashlib.sha256()
    for name in FITTED:
        weights.update((ASSETS / name).read_bytes())
    return f"{searcher.corpus.identity} {__version__} {weights.hexdigest()[:12]}"


def check_scenarios(searcher: Searcher, systems: Iterable[str], before: str) -> None:
    """BadInputError where scenarios differ from ``before`` (:func:`scenarios_of`) and systems use
    them."""
    if scenarios_of(searcher.corpus, systems) != before:
        raise BadInputError(
            f"The scenarios of '{searcher.corpus.name}' changed while it was ranked by them.",
            "Do the same again when they are written.",
        )


# -- JSON, there and back ------------------------------------------------------------------


def run_json(run: SystemRun) -> str:
    """The rankings of a run, and what a model was asked for them."""
    rankings = [[r.query_id, r.doc_ids, r.scores] for r in run.rankings]
    if run.llm is None:
        return json.dumps(rankings, ensure_ascii=False)
    data = {"rankings": rankings, "notes": run.notes, "llm": llm_report(run.llm)}
    return json.dumps(data, ensure_ascii=False)


def run_from_json(text: str, system: str, seconds: float) -> SystemRun:
    """What :func:`run_json` wrote."""
    data = json.loads(text)
    if isinstance(data, list):
        data = {"rankings": data, "notes": (), "llm": None}
    rankings = tuple(Ranking(q, tuple(d), tuple(s)) for q, d, s in data["rankings"])
    llm = None if data["llm"] is None else llm_from_report(data["llm"])
    return SystemRun(system, rankings, seconds, notes=tuple(data["notes"]), llm=llm)


def request_json(request: EvaluationRequest) -> dict[str, Any]:
    """A request as the ledger keeps it."""
    data = {**asdict(request), "ignore_labels": False}  # as of evaluations from before
    return data if request.model else {k: v for k, v in data.items() if k not in _LATER}


def request_from_json(data: Mapping[str, Any]) -> EvaluationRequest:
    """What :func:`request_json` wrote, now or before there were models."""
    known = {name: value for name, value in data.items() if name != "ignore_labels"}
    return EvaluationRequest(**{**known, "systems": tuple(data["systems"])})


def record_of(row: EvaluationRow) -> EvaluationRecord:
    """A previous evaluation as a list of them shows it."""
    summary = json.loads(row.summary)
    return EvaluationRecord(
        request=request_from_json(json.loads(row.settings)["request"]),
        corpus=row.corpus,
        queries=summary["queries"],
        headline=summary["headline"],
        time=row.time.isoformat(timespec="seconds"),
    )


def canonical_json(value: object) -> str:
    """Equal values give equal texts."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
