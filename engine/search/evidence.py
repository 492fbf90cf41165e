"""Evidence: which sentences of seed and document made the rank, and which words in them."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from engine.config import ASSETS
from engine.corpora.contracts import Focus, Seed, Surroundings
from engine.corpora.opened import OpenCorpus
from engine.numeric import FloatArray
from engine.search.term_matching import stem
from engine.sentences import stop_words
from engine.types.documents import Fact, FactMatch, Span
from engine.types.lenses import Lens
from engine.types.searches import Evidence

MOST_PAIRS = 3
MOST_MARKS = 6  # Words marked per passage
SAMPLE = 64  # Documents whose words tell how close two words are by chance
UNRELATED = 0.995
"""Share of the words of a random passage that have no different word as close as is marked."""
MOST_COMMON = 0.3
"""Words rarer than this may be marked; it leaves out words that every eighth text has."""
STRENGTHS, WORDS = (0.36, 0.48), ("weak", "moderate", "strong")
"""Likeness from which it is called moderate or strong: 0 of documents unlike the seed, 1 of itself.
Of grades 2 and 3 of CSFCube's open half 75 % are at least moderate, 44 % strong."""
WHOLE = 0.15
"""How much more likeness whole documents need for it, as sentences in context are less alike."""
CHANCE = 0.9
"""Share of documents unlike the seed whose best pair is weaker than any pair that is shown; 27 % of
grade 0 of CSFCube's open half have no such pair, 1 to 8 % of the others."""
LEAST_ASKED = 0.1
"""Share of the most asked-for sentence's weight below which a sentence makes no best pair."""
MOST_ASKED = 500
"""Sentences of the seed that chance is measured by, those that count most: each is compared with
up to 32,000 of other documents."""
PAIRS = 16_000_000  # Of sentences, compared at once: 64 MB
FEWEST = 20  # Documents below which nothing can be said of chance, and every pair is shown
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
    """Telling words of a passage, in reading order."""

    spans: Sequence[Span]  # in the text
    roots: NDArray[np.int64]  # equal for inflected forms, see :func:`root`
    rarity: Sequence[float]  # 0 to 1
    vectors: FloatArray  # (words, p) unit rows; zeros for numbers


class Found(NamedTuple):
    """How a document is like the seed: the best-aligned sentence pairs, strongest first, the cosine
    in the aspect, and places in :data:`WORDS` for that likeness and the whole's."""

    evidence: tuple[Evidence, ...]
    cosine: float
    strength: int
    whole: int


