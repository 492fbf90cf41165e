"""What every retrieval system takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from engine.numeric import FloatArray, unit
from engine.types.documents import Document, Fact, Span

DEPTH = 1000  # Documents that a ranking of a large corpus holds
LARGE = 20_000
"""Documents above which vectors that do not fit in memory are indexed (up to there, comparing all
takes 20 ms), and only the rarest words of a long text are searched for."""
TokenArray = NDArray[np.int8] | NDArray[np.float16] | FloatArray
"""Token vectors (t, p) as stored, or as encoded now."""
TokenSpans = NDArray[np.int32]
"""Start and end of each token (t, 2) in a text; negative for title and marks of the model."""
Rows = NDArray[np.intp]
"""Places of documents in the corpus, from 0: what a document is called while it is ranked."""


class ScoredDocument(NamedTuple):
    """One document of a ranking."""

    doc_id: str
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class RankedDocuments(Sequence[ScoredDocument]):
    """A ranking, best first. Ids are looked up for what is read of it only.

    >>> ranking = RankedDocuments(["a", "b", "c"], np.array([2, 0]), np.array([0.5, 0.25]))
    >>> ranking[0], ranking.doc_ids, len(ranking[:1])
    (ScoredDocument(doc_id='c', score=0.5), ['c', 'a'], 1)
    """

    corpus_ids: Sequence[str]  # the ids of all documents of the corpus, in its order
    rows: Rows  # (r,) places of the ranked documents in `corpus_ids`, each once
    scores: NDArray[np.floating]  # (r,) higher is better

    @property
    def doc_ids(self) -> list[str]:
        """The ids, best first."""
        # Texts of a corpus are looked up together; their class would load LanceDB here.
        at: Callable[[Rows], list[str]] | None = getattr(self.corpus_ids, "at", None)
        return at(self.rows) if at else [self.corpus_ids[row] for row in self.rows.tolist()]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ScoredDocument]:
        return map(ScoredDocument, self.doc_ids, self.scores.tolist())

    @overload
    def __getitem__(self, at: int) -> ScoredDocument: ...
    @overload
    def __getitem__(self, at: slice) -> RankedDocuments: ...
    def __getitem__(self, at: int | slice) -> ScoredDocument | RankedDocuments:
        if isinstance(at, slice):
            return RankedDocuments(self.corpus_ids, self.rows[at], self.scores[at])
        return ScoredDocument(self.corpus_ids[self.rows[at]], float(self.scores[at]))


@dataclass(frozen=True, slots=True)
class Seed:
    """The document (stored, or pasted and encoded now) that a search starts from."""

    document: Document
    vector: FloatArray  # (d,). sentences: (s, d). tokens: (t, p).
    sentences: FloatArray
    tokens: FloatArray
    token_starts: NDArray[np.int32]  # (t,) in the text, -1 for tokens of the title and marks
    idf: FloatArray  # (t,) what each token weighs, see `TokenRows`

    def roles(self, aspects: int) -> FloatArray:
        """Role probabilities (s, aspects) of its sentences."""
        return role_matrix(self.document, aspects)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The standard by which a seed's evidence is measured in its corpus."""

    centroid: FloatArray  # (d,) mean of the vectors of the documents nearest to the seed
    sentences: FloatArray  # (s, d) of documents that have little to do with the seed
    roles: FloatArray  # (s, a) of these sentences
    starts: NDArray[np.intp]  # (n,) where each of these documents begins in `sentences`
    chance: float  # mean cosine of these documents' vectors with the seed's


@dataclass(frozen=True, slots=True)
class Focus:
    """How an aspect was read off the seed."""

    sentence_weights: FloatArray  # (s,) over the seed's sentences, sums to 1
    aspect_weights: FloatArray  # (a,) over the lens, sums to 1: where documents should be alike
    avoided: FloatArray  # (a,) 0 to 1: where likeness should count against them
    strength: float = 1.0  # 0 (the wording asks for no aspect) to 1; scales the aspect weight


