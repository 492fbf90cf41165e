"""Lexical retrieval: the seed's words against the full-text index."""

from __future__ import annotations

import re
from collections import Counter

from engine.corpora.contracts import Corpus, RankedDocuments, Request

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
    """The words of the sentences that carry at least half the weight of the strongest.

    Those of the whole seed without a focus.
    """
    document, focus = request.seed.document, request.focus
    if focus is None:
        return query_words(document.title, document.text)
    enough = 0.5 * float(focus.sentence_weights.max())
    pairs = zip(document.sentences, focus.sentence_weights, strict=True)
    return query_words("", " ".join(s.text for s, weight in pairs if weight >= enough))


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
