"""Citations in an answer: which passages it names, and which of their sentences say so."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.sentences import split_sentences
from engine.types.documents import Span
from engine.types.reading import AnswerPart, Citation, GivenPassage

_NUMBERS = r"\d{1,4}(?:\s*(?:,|;|&|-|–|and)\s*\d{1,4})*"
_GROUP = re.compile(
    rf"(?<![ \t])[ \t]*[\[【]\s*(?:\^|passages?\s+)?({_NUMBERS})\s*(?:†[^\]】\n]{{0,40}})?[\]】]",
    re.IGNORECASE,
)
"""[1], [1, 3], [2-4], [passage 1]; some models write 【1†source】 whatever they are told."""
_BEGUN = re.compile(r"(?<![ \t])[ \t]*(?:[\[【][^\]】\n]{0,24})?$")
"""What may yet become a citation when more of a streamed answer has come."""
_RANGE = re.compile(r"(\d{1,4})\s*[-–]\s*(\d{1,4})")
_WIDEST = 20
_WORD = re.compile(r"\w+")
LEAST_SHARED = 2
"""Words that a claim and a sentence must share for the one to be shown beside the other."""
LEAST_SHARE = 0.2  # What these must be worth of the whole claim; rare words are worth more


class Cited(NamedTuple):
    """An answer with its citations; ``unknown`` of them named no passage that was given."""

    parts: tuple[AnswerPart, ...]
    unknown: int


@dataclass(slots=True)
class _Parts:
    """The parts of an answer while it is read."""

    sentences: _Sentences
    done: list[AnswerPart] = field(default_factory=list)
    text: str = ""
    numbers: list[int] = field(default_factory=list)
    unknown: int = 0

    def say(self, text: str) -> None:
        """Words; they begin a new part when the last one has its citations."""
        if (self.numbers or self.unknown) and text:
            self.close()
        self.text += text

    def close(self) -> None:
        """End the part at hand."""
        if self.text or self.numbers:
            claim = _claim(self.text)
            cited = tuple(
                Citation(n, self.sentences.likest(claim, n)) for n in dict.fromkeys(self.numbers)
            )
            self.done.append(AnswerPart(self.text, cited, claim if self.unknown else ""))
        self.text, self.numbers, self.unknown = "", [], 0


def read_citations(text: str, passages: Sequence[GivenPassage], *, complete: bool = True) -> Cited:
    """Take the citations out of an answer and look up what they name.

    Args:
        complete: False while more of the answer is to come: what may become a citation is
            held back.
    """
    if not complete:
        text = text[: _BEGUN.search(text).start()]  # type: ignore[union-attr] # it always matches
    given = {p.number for p in passages}
    parts = _Parts(_Sentences(passages))
    unknown = at = 0
    for group in _GROUP.finditer(text):
        parts.say(text[at : group.start()])
        at = group.end()
        named = _numbers(group[1])
        known = [n for n in named if n in given]
        parts.unknown += len(named) - len(known)
        unknown += len(named) - len(known)
        parts.numbers += known
    parts.say(text[at:])
    parts.close()
    return Cited(tuple(parts.done), unknown)


def _numbers(text: str) -> list[int]:
    """
    >>> _numbers("1, 3-5")
    [1, 3, 4, 5]
    """
    numbers: list[int] = []
    for piece in re.split(r",|;|&|and", text):
        spread = _RANGE.fullmatch(piece.strip())
        first, last = (int(spread[1]), int(spread[2])) if spread else (0, -1)
        if spread and first <= last <= first + _WIDEST:
            numbers += range(first, last + 1)
        else:
            numbers += [int(n) for n in re.findall(r"\d+", piece)]
    return numbers


def _claim(text: str) -> str:
    """What a citation stands behind: the last sentence before it."""
    spans = split_sentences(text.lstrip(" .,;:\n"))
    return text.lstrip(" .,;:\n")[slice(*spans[-1])] if spans else ""


class _Sentences:
    """The sentences of all passages, compared by their words; common words count little."""

    def __init__(self, passages: Sequence[GivenPassage]) -> None:
        self._of: dict[int, list[tuple[Span, set[str]]]] = {}
        for passage in passages:
            text = passage.document.text
            spans = _sentences(passage)
            self._of[passage.number] = [(span, _words(text[slice(*span)])) for span in spans]
        self._often = Counter(w for own in self._of.values() for _, words in own for w in words)
        self._count = sum(len(own) for own in self._of.values())

    def likest(self, claim: str, number: int) -> Span | None:
        """The sentence of a passage that shares most with a claim, None where it is too little."""
        wanted = _words(claim)
        least = LEAST_SHARE * self._worth(wanted)
        best, best_worth = None, 0.0
        for span, own in self._of[number]:
            shared = own & wanted
            worth = self._worth(shared)
            if len(shared) >= LEAST_SHARED and worth >= least and worth > best_worth:
                best, best_worth = span, worth
        return best

    def _worth(self, words: set[str]) -> float:
        return sum(math.log((1 + self._count) / (0.5 + self._often[word])) for word in words)


def _sentences(passage: GivenPassage) -> list[Span]:
    start, end = passage.span
    inside = [s.span for s in passage.document.sentences if start <= s.span[0] and s.span[1] <= end]
    return inside or [passage.span]


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if len(word) > 2 or word.isdigit()}
