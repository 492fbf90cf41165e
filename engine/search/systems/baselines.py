"""The standard systems: BM25, dense retrieval, their fusion, and an instructed encoder."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from engine.corpora.contracts import RankedDocuments, Request, VectorPart

if TYPE_CHECKING:
    from engine.corpora.opened import OpenCorpus

Corpus: TypeAlias = "OpenCorpus"
"""The opened corpus, whose module loads LanceDB. Its documents are named by :data:`Rows`."""
MOST_WORDS = 512
"""Distinct words of the seed that make the query; the most frequent ones of a longer seed."""
_MARKS = (
    r"\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0eff\u1000-\u109f\u1780-\u17d3"
)
_WORD = re.compile(rf"[\w{_MARKS}]+")
"""Letters with their marks, which are no word characters to Python (vowels of Devanagari ...)."""


def query_words(title: str, text: str) -> str:
    """The seed as a bag of words. Repeats are dropped only when the seed is very long."""
    words = _WORD.findall(f"{title} {text}".lower())
    counts = Counter(words)
    if len(counts) <= MOST_WORDS:
        return " ".join(words)
    return " ".join(word for word, _ in counts.most_common(MOST_WORDS))


def words_in_focus(request: Request) -> str:
    """The words of sentences with at least half the greatest weight; of the whole seed without a
    focus."""
    document, focus = request.seed.document, request.focus
    if focus is None:
        return query_words(document.title, document.text)
    enough = 0.5 * float(focus.sentence_weights.max())
    pairs = zip(document.sentences, focus.sentence_weights, strict=True)
    return query_words("", " ".join(s.text for s, weight in pairs if weight >= enough))


class System(Protocol):
    """A named retrieval pipeline."""

    @property
    def name(self) -> str: ...

    @property
    def reads_aspect(self) -> bool:
        """False: the ranking is the same whatever the aspect."""
        ...

    def rank(self, corpus: Corpus, request: Request) -> RankedDocuments:
        """Rank the documents in scope, best first; ties by doc_id, ascending."""
        ...


Rank = Callable[[Corpus, Request], RankedDocuments]  # As a system ranks


class Bm25System:
    """BM25 as LanceDB computes it (k1 1.2, b 0.75, English stems, stop words removed)."""

    name = "bm25"
    reads_aspect = False

    def rank(self, corpus: Corpus, request: Request) -> RankedDocuments:
        document = request.seed.document
        return corpus.by_words(query_words(document.title, document.text), request)


class Bm25AspectSystem:
    """BM25 of the seed's sentences in focus: the plainest system that follows an aspect."""

    name = "bm25-aspect"
    reads_aspect = True

    def rank(self, corpus: Corpus, request: Request) -> RankedDocuments:
        return corpus.by_words(words_in_focus(request), request)


class DenseSystem:
    """Cosine of the seed's and the document's vectors."""

    name = "dense"
    reads_aspect = False

    def rank(self, corpus: Corpus, request: Request) -> RankedDocuments:
        return corpus.by_vectors([VectorPart("vector", request.seed.vector, 1.0)], request)


RANK_CONSTANT = 60  # The constant of the paper; damps the weight of the very first ranks


class HybridSystem:
    """Reciprocal rank fusion of other systems: the sum of 1 / (60 + rank)."""

    name = "hybrid"
    reads_aspect = False

    def __init__(self, *systems: System) -> None:
        self._systems = systems

    def rank(self, corpus: Corpus, request: Request) -> RankedDocuments:
        fused = np.zeros(len(request.scope.allowed))
        for system in self._systems:
            rows = system.rank(corpus, request).rows
            fused[rows] += 1.0 / (RANK_CONSTANT + np.arange(1, len(rows) + 1))
        rows = np.flatnonzero(fused)
        return corpus.ranked(rows, fused[rows], request.most)


class InstructedSystem:
    """Cosine of the documents' vectors with that of the seed under the instruction.

    The corpus's model encodes wording and seed as one query, with its query prompt (Asai et al.,
    TART, 2023; Muennighoff et al., GritLM, 2024) or the wording before the seed's text, cut at the
    model's window. Dense retrieval without an instruction. Steer has no effect.
    """

    name = "instructed"
    reads_aspect = True

    def rank(self, corpus: Corpus, request: Request) -> RankedDocuments:
        read = request.instructed
        vector = request.seed.vector if read is None else read()
        return corpus.by_vectors([VectorPart("vector", vector, 1.0)], request)
