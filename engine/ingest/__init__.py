"""Readers: a path becomes a stream of documents. One module per format."""

from __future__ import annotations

from engine.ingest.encodings import LABELS as ENCODINGS
from engine.ingest.formats import FORMATS, detect_format
from engine.ingest.notes import Notes
from engine.ingest.source import (
    Source,
    check,
    content_hash,
    examine,
    open_source,
    preview,
    unique_documents,
)
from engine.ingest.tables import DELIMITERS
from engine.ingest.values import FIELDS

__all__ = [
    "DELIMITERS",
    "ENCODINGS",
    "FIELDS",
    "FORMATS",
    "Notes",
    "Source",
    "check",
    "content_hash",
    "detect_format",
    "examine",
    "open_source",
    "preview",
    "unique_documents",
]
