"""What every retrieval system takes and gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.numeric import FloatArray
from engine.types import Document
from storage.records import Condition

DEPTH = 1000
"""Documents that a ranking of a large corpus holds."""


class ScoredDocument(NamedTuple):
    """Id and score travel together."""

    doc_id: str
    score: float


@dataclass(frozen=True, slots=True)
class Seed:
    """The document (stored, or pasted and encoded now) that a search starts from.

    Attributes:
        vector: (d,).  sentences: (s, d).  tokens: (t, p).  token_spans: (t, 2).
    """

    document: Document
    vector: FloatArray
    sentences: FloatArray
    tokens: FloatArray
    token_spans: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Focus:
    """How an aspect was read off the seed.

    Attributes:
        sentence_weights: (s,) over the seed's sentences, sums to 1.
        aspect_weights: (a,) over the lens, sums to 1.
    """

    sentence_weights: FloatArray
    aspect_weights: FloatArray


@dataclass(frozen=True, slots=True)
class Scope:
    """Which documents may be ranked.

    Attributes:
        allowed: (n,) bool over the corpus, the seed already left out.
        conditions: the same restriction for LanceDB, as far as it comes from filters.
        pool: ids that a judged pool is restricted to, or None for the corpus.
    """

    allowed: NDArray[np.bool_]
    conditions: tuple[Condition, ...] = ()
    pool: frozenset[str] | None = None

    @property
    def size(self) -> int:
        return int(self.allowed.sum())


@dataclass(frozen=True, slots=True)
class Request:
    """One query, resolved: what a system needs beside the corpus."""

    seed: Seed
    focus: Focus | None
    scope: Scope
    steer: float = 0.0
    symmetric: bool = False
    depth: int = DEPTH


class VectorPart(NamedTuple):
    """One summand of a score: ``weight * cosine(column, vector)``."""

    column: str
    vector: FloatArray
    weight: float


class Corpus(Protocol):
    """The opened corpus as systems see it."""

    @property
    def aspects(self) -> Sequence[str]:
        """Keys of the lens's aspects, in order."""
        ...

    def by_vectors(self, parts: Sequence[VectorPart], request: Request) -> list[ScoredDocument]:
        """Documents by the weighted sum of cosines, best first, at most ``request.depth``."""
        ...

    def by_words(self, text: str, request: Request) -> list[ScoredDocument]:
        """Documents by BM25, best first; documents without a word of ``text`` are absent."""
        ...

    def tokens(self, doc_ids: Sequence[str]) -> list[tuple[str, FloatArray]]:
        """Token vectors (t, p) of each document that is stored."""
        ...


class System(Protocol):
    """A named retrieval pipeline."""

    @property
    def name(self) -> str: ...

    @property
    def reads_aspect(self) -> bool:
        """False: the ranking is the same whatever the aspect."""
        ...

    def rank(self, corpus: Corpus, request: Request) -> list[ScoredDocument]:
        """Rank the documents in scope, best first; ties by doc_id, ascending."""
        ...


def ordered(scored: Sequence[ScoredDocument]) -> list[ScoredDocument]:
    """Best first, ties by doc_id."""
    return sorted(scored, key=lambda s: (-s.score, s.doc_id))
