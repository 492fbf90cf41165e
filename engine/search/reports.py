"""What the command line prints with ``--json``: a contract, so it stands in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from engine.search.queries import query_to_dict
from engine.types.comparisons import Sensitivity
from engine.types.corpora import CorpusInfo, ImportReport
from engine.types.evaluations import Evaluation, Interval, Judged, Sample, SystemScores
from engine.types.facts import Fact, FactMatch
from engine.types.models import ModelReport
from engine.types.reranking import Gap, GapPoint, Reranking
from engine.types.scenarios import ScenarioMatch
from engine.types.searches import Evidence, SearchResults


def search_report(found: SearchResults) -> dict[str, Any]:
    """``seedlens search --json``."""
    return {
        "corpus": found.query.corpus,
        "query": query_to_dict(found.query),
        "system": found.query.system,
        "seconds": round(found.seconds, 4),
        "results": [
            {
                "rank": r.rank,
                "doc_id": r.doc_id,
                "title": r.document.title,
                "score": r.score,
                "rank_change": r.rank_change,
                "evidence": [_evidence(e) for e in r.evidence],
                "explanation": r.explanation,
                "facts": [_answer(f) for f in r.facts],
                "scenario": None if r.scenario is None else _scenario(r.scenario),
            }
            for r in found.results
        ],
        "total": found.total,
        "truncated": found.truncated,
        "obedience": found.instruction_following,
        "understood": dict(found.understood),
        "avoided": list(found.avoided),
        "reading": list(found.reading),
        "sentences": [index + 1 for index in found.sentences],
        "notes": list(found.notes),
    }


def _scenario(found: ScenarioMatch) -> dict[str, Any]:
    rest = {name: getattr(found, name) for name in ("score", "component", "weight")}
    return {**asdict(found.scenario), **rest}


def reranking_report(found: Reranking) -> dict[str, Any]:
    """``seedlens search --rerank --json``: a search with where each result came from.

    ``score`` is still the first stage's; the order is the model's.
    """
    report = search_report(found.results)
    for result in report["results"]:
        move = found.moves.get(result["doc_id"])
        result["first_rank"] = None if move is None else move.first_rank
        result["moved"] = None if move is None else move.moved
        result["confidence"] = None if move is None else move.confidence
    return {**report, "partial": found.partial, "llm": llm_report(found.report)}


def llm_report(found: ModelReport) -> dict[str, Any]:
    """What a model was asked, and how it went; the key is nowhere in it."""
    return {**asdict(found), "seconds": round(found.seconds, 3), "notes": list(found.notes)}


def llm_from_report(data: Mapping[str, Any]) -> ModelReport:
    """What :func:`llm_report` wrote."""
    return ModelReport(**{**data, "notes": tuple(data["notes"])})


def gap_report(found: Gap) -> dict[str, Any]:
    """``seedlens gap --json``."""
    return {
        "collection": found.collection,
        "corpus": found.corpus,
        "queries": found.queries,
        "verifier": found.verifier,
        "measure": found.measure,
        "retrievers": dict(found.retrievers),
        "best": found.best,
        "points": [
            {**asdict(point), "gap_lower": found.gap(point)[0], "gap_upper": found.gap(point)[1]}
            for point in found.points
        ],
        "lacking": found.lacking,
        "notes": list(found.notes),
        "llm": llm_report(found.report),
        "retriever_intervals": {
            name: bounds and list(bounds) for name, bounds in found.retriever_intervals.items()
        },
    }


def gap_from_report(data: Mapping[str, Any]) -> Gap:
    """What :func:`gap_report` wrote."""
    return Gap(
        collection=data["collection"],
        corpus=data["corpus"],
        queries=data["queries"],
        verifier=data["verifier"],
        measure=data["measure"],
        retrievers=data["retrievers"],
        points=tuple(map(_gap_point, data["points"])),
        report=llm_from_report(data["llm"]),
        lacking=data["lacking"],
        notes=tuple(data["notes"]),
        retriever_intervals=_bounds(data["retriever_intervals"]),
    )


def _gap_point(data: Mapping[str, Any]) -> GapPoint:
    fields: dict[str, Any] = {n: v for n, v in data.items() if n not in ("gap_lower", "gap_upper")}
    intervals = {name: v for name, v in fields.items() if name.endswith("_interval")}
    return GapPoint(**{**fields, **_bounds(intervals)})


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "seed_span": list(evidence.seed_span),
        "doc_span": list(evidence.doc_span),
        "seed_text": evidence.seed_text,
        "doc_text": evidence.doc_text,
        "score": evidence.score,
        "seed_marks": [list(s) for s in evidence.seed_marks],
        "doc_marks": [list(s) for s in evidence.doc_marks],
    }


def fact_report(fact: Fact) -> dict[str, Any]:
    """A fact in ``seedlens facts --json`` and, with what it answers, in ``search --json``."""
    return {**asdict(fact), "span": list(fact.span), "about": list(fact.about)} | {
        "anchor": None if fact.anchor is None else list(fact.anchor)
    }


def _answer(found: FactMatch) -> dict[str, Any]:
    return {"asked": found.asked.text, "score": found.score, **fact_report(found.found)}


def evaluation_report(found: Evaluation) -> dict[str, Any]:
    """``seedlens evaluate --json``."""
    return {
        "collection": found.collection,
        "corpus": found.corpus,
        "queries": found.queries,
        "sample": None if found.sample is None else asdict(found.sample),
        "systems": {name: _system(scores) for name, scores in found.systems.items()},
        "missing_documents": found.missing_documents,
        "unjudged_in_top_k": dict(found.unjudged_in_top_k),
        "judged": asdict(found.judged),
        "significance": [dict(row) for row in found.significance],
        "notes": list(found.notes),
    }


def _system(scores: SystemScores) -> dict[str, Any]:
    found: dict[str, Any] = {
        "metrics": dict(scores.metrics),
        "confidence": _intervals(scores.confidence),
        "by_aspect": {a: dict(m) for a, m in scores.by_aspect.items()},
        "confidence_by_aspect": {
            a: _intervals(own) for a, own in scores.confidence_by_aspect.items()
        },
        "per_query": [dict(q) for q in scores.per_query],
        "seconds": round(scores.seconds, 3),
        "kind": scores.kind,
        "llm": None if scores.llm is None else llm_report(scores.llm),
    }
    if scores.kind == "human":
        found["annotators"] = {a: dict(m) for a, m in scores.annotators.items()}
    return found


def _intervals(found: Mapping[str, Interval]) -> dict[str, list[float] | None]:
    return {name: None if bounds is None else list(bounds) for name, bounds in found.items()}


def evaluation_from_report(report: Mapping[str, Any]) -> Evaluation:
    """What :func:`evaluation_report` wrote, without the rankings."""
    sample = report["sample"]
    return Evaluation(
        collection=report["collection"],
        corpus=report["corpus"],
        queries=report["queries"],
        systems={name: _scores(data) for name, data in report["systems"].items()},
        rankings={},
        unjudged_in_top_k=report["unjudged_in_top_k"],
        missing_documents=report["missing_documents"],
        significance=tuple(report["significance"]),
        judged=Judged(**report["judged"]),
        sample=None if sample is None else Sample(**sample),
        notes=tuple(report["notes"]),
    )


def _scores(data: Mapping[str, Any]) -> SystemScores:
    by_aspect, llm = data["confidence_by_aspect"], data.get("llm")
    return SystemScores(
        metrics=data["metrics"],
        by_aspect=data["by_aspect"],
        per_query=tuple(data["per_query"]),
        seconds=data["seconds"],
        confidence=_bounds(data["confidence"]),
        confidence_by_aspect={aspect: _bounds(own) for aspect, own in by_aspect.items()},
        annotators=data.get("annotators", {}),
        kind=data["kind"],
        llm=None if llm is None else llm_from_report(llm),
    )


def _bounds(data: Mapping[str, Sequence[float] | None]) -> dict[str, Interval]:
    return {name: None if pair is None else (pair[0], pair[1]) for name, pair in data.items()}


def corpus_report(info: CorpusInfo) -> dict[str, Any]:
    """One entry of ``seedlens corpora --json``."""
    return {
        "name": info.name,
        "documents": info.documents,
        "expected": info.expected,
        "state": info.state,
        "systems": list(info.systems),
        "encoder": info.encoder,
        "aspects": [a.key for a in info.lens.aspects],
        "bytes": info.bytes,
        "source": info.source,
        "format": info.source_format,
        "updated_at": info.updated_at,
        "services": [
            {"query": str(one.query), "documents": one.documents, "updated_at": one.updated_at}
            for one in info.sources
        ],
    }


def import_report(report: ImportReport) -> dict[str, Any]:
    """``seedlens import --json``."""
    return {**asdict(report), "warnings": list(report.warnings)}


def sensitivity_report(found: Sensitivity) -> dict[str, Any]:
    """``seedlens sensitivity --json``."""
    return {
        "collection": found.collection,
        "corpus": found.corpus,
        "queries": found.queries,
        "single_aspect": found.single_aspect,
        "systems": {
            s.system: {
                "variants": {
                    row.variant: {
                        **row.metrics,
                        "by_aspect": row.by_aspect,
                        "intervals": row.intervals,
                        "read_as_asked": row.read_as_asked,
                    }
                    for row in s.rows
                },
                "matrix": s.matrix,
                "seconds": round(s.seconds, 3),
            }
            for s in found.systems
        },
    }
