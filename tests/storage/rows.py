"""Rows of the ledger, as tests put them in."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from storage.records import CorpusRow, Judgment, Verdict

NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)


def judgment(doc_id: str = "d1", relevance: int | None = 2, **fields: object) -> Judgment:
    verdict: Verdict = "withdrawn" if relevance is None else "grade"
    row = Judgment(
        "s1_method", doc_id, "ann", relevance, verdict, rank=3, system="aspect", corpus="demo",
        time=NOW,
    )  # fmt: skip
    return replace(row, **fields)  # type: ignore[arg-type]


def corpus(name: str = "demo") -> CorpusRow:
    return CorpusRow(name, "indexing", "a.jsonl", "jsonl", "{}", "{}", 0, 10, NOW, NOW)
