"""The terms of a wording: content words that documents should have, or should not.

Words after a ``+`` or a ``-`` and words in quotes always count. Others count as the tagger
(:class:`engine.encode.wording_network.TermTagger`) reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

import numpy as np

from engine.lenses.glossary import GlossedWord, fold, glossed_words
from engine.numeric import FloatArray
from engine.types.documents import Span
from engine.types.lenses import Lens

Tag = Callable[[Sequence[str]], FloatArray]
"""The words of a wording to scores (words, labels), see ``WordingNetwork.tags``."""
OTHER, CARRIER, WANTED, UNWANTED = range(4)
"""Labels, see ``LABELS`` of the network."""
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
    """A term as it stands in a wording.

    Attributes:
        text: the person's words.
        clause: what leads to it, and itself, in English as far as the glossary goes.
        leads: there are words that lead to it.
    """

    text: str
    wanted: bool
    clause: str
    leads: bool


@dataclass(frozen=True, slots=True)
class TermReading:
    """The terms of a wording, and the rest of it.

    Attributes:
        rest: what is left without terms and what leads to them, in English.
        words: of the rest, as they stand in the wording.
    """

    terms: tuple[FoundTerm, ...]
    rest: str
    words: tuple[GlossedWord, ...]


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
