"""Readers: a path becomes a stream of documents. One module per format."""

from __future__ import annotations

from engine.ingest.checks import CheckReport, check, content_hash, unique_documents
from engine.ingest.formats import FORMATS, detect_format
from engine.ingest.mapping import FIELDS
from engine.ingest.source import Source, open_source, preview
from engine.ingest.values import Notes

__all__ = [
    "FIELDS",
    "FORMATS",
    "CheckReport",
    "Notes",
    "Source",
    "check",
    "content_hash",
    "detect_format",
    "open_source",
    "preview",
    "unique_documents",
]
