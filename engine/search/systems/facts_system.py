"""Retrieval by facts: dates, amounts and places that documents state or imply."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.corpora.contracts import (
    Corpus,
    Focus,
    Request,
    ScoredDocument,
    Seed,
    System,
    VectorPart,
    ordered,
    scored_documents,
)
from engine.numeric import standardised
from engine.search.systems.bm25 import query_words
from engine.types.facts import Fact

NARROWS = 8.0
"""Standard deviations of the topic's scores that a full answer to the facts is worth."""
LEXICAL = 0.5
"""Share of BM25 in the topic; the rest is dense."""
COUNTS = 0.25
"""Weight of a sentence in focus, as a share of the highest, from which its facts count."""


class FactsSystem:
    """Facts narrow, the topic decides among equals.

    The score is that of the topic (BM25 of the words outside the facts, and the cosine of the
    document vectors, each standardised over the documents in scope) plus :data:`NARROWS` times
    how well a document's facts answer those of the query, after ImpliRet (Taghavi et al.,
    2025), whose queries ask for what documents only imply. A query without facts is ranked by
    topic alone.
    """

    name = "facts"
    reads_aspect = True

    def rank(self, corpus: Corpus, request: Request) -> list[ScoredDocument]:
        nearest = corpus.by_vectors([VectorPart("vector", request.seed.vector, 1.0)], request)
        words = topic_words(request)
        lexical = corpus.by_words(words, request)
        answers = {s.doc_id: s.score for s in corpus.by_facts(request.facts, request)}
        doc_ids = list(dict.fromkeys([*answers, *(s.doc_id for s in (*nearest, *lexical))]))
        if not doc_ids:
            return []
        dense = corpus.cosines(doc_ids, [("vector", request.seed.vector)])[:, 0]
        bm25 = corpus.word_scores(words, doc_ids, request)
        topic = LEXICAL * standardised(bm25) + (1 - LEXICAL) * standardised(dense)
        scores = topic + NARROWS * np.array([answers.get(i, 0.0) for i in doc_ids])
        return ordered(scored_documents(doc_ids, scores.tolist()))[: request.depth]


class WithFacts:
    """Another system's ranking, its documents raised by how well their facts answer."""

    reads_aspect = True

    def __init__(self, system: System) -> None:
        self._system = system
        self.name = f"{system.name}+facts"

    def rank(self, corpus: Corpus, request: Request) -> list[ScoredDocument]:
        ranking = self._system.rank(corpus, request)
        answers = {s.doc_id: s.score for s in corpus.by_facts(request.facts, request)}
        if not answers:
            return ranking
        known = {s.doc_id for s in ranking}
        floor = min((s.score for s in ranking), default=0.0)
        ranking += [ScoredDocument(doc_id, floor) for doc_id in answers if doc_id not in known]
        scores = standardised(np.array([s.score for s in ranking], dtype=np.float32))
        raised = [
            ScoredDocument(s.doc_id, float(score) + NARROWS * answers.get(s.doc_id, 0.0))
            for s, score in zip(ranking, scores, strict=True)
        ]
        return ordered(raised)[: request.depth]


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
