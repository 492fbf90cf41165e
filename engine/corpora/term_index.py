"""How well documents have a term: by its words, by short and long forms, and by its meaning."""

from __future__ import annotations

import functools
import itertools
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from engine.corpora.contracts import Rows
from engine.corpora.schema import rows_of
from engine.numeric import FloatArray, distinct, unit
from engine.types.documents import Span
from engine.types.terms import HAS, Means, Term, TermPassage

if TYPE_CHECKING:
    from engine.corpora.opened import OpenCorpus

MOST_NAMING = 20_000
"""Documents with all words of a term that are counted; there may be more then."""
READ = 300
"""Documents with all words of a term whose sentences are read, the best by BM25."""
PARTLY = 100
"""Documents with some of its words, and documents near to its meaning, that are read besides."""
SEEN = 2
"""Documents that must introduce a short or a long form, so that it counts for all."""
SHARE, ADJACENT, MEANING, BIAS = 1.4, 5.2, 1.1, -6.2
"""Log-odds that a document has a term: of the share of its words in a sentence, of how near to each
other they stand there, squared, and of the sentence's similarity in standard deviations.

Logistic regression on 48 terms of CSFCube's 4,205 abstracts, which a regular expression for each
tells apart; with one term left out, the area under the curve is 0.956 (words alone 0.90), and 0.90
of the first 20 documents (or of all that have it) have the term.
"""
UNWANTED = 3.0
"""Log-odds added for a term that documents should not have: who rules it out holds a document
that has it, and what is near to that is likely to have it, too. On CSFCube, of the first 20
results of seeds about one of 15 topics, 0.04 are about a topic that is ruled out (0: 0.16)."""
INFLECTED = 0.8
"""What a word of the same stem counts that is not the same but for a plural."""
OTHER_ROLE = 0.8
"""What a sentence of another role counts for a term of an aspect."""
FUNCTION = frozenset(("a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "the", "with"))
_WORD = re.compile(r"\w+")
_ENDING = re.compile(
    r"(?:(?<=is)ations?|(?<=\w{3})(?:ions?|ings?|ed|es|s|e)|(?<=\w{4})(?:ers?|ly))$"
)
_SHORT = re.compile(r"(?=\w*[A-Z]\w*[A-Z\d])[A-Za-z][\w-]{0,9}")
_INTRODUCED = re.compile(r"\(([A-Za-z][\w-]{1,9})\)")
"""A short form as it is introduced: "conditional random field (CRF)"."""


@functools.lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """What the inflections of an English word have in common, in British spelling.

    Suffixes are stripped by rule: NLTK's stemmers take as long to import as several searches.

    >>> stem("Supervised") == stem("supervision"), stem("factorizing") == stem("factorisation")
    (True, True)
    """
    word = re.sub(r"iz(?=(?:e[drs]?|ing|ations?)$)", "is", word.lower())
    shorter = re.sub("(?:ies|y)$", "i", _ENDING.sub("", word))
    return re.sub(r"([^\W\d])\1$", r"\1", shorter)


@dataclass(frozen=True, slots=True)
class Name:
    """One way to name a term.

    Attributes:
        text: its words, or a short form.
        shares: of its words, by their stems; empty for a short form, which stands as it is written.
        forms: its words, lower-cased, without a plural s.
        pattern: finds what may be one of them.
        weight: probability that the name means the term.
    """

    text: str
    shares: dict[str, float]
    forms: frozenset[str]
    pattern: re.Pattern[str]
    weight: float = 1.0


class Found(NamedTuple):
    """Where a document has a term best.

    Attributes:
        sentence: -1 for the title.
        marks: where its words stand, in the title or in the text.
    """

    probability: float
    sentence: int = -1
    marks: tuple[Span, ...] = ()
    means: Means = "words"


def name_by_words(text: str, rarity: Callable[[str], float]) -> Name | None:
    """A name by its words; None where it has none."""
    words = _WORD.findall(text)
    words = [word for word in words if word.lower() not in FUNCTION] or words
    counts = {stem(word): max(rarity(word.lower()), 0.05) for word in words}
    begins = "|".join(sorted({re.escape(_beginning(word)) for word in words}))
    if not words:
        return None
    return Name(
        text,
        {one: count / sum(counts.values()) for one, count in counts.items()},
        frozenset(map(_singular, words)),
        re.compile(rf"\b(?:{begins})\w*", re.IGNORECASE),
    )


def _beginning(word: str) -> str:
    """What the inflections of a word begin with: its first letters, as its stem has them."""
    own = stem(word)
    same = itertools.takewhile(
        lambda pair: pair[0] == pair[1], zip(own, word.lower(), strict=False)
    )
    return word[: max(1, len(list(same)) - (len(own) > 5))]


def _singular(word: str) -> str:
    return word.lower().removesuffix("s")


def long_form(before: str, short: str) -> str | None:
    """The words before a short form that it stands for (Schwartz and Hearst 2003).

    >>> long_form("We train a conditional random field ", "CRF")
    'conditional random field'
    """
    at = len(before)
    for place in range(len(short) - 1, -1, -1):
        letter = short[place].lower()
        if not letter.isalnum():
            continue
        at -= 1
        while at >= 0 and (
            before[at].lower() != letter or (place == 0 and at > 0 and before[at - 1].isalnum())
        ):
            at -= 1
        if at < 0:
            return None
    words = before[at:].split()
    return " ".join(words) if len(words) <= min(len(short) + 5, 2 * len(short)) else None


def find_name(
    name: Name, title: str, text: str, starts: Sequence[int]
) -> Iterator[tuple[int, float, float, tuple[Span, ...]]]:
    """Where a document has words of a name: sentence (-1: title), share, nearness, the words."""
    hits: dict[int, list[tuple[str, Span, float]]] = {}
    for part, of_title in ((title, True), (text, False)):
        for match in name.pattern.finditer(part):
            word = match.group()
            own = stem(word) if name.shares else ""
            if not name.shares or own in name.shares:
                at = -1 if of_title else bisect_right(starts, match.start()) - 1
                same = not name.shares or _singular(word) in name.forms
                hits.setdefault(at, []).append((own, match.span(), 1.0 if same else INFLECTED))
    for at, found in hits.items():
        if not name.shares:
            yield at, 1.0, 1.0, (found[0][1],)
            continue
        quality: dict[str, float] = {}
        for own, _, counts in found:
            quality[own] = max(counts, quality.get(own, 0.0))
        share = sum(name.shares[own] * counts for own, counts in quality.items())
        window = _narrowest(found, len(quality))
        length = window[-1][1] - window[0][0]
        near = min(1.0, (len(name.text) + 4) / length) * share
        if len(quality) == 1 and len(name.shares) > 1:
            near = 0.0
        yield at, share, near, window


def _narrowest(found: Sequence[tuple[str, Span, float]], kinds: int) -> tuple[Span, ...]:
    """The fewest letters of a sentence in which all words that it has of a name stand."""
    best: tuple[Span, ...] = ()
    for first in range(len(found)):
        inside: dict[str, Span] = {}
        for own, span, _ in found[first:]:
            inside.setdefault(own, span)
            if len(inside) == kinds:
                spans = tuple(inside.values())
                if not best or spans[-1][1] - spans[0][0] < best[-1][1] - best[0][0]:
                    best = spans
                break
    return best


@dataclass(slots=True)
class TermScores:
    """One term in one version of a corpus.

    Attributes:
        names: ways to name each of its alternatives.
        vectors: (n, d) of the alternatives.
        naming: documents that name it, by the full text, of at most :data:`MOST_NAMING`.
        near: documents that may have it.
        found: what is known of documents, by row.
    """

    term: Term
    names: list[Name]
    vectors: FloatArray
    naming: Rows
    near: Rows
    found: dict[int, Found] = field(default_factory=dict)

    def documents(self) -> int:
        """How many documents have the term, of those that were looked at or name it."""
        known = np.fromiter(self.found, np.intp, len(self.found))
        has = [row for row, found in self.found.items() if found.probability >= HAS]
        return len(np.setdiff1d(self.naming, known)) + len(has)

    def read(self, corpus: OpenCorpus, rows: Rows) -> None:
        """Look for the term in these documents, where nobody did so."""
        new = np.array([row for row in distinct([rows]).tolist() if row not in self.found], np.intp)
        if not len(new):
            return
        stored = corpus.table.take(new, ["title", "text", "sentence_starts", "roles"])
        vectors = corpus.sentences(new)
        similar = self._similar(np.concatenate(vectors), corpus.sentence_sample)
        weights = np.ones_like(similar)
        if self.term.aspect:
            serves = np.concatenate(rows_of(stored["roles"])).reshape(len(similar), -1)
            weights *= OTHER_ROLE
            weights += (1 - OTHER_ROLE) * serves[:, corpus.lens.index(self.term.aspect)]
        bias = BIAS if self.term.wanted else BIAS + UNWANTED
        odds = bias + MEANING * similar
        by_meaning = weights / (1 + np.exp(-odds))
        end = 0
        for row, title, text, starts, own in zip(
            new.tolist(),
            stored["title"].to_pylist(),
            stored["text"].to_pylist(),
            rows_of(stored["sentence_starts"]),
            map(len, vectors),
            strict=True,
        ):
            here = slice(end, end := end + own)
            self.found[row] = self._find(
                title, text, starts.tolist(), odds[here], weights[here], by_meaning[here]
            )

    def _similar(self, sentences: FloatArray, sample: FloatArray) -> FloatArray:
        """The similarity (n,) of sentences (n, d), in deviations of those of a sample."""
        centre = sample.mean(axis=0) if len(sample) else np.zeros(1, np.float32)
        directions = unit(self.vectors - centre).T
        cosines, usual = unit(sentences - centre) @ directions, unit(sample - centre) @ directions
        if not len(sample):
            return np.asarray(cosines.max(axis=1))
        return np.asarray(((cosines - usual.mean(0)) / (usual.std(0) + 1e-6)).max(axis=1))

    def _find(
        self, title: str, text: str, starts: list[int], odds: FloatArray, weights: FloatArray,
        by_meaning: FloatArray,
    ) -> Found:  # fmt: skip
        best = Found(0.0)
        if len(odds):
            at = int(by_meaning.argmax())
            best = Found(float(by_meaning[at]), at, (), "meaning")
        for name in self.names:
            for at, share, near, marks in find_name(name, title, text, starts):
                inside = 0 <= at < len(odds)
                own = float(odds[at] if inside else odds.max(initial=BIAS))
                own += SHARE * share + ADJACENT * near**2
                probability = name.weight / (1 + math.exp(-own) if name.shares else 1)
                probability *= float(weights[at]) if inside else 1.0
                if probability > best.probability:
                    means: Means = "words" if name.shares else "short form"
                    best = Found(probability, at, marks, means)
        return best

    def passage(self, row: int, starts_and_ends: Sequence[Span]) -> TermPassage:
        """How well a document has it, and where.

        Args:
            starts_and_ends: of its sentences.
        """
        found = self.found[row]
        at = found.sentence
        span = starts_and_ends[at] if 0 <= at < len(starts_and_ends) else None
        return TermPassage(self.term, found.probability, found.means, span, found.marks)


def score_term(corpus: OpenCorpus, term: Term, vectors: FloatArray) -> TermScores:
    """Find the documents of a corpus that may have a term, and its short and long forms.

    Args:
        vectors: (n, d) of its alternatives.
    """
    names: list[Name] = []
    naming, near = [], []
    for text, vector in zip(term.alternatives, vectors, strict=True):
        near.append(corpus.near_meaning(vector, PARTLY // 2))
        words = name_by_words(text, corpus.rarity)
        if words is None:
            continue
        named = corpus.with_words(text, MOST_NAMING)
        others = _other_forms(corpus, text, words, named[:READ])
        rows = [named, *(corpus.with_words(other.text, MOST_NAMING) for other in others)]
        names += [words, *others]
        naming += rows
        near += [*(some[:READ] for some in rows), corpus.with_words(text, PARTLY, every=False)]
    none = np.zeros(0, np.intp)
    return TermScores(term, names, vectors, distinct([none, *naming]), distinct([none, *near]))


def _other_forms(corpus: OpenCorpus, text: str, name: Name, rows: Rows) -> list[Name]:
    """The short form of a long one, or the long form of a short one, as documents introduce them.

    Args:
        rows: documents that have the words of ``text``.
    """
    short = _singular_short(text) if _SHORT.fullmatch(text) else ""
    counts = Counter(
        long if short else form
        for form, long in _introduced(corpus, rows)
        if (form == short if short else _is_named(name, long))
    )
    form, seen = counts.most_common(1)[0] if counts else ("", 0)
    if seen < SEEN:
        return []
    if short:
        return [found] if (found := name_by_words(form, corpus.rarity)) else []
    others = corpus.with_words(form, READ)
    meant = [_is_named(name, long) for own, long in _introduced(corpus, others) if own == form]
    pattern = re.compile(rf"(?<!\w){re.escape(form)}s?(?!\w)")
    return [Name(form, {}, frozenset(), pattern, sum(meant) / max(1, len(meant)))]


def _introduced(corpus: OpenCorpus, rows: Rows) -> Iterator[tuple[str, str]]:
    """(short form, long form) of all that documents introduce."""
    for text in corpus.table.take(rows, ["text"])["text"].to_pylist():
        for match in _INTRODUCED.finditer(text):
            form = _singular_short(match[1])
            long = long_form(text[max(0, match.start() - 100) : match.start()].rstrip(), form)
            if long:
                yield form, " ".join(map(_singular, _WORD.findall(long)))


def _singular_short(form: str) -> str:
    return form.removesuffix("s") if form[:-1].isupper() else form


def _is_named(name: Name, long: str) -> bool:
    stems = {stem(word) for word in _WORD.findall(long)}
    return name.shares.keys() <= stems and len(stems) <= len(name.shares) + 1
