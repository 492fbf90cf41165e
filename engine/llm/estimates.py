"""What questions would take, from what is known of the endpoint. Nothing is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.llm.budget import Price
from engine.llm.capabilities import Capabilities, remembered
from engine.llm.endpoints import Connection
from engine.llm.messages import Prompt
from engine.types.models import Estimate
from storage.answers import Answers


@dataclass(frozen=True, slots=True)
class Estimator:
    """Sizes of questions to one model.

    Attributes:
        known: what the model can do, as far as that was found out before.
        price: None where none is set; estimates have no cost then.
        model: its name; "" where none is connected.
    """

    known: Capabilities
    price: Price | None = None
    model: str = ""

    def estimate(self, sample: Sequence[Prompt[Any]], calls: int) -> Estimate:
        """What ``calls`` questions of the mean size of these would take, none in the ledger."""
        sizes = [self.known.size(prompt) for prompt in sample]
        each = calls / max(1, len(sizes))
        sent = round(each * sum(sent for sent, _ in sizes))
        return self.total(calls, sent, round(each * sum(answered for _, answered in sizes)))

    def total(self, calls: int, input_tokens: int, output_tokens: int) -> Estimate:
        """These figures with their cost."""
        cost = None if self.price is None else self.price.cost(input_tokens, output_tokens)
        return Estimate(
            calls=calls, input_tokens=input_tokens, output_tokens=output_tokens, cost=cost
        )


def estimator(connection: Connection | None, store: Answers) -> Estimator:
    """The estimator for a connection; for None one of a model that nothing is known of."""
    if connection is None:
        return Estimator(Capabilities())
    known = remembered(store, connection.endpoint) or Capabilities()
    return Estimator(known, connection.budget.price, connection.endpoint.model)
