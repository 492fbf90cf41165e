"""What questions would take, from what is known of the endpoint. Nothing is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.llm.budget import Estimate, Price
from engine.llm.cache import AnswerStore
from engine.llm.capabilities import Capabilities, remembered
from engine.llm.endpoints import Connection
from engine.llm.messages import Prompt


@dataclass(frozen=True, slots=True)
class Estimator:
    """Sizes of questions to one model.

    Attributes:
        known: what the model can do, as far as that was found out before.
        price: None where none is set; estimates have no cost then.
    """

    known: Capabilities
    price: Price | None = None

    def estimate(self, prompt: Prompt[Any], calls: int = 1) -> Estimate:
        """What ``calls`` questions like this one would take if none was in the ledger."""
        size_in, size_out = self.known.size(prompt)
        return self.total(calls, calls * size_in, calls * size_out)

    def total(self, calls: int, input_tokens: int, output_tokens: int) -> Estimate:
        """These figures with their cost."""
        cost = None if self.price is None else self.price.cost(input_tokens, output_tokens)
        return Estimate(calls, input_tokens, output_tokens, cost)


def estimator(connection: Connection | None, store: AnswerStore) -> Estimator:
    """The estimator for a connection; for None one of a model that nothing is known of.

    Args:
        store: remembers what the endpoint can do.

    Raises:
        StorageError: the ledger cannot be read.
    """
    if connection is None:
        return Estimator(Capabilities())
    known = remembered(store, connection.endpoint) or Capabilities()
    return Estimator(known, connection.budget.price)
