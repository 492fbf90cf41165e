"""What reranking takes beside documents and a judge, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Options:
    """What a person chooses.

    Attributes:
        depth: documents of the first stage that are reranked; the others follow in its order.
        top: ranks that matter; effort goes there.
        texts: doc_id -> text, for documents that may be copies of others: of those with the same
            text the judge sees the first, and the others follow it. Ids not listed, and those
            without text, have one of their own.

    Raises:
        ValueError: ``depth`` or ``top`` is below 1.
    """

    depth: int = 100
    top: int = 20
    texts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.depth < 1 or self.top < 1:
            raise ValueError(f"depth and top are at least 1; they are {self.depth}, {self.top}.")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is after a round.

    Attributes:
        order: all candidates, best first, as far as is known now.
        calls: questions asked.  unanswered: those of them without a usable answer.
    """

    order: tuple[str, ...]
    rounds: int
    calls: int
    unanswered: int


OnRound = Callable[[Progress], bool | None]
"""Told after each round; True stops, and the order of that round is the result."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """The new order and what it rests on.

    Attributes:
        order: all candidates, best first.
        rounds: how often the judge was asked, one round after the other.
        calls: questions asked, all rounds together.
        unanswered: questions without a usable answer.
        confidence: doc_id -> 0.5 to 1, the probability under the fitted Bradley-Terry model
            that the document is on the right side of the cut behind the first ``top``; for
            reranked documents only, and empty where documents were not compared.
        position_bias: estimated probability, 0 to 1, that the first of two equally good
            documents is preferred: 0.5 is none; None where documents were not compared.
        stopped: ended early, because it was asked to or because the judge had enough.
    """

    order: tuple[str, ...]
    rounds: int
    calls: int
    unanswered: int
    confidence: Mapping[str, float]
    position_bias: float | None
    stopped: bool


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a mode will cost.

    Attributes:
        exact: the judge's answers do not change the numbers (documents of equal text do).
    """

    calls: int
    rounds: int
    exact: bool
