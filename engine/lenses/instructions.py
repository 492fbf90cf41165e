"""The aspects of a lens that a free wording asks for, and those that it rules out.

A wording may name an aspect ("the same technique"), be like sentences of an aspect ("trained
without labels"), rule aspects out ("whatever the topic"), or none of these ("in the same journal").
Probabilities come from a fitted network (:mod:`engine.encode.wording_network`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import pairwise

import numpy as np

from engine.config import ASSETS
from engine.lenses.glossary import GlossedWord, fold, gloss, glossed_words
from engine.numeric import FloatArray
from engine.sentences import stop_words
from engine.types.documents import Span
from engine.types.lenses import Aspect, Lens
from engine.types.searches import Term

Tag = Callable[[Sequence[str]], FloatArray]
"""The words of a wording to scores (words, labels), see ``WordingNetwork.tags``."""
OTHER, CARRIER, WANTED, UNWANTED = range(4)  # Labels, see `LABELS` of the network
_QUOTE = r"[\"“„«「]([^\"“”„«»「」]+)[\"“”»」]"
_QUOTED = re.compile(_QUOTE)
_SIGNED = re.compile(rf"(?<!\S)([+\-−])(?:{_QUOTE}|(\w[^\s,;]*))")
_ARTICLE = re.compile(
    r"^(?:(?:the|an?|de[rnms]|die|das|eine?[nrms]?|l[ae]s?|une?|du|el|los|una) +|[ld]['’](?=\w{3}))"
)
_HAN = re.compile(r"[\u3400-\u9fff]")
_LIKE = ("similar", "same")


@dataclass(frozen=True, slots=True)
class FoundTerm:
    """A term of a wording."""

    text: str  # the person's words
    wanted: bool
    clause: str  # what leads to it, and itself, in English as far as the glossary goes
    leads: bool  # there are words that lead to it


@dataclass(frozen=True, slots=True)
class TermReading:
    """The terms of a wording, and the rest of it."""

    terms: tuple[FoundTerm, ...]
    rest: str  # without terms and what leads to them, in English
    words: tuple[GlossedWord, ...]  # of the rest, as in the wording


def read_terms(text: str, lens: Lens, tag: Tag) -> TermReading:
    """Find the terms of a wording. Names of the lens's aspects are none, unless marked."""
    signed = list(_SIGNED.finditer(text))
    found = [FoundTerm(m[2] or m[3], m[1] == "+", m[2] or m[3], False) for m in signed]
    plain = _SIGNED.sub(lambda match: " " * len(match.group()), text)
    words = glossed_words(plain)
    if not any(re.search(r"\w", word.text) for word in words):
        return TermReading(_distinct(found), "", ())
    scores = tag([word.text for word in words])
    labels = scores.argmax(axis=1)
    for quote in _QUOTED.finditer(plain):
        inside = [i for i, w in enumerate(words) if quote.start(1) <= w.span[0] < quote.end(1)]
        against = (scores[inside, UNWANTED] > scores[inside, WANTED]).sum()
        labels[inside] = UNWANTED if 2 * against > len(inside) else WANTED
    _extend(plain, words, labels)
    names = {fold(n) for a in lens.aspects for n in (a.key, a.name, *a.phrases)}
    for first, last in _runs(labels):
        span = words[first].span[0], words[last].span[1]
        own = plain[slice(*span)].strip(" .,;:!?\"'“”„«»「」()")
        own = _ARTICLE.sub("", own)
        marked = any(q.start() <= span[0] and span[1] <= q.end() for q in _QUOTED.finditer(plain))
        english = " ".join(word.text for word in words[first : last + 1])
        if not re.search(r"\w", own) or (not marked and _is_name(own, fold(english), names)):
            labels[first : last + 1] = OTHER
            continue
        start = first
        while start and labels[start - 1] == CARRIER:
            start -= 1
        clause = " ".join(word.text for word in words[start : last + 1])
        leads = any(re.search(r"\w", word.text) for word in words[start:first])
        found.append(FoundTerm(own, bool(labels[first] == WANTED), clause, leads))
    kept = tuple(w for w, label in zip(words, labels, strict=True) if label == OTHER or not found)
    return TermReading(_distinct(found), " ".join(word.text for word in kept), kept)


