"""Retrieval by facts: dates, amounts and places that documents state or imply."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.corpora.contracts import Focus, RankedDocuments, Request, Rows, Seed, VectorPart
from engine.numeric import distinct, standardised
from engine.search.systems.baselines import Corpus, System, query_words
from engine.types.documents import Fact

NARROWS = 8.0  # Standard deviations of the topic's scores that a full answer to the facts is worth
LEXICAL = 0.5  # Share of BM25 in the topic; the rest is dense
COUNTS = 0.25
"""Weight of a sentence in focus, as a share of the highest, from which its facts count."""


class FactsSystem:
    """Facts narrow, the topic decides among equals.

    Score: the topic's (BM25 of the words outside the facts plus the cosine of the document vectors,
    each standardised over the documents in scope) plus :data:`NARROWS` times the match of facts,
    after ImpliRet (Taghavi et al., 2025). Without facts, topic alone.
    """

    name = "facts"
    reads_aspect = True

    def rank(self, corpus: Corpus, request: Request) -> RankedDocuments:
        nearest = corpus.by_vectors([VectorPart("vector", request.seed.vector, 1.0)], request)
        words = topic_words(request)
        lexical = corpus.by_words(words, request)
        answering, answers = _answers(corpus, request)
        rows = distinct([answering, nearest.rows, lexical.rows])
        if not len(rows):
            return nearest
        dense = corpus.cosines(rows, [("vector", request.seed.vector)])[:, 0]
        bm25 = corpus.word_scores(words, rows)
        topic = LEXICAL * standardised(bm25) + (1 - LEXICAL) * standardised(dense)
        return corpus.ranked(rows, topic + NARROWS * answers[rows], request.depth)


class WithFacts:
    """Another system's ranking, its documents raised by how well their facts answer."""

    reads_aspect = True

    def __init__(self, system: System) -> None:
        self._system = system
        self.name = f"{system.name}+facts"

    def rank(self, corpus: Corpus, request: Request) -> RankedDocuments:
        ranking = self._system.rank(corpus, request)
        answering, answers = _answers(corpus, request)
        if not len(answering):
            return ranking
        rows = distinct([ranking.rows, answering])
        # What the system did not rank stands with the last that it did.
        floor = ranking.scores.min() if len(ranking) else 0.0
        scores = np.full(len(rows), floor, dtype=np.float32)
        scores[: len(ranking)] = ranking.scores
        raised = standardised(scores) + NARROWS * answers[rows]
        return corpus.ranked(rows, raised, request.depth)


def _answers(corpus: Corpus, request: Request) -> tuple[Rows, NDArray[np.float64]]:
    """The documents that answer the query's facts, best first; and all documents' match."""
    found = corpus.by_facts(request.facts, request)
    answers = np.zeros(len(request.scope.allowed))
    answers[found.rows] = found.scores
    return found.rows, answers


def in_focus(facts: Sequence[Fact], seed: Seed, focus: Focus) -> tuple[Fact, ...]:
    """The facts of a seed that stand in the sentences that its aspect is read from."""
    weights = focus.sentence_weights
    spans = [
        sentence.span
        for sentence, weight in zip(seed.document.sentences, weights, strict=True)
        if weight >= COUNTS * weights.max()
    ]
    return tuple(f for f in facts if any(a <= f.span[0] < b for a, b in spans))


def topic_words(request: Request) -> str:
    """The seed's words without those of a pasted text that state a fact."""
    document = request.seed.document
    text = list(document.text)
    for start, end in request.stated:
        text[start:end] = " " * (end - start)
    return query_words(document.title, "".join(text))
