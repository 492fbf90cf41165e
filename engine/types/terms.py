"""Terms: content words of a wording that documents should have, or should not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Self

from engine.types.documents import Span

HAS = 0.5  # Probability from which a document has a term
OBEYED, LEFT_OUT = 0.5, 0.9
"""Shares of the first results that must have a wanted term, and must not have an unwanted one."""
ANYWHERE = "term"  # In place of an aspect's key: the term may be anywhere in a document
_OR = re.compile(r"\s+(?:(?i:or|oder)|ou|o)\s+|或者?")
_WRITTEN = re.compile(r"([+-]?)([^:+\-][^:]*):(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Term:
    r"""Content words that documents should have, or should not.

    Written as a part of :attr:`Query.reading`: ``+term:tree kernels``, ``-term:twitter``, or with
    an aspect ``+method:tree kernels``; a comma or a backslash has a backslash before it.

    >>> str(Term("tree kernels", aspect="method")), Term.parse("-term:twitter")
    ('+method:tree kernels', Term(text='twitter', wanted=False, aspect=''))
    """

    text: str  # as a person wrote it; alternatives have "or" between them
    wanted: bool = True
    aspect: str = ""  # key of the aspect whose sentences should have it; "" for anywhere

    @classmethod
    def parse(cls, part: str) -> Self | None:
        """The term of a part of a reading; None for an aspect's part."""
        written = _WRITTEN.fullmatch(part.strip())
        if written is None:
            return None
        sign, key, text = (group.strip() for group in written.groups())
        text = " ".join(re.sub(r"\\([,\\])", r"\1", text).split())
        return cls(text, sign != "-", "" if key.lower() == ANYWHERE else key.lower())

    def __str__(self) -> str:
        text = re.sub(r"([,\\])", r"\\\1", self.text)
        return f"{'+' if self.wanted else '-'}{self.aspect or ANYWHERE}:{text}"

    @property
    def alternatives(self) -> tuple[str, ...]:
        """What it names, one of which is enough.

        >>> Term("co-training or bootstrapping").alternatives
        ('co-training', 'bootstrapping')
        """
        return tuple(filter(None, map(str.strip, _OR.split(self.text)))) or (self.text,)


Means = Literal["words", "short form", "meaning"]


@dataclass(frozen=True, slots=True)
class TermPassage:
    """How well a document has a term."""

    term: Term
    probability: float  # that it has the term, 0 to 1
    means: Means = "words"  # by which it has it
    sentence: int = -1  # index of the sentence that has it best; -1 for the title, or for none
    marks: tuple[Span, ...] = ()  # spans of the term's words in the title or in the text as stored

    @property
    def has(self) -> bool:
        """Whether the document counts as one with the term."""
        return self.probability >= HAS


@dataclass(frozen=True, slots=True)
class TermUse:
    """How far a ranking obeys a term."""

    term: Term
    documents: int  # with the term, of the corpus; at least that many where `exact` is false
    available: int  # of these, those that may be results: no seed, none that a filter leaves out
    top: int  # with the term, of the first `shown` results
    shown: int
    exact: bool = True

    @property
    def share(self) -> float:
        """How far the first results obey it, 0 to 1."""
        if not self.term.wanted:
            return 1.0 - self.top / max(1, self.shown)
        return min(1.0, self.top / max(1, min(self.shown, self.available)))

    @property
    def obeyed(self) -> bool:
        """Whether the ranking obeys the term as far as it can."""
        return not self.available or self.share >= (OBEYED if self.term.wanted else LEFT_OUT)

    @property
    def outcome(self) -> str:
        """In words: ``mentions “tree kernels”: 18 of 20``."""
        if not self.available:
            return f"no other document mentions “{self.term.text}”"
        verb = "mentions" if self.term.wanted else "leaves out"
        if not self.obeyed:
            verb = "ignores" if self.share < OBEYED else f"partly {verb}"
        return f"{verb} “{self.term.text}”: in {self.top} of {self.shown}"

    def sentence(self, size: int) -> str:
        """How many of the corpus's ``size`` documents have it, and of the first results."""
        over = "" if self.exact else "over "
        return (
            f"“{self.term.text}”: in {over}{self.documents:,} of {size:,} documents, "
            f"in {self.top} of the first {self.shown} results"
        )
