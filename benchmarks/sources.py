"""The documents that are measured on. Nothing of them is kept in this repository."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from engine.config import DEMO, ROOT

CSFCUBE = ROOT.parent / "shared" / "data" / "csfcube-open"
ABSTRACTS = 4205
"""Documents of CSFCube; the demo is repeated up to as many where CSFCube is not at hand."""


@dataclass(frozen=True)
class Documents:
    """Something to import, and what it is, in words."""

    path: Path
    words: str


def cache() -> Path:
    """Where indexed corpora stay between runs: ``SEEDLENS_BENCH_CACHE`` or a temporary folder."""
    named = os.environ.get("SEEDLENS_BENCH_CACHE")
    folder = Path(named) if named else Path(tempfile.gettempdir()) / "seedlens-bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def abstracts() -> Documents:
    """CSFCube's 4,205 abstracts, or the demo's repeated to as many."""
    if CSFCUBE.is_dir():
        return Documents(CSFCUBE, f"CSFCube, {ABSTRACTS:,} abstracts")
    path = cache() / "repeated-demo.jsonl"
    _write(path, _repeated(ABSTRACTS))
    return Documents(path, f"the demo corpus repeated with new ids to {ABSTRACTS:,} abstracts")


def _repeated(wanted: int) -> list[dict[str, Any]]:
    """Abstracts of CSFCube or the demo, again and again under new ids."""
    rows: list[dict[str, Any]] = []
    if wanted > 0:
        originals = list(_csfcube() if CSFCUBE.is_dir() else _demo())
        for turn in count():
            for row in originals:
                if len(rows) == wanted:
                    return rows
                rows.append({**row, "doc_id": f"{row['doc_id']}-{turn}"})
    return rows


def _demo() -> Iterator[dict[str, Any]]:
    for line in (DEMO / "corpus.jsonl").open(encoding="utf-8"):
        yield json.loads(line)


def _csfcube() -> Iterator[dict[str, Any]]:
    for line in (CSFCUBE / "abstracts-csfcube-preds.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        yield {"doc_id": row["paper_id"], "title": row["title"], "text": row["abstract"]}


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text("".join(lines), encoding="utf-8")
