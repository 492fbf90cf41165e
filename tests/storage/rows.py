"""Rows of the ledger, as tests put them in."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from storage.judging import JudgmentRow
from storage.records import CorpusRow

NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)


def judgment(doc_id: str = "d1", relevance: int | None = 2, **fields: object) -> JudgmentRow:
    verdict = "withdrawn" if relevance is None else "grade"
    row = JudgmentRow(
        "demo", "s1_method", doc_id, relevance, "ann", "", "", 3, "aspect", NOW, verdict
    )
    return replace(row, **fields)  # type: ignore[arg-type]


def corpus(name: str = "demo") -> CorpusRow:
    return CorpusRow(name, "indexing", "a.jsonl", "jsonl", "{}", "{}", 0, 10, NOW, NOW)
