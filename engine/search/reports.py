"""What the command line prints with ``--json``: a contract, so it stands in one place."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

from pydantic import TypeAdapter

from engine.queries import query_to_dict
from engine.types.comparisons import Sensitivity
from engine.types.corpora import CorpusInfo
from engine.types.documents import Document
from engine.types.evaluations import Evaluation
from engine.types.models import ModelReport
from engine.types.reranking import Gap, Reranking
from engine.types.scenarios import ScenarioMatch
from engine.types.searches import Evidence, SearchResults, TermPassage

_EVALUATION, _GAP, _CORPUS = TypeAdapter(Evaluation), TypeAdapter(Gap), TypeAdapter(CorpusInfo)
_evidence = partial(TypeAdapter(Evidence).dump_python, mode="json", exclude={"seed_role", "role"})


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
                "evidence": list(map(_evidence, r.evidence)),
                "explanation": r.explanation,
                "facts": [
                    {"asked": f.asked.text, "score": f.score, **asdict(f.found)} for f in r.facts
                ],
                "scenario": None if r.scenario is None else _scenario(r.scenario),
                "terms": [_passage(found, r.document) for found in r.terms],
                "strength": r.strength,
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
        "terms": [{**asdict(use), "term": str(use.term)} for use in found.terms],
        "notes": list(found.notes),
    }


def _passage(found: TermPassage, document: Document) -> dict[str, Any]:
    return {
        "term": str(found.term),
        "probability": round(found.probability, 4),
        "means": found.means,
        "span": document.sentences[found.sentence].span if found.sentence >= 0 else None,
    }


def _scenario(found: ScenarioMatch) -> dict[str, Any]:
    rest = asdict(found)
    return {**rest.pop("scenario"), **rest}


def reranking_report(found: Reranking) -> dict[str, Any]:
    """Output of ``seedlens search --rerank --json``; ``score`` is the first stage's, the order the
    model's."""
    report = search_report(found.results)
    for result in report["results"]:
        move = found.moves.get(result["doc_id"])
        for name in ("first_rank", "moved", "confidence"):
            result[name] = None if move is None else getattr(move, name)
    return {**report, "partial": found.partial, "llm": llm_report(found.report)}


def llm_report(found: ModelReport) -> dict[str, Any]:
    """What a model was asked, and how it went; the key is nowhere in it."""
    return {**asdict(found), "seconds": round(found.seconds, 3)}


def gap_report(found: Gap) -> dict[str, Any]:
    """``seedlens gap --json``."""
    report: dict[str, Any] = _GAP.dump_python(found, mode="json", exclude={"report"})
    for data, point in zip(report["points"], found.points, strict=True):
        data["gap_lower"], data["gap_upper"] = found.gap(point)
    return {**report, "best": found.best, "llm": llm_report(found.report)}


def evaluation_report(found: Evaluation) -> dict[str, Any]:
    """``seedlens evaluate --json``."""
    report: dict[str, Any] = _EVALUATION.dump_python(found, mode="json", exclude={"rankings"})
    for name, scores in found.systems.items():
        data = report["systems"][name]
        data["seconds"] = round(scores.seconds, 3)
        data["llm"] = None if scores.llm is None else llm_report(scores.llm)
        if scores.kind != "human":
            del data["annotators"]
    return report


def corpus_report(info: CorpusInfo) -> dict[str, Any]:
    """One entry of ``seedlens corpora --json``."""
    exclude = {"lens", "sources", "source_format"}
    return {
        **_CORPUS.dump_python(info, mode="json", exclude=exclude),
        "aspects": [a.key for a in info.lens.aspects],
        "format": info.source_format,
        "services": [
            {"query": str(one.query), "documents": one.documents, "updated_at": one.updated_at}
            for one in info.sources
        ],
    }


def sensitivity_report(found: Sensitivity) -> dict[str, Any]:
    """``seedlens sensitivity --json``."""
    return {
        "collection": found.collection,
        "corpus": found.corpus,
        "queries": found.queries,
        "asked": found.asked,
        "stopped": found.stopped,
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
                "Robustness@10": s.robustness,
                "seconds": round(s.seconds, 3),
            }
            for s in found.systems
        },
    }
