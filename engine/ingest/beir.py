"""BEIR: the documents of a folder with ``corpus.jsonl`` (``_id``, ``title``, ``text``).

SeedLens' own fields (``doc_id``, ``sentences``, ``roles``, ``year`` ...) are read as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engine.ingest import jsonl
from engine.ingest.rows import Row

CORPUS = "corpus.jsonl"


def rows(path: Path) -> Iterator[Row]:
    """Rows of the folder's ``corpus.jsonl`` (or of that file itself)."""
    return jsonl.rows(path / CORPUS if path.is_dir() else path)
