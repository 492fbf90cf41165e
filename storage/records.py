"""Frozen rows: what storage hands out and takes in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, slots=True)
class CorpusRow:
    """One corpus in the registry.

    ``state`` is ``indexing`` from the first batch until the indexes are built,
    then ``ready``. ``lens`` and ``encoder`` are JSON texts owned by the engine.
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


@dataclass(frozen=True, slots=True)
class TrailStepRow:
    """One step of an exploration: the query as JSON text, and when it was taken."""

    trail_id: str
    position: int
    corpus: str
    query: str
    time: datetime


@dataclass(frozen=True, slots=True)
class KeptRow:
    """A document that a person kept while exploring."""

    trail_id: str
    corpus: str
    doc_id: str
    time: datetime


@dataclass(frozen=True, slots=True)
class RunRow:
    """The rankings of one system for the topics of a collection.

    ``settings`` is a JSON text owned by the engine, ``run`` too; what somebody brought is
    kept as it came. ``corpus_version`` says what exactly was
    ranked; it is empty for a run that somebody brought.
    """

    id: int
    collection: str
    corpus: str
    corpus_version: str
    system: str
    settings: str
    uploaded: bool
    seconds: float
    run: str
    time: datetime


@dataclass(frozen=True, slots=True)
class EvaluationRow:
    """What an evaluation found. ``systems`` to ``result`` are JSON texts owned by the engine."""

    collection: str
    corpus: str
    corpus_version: str
    systems: str
    settings: str
    summary: str
    result: str
    time: datetime


@dataclass(frozen=True, slots=True)
class QrelsRow:
    """A file of TREC judgments that somebody brought for a corpus."""

    id: int
    corpus: str
    name: str
    qrels: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter on a stored column; becomes an expression, never a string built from input.

    ``contains`` looks for ``value`` inside a text column.
    """

    column: str
    op: Literal["=", ">=", "<=", "contains"]
    value: str | int
