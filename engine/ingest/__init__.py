"""Readers: a path becomes a stream of documents. One module per format."""

from __future__ import annotations

from engine.ingest.documents import FIELDS
from engine.ingest.files import ENCODINGS, Notes
from engine.ingest.formats import FORMATS, detect_format
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
