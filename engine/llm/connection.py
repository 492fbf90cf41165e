"""How to reach a model, and how much to ask of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.config import Settings
from engine.llm.budget import Budget, Price
from engine.llm.endpoints import Endpoint, need_endpoint

CONCURRENCY = 8


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one question is pursued.

    Attributes:
        timeout: seconds until a request counts as lost.
        attempts: requests per question at most.
        seconds: from the first request of a question to the last at most.
        first_wait, longest_wait: seconds between requests: doubled each time, jitter added.
    """

    timeout: float = 60.0
    attempts: int = 5
    seconds: float = 120.0
    first_wait: float = 0.5
    longest_wait: float = 20.0


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach a model and how much to ask of it.

    Attributes:
        concurrency: requests under way at once.
    """

    endpoint: Endpoint
    budget: Budget = field(default_factory=Budget)
    concurrency: int = CONCURRENCY
    patience: Patience = field(default_factory=Patience)


def make_connection(settings: Settings, endpoint: Endpoint | None) -> Connection:
    """The connection that the settings describe.

    Raises:
        NoEndpointError: no endpoint is set; says how to connect one.
        BadInputError: a limit of cost without a price.
    """
    price = None
    if settings.llm_input_price is not None or settings.llm_output_price is not None:
        price = Price(settings.llm_input_price or 0.0, settings.llm_output_price or 0.0)
    limits = (settings.llm_max_calls, settings.llm_max_tokens, settings.llm_max_cost)
    return Connection(
        need_endpoint(endpoint),
        Budget(*limits, price),
        settings.llm_concurrency,
        Patience(settings.llm_timeout_seconds, first_wait=settings.llm_retry_seconds),
    )
