"""Evidence: which sentences of seed and document made the rank, and which words in them."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from engine.corpora.contracts import Focus, Seed, Surroundings
from engine.numeric import FloatArray, unit
from engine.sentences import stop_words
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
CHANCE = 0.9
"""Share of documents unlike the seed whose best pair is weaker than any pair that is shown.

Of the candidates of CSFCube's open half, judged for one aspect, 27 % of those without any
likeness have no pair that is shown, and 3 %, 1 % and 8 % (4 of 51) of the grades 1 to 3.
"""
LEAST_ASKED = 0.1
"""Share of the most asked-for sentence's weight below which a sentence makes no best pair."""
MOST_ASKED = 500
"""Sentences of the seed that chance is measured by, those that count most: each is compared with
up to 32,000 of other documents."""
PAIRS = 16_000_000
"""Of sentences, compared at once: 64 MB."""
FEWEST = 20
"""Documents below which nothing can be said of chance, and every pair is shown."""
MOST_SENTENCES = 4_000
"""Sentences of a text in which evidence is looked for: the first ones, which lists show; of a seed
those that count most. All pairs of two such texts take 64 MB; of two books, 100 GB."""
Rarity = Callable[[str], float]
"""How rare a word is in the corpus: 0 in every document, 1 in hardly any."""
_WORD = re.compile(r"\d+(?:[.,]\d+)+|\w\w+")
"""A number is one word: of 5,300, not 300 alone is marked."""
_ADVERB = re.compile(
    r"(?!anomaly|apply|assembly|bully|butterfly|comply|family|homily|imply|italy|jelly|july"
    r"|monopoly|multiply|oligopoly|panoply|rally|reply|supply|tally)\w{3,}ly"
)
"""English adverbs as they are spelt, without what only looks like one."""


class Words(NamedTuple):
    """Telling words of a passage, in reading order.

    Attributes:
        spans: where they stand.
        rarity: how rare each is, 0 to 1.
        vectors: (words, p) unit rows.
    """

    spans: Sequence[Span]
    rarity: Sequence[float]
    vectors: FloatArray


