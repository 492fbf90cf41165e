"""What a reranking algorithm asks of a judge: a model, a person, or a simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


class StopAsking(Exception):  # noqa: N818 - it is no error
    """Raised by a judge that stops answering: reranking ends with the best order before this round;
    to keep the round, return None for the rest of it and raise in the next."""


class Judge(Protocol):
    """Answers about documents of one query; every call is one round of independent questions.

    None is no usable answer (failed, unreadable, budget exhausted) and never counts as a judgment,
    likewise values outside of 0 to 1. ``(a, b)`` and ``(b, a)`` are different questions.
    """

    async def compare(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """Probability, 0 to 1, that the first document of each pair, shown first, is better; 0 or 1
        for a mere choice."""
        ...

    async def grade_each(self, doc_ids: Sequence[str]) -> list[float | None]:
        """How relevant each document is, judged by itself: 0 (not at all) to 1."""
        ...

    async def order(self, lists: Sequence[Sequence[str]]) -> list[list[str] | None]:
        """Each list's documents, shown in its order, best first; some may be missing, unknown and
        repeated ones are ignored."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """What a person chooses."""

    depth: int = 100  # reranked documents of the first stage; the others follow in its order
    top: int = 20  # ranks that matter; effort goes there
    # doc_id -> text: of documents with equal text the judge sees the first, and the others follow
    # it. Ids without a text have no copies.
    texts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.depth < 1 or self.top < 1:
            raise ValueError(f"depth and top are at least 1; they are {self.depth}, {self.top}.")


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress after a round."""

    order: tuple[str, ...]  # all candidates, best first, as far as known
    rounds: int  # sequential calls of the judge
    calls: int  # questions asked; ``unanswered``: without a usable answer
    unanswered: int


OnRound = Callable[[Progress], bool | None]
"""Told after each round; True stops, and the order of that round is the result."""


@dataclass(frozen=True, slots=True)
class Reranked(Progress):
    """The new order and its basis."""

    # doc_id -> 0.5 to 1, probability under the fitted Bradley-Terry model that a reranked document
    # is on the right side of the cut behind ``top``; empty without comparisons
    confidence: Mapping[str, float]
    # estimated probability, 0 to 1, that the first of two equally good documents is preferred: 0.5
    # is none; None without comparisons
    position_bias: float | None
    stopped: bool  # ended early, on request or by the judge


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a mode will cost."""

    calls: int
    rounds: int
    exact: bool  # independent of the judge's answers, equal texts aside
