"""What a run may cost, what it is expected to cost, and what it did cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from engine.errors import BadInputError
from engine.llm.endpoint_errors import BudgetReachedError
from engine.types.models import ModelUsage

if TYPE_CHECKING:
    from storage.people import Spending, Spent


@dataclass(frozen=True, slots=True)
class Price:
    """Price per million tokens, in whatever currency the person counts."""

    input: float = 0.0
    output: float = 0.0

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """What these tokens cost.

        >>> Price(2.0, 8.0).cost(500_000, 100_000)
        1.8
        """
        return (input_tokens * self.input + output_tokens * self.output) / 1_000_000


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one run; None is no limit."""

    calls: int | None = None  # requests sent, repeated ones included
    # input and output together. A model that thinks may exceed it by what the calls under way think
    # beyond the usual.
    tokens: int | None = None
    cost: float | None = None  # in the currency of ``price``, which it needs
    price: Price | None = None

    def __post_init__(self) -> None:
        limits = (self.calls, self.tokens, self.cost)
        if any(limit is not None and not limit >= 0 for limit in limits):
            raise BadInputError("A budget cannot be below zero.", "Give 0 or more, or no limit.")
        if self.cost is not None and self.price is None:
            raise BadInputError(
                "A limit of cost needs the price of the tokens.",
                "Give the price per million input and output tokens too.",
            )

    @property
    def is_limited(self) -> bool:
        """Whether anything is limited."""
        return (self.calls, self.tokens, self.cost) != (None, None, None)

    def reached_by(self, calls: int, tokens_in: int, tokens_out: int) -> str:
        """The limit that these go beyond, in words; "" for none."""
        if self.calls is not None and calls > self.calls:
            return f"{self.calls:,} calls"
        if self.tokens is not None and tokens_in + tokens_out > self.tokens:
            return f"{self.tokens:,} tokens"
        if self.cost is not None and self.price is not None:
            return f"a cost of {self.cost:g}" * (self.price.cost(tokens_in, tokens_out) > self.cost)
        return ""


@dataclass(frozen=True, slots=True)
class Account:
    """What one person, by address, may have asked today, whatever the run."""

    person: str
    limits: Budget
    spending: Spending

    def hold(self, input_tokens: int, output_tokens: int) -> None:
        """Set tokens aside for a call that starts now; BudgetReachedError where today's budget is
        exceeded."""

        def check(spent: Spent) -> None:
            limit = self.limits.reached_by(
                spent.calls + 1,
                spent.input_tokens + input_tokens,
                spent.output_tokens + output_tokens,
            )
            if limit:
                raise BudgetReachedError(
                    f"Your budget of {limit} a day is reached; what was answered counts.",
                    "Go on tomorrow: answers that are there are not asked for twice.",
                )

        self.spending.add(self.person, 1, input_tokens, output_tokens, check)

    def settle(self, held: tuple[int, int], used: tuple[int, int]) -> None:
        """End a call that :meth:`hold` began, with the tokens that it took."""
        self.spending.add(self.person, 0, used[0] - held[0], used[1] - held[1])


class Meter:
    """Counts what is used and says when the budget is reached. For one event loop."""

    def __init__(self, budget: Budget, account: Account | None = None) -> None:
        self._budget, self._account = budget, account
        self._calls = self._input = self._output = self._guessed = 0
        self._held_input = self._held_output = 0

    @property
    def usage(self) -> ModelUsage:
        """What was used so far; calls under way count as calls, not yet as tokens."""
        price = self._budget.price
        return ModelUsage(
            calls=self._calls,
            input_tokens=self._input,
            output_tokens=self._output,
            guessed=self._guessed,
            cost=None if price is None else price.cost(self._input, self._output),
        )

    def hold(self, input_tokens: int, output_tokens: int) -> None:
        """Set tokens aside for a call that starts now; BudgetReachedError, with nothing set aside,
        where the budget would be exceeded."""
        tokens_in = self._input + self._held_input + input_tokens
        tokens_out = self._output + self._held_output + output_tokens
        if limit := self._budget.reached_by(self._calls + 1, tokens_in, tokens_out):
            raise BudgetReachedError(
                f"The budget of {limit} is reached; what was answered until then counts.",
                "Raise the budget and run again: answers that are there are not asked for twice.",
            )
        if self._account is not None:
            self._account.hold(input_tokens, output_tokens)
        self._calls += 1
        self._held_input += input_tokens
        self._held_output += output_tokens

    def settle(
        self, held: tuple[int, int], used: tuple[int, int] | None, *, answered: bool
    ) -> None:
        """End a call that :meth:`hold` began; where the endpoint answered, or may have, ``held``
        stands in for a missing report of what was ``used``."""
        self._held_input -= held[0]
        self._held_output -= held[1]
        if used is None and answered:
            self._guessed += 1
            used = held
        if self._account is not None:
            self._account.settle(held, used or (0, 0))
        if used is not None:
            self._input += used[0]
            self._output += used[1]


Stopped = Literal["", "cancelled", "budget", "endpoint"]
"""Why no more questions are asked; empty while they are, or when all were."""


@dataclass(frozen=True, slots=True)
class RoundProgress:
    """How far the current round is: ``done`` of ``total`` questions are settled."""

    done: int
    total: int
    usage: ModelUsage
