"""Evidence: which sentences of seed and document made the rank, and which words in them."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import numpy as np

from engine.numeric import FloatArray
from engine.retrieve.base import Focus, Seed
from engine.types import Evidence, Lens, Span

MOST_PAIRS = 3
MOST_MARKS = 6
"""Words marked per passage."""
WEAKEST_MARK = 0.5
"""Cosine below which two words in context are not shown as a match."""
_WORD = re.compile(r"\w+")


def find_evidence(
    seed: Seed, document: Seed, focus: Focus | None, pairs: int = MOST_PAIRS
) -> tuple[Evidence, ...]:
    """The best-aligned sentence pairs under the aspect, strongest first.

    A pair ranks by the cosine of its two sentences in context, times how much the seed's
    sentence counts for the aspect and how much the document's sentence serves it. No
    sentence is used twice.

    Args:
        pairs: how many at most.
    """
    if not len(seed.sentences) or not len(document.sentences):
        return ()
    cosine = seed.sentences @ document.sentences.T
    strength = np.clip(cosine, 0, None) * _weights(seed, document, focus)
    found = []
    for _ in range(min(pairs, *strength.shape)):
        i, j = np.unravel_index(int(strength.argmax()), strength.shape)
        if strength[i, j] <= 0:
            break
        found.append(_pair(seed, document, int(i), int(j), float(cosine[i, j])))
        strength[i, :] = strength[:, j] = 0.0
    return tuple(found)


def _weights(seed: Seed, document: Seed, focus: Focus | None) -> FloatArray:
    """(seed sentences, document sentences), 0 to 1; ones without an aspect."""
    if focus is None:
        return np.ones((len(seed.sentences), len(document.sentences)), dtype=np.float32)
    mine = focus.sentence_weights / focus.sentence_weights.max()
    roles = np.array([s.roles for s in document.document.sentences], dtype=np.float32)
    theirs = roles @ focus.aspect_weights
    # A document without a sentence of the aspect still has a best one: show it, weakly.
    return np.asarray(np.outer(mine, 0.15 + 0.85 * theirs / max(float(theirs.max()), 1e-6)))


def _pair(seed: Seed, document: Seed, i: int, j: int, score: float) -> Evidence:
    mine, theirs = seed.document.sentences[i], document.document.sentences[j]
    seed_marks, doc_marks = match_words(seed, mine.span, document, theirs.span)
    return Evidence(
        seed_span=mine.span,
        doc_span=theirs.span,
        seed_text=mine.text,
        doc_text=theirs.text,
        score=score,
        seed_marks=seed_marks,
        doc_marks=doc_marks,
        seed_role=mine.role,
        role=theirs.role,
    )


def match_words(
    seed: Seed, seed_span: Span, document: Seed, doc_span: Span
) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Words of two passages that are each other's best match by token vector.

    Returns:
        spans in the seed's text and in the document's text, in reading order; stop words
        and single letters are left out.
    """
    mine, theirs = _words(seed, seed_span), _words(document, doc_span)
    if not mine or not theirs:
        return (), ()
    a = np.stack([vector for _, vector in mine])
    b = np.stack([vector for _, vector in theirs])
    cosine = a @ b.T
    forth, back = cosine.argmax(axis=1), cosine.argmax(axis=0)
    mutual = [
        (float(cosine[i, j]), i, int(j))
        for i, j in enumerate(forth)
        if back[j] == i and cosine[i, j] >= WEAKEST_MARK
    ]
    best = sorted(mutual, reverse=True)[:MOST_MARKS]
    return (
        tuple(sorted(mine[i][0] for _, i, _ in best)),
        tuple(sorted(theirs[j][0] for _, _, j in best)),
    )


@functools.lru_cache(maxsize=1)
def _stop_words() -> frozenset[str]:
    # Imported late: scikit-learn takes a second to load.
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


def _words(seed: Seed, span: Span) -> list[tuple[Span, FloatArray]]:
    """Content words of a passage with the mean of their tokens' vectors, unit length."""
    starts = seed.token_spans[:, 0]
    out = []
    for match in _WORD.finditer(seed.document.text, *span):
        word = match.group()
        if len(word) < 2 or word.casefold() in _stop_words():
            continue
        inside = (starts >= match.start()) & (starts < match.end())
        if inside.any():
            vector = seed.tokens[inside].mean(axis=0)
            out.append((match.span(), vector / max(float(np.linalg.norm(vector)), 1e-6)))
    return out


def explain(
    evidence: Sequence[Evidence], seed: Seed, focus: Focus | None, lens: Lens, change: int | None
) -> str | None:
    """One plain sentence: in what respect the document is alike, by which words, how it moved."""
    if not evidence:
        return None
    respect = "overall"
    if focus is not None:
        respect = f"in {lens.aspects[int(focus.aspect_weights.argmax())].name.lower()}"
    best = evidence[0]
    text = f"Alike {respect} (cosine {best.score:.2f} between the two passages)"
    words = [seed.document.text[a:b] for a, b in best.seed_marks]
    if words:
        text += ", matched on " + ", ".join(f"“{w}”" for w in dict.fromkeys(words))
    if change:
        direction = "up" if change > 0 else "down"
        text += f"; moved {direction} {abs(change)} because of the aspect"
    return text + "."