def _is_name(own: str, english: str, names: set[str]) -> bool:
    """Whether a term is the name of an aspect, in another language or mistyped."""
    mistyped = english.isalpha() and len(english) > 4
    close = get_close_matches(english, [*names, *_LIKE], 1, 0.85) if mistyped else []
    return fold(own) in names or english.removeprefix("the ") in names or bool(close)


def _extend(text: str, words: Sequence[GlossedWord], labels: np.ndarray) -> None:
    """Add to a Chinese term the signs right before it."""
    for at in range(len(labels) - 1, 0, -1):
        signs = [word.span for word in words[at - 1 : at + 1]]
        single = all(b - a == 1 and _HAN.match(text, a) for a, b in signs)
        if single and labels[at] >= WANTED and labels[at - 1] == OTHER:
            labels[at - 1] = labels[at]


def _runs(labels: np.ndarray) -> list[Span]:
    """First and last word of each term."""
    changes = np.flatnonzero(np.diff(labels)) + 1
    bounds = [0, *changes.tolist(), len(labels)]
    return [(a, b - 1) for a, b in pairwise(bounds) if labels[a] >= WANTED]


def _distinct(found: Sequence[FoundTerm]) -> tuple[FoundTerm, ...]:
    """Each term once."""
    return tuple({(term.text.casefold(), term.wanted): term for term in found}.values())


WEIGHTS, TAGGER = ASSETS / "wordings" / "reader.npz", ASSETS / "wordings" / "tagger.npz"
ASKED, RULED_OUT = 0.7, 0.3
"""Probabilities from which a wording asks for an aspect, and rules it out. They gave the largest
share understood less 7.5 times the share read as the opposite, of wordings that were not fitted on:
of these 15 % may be misread, and 2 % as the opposite."""
OPPOSITE = 2.0  # Times that the probability of the opposite is subtracted before
TELLING = 0.2
"""Share of what asks for an aspect from which a part of a wording is kept as its subject."""
MOST_PHRASES = 6  # Phrases that an aspect is described by
Score = Callable[[Sequence[str]], FloatArray]
"""The parts of a wording to log-odds (parts, 2 a), see ``WordingNetwork.scores``."""
_GENERIC = (
    "paper papers article articles study studies document documents work works text texts "
    "abstract abstracts post posts conversation conversations one ones thing things same "
    "similar alike like related near close find show give get want need look looking search "
    "please more all any use used using based different another kind sort type"
)
GENERIC = frozenset(_GENERIC.split())
"""Words that ask for documents and name nothing that could be in them."""
_TURN = re.compile(
    r"""(?<=[,;:.!?()\n–—])\s+|(?<=[;()\n–—，。；])
    |\s+(?=(?:and|but|yet|though|although|while|whereas|however|not|no|never|nor|without|rather
    |instead|except|regardless|irrespective|whatever|whichever|wherever|ignor\w+|disregard\w*
    |only|just)\b)""",
    re.IGNORECASE | re.VERBOSE,
)
"""Where a wording may turn from what it asks for to what it rules out, or back."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The interpretation of a wording."""

    wants: FloatArray  # (a,) weights over the lens, sum to 1, or all 0 without an aspect
    avoids: FloatArray  # (a,) 1 for aspects that were ruled out, else 0
    strength: float  # 1 when it asks for an aspect, else 0
    subject: str  # the rest without terms and parts that rule out; "" when nothing is left
    terms: tuple[Term, ...] = ()  # content words that documents should have, or should not
    contradicted: tuple[str, ...] = ()  # both asked for and ruled out, so they do not count
    unused: tuple[str, ...] = ()  # neither, where it asks for no aspect


def description(aspect: Aspect) -> str:
    """The text by which an aspect is compared with wordings."""
    return f"{aspect.name}: {', '.join(aspect.phrases[:MOST_PHRASES])}. {aspect.definition}"


