"""Evidence: which sentences of seed and document made the rank, and which words in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from engine.corpora.contracts import Focus, Seed
from engine.numeric import FloatArray, unit
from engine.types.documents import Span
from engine.types.facts import Fact, FactMatch
from engine.types.lenses import Lens
from engine.types.searches import Evidence

MOST_PAIRS = 3
MOST_MARKS = 6
"""Words marked per passage."""
WEAKEST_MARK = 0.5
"""Cosine below which two words in context are not shown as a match."""
MOST_COMMON = 0.35
"""Words rarer than this may be marked; it leaves out words that every tenth text has."""
Rarity = Callable[[str], float]
"""How rare a word is in the corpus: 0 in every document, 1 in hardly any."""
_WORD = re.compile(r"\w+")
Words = dict[Span, list["Word"]]
"""Words by the passage they stand in."""


class Word(NamedTuple):
    """A word of a passage: where it stands, how rare it is, its vector (p,)."""

    span: Span
    rarity: float
    vector: FloatArray


def equally_rare(_: str) -> float:
    """For callers who know nothing of the corpus."""
    return 1.0


def find_evidence(
    seed: Seed,
    document: Seed,
    focus: Focus | None,
    rarity: Rarity = equally_rare,
    pairs: int = MOST_PAIRS,
    known: Words | None = None,
) -> tuple[Evidence, ...]:
    """The best-aligned sentence pairs under the aspect, strongest first.

    A pair ranks by the cosine of its two sentences in context, times how much the seed's
    sentence counts for the aspect and how much the document's sentence serves it. No
    sentence is used twice.

    Args:
        rarity: how rare a word is in the corpus; common words are not marked.
        pairs: how many at most.
        known: the seed's words as found before, filled on the way; for many documents.
    """
    known = {} if known is None else known
    if not len(seed.sentences) or not len(document.sentences):
        return ()
    cosine = seed.sentences @ document.sentences.T
    strength = np.clip(cosine, 0, None) * _weights(seed, document, focus)
    found = []
    for _ in range(min(pairs, *strength.shape)):
        i, j = np.unravel_index(int(strength.argmax()), strength.shape)
        if strength[i, j] <= 0:
            break
        found.append(_pair(seed, document, (int(i), int(j)), float(cosine[i, j]), rarity, known))
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


def _pair(
    seed: Seed,
    document: Seed,
    at: tuple[int, int],
    score: float,
    rarity: Rarity,
    known: Words,
) -> Evidence:
    mine, theirs = seed.document.sentences[at[0]], document.document.sentences[at[1]]
    if mine.span not in known:
        known[mine.span] = find_words(seed, mine.span, rarity)
    seed_marks, doc_marks = match_words(known[mine.span], find_words(document, theirs.span, rarity))
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
    mine: Sequence[Word], theirs: Sequence[Word]
) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Words of two passages that are each other's best match by token vector.

    Returns:
        their spans in either text, in reading order; of more matches than
        :data:`MOST_MARKS` the closest pairs of the rarest words stay.
    """
    if not mine or not theirs:
        return (), ()
    a = np.stack([word.vector for word in mine])
    b = np.stack([word.vector for word in theirs])
    cosine = a @ b.T
    forth, back = cosine.argmax(axis=1), cosine.argmax(axis=0)
    mutual = [
        (float(cosine[i, j]) * (mine[i].rarity + theirs[j].rarity), i, int(j))
        for i, j in enumerate(forth)
        if back[j] == i and cosine[i, j] >= WEAKEST_MARK
    ]
    best = sorted(mutual, reverse=True)[:MOST_MARKS]
    return (
        tuple(sorted(mine[i].span for _, i, _ in best)),
        tuple(sorted(theirs[j].span for _, _, j in best)),
    )


def find_words(seed: Seed, span: Span, rarity: Rarity) -> list[Word]:
    """Telling words of a passage; common ones and single letters are left out.

    A word's vector is the mean of its tokens', scaled to unit length.
    """
    found = [
        (match.span(), telling)
        for match in _WORD.finditer(seed.document.text, *span)
        if len(match.group()) > 1 and (telling := rarity(match.group())) >= MOST_COMMON
    ]
    if not found:
        return []
    # Tokens of the title and the model's marks stand nowhere in the text; the rest is in order.
    in_text = np.flatnonzero(seed.token_spans[:, 0] >= 0)
    starts = seed.token_spans[in_text, 0]
    bounds = np.searchsorted(starts, [word for word, _ in found])
    present = bounds[:, 1] > bounds[:, 0]
    if not present.any():
        return []
    # Sums from each word's first token to its last: every second one, the others lie between.
    edges = bounds[present].ravel()
    tokens = seed.tokens[in_text[edges[0] : edges[-1]]]
    sums = np.add.reduceat(tokens, edges[:-1] - edges[0])[::2]
    words = [pair for pair, is_there in zip(found, present, strict=True) if is_there]
    return [Word(*pair, vector) for pair, vector in zip(words, unit(sums), strict=True)]


def explain(
    evidence: Sequence[Evidence],
    seed: Seed,
    focus: Focus | None,
    lens: Lens,
    change: int | None,
    facts: Sequence[FactMatch] = (),
) -> str | None:
    """Plain words: in what respect the document is alike, by which words, how it moved.

    What answers a fact of the query comes first.
    """
    answers = " ".join(f"It says {in_words(match.found)}." for match in facts)
    similar = _similar(evidence, seed, focus, lens, change) if evidence else ""
    return f"{answers} {similar}".strip() or None


def in_words(fact: Fact) -> str:
    """A fact and how it was got: ``27 February 2024, from 'two days ago' in a message ...``."""
    return f"{fact.text}, from {fact.derivation}" if fact.derivation else fact.text


def _similar(
    evidence: Sequence[Evidence], seed: Seed, focus: Focus | None, lens: Lens, change: int | None
) -> str:
    respect = "overall"
    if focus is not None:
        respect = f"in {lens.aspects[int(focus.aspect_weights.argmax())].name.lower()}"
    best = evidence[0]
    text = f"Similar {respect} (cosine {best.score:.2f} between the two passages)"
    words = [seed.document.text[a:b] for a, b in best.seed_marks]
    if words:
        text += ", matched on " + ", ".join(f"“{w}”" for w in dict.fromkeys(words))
    if change:
        direction = "up" if change > 0 else "down"
        text += f"; moved {direction} {abs(change)} because of the aspect"
    return text + "."
