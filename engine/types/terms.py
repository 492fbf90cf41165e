"""Terms: content words of a wording that documents should have, or should not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Self

from engine.types.documents import Span

HAS = 0.5
"""Probability from which a document has a term."""
OBEYED = 0.5
"""Share of the first results that must obey a term."""
ANYWHERE = "term"
"""Stands where an aspect's key would, for a term that may be anywhere in a document."""
_OR = re.compile(r"\s+(?:or|oder|ou|o)\s+|或者?", re.IGNORECASE)
_WRITTEN = re.compile(r"([+-]?)([^:+\-][^:]*):(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Term:
    r"""Content words that documents should have, or should not.

    Written as a part of :attr:`Query.reading`: ``+term:tree kernels``, ``-term:twitter``, or with
    an aspect ``+method:tree kernels``; a comma or a backslash has a backslash before it.

    Attributes:
        text: as a person wrote it; alternatives have "or" between them.
        aspect: key of the aspect whose sentences should have it; "" for anywhere.

    >>> str(Term("tree kernels", aspect="method")), Term.parse("-term:twitter")
    ('+method:tree kernels', Term(text='twitter', wanted=False, aspect=''))
    """

    text: str
    wanted: bool = True
    aspect: str = ""

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
    """How well a document has a term.

    Attributes:
        probability: that it has the term, 0 to 1.
        means: by which it has it.
        span: the sentence that has it best, offsets into the text as stored; None for the title,
            or where no sentence has it.
        marks: spans of the term's words in that sentence.
    """

    term: Term
    probability: float
    means: Means
    span: Span | None = None
    marks: tuple[Span, ...] = ()

    @property
    def has(self) -> bool:
        """Whether the document is said to have the term."""
        return self.probability >= HAS


@dataclass(frozen=True, slots=True)
class TermUse:
    """How far a ranking obeys a term.

    Attributes:
        documents: that have the term, of the corpus; at least that many where ``exact`` is false.
        top: of the first ``shown`` results, those that have it.
    """

    term: Term
    documents: int
    top: int
    shown: int
    exact: bool = True

    @property
    def share(self) -> float:
        """How far the first results obey it, 0 to 1."""
        if not self.term.wanted:
            return 1.0 - self.top / max(1, self.shown)
        return min(1.0, self.top / max(1, min(self.shown, self.documents)))

    @property
    def outcome(self) -> str:
        """In words: ``mentions “tree kernels”: 18 of 20``."""
        if not self.documents:
            return f"no document mentions “{self.term.text}”"
        verb = "mentions" if self.term.wanted else "leaves out"
        verb = verb if self.share >= OBEYED else "ignores"
        return f"{verb} “{self.term.text}”: {self.top} of {self.shown} have it"

    def sentence(self, size: int) -> str:
        """How many of the corpus's ``size`` documents have it, and of the first results."""
        over = "" if self.exact else "over "
        verb = "mention" if self.term.wanted else "are about"
        return (
            f"{over}{self.documents:,} of {size:,} documents {verb} “{self.term.text}”; "
            f"{self.top} of the first {self.shown} results"
        )