class LensWords:
    """Reads wordings for a lens: ``read`` finds the terms, and the aspects that the rest asks for
    and rules out; one that only rules aspects out asks for all others equally."""

    def __init__(self, lens: Lens, score: Score, tag: Tag) -> None:
        self._lens, self._aspects, self._score, self._tag = lens, len(lens.aspects), score, tag
        self.read = functools.lru_cache(maxsize=512)(self._read)

    def _read(self, words: str) -> Reading:
        if words in self._lens.texts:
            return self._read_aspects(gloss(words))
        found = read_terms(words, self._lens, self._tag)
        read = self._read_aspects(found.rest if found.terms else gloss(words))
        unused = () if read.strength else _content(words, found.words, self._lens)
        if unused and all(term.wanted for term in found.terms):
            whole = self._read_aspects(gloss(words))  # "runs in linear time" is a result
            read, unused = (whole, ()) if whole.strength else (read, unused)
        signs: dict[str, set[bool]] = {}
        for term in found.terms:
            signs.setdefault(term.text.casefold(), set()).add(term.wanted)
        terms = [term for term in found.terms if len(signs[term.text.casefold()]) == 1]
        return replace(
            read,
            terms=tuple(Term(t.text, t.wanted, self._aspect_of(t, read.wants)) for t in terms),
            contradicted=tuple(text for text, both in signs.items() if len(both) > 1),
            unused=unused,
        )

    def _aspect_of(self, term: FoundTerm, wants: FloatArray) -> str:
        """Key of the aspect that what leads to a wanted term asks for; "" for none."""
        if not term.wanted:
            return ""
        if term.leads:
            wants, _ = np.split(chances(np.logaddexp.reduce(self._score([term.clause]), axis=0)), 2)
            wants = np.where(wants > ASKED, wants, 0.0)
        elif ":" not in term.clause or np.count_nonzero(wants) != 1:
            return ""  # "same method: tree kernels" means the method
        return self._lens.aspects[int(wants.argmax())].key if wants.any() else ""

    def _read_aspects(self, glossed: str) -> Reading:
        if not re.search(r"\w", glossed):  # of "sehr gern", for one, nothing is left
            nothing = np.zeros(self._aspects, dtype=np.float32)
            return Reading(nothing, nothing, 0.0, "")
        parts = split(glossed)
        scores = self._score(parts)
        wants, avoids = np.split(chances(np.logaddexp.reduce(scores, axis=0)), 2)
        wants, avoids = (
            np.where(wants - OPPOSITE * avoids > ASKED, wants, 0.0),
            np.where(avoids - OPPOSITE * wants > RULED_OUT, avoids, 0.0),
        )
        subject = "".join(parts) if not avoids.any() else _kept(parts, scores, wants, avoids)
        if avoids.any() and not wants.any():
            wants = np.where(avoids > 0, 0.0, avoids.max())
        total = float(wants.sum())
        return Reading(
            np.asarray(wants / total if total > 0 else wants, dtype=np.float32),
            np.asarray(avoids > 0, dtype=np.float32),
            float(wants.any()),
            subject.strip(" ,;.:"),
        )


def _content(text: str, words: Sequence[GlossedWord], lens: Lens) -> tuple[str, ...]:
    """The content words, as in the wording."""
    common = stop_words() | GENERIC | {*lens.things.split()}
    spans = [w.span for w in words if w.text[0].isalnum() and w.text.casefold() not in common]
    return tuple(dict.fromkeys(text[start:end] for start, end in spans))


def split(text: str) -> list[str]:
    """The parts of a wording, which make it up again when joined.

    >>> split("same design, but not the same field")
    ['same design,', ' but', ' not the same field']
    """
    ends = [turn.start() for turn in _TURN.finditer(text) if turn.start()]
    cuts = [0, *dict.fromkeys(ends), len(text)]
    return [text[start:end] for start, end in pairwise(cuts) if start < end]


def chances(scores: FloatArray) -> FloatArray:
    """(2 a,) probabilities of asking for each aspect, then of ruling it out, of log-odds (2 a,) of
    both against neither."""
    asks, rules_out = np.split(scores, 2)
    nothing = np.logaddexp(0.0, np.logaddexp(asks, rules_out))
    return np.asarray(np.exp(np.concatenate([asks - nothing, rules_out - nothing])))


def _kept(parts: Sequence[str], scores: FloatArray, wants: FloatArray, avoids: FloatArray) -> str:
    """The parts that are more about wanted aspects than about those ruled out."""
    asks, rules_out = np.split(scores, 2, axis=1)
    of_wanted = np.exp(asks - np.logaddexp.reduce(asks, axis=0)) @ (wants > 0)
    of_ruled_out = np.exp(rules_out - np.logaddexp.reduce(rules_out, axis=0)) @ (avoids > 0)
    return "".join(
        part
        for part, asked, ruled_out in zip(parts, of_wanted, of_ruled_out, strict=True)
        if asked > max(ruled_out, TELLING)
    )
