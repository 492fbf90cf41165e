"""Gaps that were measured, in the ledger beside the evaluations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from engine.evaluate.evaluation_records import report_from_json
from engine.search.reports import gap_report
from engine.types.evaluations import Interval
from engine.types.reranking import Gap, GapPoint, GapRecord, GapRequest
from storage.experiments import Experiments
from storage.records import EvaluationRow

_PREFIX = "gap:"
"""Of a collection's name in the table of evaluations; no corpus can be called so."""


class GapShelf:
    """The gaps of one home. Append-only, like the ledger."""

    def __init__(self, experiments: Experiments) -> None:
        self._experiments = experiments

    def keep(self, request: GapRequest, model: str, version: str, topics: str, gap: Gap) -> None:
        """Add a gap.

        Args:
            model: which one verified, and where.
            version: of the corpus and of SeedLens.
            topics: tells the collection's content and the sample apart.
        """
        bounds = gap.gap(gap.points[-1])
        self._experiments.add_evaluation(
            EvaluationRow(
                collection=_PREFIX + request.collection,
                corpus=gap.corpus,
                corpus_version=version,
                systems=_json(request.systems),
                settings=_settings(request, model, topics),
                summary=_json({"bounds": bounds, "model": model}),
                result=_json(gap_json(gap)),
                time=datetime.now(UTC),
            )
        )

    def find(self, request: GapRequest, model: str, version: str, topics: str) -> Gap | None:
        """The latest gap of just this; None when there is none."""
        row = self._experiments.evaluation(
            _PREFIX + request.collection,
            version,
            _json(request.systems),
            _settings(request, model, topics),
        )
        return None if row is None else gap_from_json(json.loads(row.result))

    def records(self, collection: str) -> tuple[GapRecord, ...]:
        """The gaps of a collection, the newest first; of equal ones only the newest."""
        found = []
        for row in self._experiments.evaluations(_PREFIX + collection):
            asked, summary = json.loads(row.settings), json.loads(row.summary)
            request = GapRequest(
                collection,
                asked["verifier"],
                tuple(json.loads(row.systems)),
                tuple(asked["sizes"]),
                asked["sample"],
            )
            low, high = summary["bounds"]
            time = row.time.isoformat(timespec="seconds")
            found.append(GapRecord(request, summary["model"], (low, high), time))
        return tuple(found)


def gap_json(found: Gap) -> dict[str, Any]:
    """``seedlens gap --json``."""
    bounds = {name: own and list(own) for name, own in found.retriever_intervals.items()}
    return {**gap_report(found), "retriever_intervals": bounds}


def gap_from_json(data: Mapping[str, Any]) -> Gap:
    """What :func:`gap_json` wrote."""
    bounds = data["retriever_intervals"]
    return Gap(
        collection=data["collection"],
        corpus=data["corpus"],
        queries=data["queries"],
        verifier=data["verifier"],
        measure=data["measure"],
        retrievers=data["retrievers"],
        points=tuple(map(_point, data["points"])),
        report=report_from_json(data["llm"]),
        lacking=data["lacking"],
        notes=tuple(data["notes"]),
        retriever_intervals={name: _interval(own) for name, own in bounds.items()},
    )


def _point(data: Mapping[str, Any]) -> GapPoint:
    derived = ("gap_lower", "gap_upper")
    fields: dict[str, Any] = {n: v for n, v in data.items() if n not in derived}
    intervals = {n: _interval(v) for n, v in fields.items() if n.endswith("_interval")}
    return GapPoint(**{**fields, **intervals})


def _interval(bounds: Sequence[float] | None) -> Interval:
    return None if bounds is None else (bounds[0], bounds[1])


def _settings(request: GapRequest, model: str, topics: str) -> str:
    return _json(
        {
            "verifier": request.verifier,
            "sizes": request.sizes,
            "sample": request.sample,
            "model": model,
            "topics": topics,
        }
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
