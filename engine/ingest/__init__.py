"""Readers: a path becomes a stream of documents. One module per format."""

from __future__ import annotations

from engine.ingest.delimited import DELIMITERS
from engine.ingest.encodings import LABELS as ENCODINGS
from engine.ingest.formats import FORMATS, detect_format
from engine.ingest.mapping import FIELDS
from engine.ingest.repairs import content_hash
from engine.ingest.source import (
    Source,
    check,
    examine,
    open_source,
    preview,
    unique_documents,
)
from engine.ingest.values import Notes

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