class EvidenceFinder:
    """Finds the passages in which documents are alike to one seed.

    A pair of sentences ranks by their cosine in context, times how much the seed's sentence
    counts for the aspect and how much the document's sentence serves it. Two things keep
    evidence from being the same everywhere:

    - From the cosine is taken how much closer the seed's sentence is than its others to the
      documents around the seed: a sentence that is close to all of them explains none. That is
      localised centring (Hara et al., AAAI 2015), for the seed's side.
    - A pair is shown only if it is stronger than the best one of nine in ten documents that have
      little to do with the seed (:data:`CHANCE`).

    Args:
        seed: the document that others are compared with.
        focus: how the aspect was read; None for the whole seed.
        around: what the seed's corpus is like.
        rarity: how rare a word is in the corpus; common words are not marked.
    """

    def __init__(
        self, seed: Seed, focus: Focus | None, around: Surroundings, rarity: Rarity
    ) -> None:
        self.seed, self.focus = seed, focus
        self._rarity = rarity
        self._words: dict[Span, Words] = {}
        mine = np.ones(len(seed.sentences), dtype=np.float32)
        if focus is not None and len(mine):
            mine = focus.sentence_weights / focus.sentence_weights.max()
        self._rows = np.sort(np.argsort(-mine, kind="stable")[:MOST_SENTENCES])
        self._sentences, mine = seed.sentences[self._rows], mine[self._rows]
        self._mine = mine[:, None]
        common = self._sentences @ around.centroid
        common -= (mine @ common) / max(float(mine.sum()), 1e-6)
        self._common = common[:, None]
        self._floor = self._by_chance(around) if len(mine) else 0.0

    def find(self, document: Seed, pairs: int = MOST_PAIRS) -> tuple[Evidence, ...]:
        """The best-aligned sentence pairs, strongest first; () where nothing stands out.

        No sentence is used twice.

        Args:
            pairs: how many at most.
        """
        if not len(self.seed.sentences) or not len(document.sentences):
            return ()
        cosine = self._sentences @ document.sentences[:MOST_SENTENCES].T
        first = document.document.sentences[:MOST_SENTENCES]
        roles = np.array([s.roles for s in first], dtype=np.float32)
        serves = self._serves(roles)
        weights = self._weights(serves / max(float(serves.max()), 1e-6))
        strength = np.maximum(cosine - self._common, 0) * weights
        strength[cosine * weights < max(self._floor, 1e-6)] = 0.0
        found = []
        for _ in range(min(pairs, *strength.shape)):
            i, j = np.unravel_index(int(strength.argmax()), strength.shape)
            if strength[i, j] <= 0:
                break
            mine = int(self._rows[i])
            found.append(self._pair(document, mine, int(j), float(cosine[i, j])))
            strength[i, :] = strength[:, j] = 0.0
        return tuple(found)

    def _by_chance(self, around: Surroundings) -> float:
        """The strength that a document reaches without having to do with the seed."""
        if len(around.starts) < FEWEST:
            return 0.0
        serves = self._serves(around.roles)
        counts = np.diff([*around.starts, len(serves)])
        serves /= np.repeat(np.maximum(np.maximum.reduceat(serves, around.starts), 1e-6), counts)
        asked = np.argsort(-self._mine[:, 0], kind="stable")[:MOST_ASKED]
        asked = asked[self._mine[asked, 0] > LEAST_ASKED]
        best = np.full(len(serves), -np.inf, dtype=np.float32)
        step = max(1, PAIRS // len(serves))
        for rows in np.split(asked, range(step, len(asked), step)):
            strength = self._sentences[rows] @ around.sentences.T
            strength *= self._mine[rows] * (0.15 + 0.85 * serves)
            np.maximum(best, strength.max(axis=0), out=best)
        best = np.maximum.reduceat(best, around.starts)
        return float(np.quantile(best, CHANCE))

    def _serves(self, roles: FloatArray) -> FloatArray:
        """How much each sentence (s,) of a document serves the aspect, by its roles (s, a)."""
        if self.focus is None:
            return np.ones(len(roles), dtype=np.float32)
        return np.asarray(roles @ self.focus.aspect_weights)

    def _weights(self, serves: FloatArray) -> FloatArray:
        """(seed sentences, sentences), 0 to 1.

        Args:
            serves: (sentences,), relative to the one of its document that serves it most. A
                document without any still has a best one: show it, weakly.
        """
        return np.asarray(self._mine * (0.15 + 0.85 * serves))

    def _pair(self, document: Seed, i: int, j: int, score: float) -> Evidence:
        seed = self.seed
        mine, theirs = seed.document.sentences[i], document.document.sentences[j]
        if mine.span not in self._words:
            self._words[mine.span] = find_words(seed, mine.span, self._rarity)
        seed_marks, doc_marks = match_words(
            self._words[mine.span], find_words(document, theirs.span, self._rarity)
        )
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


def match_words(mine: Words, theirs: Words) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Words of two passages that are each other's best match by token vector.

    Returns:
        their spans in either text, in reading order; of more matches than
        :data:`MOST_MARKS` the closest pairs of the rarest words stay.
    """
    if not mine.spans or not theirs.spans:
        return (), ()
    cosine = mine.vectors @ theirs.vectors.T
    forth, back = cosine.argmax(axis=1), cosine.argmax(axis=0)
    mutual = [
        (float(cosine[i, j]) * (mine.rarity[i] + theirs.rarity[j]), i, j)
        for i, j in enumerate(forth.tolist())
        if back[j] == i and cosine[i, j] >= WEAKEST_MARK
    ]
    best = sorted(mutual, reverse=True)[:MOST_MARKS]
    return (
        tuple(sorted(mine.spans[i] for _, i, _ in best)),
        tuple(sorted(theirs.spans[j] for _, _, j in best)),
    )


def find_words(seed: Seed, span: Span, rarity: Rarity) -> Words:
    """Telling words of a passage; function words, common ones and single letters are left out.

    A word's vector is the mean of its tokens', scaled to unit length.
    """
    found = [
        (match.span(), telling)
        for match in _WORD.finditer(seed.document.text, *span)
        if not is_function_word(word := match.group()) and (telling := rarity(word)) >= MOST_COMMON
    ]
    # Tokens of the title and the model's marks stand nowhere in the text; the rest is in order.
    in_text = np.flatnonzero(seed.token_starts >= 0)
    starts = seed.token_starts[in_text]
    bounds = np.searchsorted(starts, np.array([word for word, _ in found]).reshape(-1, 2))
    present = bounds[:, 1] > bounds[:, 0]
    if not present.any():
        return Words((), (), np.zeros((0, seed.tokens.shape[1]), dtype=np.float32))
    first, end = bounds[present].T
    sums = seed.tokens[in_text[first]]
    for later in range(1, int((end - first).max())):  # most words are a single token
        longer = first + later < end
        sums[longer] += seed.tokens[in_text[first[longer] + later]]
    spans, rarities = zip(*itertools.compress(found, present), strict=True)
    return Words(spans, rarities, unit(sums))


@functools.lru_cache(maxsize=100_000)
def is_function_word(word: str) -> bool:
    """Whether an English word holds a sentence together rather than saying what it is about.

    Stop words, and adverbs in -ly.

    >>> [is_function_word(word) for word in ("Here", "surprisingly", "family", "networks")]
    [True, True, False, False]
    """
    word = word.lower()
    return word in stop_words() or _ADVERB.fullmatch(word) is not None


def explain(
    evidence: Sequence[Evidence],
    seed: Seed,
    focus: Focus | None,
    lens: Lens,
    change: int | None,
    facts: Sequence[FactMatch] = (),
) -> str:
    """Plain words: in what respect the document is alike, by which words, how it moved.

    What answers a fact of the query comes first. Without evidence it says that nothing stands out.
    """
    answers = " ".join(f"It says {in_words(match.found)}." for match in facts)
    similar = _similar(evidence, seed, focus, lens, change)
    return f"{answers} {similar}".strip()


def in_words(fact: Fact) -> str:
    """A fact and how it was got: ``27 February 2024, from 'two days ago' in a message ...``."""
    return f"{fact.text}, from {fact.derivation}" if fact.derivation else fact.text


def _similar(
    evidence: Sequence[Evidence], seed: Seed, focus: Focus | None, lens: Lens, change: int | None
) -> str:
    respect = "overall"
    if focus is not None:
        respect = f"in {lens.aspects[int(focus.aspect_weights.argmax())].name.lower()}"
    if not evidence:
        return (
            f"No passage of this document stands out as similar {respect}; "
            "it ranks here for its whole text."
        )
    best = evidence[0]
    text = f"Similar {respect} (cosine {best.score:.2f} between the two passages)"
    words = [seed.document.text[a:b] for a, b in best.seed_marks]
    if words:
        text += ", matched on " + ", ".join(f"“{w}”" for w in dict.fromkeys(words))
    if change:
        direction = "up" if change > 0 else "down"
        text += f"; moved {direction} {abs(change)} because of the aspect"
    return text + "."