class EvidenceFinder:
    """Finds the passages in which documents are alike to one seed.

    A pair of sentences ranks by its cosine in context, times how much the seed's sentence counts
    for the aspect and how much the document's serves it. Against evidence that is the same
    everywhere:

    - Localised centring (Hara et al., AAAI 2015) on the seed's side: from the cosine is subtracted
      how much closer the seed's sentence is than its others to the surrounding documents.
    - A pair must be stronger than the best of nine in ten unrelated documents (:data:`CHANCE`).

    ``focus`` is None for the whole seed, ``close`` the :func:`closeness` from which different words
    are marked.
    """

    def __init__(
        self, seed: Seed, focus: Focus | None, around: Surroundings, rarity: Rarity, close: float
    ) -> None:
        self.seed, self.focus = seed, focus
        self._rarity, self._close = rarity, close
        self._words: dict[Span, Words] = {}
        mine = np.ones(len(seed.sentences), dtype=np.float32)
        if focus is not None and len(mine):
            mine = focus.sentence_weights / focus.sentence_weights.max()
        self._rows = np.sort(np.argsort(-mine, kind="stable")[:MOST_SENTENCES])
        self._sentences, mine = seed.sentences[self._rows], mine[self._rows]
        self._mine, self._total = mine[:, None], float(mine.sum())
        common = self._sentences @ around.centroid
        common -= (mine @ common) / max(self._total, 1e-6)
        self._common = common[:, None]
        self._floor, self._chance = self._by_chance(around) if len(mine) else (0.0, 0.0)
        self._whole_chance = around.chance

    def find(self, document: Seed, pairs: int = MOST_PAIRS) -> Found:
        """At most ``pairs`` pairs, without using a sentence twice; none where nothing stands
        out."""
        if not len(self.seed.sentences) or not len(document.sentences):
            return self._found(document, (), 0.0)
        cosine = self._sentences @ document.sentences[:MOST_SENTENCES].T
        first = document.document.sentences[:MOST_SENTENCES]
        roles = np.array([s.roles for s in first], dtype=np.float32)
        serves = self._serves(roles)
        weights = self._weights(serves / max(float(serves.max()), 1e-6))
        strength = np.maximum(cosine - self._common, 0) * weights
        aligned = cosine * weights
        strength[aligned < max(self._floor, 1e-6)] = 0.0
        found = []
        for _ in range(min(pairs, *strength.shape)):
            i, j = np.unravel_index(int(strength.argmax()), strength.shape)
            if strength[i, j] <= 0:
                break
            mine = int(self._rows[i])
            found.append(self._pair(document, mine, int(j), float(cosine[i, j])))
            strength[i, :] = strength[:, j] = 0.0
        return self._found(document, found, float(aligned.max(axis=1).sum()) / self._total)

    def _found(self, document: Seed, evidence: Sequence[Evidence], asked: float) -> Found:
        whole = float(self.seed.vector @ document.vector)
        beside = (whole - self._whole_chance) / max(1 - self._whole_chance, 1e-6)
        likeness = (asked - self._chance) / max(1 - self._chance, 1e-6)
        likeness += likeness - beside  # passages on one topic are alike in any aspect
        beside -= WHOLE
        if self.focus is None:
            asked, likeness = whole, beside
        levels = [sum(each >= least for least in STRENGTHS) for each in (likeness, beside)]
        return Found(tuple(evidence), asked, *levels)

    def _by_chance(self, around: Surroundings) -> tuple[float, float]:
        """The strength that unrelated documents reach, and their mean best cosine."""
        if len(around.starts) < FEWEST:
            return 0.0, 0.0
        serves = self._serves(around.roles)
        counts = np.diff([*around.starts, len(serves)])
        serves /= np.repeat(np.maximum(np.maximum.reduceat(serves, around.starts), 1e-6), counts)
        asked = np.argsort(-self._mine[:, 0], kind="stable")[:MOST_ASKED]
        asked = asked[self._mine[asked, 0] > LEAST_ASKED]
        best = np.full(len(counts), -np.inf, dtype=np.float32)
        total = 0.0
        step = max(1, PAIRS // len(serves))
        for rows in np.split(asked, range(step, len(asked), step)):
            strength = self._sentences[rows] @ around.sentences.T
            strength *= self._mine[rows] * (0.15 + 0.85 * serves)
            strength = np.maximum.reduceat(strength, around.starts, axis=1)
            np.maximum(best, strength.max(axis=0), out=best)
            total += float(strength.mean(axis=1).sum())
        return float(np.quantile(best, CHANCE)), total / float(self._mine[asked].sum())

    def _serves(self, roles: FloatArray) -> FloatArray:
        """How much each sentence (s,) of a document serves the aspect, by its roles (s, a)."""
        if self.focus is None:
            return np.ones(len(roles), dtype=np.float32)
        return np.asarray(roles @ self.focus.aspect_weights)

    def _weights(self, serves: FloatArray) -> FloatArray:
        """(seed sentences, sentences), 0 to 1; ``serves`` counts relative to its maximum."""
        return np.asarray(self._mine * (0.15 + 0.85 * serves))

    def _pair(self, document: Seed, i: int, j: int, score: float) -> Evidence:
        seed = self.seed
        mine, theirs = seed.document.sentences[i], document.document.sentences[j]
        if mine.span not in self._words:
            self._words[mine.span] = find_words(seed, mine.span, self._rarity)
        words = find_words(document, theirs.span, self._rarity)
        seed_marks, doc_marks = match_words(self._words[mine.span], words, self._close)
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
    mine: Words, theirs: Words, close: float
) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Spans of words that two passages share, or that are each other's closest with a cosine from
    ``close``, in reading order; at most :data:`MOST_MARKS`, shared ones first, rare before
    common."""
    if not mine.spans or not theirs.spans:
        return (), ()
    cosine = mine.vectors @ theirs.vectors.T
    np.add(cosine, 5.0, out=cosine, where=mine.roots[:, None] == theirs.roots)
    forth, back = cosine.argmax(axis=1).tolist(), cosine.argmax(axis=0).tolist()
    mutual = [
        (float(cosine[i, j]) * (mine.rarity[i] + theirs.rarity[j]), i, j)
        for i, j in enumerate(forth)
        if back[j] == i and cosine[i, j] >= close
    ]
    best = sorted(mutual, reverse=True)[:MOST_MARKS]
    return (
        tuple(sorted(mine.spans[i] for _, i, _ in best)),
        tuple(sorted(theirs.spans[j] for _, _, j in best)),
    )


def find_words(seed: Seed, span: Span, rarity: Rarity) -> Words:
    """Telling words of a passage, without function words, common ones and single letters.

    A word's vector is the mean of its tokens' minus that of the passage's, as all words in context
    lean towards it.
    """
    found = [
        (match.span(), content, telling)
        for match in _WORD.finditer(seed.document.text, *span)
        if (content := root(word := match.group())) and (telling := rarity(word)) >= MOST_COMMON
    ]
    # Tokens of the title and the model's marks stand nowhere in the text; the rest is in order.
    in_text = np.flatnonzero(seed.token_starts >= 0)
    starts = seed.token_starts[in_text]
    bounds = np.searchsorted(starts, np.array([word for word, *_ in found]).reshape(-1, 2))
    present = bounds[:, 1] > bounds[:, 0]
    if not present.any():
        return Words((), np.zeros(0, np.int64), (), np.zeros((0, 0), np.float32))
    bounds = bounds[present]
    at = np.arange(bounds[0, 0], bounds[-1, 1])
    member = ((bounds[:, :1] <= at) & (at < bounds[:, 1:])).astype(np.float32)
    member /= member.sum(axis=1, keepdims=True)
    member -= np.float32(1 / len(at))
    vectors = member @ seed.tokens[in_text[at]]
    vectors /= np.maximum(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)), 1e-6)[:, None]
    spans, roots, rarities = zip(*itertools.compress(found, present), strict=True)
    if numbers := [i for i, content in enumerate(roots) if content[0].isdecimal()]:
        vectors[numbers] = 0.0
    return Words(spans, np.array(list(map(hash, roots))), rarities, vectors)


_CLOSENESS: WeakKeyDictionary[OpenCorpus, float] = WeakKeyDictionary()


def closeness(corpus: OpenCorpus) -> float:
    """Cosine that a word hardly reaches with a different one of another document, by a sample."""
    if corpus not in _CLOSENESS:
        sample = range(0, len(corpus), max(1, -(-len(corpus) // SAMPLE)))
        seeds = enumerate(corpus.seeds([corpus.doc_ids[row] for row in sample]))
        passages = [
            find_words(seed, said[at % len(said)].span, corpus.words.rarity)
            for at, seed in seeds
            if (said := seed.document.sentences)
        ]
        passages = [words for words in passages if words.spans]
        best = [
            np.where(a.roots[:, None] == b.roots, -1.0, a.vectors @ b.vectors.T).max(axis=1)
            for a, b in itertools.combinations(passages, 2)
        ]
        close = np.quantile(np.concatenate(best), UNRELATED) if len(passages) >= FEWEST else 1.0
        _CLOSENESS[corpus] = float(close)
    return _CLOSENESS[corpus]


@functools.lru_cache(maxsize=100_000)
def root(word: str) -> str:
    """Common root of a word's inflections; "" for stop words, adverbs in -ly, and vague words.

    >>> [root(word) for word in ("Studied", "stops", "training", "5,300", "Here", "surprisingly")]
    ['', '', 'train', '5,300', '', '']
    """
    word = word.lower()
    if word in stop_words() or _ADVERB.fullmatch(word):
        return ""
    shorter = stem(word)
    return "" if shorter in _vague_words() else shorter


@functools.cache
def _vague_words() -> frozenset[str]:
    """Chosen by hand."""
    words = (ASSETS / "wordings" / "vague_words.txt").read_text(encoding="utf-8").split()
    return frozenset(map(stem, words))


def explain(
    found: Found,
    seed: Seed,
    focus: Focus | None,
    lens: Lens,
    change: int | None,
    facts: Sequence[FactMatch],
    reads_aspect: bool,
) -> str:
    """Plain words for a rank: matched facts first, then how strong the evidence is, its words, and
    the change of rank."""
    text = "".join(f"It says {in_words(match.found)}. " for match in facts)
    strength = WORDS[found.strength]
    aspect = lens.aspects[int(focus.aspect_weights.argmax())].name.lower() if focus else ""
    if focus and not reads_aspect:
        text += f"This system ignores the aspect; {aspect} {strength}"
    elif focus and found.whole > found.strength:
        text += f"Mostly the same topic; {aspect} {strength}"
    else:
        text += f"{strength.capitalize()}ly similar {f'in {aspect}' if focus else 'overall'}"
    text += f" (cosine {found.cosine:.2f})"
    if words := _matched(found.evidence, seed.document.text):
        text += ", matched on " + ", ".join(f"“{word}”" for word in words)
    if change:
        direction = "up" if change > 0 else "down"
        text += f"; moved {direction} {abs(change)} by aspect and wording"
    return f"{text}." if found.evidence else f"{text}. No passage stands out."


def _matched(evidence: Sequence[Evidence], text: str) -> list[str]:
    """The marked words of the seed, neighbours joined, shared ones first."""
    found: dict[str, tuple[bool, str]] = {}
    for pair in evidence:
        theirs = {root(pair.doc_text[a - pair.doc_span[0] :][: b - a]) for a, b in pair.doc_marks}
        phrases: list[tuple[bool, int, int]] = []
        for a, b in pair.seed_marks:
            other, begin = root(text[a:b]) not in theirs, a
            if phrases and phrases[-1][2] + 1 == a:
                other, begin, _ = phrases.pop()
            phrases.append((other, begin, b))
        for other, a, b in phrases:
            found.setdefault(root(text[a:b]), (other, text[a:b]))
    return [words for _, words in sorted(found.values(), key=lambda each: each[0])][:MOST_PAIRS]


def in_words(fact: Fact) -> str:
    """A fact and how it was got: ``27 February 2024, from 'two days ago' in a message ...``."""
    return f"{fact.text}, from {fact.derivation}" if fact.derivation else fact.text
