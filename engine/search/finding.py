"""Finding a document to start from: by its title, its text, or what it is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import numpy as np

from engine.queries import check_text
from engine.rerank.candidates import merged
from engine.search.searcher import Searcher
from engine.types.documents import Document, Span
from engine.types.searches import FoundDocument, Query

MOST_TITLES = 2 / 3
"""Share of what is found that titles may take while there is more: common words are in many."""
MOST_COMMON = 0.35  # Rarity from which a word is marked, and counts in the choice of a snippet
_WORD = re.compile(r"\w+")
_SHORTEST_STEM, _LONGEST_ENDING = 4, 3


def find_documents(
    searcher: Searcher, words: str, limit: int, *, by_meaning: bool
) -> tuple[FoundDocument, ...]:
    """At most ``limit`` documents for typed words, each once: titles with all words (or the
    document of that id), then alternately BM25 of the texts and, ``by_meaning``, cosine of the
    vectors."""
    words = " ".join(words.split())
    if not words:
        return ()
    check_text(words)
    corpus = searcher.corpus
    titles = corpus.words.find_titles(words, limit)
    texts = corpus.doc_ids.at(corpus.with_words(words, limit, every=False))
    nearest = _nearest(searcher, words, limit) if by_meaning else {}
    in_turn = merged([texts, [*nearest]], 2 * limit)
    rest = [doc_id for doc_id in in_turn if doc_id not in titles]
    room = max(int(limit * MOST_TITLES), limit - len(rest))
    found = [*titles[:room], *rest, *titles[room:]][:limit]
    by_title = set(titles)
    sentences = {doc_id: at for doc_id, at in nearest.items() if doc_id not in texts}
    asked = list(dict.fromkeys(_WORD.findall(words.casefold())))
    telling = [word for word in asked if corpus.words.rarity(word) >= MOST_COMMON] or asked
    return tuple(
        _in_title(document, asked)
        if document.doc_id in by_title
        else _in_text(document, telling, sentences.get(document.doc_id))
        for document in corpus.documents(found)
    )


def _nearest(searcher: Searcher, words: str, limit: int) -> dict[str, int]:
    """The nearest documents, with the number of each one's nearest sentence."""
    seed = searcher.encode_text(words)
    query = Query(searcher.corpus.name, text=words, system="dense")
    ranking = searcher.rank(query, seed)[:limit]
    vectors = searcher.corpus.sentences(ranking.rows)
    return {
        scored.doc_id: int(np.argmax(rows @ seed.vector)) if len(rows) else 0
        for scored, rows in zip(ranking, vectors, strict=True)
    }


def _in_title(document: Document, asked: Sequence[str]) -> FoundDocument:
    # Titles are found by parts of words, the others by whole ones.
    parts = "|".join(map(re.escape, sorted(asked, key=len, reverse=True)))
    parts = parts.replace("ss", "(?:ss|ß)")  # as both are folded
    found = re.finditer(parts, document.title, re.IGNORECASE) if parts else ()
    return FoundDocument(document, "title", title_marks=tuple(match.span() for match in found))


def _in_text(document: Document, asked: Sequence[str], nearest: int | None) -> FoundDocument:
    """Found by meaning where its ``nearest`` sentence is known, else by words: the sentence with
    most of them."""
    where: Literal["title", "text", "meaning"] = "text" if nearest is None else "meaning"
    texts = [sentence.text for sentence in document.sentences]
    marks = [matching_words(text, asked) for text in texts]
    title_marks = matching_words(document.title, asked)
    if nearest is None:
        pairs = zip(texts, marks, strict=True)
        kinds = [len({text[a:b].casefold() for a, b in spans}) for text, spans in pairs]
        nearest = int(np.argmax(kinds)) if any(kinds) else None
        if nearest is None and title_marks:
            where = "title"
    if not texts or nearest is None:
        return FoundDocument(document, where, title_marks=title_marks)
    return FoundDocument(document, where, texts[nearest], title_marks, marks[nearest])


def matching_words(text: str, asked: Sequence[str]) -> tuple[Span, ...]:
    """Spans of the words of ``text`` that are among those asked for, or differ in the ending.

    >>> matching_words("We trained it; training is slow.", ["train"])
    ((3, 10), (15, 23))
    """
    stems = {stem for word in asked for stem in _stems(word)}
    return tuple(
        match.span()
        for match in _WORD.finditer(text)
        if not stems.isdisjoint(_stems(match.group().casefold()))
    )


def _stems(word: str) -> list[str]:
    """A word, and without its last one to three letters."""
    shortest = max(_SHORTEST_STEM, len(word) - _LONGEST_ENDING)
    return [word, *(word[:length] for length in range(shortest, len(word)))]
