"""Evaluations and runs as the ledger keeps them: JSON, there and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from engine.evaluate.model_runs import HelpedRun
from engine.search.reports import evaluation_from_report, llm_report, model_evaluation_report
from engine.search.topics import SystemRun
from engine.types.evaluations import Evaluation, EvaluationRecord, EvaluationRequest
from engine.types.reranking import ModelEvaluation, ModelReport
from engine.types.searches import Ranking
from storage.records import EvaluationRow

_LATER = ("rerank", "depth", "model")
"""Fields of a request that came later: left out without a model, so that what was kept before
they came is still found."""


def evaluation_json(found: Evaluation) -> dict[str, Any]:
    """All of an evaluation as ``seedlens evaluate --json`` prints it."""
    return model_evaluation_report(ModelEvaluation(found, reports_of(found)))


def reports_of(found: Evaluation) -> dict[str, ModelReport]:
    """system -> what a model was asked for it, of those that one took part in."""
    return {name: s.llm for name, s in found.systems.items() if s.llm is not None}


def with_reports(found: Evaluation, reports: Mapping[str, ModelReport]) -> Evaluation:
    """The evaluation with what a model was asked for its systems."""
    systems = {name: replace(s, llm=reports.get(name)) for name, s in found.systems.items()}
    return replace(found, systems=systems)


def evaluation_from_json(report: Mapping[str, Any]) -> Evaluation:
    """What :func:`evaluation_json` wrote, without the rankings."""
    told = {name: data.get("llm") for name, data in report["systems"].items()}
    reports = {name: report_from_json(own) for name, own in told.items() if own is not None}
    return with_reports(evaluation_from_report(report), reports)


def report_from_json(data: Mapping[str, Any]) -> ModelReport:
    """What :func:`engine.search.reports.llm_report` wrote."""
    return ModelReport(**{**data, "notes": tuple(data["notes"])})


def run_json(run: SystemRun, report: ModelReport | None = None) -> str:
    """The rankings of a run, and what a model was asked for them."""
    rankings = [[r.query_id, r.doc_ids, r.scores] for r in run.rankings]
    found: Any = rankings
    if report is not None:
        found = {"rankings": rankings, "notes": run.notes, "llm": llm_report(report)}
    return json.dumps(found, ensure_ascii=False)


def run_from_json(text: str, system: str, seconds: float) -> SystemRun:
    """What :func:`run_json` wrote."""
    found = json.loads(text)
    rows, notes = (found["rankings"], found["notes"]) if isinstance(found, dict) else (found, ())
    rankings = tuple(Ranking(q, tuple(d), tuple(s)) for q, d, s in rows)
    return SystemRun(system, rankings, seconds, notes=tuple(notes))


def helped_from_json(text: str, system: str, seconds: float) -> HelpedRun:
    """What :func:`run_json` wrote of a run with a report."""
    report = report_from_json(json.loads(text)["llm"])
    return HelpedRun(run_from_json(text, system, seconds), report)


def request_json(request: EvaluationRequest) -> dict[str, Any]:
    """A request as the ledger keeps it."""
    found = asdict(request)
    return found if request.model else {k: v for k, v in found.items() if k not in _LATER}


def request_from_json(data: Mapping[str, Any]) -> EvaluationRequest:
    """What :func:`request_json` wrote, now or before there were models."""
    return EvaluationRequest(**{**data, "systems": tuple(data["systems"])})


def record_of(row: EvaluationRow) -> EvaluationRecord:
    """A former evaluation as a list of them shows it."""
    summary = json.loads(row.summary)
    return EvaluationRecord(
        request=request_from_json(json.loads(row.settings)["request"]),
        corpus=row.corpus,
        queries=summary["queries"],
        headline=summary["headline"],
        time=row.time.isoformat(timespec="seconds"),
    )