@dataclass(frozen=True, slots=True)
class Scope:
    """Which documents may be ranked."""

    allowed: NDArray[np.bool_]  # (n,) bool over the corpus, the seed already left out
    # ids that a judged pool is restricted to, or None for the corpus
    pool: frozenset[str] | None = None

    @property
    def size(self) -> int:
        return int(self.allowed.sum())

    def among(self, rows: Rows) -> Scope:
        """Those of these documents that may be ranked."""
        allowed = np.zeros_like(self.allowed)
        allowed[rows] = self.allowed[rows]
        return replace(self, allowed=allowed)


@dataclass(frozen=True, slots=True)
class Request:
    """One query, resolved: what a system needs beside the corpus."""

    seed: Seed
    focus: Focus | None
    scope: Scope
    steer: float = 0.0
    symmetric: bool = False
    depth: int = DEPTH
    # gives the seed's vector (d,) read together with the wording in force, which may be the
    # aspect's built-in one; None without a wording
    instructed: Callable[[], FloatArray] | None = None
    # what the sentences in focus and the wording state or imply; () for searches without facts
    facts: tuple[Fact, ...] = ()
    stated: tuple[Span, ...] = ()  # where a pasted seed states facts; () for a stored one
    # gives the corpus's `ScenarioIndex`; BadInputError where it has no scenarios
    scenarios: Callable[[], Any] | None = None
    # documents that have what a wording names, to be ranked first; None where it names nothing
    preferred: Rows | None = None

    @property
    def most(self) -> int:
        """Documents that a ranking may hold: the preferred ones count besides."""
        return self.depth + (0 if self.preferred is None else len(self.preferred))

    def preferring(self, rows: Rows) -> Rows:
        """These documents in their order, the preferred ones first."""
        if self.preferred is None:
            return rows
        ahead = np.isin(rows, self.preferred)
        return np.concatenate([rows[ahead], rows[~ahead]])


class VectorPart(NamedTuple):
    """One summand of a score: ``weight * cosine(column, vector)``."""

    column: str
    vector: FloatArray
    weight: float


class TokenRows(NamedTuple):
    """The tokens of one document."""

    vectors: TokenArray  # (t, p) as they are stored, see `widened`
    starts: NDArray[np.int32]  # (t,) int32, as in `Seed`
    # (t,) at least 0: how rare each token is in the corpus; 0 for the model's own marks, the mean
    # for the title
    idf: FloatArray
    roles: FloatArray  # (t, a) role probabilities of their sentences; zeros for titles


# -- the space in which aspects are compared -------------------------------------------------------

CONTEXT = 0.2
"""Share of the document's direction that is subtracted from an aspect's, as sentence vectors of one
pass lean towards the document's topic: on CSFCube's open half at steer 0.5, nDCG@20 is 0.665 with
0, 0.673 with 0.2 and 0.661 with 0.4, p-MRR 0.166, 0.168 and 0.157.
"""


def without_context(aspects: FloatArray, documents: FloatArray) -> FloatArray:
    """``unit(aspect - 0.2 document)`` of unit rows (n, d); zero rows of aspects stay zero."""
    rest = unit(aspects - CONTEXT * documents)
    rest[np.linalg.norm(aspects, axis=1) < 1e-6] = 0.0
    return np.asarray(rest, dtype=np.float32)


def role_matrix(document: Document, aspects: int) -> FloatArray:
    """(sentences, aspects): role probabilities of a document's sentences."""
    rows = [sentence.roles for sentence in document.sentences]
    return np.array(rows, dtype=np.float32).reshape(len(rows), aspects)


def passage_direction(
    weights: FloatArray, sentences: FloatArray, document: FloatArray
) -> FloatArray:
    """(d,): what sentences (s, d), weighed (s,), say beside their document (d,)."""
    mean = unit(weights @ sentences)
    return without_context(mean[None], document[None]).reshape(-1)


def token_roles(
    token_starts: NDArray[np.int32], sentence_starts: NDArray[np.int32], roles: FloatArray
) -> FloatArray:
    """Role probabilities (t, a) of tokens: those of their sentences; zeros outside of these.

    `token_starts` (t,): -1 for tokens of the title. `sentence_starts` (s,): ascending. `roles`:
    (s, a).
    """
    out = np.zeros((len(token_starts), roles.shape[1]), dtype=np.float32)
    sentence = np.searchsorted(sentence_starts, token_starts, side="right") - 1
    inside = (token_starts >= 0) & (sentence >= 0)
    out[inside] = roles[sentence[inside]]
    return out
