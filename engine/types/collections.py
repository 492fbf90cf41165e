"""Test collections: topics and their judgments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.types.searches import Query


@dataclass(frozen=True, slots=True)
class Topic:
    """One query of a collection: a stored seed or a text, maybe an aspect, maybe a judged pool."""

    query_id: str
    seed: str | None = None
    text: str | None = None
    aspect: str | None = None
    pool: tuple[str, ...] | None = None
    # the reference answer to a question; None where the collection has none
    answer: str | None = None
    instruction: str | None = None  # what is asked for in words of its own; None for the aspect's

    def query(self, corpus: str) -> Query:
        """What it asks of a corpus."""
        return Query(corpus, self.seed, self.text, self.aspect, self.instruction)


@dataclass(frozen=True, slots=True)
class Collection:
    """Topics and their judgments."""

    name: str
    topics: tuple[Topic, ...]
    qrels: Qrels
    documents: Path | None  # where its own documents can be imported from, or None
    source_format: str  # how to import them
    complete: bool = False  # what is not listed in `qrels` was judged 0, not left unjudged
    # annotator -> the grades that they gave by themselves, before adjudication; empty where nobody
    # kept them
    annotators: Mapping[str, Qrels] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()  # plain sentences about what is odd in its files


@dataclass(frozen=True, slots=True)
class HeldCollection:
    """A collection as it was read, and what tells it from others: a digest of its judgments."""

    collection: Collection
    digest: str


MOST_GRADE = 3  # Grades of CSFCube and of SeedLens go from 0 to this
RELEVANT = 1  # The lowest grade that counts as relevant
Grades = Mapping[str, int]  # doc_id -> relevance of one query
Qrels = Mapping[str, Grades]  # query_id -> grades
