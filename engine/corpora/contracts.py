"""What every retrieval system takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.numeric import FloatArray
from engine.types.documents import Document, Span
from engine.types.facts import Fact
from engine.types.scenarios import ScenarioMatch
from storage.records import Condition

DEPTH = 1000
"""Documents that a ranking of a large corpus holds."""


TokenArray = NDArray[np.float16] | FloatArray
"""Token vectors (t, p) as stored, or as encoded now."""


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
        aspect_weights: (a,) over the lens, sums to 1: where documents should be alike.
        avoided: (a,) 0 to 1: where likeness should count against them, however that was
            said; zeros when nothing was.
        strength: 0 (the wording asks for no aspect) to 1; scales steer.
    """

    sentence_weights: FloatArray
    aspect_weights: FloatArray
    avoided: FloatArray
    strength: float = 1.0


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


class ScenarioScores(Protocol):
    """The scenarios of a corpus as a system sees them."""

    @property
    def weight(self) -> float:
        """What a document counts for against its best scenario, 0 to 1."""
        ...

    def everywhere(self, vector: FloatArray) -> FloatArray | None:
        """:meth:`best` (n,) over the corpus; None when the vectors are not in memory."""
        ...

    def best(self, doc_ids: Sequence[str], vector: FloatArray) -> FloatArray:
        """Cosine (n,) of each document's best scenario with ``vector``; NaN without any."""
        ...

    def nearest(self, vector: FloatArray, limit: int, allowed: NDArray[np.bool_]) -> list[str]:
        """Documents by their best scenario, at most ``limit``; ``allowed`` is over the corpus."""
        ...

    def matches(self, doc_ids: Sequence[str], vector: FloatArray) -> dict[str, ScenarioMatch]:
        """The best scenario of each document that has any."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """One query, resolved: what a system needs beside the corpus.

    Attributes:
        instructed: gives the seed's vector (d,) when it is read together with the wording in
            force, the aspect's built-in one included; None when there is no wording.
        facts: what the seed (of the sentences in focus) and the wording state or imply;
            () for a search that does not go by facts.
        stated: where a pasted seed states facts; () for a stored one, whose facts need not be
            what its topic is asked without.
        scenarios: gives the corpus's scenarios; BadInputError where it has none.
    """

    seed: Seed
    focus: Focus | None
    scope: Scope
    steer: float = 0.0
    symmetric: bool = False
    depth: int = DEPTH
    instructed: Callable[[], FloatArray] | None = None
    facts: tuple[Fact, ...] = ()
    stated: tuple[Span, ...] = ()
    scenarios: Callable[[], ScenarioScores] | None = None


class VectorPart(NamedTuple):
    """One summand of a score: ``weight * cosine(column, vector)``."""

    column: str
    vector: FloatArray
    weight: float


class TokenRows(NamedTuple):
    """The tokens of one document.

    Attributes:
        vectors: (t, p) float16, unit rows.
        roles: (t, a) float32, role probabilities of the sentence each stands in; zeros for
            the title.
    """

    doc_id: str
    vectors: TokenArray
    roles: FloatArray


class Corpus(Protocol):
    """The opened corpus as systems see it."""

    @property
    def aspects(self) -> Sequence[str]:
        """Keys of the lens's aspects, in order."""
        ...

    def by_vectors(self, parts: Sequence[VectorPart], request: Request) -> list[ScoredDocument]:
        """Documents by the weighted sum of cosines, best first, at most ``request.depth``."""
        ...

    def all_cosines(self, column: str, vector: FloatArray) -> FloatArray | None:
        """Cosines (n,) of a column with every document; None when vectors are not in memory."""
        ...

    def by_scores(self, scores: FloatArray, request: Request) -> list[ScoredDocument]:
        """Documents in scope by ``scores`` (n,) over the corpus, at most ``request.depth``."""
        ...

    def brought_up(self, parts: Sequence[VectorPart], request: Request, each: int) -> list[str]:
        """Ids of the ``each`` nearest documents by every part alone, each document once."""
        ...

    def by_words(self, text: str, request: Request) -> list[ScoredDocument]:
        """Documents by BM25, best first; documents without a word of ``text`` are absent."""
        ...

    def word_scores(self, text: str, doc_ids: Sequence[str], request: Request) -> FloatArray:
        """BM25 (n,) of these documents, all in scope; 0 for one without a word of ``text``."""
        ...

    def by_facts(self, asked: Sequence[Fact], request: Request) -> list[ScoredDocument]:
        """Documents by how well their facts answer those asked for, 0 to 1, best first.

        Documents that answer none are absent; see :class:`engine.facts.fact_index.FactIndex`.
        """
        ...

    def cosines(
        self, doc_ids: Sequence[str], parts: Sequence[tuple[str, FloatArray]]
    ) -> FloatArray:
        """Cosines (n, len(parts)) of stored documents' columns with vectors."""
        ...

    def tokens(self, doc_ids: Sequence[str]) -> list[TokenRows]:
        """Token vectors of each document that is stored, in the order asked for."""
        ...

    def remembered(self, key: str) -> dict[str, float]:
        """Values by doc_id that were computed under ``key`` before, to be added to.

        The latest keys are kept while the corpus is open.
        """
        ...

    def sentences(self, doc_ids: Sequence[str]) -> list[tuple[str, FloatArray]]:
        """Sentence vectors (s, d) of each document that is stored, in the order asked for."""
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


def scored_documents(doc_ids: Iterable[str], scores: Iterable[float]) -> list[ScoredDocument]:
    """Pairs of the two, made quickly: rankings hold thousands."""
    new = tuple.__new__
    return [new(ScoredDocument, pair) for pair in zip(doc_ids, scores, strict=True)]


def ordered(scored: Sequence[ScoredDocument]) -> list[ScoredDocument]:
    """Best first, ties by doc_id."""
    return sorted(scored, key=lambda s: (-s.score, s.doc_id))
