"""What a reranking algorithm asks of whoever judges: a model, a person, or a simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


class StopAsking(Exception):  # noqa: N818 - it is no error
    """A judge raises it when it will not answer any more: a budget is spent, a person gave up.

    Reranking then ends with the best order so far. What the judge knows of the round under way
    is lost with it; to keep that, return None for the rest of the round and raise in the next.
    """


class Judge(Protocol):
    """Answers about documents of one query.

    Every call of a method is one round: its questions do not depend on each other's answers and
    may be asked at once. The answers come in the order of the questions, one each. None says
    that there is no usable answer (a failed request, an unreadable one, an exhausted budget);
    algorithms go on without it and never take it for a judgment. A value that is not a number
    from 0 to 1 is read as None.

    Whether a pair is asked in one order or in both is the algorithm's business: ``(a, b)`` and
    ``(b, a)`` are different questions.
    """

    async def compare(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """Probability, 0 to 1, that the first document of each pair is the better one.

        The first is shown first. A judge that only names one of the two gives 0 or 1.
        """
        ...

    async def grade_each(self, doc_ids: Sequence[str]) -> list[float | None]:
        """How relevant each document is, judged by itself: 0 (not at all) to 1."""
        ...

    async def order(self, lists: Sequence[Sequence[str]]) -> list[list[str] | None]:
        """Each list's documents, best first; they are shown in the order of the list.

        Documents may be missing from an answer; what was not asked about is ignored, and so is
        a document's second mention.
        """
        ...


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
