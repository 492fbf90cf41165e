"""Frozen rows: what storage hands out and takes in."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Literal

Packed = str  # A text that is stored compressed
FRAGMENT_ROWS = 65_536
"""Rows of one fragment of a large table: so many are written again when they are compacted."""


@dataclass(frozen=True, slots=True)
class CorpusRow:
    """One corpus in the registry.

    ``state`` is ``indexing`` from the first batch until the indexes are built, then ``ready``.
    ``lens`` and ``encoder`` are JSON texts owned by the engine. ``generation`` is that in the
    object store; "" for a local corpus.
    """

    name: str
    state: str
    source: str
    source_format: str
    lens: str
    encoder: str
    documents: int
    expected: int
    created_at: datetime
    updated_at: datetime
    generation: str = ""


Verdict = Literal["grade", "skip", "unsure", "withdrawn", "undo"]
Origin = Literal["person", "model", "import", "adjudication", "audit"]


def new_event() -> str:
    """An id that no other event has."""
    return secrets.token_hex(12)


@dataclass(frozen=True, slots=True)
class Judgment:
    """One event: an annotator's judgment of one (query, document)."""

    query_id: str
    doc_id: str
    annotator: str
    relevance: int | None = None  # of a ``grade``; None for all else
    # ``withdrawn`` takes back what was said before; ``undo`` takes back one event
    verdict: Verdict = "grade"
    note: str = ""
    # (start, end) offsets of the sentences marked in the document
    marks: tuple[tuple[int, int], ...] = ()
    # an ``adjudication`` decides between annotators and is nobody's own grade; an ``audit`` is a
    # person's check of a model's grade
    origin: Origin = "person"
    rank: int | None = None  # rank, system: as shown to the annotator; None and "" where hidden
    system: str = ""
    instruction: str = ""  # the wording of the query; "" for that of its aspect
    blind: bool = False  # ranks and systems were hidden
    seconds: float | None = None  # from being shown to being judged; None when not measured
    # the client's id: an event sent twice is stored once
    event: str = field(default_factory=new_event, compare=False)
    undoes: str = ""  # the event that an ``undo`` takes back
    corpus: str = ""
    project: str = ""  # "" for what is judged while exploring
    time: datetime = field(default_factory=partial(datetime.now, UTC))
    id: int = field(default=0, compare=False)  # in order of arrival, 1 for the first stored

    @property
    def item(self) -> tuple[str, str]:
        """(query_id, doc_id)"""
        return (self.query_id, self.doc_id)

    @property
    def is_annotation(self) -> bool:
        """Whether a person graded the item, or was unsure of it; not for adjudications."""
        return self.verdict in ("grade", "unsure") and self.origin in ("person", "import")
