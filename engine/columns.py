"""Names in the documents table that indexing writes and searching reads."""

from __future__ import annotations

from collections.abc import Sequence

FACET_MARK = "\x1f"
"""Stands around each ``field=value`` in the ``facets`` column; cannot occur in cleaned input."""


def aspect_column(key: str) -> str:
    """Name of the column that holds the vectors of an aspect."""
    return f"aspect_{key}"


def vector_columns(aspects: Sequence[str]) -> list[str]:
    """All columns with one vector per document: the document's, and one per aspect."""
    return ["vector", *map(aspect_column, aspects)]


def facet(name: str, value: object) -> str:
    """How ``field = value`` stands in the ``facets`` column."""
    return f"{FACET_MARK}{name}={value}{FACET_MARK}"
