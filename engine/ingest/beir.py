"""BEIR: the documents of a folder with ``corpus.jsonl`` (``_id``, ``title``, ``text``).

SeedLens' own fields (``doc_id``, ``sentences``, ``roles``, ``year`` ...) are read as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from engine.ingest import jsonl
from engine.ingest.rows import InputFile, Row

CORPUS = "corpus.jsonl"


def rows(file: InputFile) -> Iterator[Row]:
    """Rows of the folder's ``corpus.jsonl`` (or of that file itself)."""
    return jsonl.rows(replace(file, path=file.path / CORPUS) if file.path.is_dir() else file)
