"""Documents, as read and as stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Span = tuple[int, int]  # Character offsets `[start, end)` into a document's text as stored


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """One document as a reader yields it, before indexing."""

    doc_id: str
    title: str
    text: str
    where: str  # file and row it came from, for error messages
    # given sentence splits, or None: then the text is split
    sentences: tuple[Span, ...] | None = None
    # one aspect key (or None: no role in the lens) per given sentence, or None
    roles: tuple[str | None, ...] | None = None
    year: int | None = None
    authors: tuple[str, ...] = ()
    url: str | None = None
    # further fields; scalars only, JSON-serialisable
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a document: its span, words, and role probabilities over the lens."""

    span: Span
    text: str
    roles: tuple[float, ...]

    @property
    def role(self) -> int | None:
        """Index of the likeliest aspect, None when no aspect has any probability."""
        if not self.roles or max(self.roles) <= 0.0:
            return None
        return max(range(len(self.roles)), key=self.roles.__getitem__)


@dataclass(frozen=True, slots=True)
class Document:
    """A document as stored."""

    doc_id: str
    title: str
    text: str
    sentences: tuple[Sentence, ...]
    year: int | None = None
    authors: tuple[str, ...] = ()
    url: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
