"""What every run over many items with a language model reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRunReport:
    """What a run took, and how it ended.

    Attributes:
        failed: items without a usable answer; they are asked about again in the next run.
        left: items that were not reached.
        model: that was asked; "" for none.
        calls, cached: requests sent, and answers that the ledger had.
        cost: None where no price is known.
        seconds: from beginning to end.
        stopped: "cancelled", "budget" or "endpoint": why it ended early; "" when it did not.
        problem: the words for it, or for the last failure.
        notes: plain sentences on what is odd.
    """

    failed: int = 0
    left: int = 0
    model: str = ""
    calls: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    stopped: str = ""
    problem: str = ""
    notes: tuple[str, ...] = ()


class RunProgress:
    """What follows from how far a run is: ``done`` of ``total`` items after ``seconds``.

    A record of progress derives from it, in an order of its fields of its own.
    """

    __slots__ = ()
    done: int
    total: int
    seconds: float

    @property
    def share(self) -> float:
        """How far the run is, 0 to 1; 0 while nobody knows how much there is to do."""
        return min(1.0, self.done / self.total) if self.total else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds to go, None while there is no rate yet."""
        return self.seconds * (self.total / self.done - 1) if self.done else None


class Foreseen(Protocol):
    """What a run would ask of a model at most; ``None`` for what nobody knows yet."""

    @property
    def calls(self) -> int: ...
    @property
    def input_tokens(self) -> int | None: ...
    @property
    def output_tokens(self) -> int | None: ...
    @property
    def cost(self) -> float | None: ...


class Taken(Protocol):
    """What a run has asked of a model; see :class:`ModelRunReport`."""

    @property
    def calls(self) -> int: ...
    @property
    def cached(self) -> int: ...
    @property
    def input_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...
    @property
    def cost(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class ModelReport:
    """What a model was asked and how it went. All counts are of one run over its queries.

    Attributes:
        queries: how many were asked about.
        questions: put by the algorithms; those to be answered from the ledger included.
        rounds: how often an algorithm waited for answers, summed over the queries.
        calls: requests sent: trying the endpoint out and repeats included.
        failed: requests without an answer in spite of repeats.
        unread: answers that could not be read, twice.
        unanswered: questions without a usable answer for whatever reason; they are not counted.
        cached: answered by the ledger at no cost.
        guessed: calls whose tokens are estimated, as the endpoint reported none.
        position_bias: probability that the first of two equally good documents is preferred,
            the mean over the queries; 0.5 is none, None where nothing was compared.
        first_share: mean probability given to the document shown first.
        cut: documents of which the model saw the beginning only.
        shortened: questions with shorter texts than was meant: the model could not take those.
        empty: documents without text, of which nothing could be asked.
        stopped: "cancelled", "budget" or "endpoint": why it ended early; "" when it did not.
        problem: the words for it, or for the last failure.
    """

    mode: str
    depth: int
    endpoint: str
    model: str
    queries: int = 0
    questions: int = 0
    rounds: int = 0
    calls: int = 0
    repeats: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    guessed: int = 0
    failed: int = 0
    unread: int = 0
    unanswered: int = 0
    cached: int = 0
    cost: float | None = None
    seconds: float = 0.0
    position_bias: float | None = None
    first_share: float | None = None
    cut: int = 0
    empty: int = 0
    shortened: int = 0
    stopped: str = ""
    problem: str = ""
    notes: tuple[str, ...] = ()
