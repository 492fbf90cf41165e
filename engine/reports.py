"""What the command line prints with ``--json``: a contract, so it stands in one place."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from engine.evaluate import Evaluation
from engine.queries import query_to_dict
from engine.types import CorpusInfo, Evidence, ImportReport, SearchResults


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
            }
            for r in found.results
        ],
        "total": found.total,
        "truncated": found.truncated,
        "obedience": found.obedience,
        "notes": list(found.notes),
    }


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


def evaluation_report(found: Evaluation) -> dict[str, Any]:
    """``seedlens evaluate --json``."""
    return {
        "collection": found.collection,
        "corpus": found.corpus,
        "queries": found.queries,
        "systems": {
            name: {
                "metrics": dict(s.metrics),
                "by_aspect": {a: dict(m) for a, m in s.by_aspect.items()},
                "per_query": [dict(q) for q in s.per_query],
                "seconds": round(s.seconds, 3),
                "llm": None,
            }
            for name, s in found.systems.items()
        },
        "missing_documents": found.missing_documents,
        "unjudged_in_top_k": dict(found.unjudged_in_top_k),
        "significance": [dict(row) for row in found.significance],
    }


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
    }


def import_report(report: ImportReport) -> dict[str, Any]:
    """``seedlens import --json``."""
    return {**asdict(report), "warnings": list(report.warnings)}
