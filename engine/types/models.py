"""What a run is going to ask of a language model, and what it did ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, TypeVar

R = TypeVar("R")
CALLS_EACH = 2  # Requests for a question at most: one more where the answer could not be read
TRYING_OUT = 10  # Requests at most that find out what an endpoint can do


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a task has left to do and asks of a model at most, by lengths of texts."""

    calls: int = 0  # questions: as many requests where every answer can be read at once
    input_tokens: int | None = None  # input_tokens, output_tokens: None without an endpoint
    output_tokens: int | None = None
    cost: float | None = None  # in the currency of the price that was set; None without one
    items: int = 0  # that are left, of what the task goes through
    counts: Mapping[str, int] = field(default_factory=dict)  # further numbers, by name
    rounds: int = 0  # how often one has to wait for the answers before it
    exact: bool = True  # the answers do not change these numbers

    @property
    def most_calls(self) -> int:
        """Requests at most, repeats and the trial included; a run that was announced ends there."""
        return CALLS_EACH * self.calls + TRYING_OUT if self.calls else 0


def summed(estimates: Sequence[Estimate]) -> Estimate:
    """All of them together, without items; None for what none of them knows."""
    sent = [e.input_tokens for e in estimates if e.input_tokens is not None]
    answered = [e.output_tokens for e in estimates if e.output_tokens is not None]
    costs = [e.cost for e in estimates if e.cost is not None]
    return Estimate(
        calls=sum(e.calls for e in estimates),
        input_tokens=sum(sent) if sent else None,
        output_tokens=sum(answered) if answered else None,
        cost=sum(costs) if costs else None,
        rounds=sum(e.rounds for e in estimates),
        exact=all(e.exact for e in estimates),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage:
    """What a model was asked in a run, so far or from beginning to end, and how the run ended."""

    model: str = ""  # that was asked; "" for none
    endpoint: str = ""  # its address
    calls: int = 0  # requests sent: trying the endpoint out and repeats included
    cached: int = 0  # answers that the ledger had, at no cost
    failed: int = 0  # without a usable answer; asked about again in the next run
    input_tokens: int = 0  # as reported, or estimated
    output_tokens: int = 0
    cost: float | None = None  # None where no price is known
    seconds: float = 0.0  # from beginning to end
    stopped: str = ""  # "cancelled", "budget" or "endpoint": why it ended early; "" when it did not
    problem: str = ""  # the words for it, or for the last failure
    notes: tuple[str, ...] = ()  # plain sentences on what is odd
    rounds: int = 0  # how often somebody waited for the answers to a batch of questions
    asked: int = 0  # different questions; those not settled were not reached
    answered: int = 0
    unread: int = 0  # answered twice in a form that could not be read; counted for nobody
    repeats: int = 0  # requests sent again after an error
    shortened: int = 0  # questions cut for the model
    guessed: int = 0  # calls whose tokens are estimated, as the endpoint reported none

    @property
    def tokens(self) -> int:
        """Read and written."""
        return self.input_tokens + self.output_tokens

    @property
    def settled(self) -> int:
        """Questions that need not be asked any more, answered or not."""
        return self.answered + self.cached + self.failed + self.unread

    @property
    def figures(self) -> dict[str, Any]:
        """The fields of this class, for a report that has others too."""
        return {one.name: getattr(self, one.name) for one in fields(ModelUsage)}

    def since(self, before: ModelUsage) -> ModelUsage:
        """What was used after ``before``."""
        numbers: dict[str, Any] = {
            name: value - (getattr(before, name) or 0)
            for name, value in self.figures.items()
            if isinstance(value, int | float)
        }
        return replace(self, **numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport(ModelUsage, Generic[R]):
    """What a task did, and what came of it; ``left`` items were not reached."""

    result: R
    left: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport(ModelUsage):
    """What a model was asked about queries and how it went. All counts are of one run."""

    mode: str
    depth: int
    queries: int = 0  # how many were asked about
    questions: int = 0  # put by the algorithms; those to be answered from the ledger included
    unanswered: int = 0  # without a usable answer; count for nobody
    position_bias: float | None = None  # mean probability that the first of two equals wins
    first_share: float | None = None  # mean probability given to the document shown first
    cut: int = 0  # documents of which the model saw the beginning only
    empty: int = 0  # documents without text, of which nothing could be asked


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is: ``done`` of ``total`` items after ``seconds``."""

    done: int = 0
    total: int = 0
    seconds: float = 0.0

    @property
    def share(self) -> float:
        """How far the run is, 0 to 1; 0 while nobody knows how much there is to do."""
        return min(1.0, self.done / self.total) if self.total else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds to go, None while there is no rate yet."""
        return self.seconds * (self.total / self.done - 1) if self.done else None


@dataclass(frozen=True, slots=True)
class TaskProgress(RunProgress):
    """How far a task is."""

    failed: int = 0  # of the items that are done, without a usable answer
    calls: int = 0  # calls, tokens: of the model so far, read and written; 0 where none is asked
    tokens: int = 0
    made: int = 0  # what came of the items that are done
    phase: str = ""  # of the task, where it has several
    model: str = ""  # that is asked; "" before it is
    partial: Any = None  # the result so far, of tasks that show it
