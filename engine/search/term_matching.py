"""Rankings that obey terms: documents with what is wanted first, with what is not wanted last."""

from __future__ import annotations

import functools
import itertools
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import Stemmer  # type: ignore[import-not-found]

from engine.corpora.contracts import RankedDocuments, Request, Rows, Scope, VectorPart
from engine.corpora.opened import OpenCorpus
from engine.corpora.schema import rows_of
from engine.lenses.embedded_texts import Embed
from engine.numeric import FloatArray, distinct, unit
from engine.search.systems.baselines import Rank
from engine.types.documents import Span
from engine.types.searches import HAS, Means, Term, TermPassage, TermUse

if TYPE_CHECKING:
    from engine.corpora.opened import OpenCorpus


MOST_NAMING = 20_000  # Documents with all words of a term that are counted; there may be more then
READ = 100  # Documents with all words of a term whose sentences are read, the best by BM25
PARTLY = 100
"""Documents with some of its words, and documents near to its meaning, that are read besides."""
SEEN = 2  # Documents that must introduce a short or a long form, so that it counts for all
SHARE, ADJACENT, MEANING, BIAS = 1.4, 5.2, 1.1, -6.2
"""Log-odds that a document has a term: of the share of its words in a sentence, of how near to each
other they stand there, squared, and of the sentence's similarity in standard deviations.

Logistic regression on 48 terms of CSFCube's 4,205 abstracts; with one term left out, the area under
the curve is 0.956 (words alone 0.90).
"""
UNWANTED = 3.0
"""Log-odds added for an unwanted term, which neighbours of a seed with it are likely to have: on
CSFCube 0.04 of the first 20 are about a topic that is ruled out (without: 0.16)."""
INFLECTED = 0.8  # What a word of the same stem counts that is not the same but for a plural
OTHER_ROLE = 0.8  # What a sentence of another role counts for a term of an aspect
FUNCTION = frozenset(("a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "the", "with"))
_WORD = re.compile(r"\w+[+#]*")
_INTRODUCED = re.compile(r"\(([A-Za-z][\w-]{1,9})\)")
"""A short form as it is introduced: "conditional random field (CRF)"."""
_SNOWBALL = Stemmer.Stemmer("english")
_PLURAL_SHORT = re.compile(r"\b([b-df-hj-np-tv-xz]{2,})s\b")
"""A short form without a vowel, whose plural s the stemmer leaves."""
_BRITISH = re.compile(r"iz(?=(?:e[drs]?|ing|ations?)$)")


@functools.lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Snowball stem in British spelling.

    >>> [stem(word) for word in ("Supervision", "factorizing", "factorisation", "CRFs")]
    ['supervis', 'factoris', 'factoris', 'crf']
    """
    return str(_SNOWBALL.stemWord(_BRITISH.sub("is", _PLURAL_SHORT.sub(r"\1", word.lower()))))


@dataclass(frozen=True, slots=True)
class Name:
    """One way to name a term."""

    text: str  # its words, or a short form
    # of its words, by their stems; empty for a short form, which counts as written
    shares: dict[str, float]
    forms: frozenset[str]  # its words, lower-cased, without a plural s
    beginnings: tuple[str, ...]  # what its words, in lower case, begin with; or the short form
    weight: float = 1.0  # probability that the name means the term


def name_by_words(text: str, rarity: Callable[[str], float]) -> Name | None:
    """A name by its words; None where it has none."""
    words = [word.lower() for word in _WORD.findall(text)]
    words = [word for word in words if word not in FUNCTION] or words
    if not words:
        return None
    counts = {stem(word): max(rarity(word), 0.05) for word in words}
    return Name(
        text,
        {one: count / sum(counts.values()) for one, count in counts.items()},
        frozenset(map(_singular, words)),
        tuple({_beginning(word) for word in words}),
    )


def _beginning(word: str) -> str:
    """Common prefix of a word's inflections, as long as its stem."""
    own = stem(word)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(own, word, strict=False))
    return word[: max(1, len(list(same)) - (len(own) > 5))]


def _singular(word: str) -> str:
    """The word, lower-cased, without a plural s.

    >>> [_singular(word) for word in ("Fields", "processes", "analysis", "corpus")]
    ['field', 'process', 'analysis', 'corpus']
    """
    word = word.lower()
    if word.endswith(("ss", "is", "us")):
        return word
    return word.removesuffix("es" if word.endswith(("sses", "xes")) else "s")


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


Place = tuple[int, float, tuple[Span, ...]]
"""Where words of a name are: sentence (-1: title), log-odds that they mean it, the words."""


def find_name(name: Name, title: str, text: str, starts: Sequence[int]) -> Iterator[Place]:
    """Where a document has words of a name."""
    hits: dict[int, list[tuple[Span, str, float]]] = {}
    for part, of_title in ((title, True), (text, False)):
        for hit in sorted(_words(name, part)):
            at = -1 if of_title else bisect_right(starts, hit[0][0]) - 1
            hits.setdefault(at, []).append(hit)
    for at, found in hits.items():
        if not name.shares:
            yield at, math.inf, (found[0][0],)
            continue
        quality: dict[str, float] = {}
        for _, own, counts in found:
            quality[own] = max(counts, quality.get(own, 0.0))
        share = sum(name.shares[own] * counts for own, counts in quality.items())
        window = _narrowest(found, len(quality))
        length = window[-1][1] - window[0][0]
        near = min(1.0, (len(name.text) + 4) / length) * share
        if len(quality) == 1 and len(name.shares) > 1:
            near = 0.0
        yield at, SHARE * share + ADJACENT * near**2, window


def _words(name: Name, part: str) -> Iterator[tuple[Span, str, float]]:
    """Spans of a text's words that are in a name, with their stems and weights."""
    if name.shares and len(lowered := part.lower()) == len(part):
        part = lowered
    for begin in name.beginnings:
        at = -1
        while (at := part.find(begin, at + 1)) >= 0:
            if part[at - 1 : at].isalnum():
                continue
            if name.shares and (word := _WORD.match(part, at)):
                if (own := stem(word.group())) in name.shares:
                    same = _singular(word.group()) in name.forms
                    yield word.span(), own, 1.0 if same else INFLECTED
            else:
                end = at + len(begin)
                end += part.startswith("s", end)
                if not part[end : end + 1].isalnum():
                    yield (at, end), "", 1.0


def _narrowest(found: Sequence[tuple[Span, str, float]], kinds: int) -> tuple[Span, ...]:
    """The shortest stretch of a sentence that has all its words of a name."""
    best: tuple[Span, ...] = ()
    for first in range(len(found)):
        inside: dict[str, Span] = {}
        for span, own, _ in found[first:]:
            inside.setdefault(own, span)
            if len(inside) == kinds:
                spans = tuple(inside.values())
                if not best or spans[-1][1] - spans[0][0] < best[-1][1] - best[0][0]:
                    best = spans
                break
    return best


class Meaning:
    """Similarity to texts, in standard deviations over a sample of a corpus's sentences. `vectors`:
    (n, d) of the texts, of which the most similar counts; `sample`: (s, d) of sentences."""

    def __init__(self, vectors: FloatArray, sample: FloatArray) -> None:
        self._centre = sample.mean(axis=0) if len(sample) else np.zeros(1, np.float32)
        self._directions = unit(vectors - self._centre).T
        usual = unit(sample - self._centre) @ self._directions if len(sample) else np.zeros((1, 1))
        self._mean, self._deviation = usual.mean(axis=0), usual.std(axis=0) + 1e-6
        if not len(sample):
            self._deviation = np.ones(1)

    def __call__(self, sentences: FloatArray) -> FloatArray:
        """Of sentences (n, d): (n,)."""
        cosines = unit(sentences - self._centre) @ self._directions
        return np.asarray(((cosines - self._mean) / self._deviation).max(axis=1))


@dataclass(slots=True)
class TermScores:
    """One term in one version of a corpus."""

    term: Term
    names: list[Name]  # ways to name each of its alternatives
    meaning: Meaning
    naming: Rows  # documents that name it, by the full text, of at most `MOST_NAMING`
    near: Rows  # documents that may have it; all were read
    # documents with the term: of `near` by what was read, of the rest by name
    having: Rows = field(default_factory=lambda: np.zeros(0, np.intp))
    passages: dict[int, TermPassage] = field(default_factory=dict)  # of documents by row

    def read(self, corpus: OpenCorpus, rows: Rows) -> None:
        """Look for the term in those of these documents that were not read yet."""
        new = np.array(
            [row for row in distinct([rows]).tolist() if row not in self.passages], np.intp
        )
        if not len(new):
            return
        stored = corpus.table.take(new, ["title", "text", "sentence_starts", "roles"])
        vectors = corpus.sentences(new)
        similar = self.meaning(np.concatenate(vectors))
        weights = np.ones_like(similar)
        if self.term.aspect:
            serves = np.concatenate(rows_of(stored["roles"])).reshape(len(similar), -1)
            weights *= OTHER_ROLE
            weights += (1 - OTHER_ROLE) * serves[:, corpus.lens.index(self.term.aspect)]
        odds = (BIAS if self.term.wanted else BIAS + UNWANTED) + MEANING * similar
        by_meaning, end = weights / (1 + np.exp(-odds)), 0
        for row, title, text, starts, own in zip(
            new.tolist(),
            stored["title"].to_pylist(),
            stored["text"].to_pylist(),
            stored["sentence_starts"].to_pylist(),
            map(len, vectors),
            strict=True,
        ):
            here = slice(end, end := end + own)
            best = TermPassage(self.term, 0.0)
            if own:
                at = int(by_meaning[here].argmax())
                best = TermPassage(self.term, float(by_meaning[here][at]), "meaning", at)
            for name in self.names:
                places = find_name(name, title, text, starts)
                best = self._better(best, name, places, odds[here], weights[here])
            self.passages[row] = best

    def _better(
        self,
        best: TermPassage,
        name: Name,
        places: Iterable[Place],
        odds: FloatArray,
        weights: FloatArray,
    ) -> TermPassage:
        """The most probable of a passage and of a name's places in the same document."""
        means: Means = "words" if name.shares else "short form"
        for at, more, marks in places:
            inside = 0 <= at < len(odds)
            own = more + float(odds[at] if inside else odds.max(initial=BIAS))
            probability = name.weight / (1 + math.exp(-own))
            probability *= float(weights[at]) if inside else 1.0
            if probability > best.probability:
                best = TermPassage(self.term, probability, means, at if inside else -1, marks)
        return best


def score_term(corpus: OpenCorpus, term: Term, vectors: FloatArray) -> TermScores:
    """Find the documents with a term, its short and long forms. `vectors`: (n, d) of its
    alternatives."""
    names: list[Name] = []
    none = np.zeros(0, np.intp)
    naming, near = [none], [none]
    for text, vector in zip(term.alternatives, vectors, strict=True):
        near.append(corpus.near_meaning(vector, PARTLY))
        words = name_by_words(text, corpus.words.rarity)
        if words is None:
            continue
        written = dict.fromkeys([_PLURAL_SHORT.sub(r"\1", text.lower()), text])
        named = distinct([corpus.with_words(form, MOST_NAMING) for form in written])
        others = _other_forms(corpus, text, words, named[:READ])
        rows = [named, *(corpus.with_words(other.text, MOST_NAMING) for other in others)]
        names += [words, *others]
        naming += rows
        near += [*(some[:READ] for some in rows), corpus.with_words(text, PARTLY, every=False)]
    meaning = Meaning(vectors, corpus.sentence_sample)
    scores = TermScores(term, names, meaning, distinct(naming), distinct(near))
    scores.read(corpus, scores.near)
    read = [row for row in scores.near.tolist() if scores.passages[row].has]
    unread = np.setdiff1d(scores.naming, scores.near)
    scores.having = np.concatenate([np.array(read, np.intp), unread])
    return scores


def _other_forms(corpus: OpenCorpus, text: str, name: Name, rows: Rows) -> list[Name]:
    """The short form of a long one, or the reverse, as documents introduce them."""
    short = {text.casefold(), stem(text)}
    introduced = list(_introduced(corpus, rows))
    long = _most_seen(long for form, long in introduced if form.casefold() in short)
    if long:
        return [found] if (found := name_by_words(long, corpus.words.rarity)) else []
    form = _most_seen(form for form, long in introduced if _is_named(name, long))
    if not form:
        return []
    others = corpus.with_words(form, READ)
    meant = [_is_named(name, long) for own, long in _introduced(corpus, others) if own == form]
    return [Name(form, {}, frozenset(), (form,), sum(meant) / max(1, len(meant)))]


def _most_seen(forms: Iterable[str]) -> str:
    """The most frequent one, if seen :data:`SEEN` times; else ""."""
    counts = Counter(forms)
    form, seen = counts.most_common(1)[0] if counts else ("", 0)
    return form if seen >= SEEN else ""


def _introduced(corpus: OpenCorpus, rows: Rows) -> Iterator[tuple[str, str]]:
    """All (short form, long form) that documents introduce."""
    for text in corpus.table.take(rows, ["text"])["text"].to_pylist():
        for match in _INTRODUCED.finditer(text):
            form = match[1].removesuffix("s") if match[1][:-1].isupper() else match[1]
            long = long_form(text[max(0, match.start() - 100) : match.start()].rstrip(), form)
            if long:
                yield form, " ".join(map(_singular, _WORD.findall(long)))


def _is_named(name: Name, long: str) -> bool:
    stems = {stem(word) for word in _WORD.findall(long)}
    return name.shares.keys() <= stems and len(stems) <= len(name.shares) + 1


WEIGHT, AGAINST = 12.0, 16.0
"""What a wanted and an unwanted term count, in doublings of the rank: 12 are from place 1 to 4,000.
"""
AROUND = 300
"""Documents nearest to the seed that are read for wanted terms, and documents of a ranking that are
read at a time for unwanted ones."""
PREFERRED = 2_000  # Documents, those that were read first, that are ranked in any case
NOT_READ = 0.5  # Probability for a document that has all words of a term and was not read


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one query on one corpus; none for a system that does not read them."""

    corpus: OpenCorpus
    scores: tuple[TermScores, ...] = ()

    @classmethod
    def find(cls, corpus: OpenCorpus, terms: Sequence[Term], embed: Embed) -> Terms:
        """Look for the terms in a corpus; what was found for them before is used again."""
        by_key = {str(term): term for term in terms}

        def read(keys: Sequence[str]) -> dict[str, TermScores]:
            texts = [by_key[key].alternatives for key in keys]
            vectors = embed([*itertools.chain(*texts)])
            parts = np.split(vectors, np.cumsum([len(own) for own in texts])[:-1])
            return {
                key: score_term(corpus, by_key[key], own)
                for key, own in zip(keys, parts, strict=True)
            }

        return cls(corpus, tuple(corpus.term_scores.get(list(by_key), read)))

    def rank(self, rank: Rank, request: Request, last: int) -> RankedDocuments:
        """A system's ranking with wanted terms first and unwanted last; ``last`` is the last shown
        place."""
        there = [scores for scores in self.scores if len(scores.having)]
        wanted = [scores for scores in there if scores.term.wanted]
        unwanted = [scores for scores in there if not scores.term.wanted]
        if not wanted:
            ranking = rank(self.corpus, request)
        else:
            read = self._read(wanted, request)
            rows = distinct([read, *(scores.naming for scores in wanted)])
            rows = rows[request.scope.allowed[rows]]
            found = rows[_gains(wanted, rows, read) >= np.sqrt(HAS) * WEIGHT * len(wanted)]
            request = replace(request, preferred=found[:PREFERRED])
            ranking = rank(self.corpus, request)
            values = _gains(wanted, ranking.rows, read) - _doublings(len(ranking))
            ranking = _ordered(ranking, values, np.argsort(-values, kind="stable"))
        if unwanted:
            ranking = self._without(unwanted, ranking, last)
        return ranking[: request.depth] if there else ranking

    def _read(self, wanted: Sequence[TermScores], request: Request) -> Rows:
        """Documents to read: near a term, or near the seed and naming one."""
        seed = VectorPart("vector", request.seed.vector, 1.0)
        around = self.corpus.candidates([seed], request, AROUND)
        naming = np.concatenate([scores.naming for scores in wanted])
        rows = distinct([around[np.isin(around, naming)], *(scores.near for scores in wanted)])
        rows = rows[request.scope.allowed[rows]]
        for scores in wanted:
            scores.read(self.corpus, rows)
        return rows

    def _without(
        self, unwanted: Sequence[TermScores], ranking: RankedDocuments, last: int
    ) -> RankedDocuments:
        """The ranking with documents of unwanted terms last, read in blocks up to ``last``."""
        rows = ranking.rows
        chance = np.max([_chances(s, rows, rows[:0]) for s in unwanted], axis=0)
        end = 0
        while end < len(rows) and (chance[:end] < HAS).sum() < last:
            block = slice(end, end := end + AROUND)
            for scores in unwanted:
                scores.read(self.corpus, rows[block])
            chance[block] = np.max(
                [_chances(s, rows[block], rows[block]) for s in unwanted], axis=0
            )
        blocks = np.minimum(np.arange(len(rows)), end) // AROUND
        blocks[chance >= HAS] = len(rows)
        values = -AGAINST * chance - _doublings(len(rows))
        return _ordered(ranking, values, np.lexsort((-values, blocks)))

    def passages(self, doc_ids: Sequence[str]) -> dict[str, tuple[TermPassage, ...]]:
        """How well these documents have each term, and where."""
        rows = self.corpus.rows(doc_ids)
        for scores in self.scores:
            scores.read(self.corpus, rows)
        return {
            doc_id: tuple(scores.passages[row] for scores in self.scores)
            for doc_id, row in zip(doc_ids, rows.tolist(), strict=True)
        }

    def uses(self, doc_ids: Sequence[str], scope: Scope) -> tuple[TermUse, ...]:
        """How far the first page of a ranking obeys each term."""
        found = list(self.passages(doc_ids).values())
        return tuple(
            TermUse(
                scores.term,
                len(scores.having),
                int(scope.allowed[scores.having].sum()),
                sum(own[at].has for own in found),
                len(found),
                len(scores.naming) < MOST_NAMING,
            )
            for at, scores in enumerate(self.scores)
        )


def _doublings(places: int) -> FloatArray:
    return np.log2(np.arange(places, dtype=np.float32) + 2)


def _ordered(ranking: RankedDocuments, values: FloatArray, order: Rows) -> RankedDocuments:
    falling = np.minimum.accumulate(values[order])
    return RankedDocuments(ranking.corpus_ids, ranking.rows[order], falling)


def _gains(wanted: Sequence[TermScores], rows: Rows, read: Rows) -> FloatArray:
    """Gains (n,) of documents by wanted terms, in doublings of the rank."""
    return np.asarray(WEIGHT * np.sum([np.sqrt(_chances(s, rows, read)) for s in wanted], axis=0))


def _chances(scores: TermScores, rows: Rows, read: Rows) -> FloatArray:
    """Probabilities (n,) of a term; documents not in ``read`` go by name only."""
    chance = np.where(np.isin(rows, scores.naming), np.float32(NOT_READ), np.float32(0))
    for at in np.flatnonzero(np.isin(rows, read)).tolist():
        chance[at] = scores.passages[int(rows[at])].probability
    return chance
