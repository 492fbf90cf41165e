"""Which endpoint would be asked, how to connect one, and what questions to it would take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

from engine.config import Settings
from engine.llm.client import Client, complete
from engine.llm.endpoints import (
    ADDRESS,
    KEY,
    MODEL,
    Account,
    Budget,
    Connection,
    Endpoint,
    EndpointError,
    NoEndpointError,
    Price,
    find_endpoint,
)
from engine.llm.messages import Capabilities, Prompt, remembered
from engine.types.models import Estimate
from engine.types.people import OPERATOR, Person
from engine.types.reranking import EndpointInfo
from storage.answers import Answers
from storage.home import Home
from storage.ledger import Ledger
from storage.people import Spending

Item = TypeVar("Item")
HOW = (
    f"Hosted: set {ADDRESS} to the provider's address (https://api.openai.com/v1, say), {KEY} "
    f"and {MODEL}.",
    f"vLLM: run `vllm serve MODEL`, then set {ADDRESS}=http://localhost:8000/v1 and {MODEL}=MODEL.",
    f"Ollama: run `ollama pull MODEL`, then set {ADDRESS}=http://localhost:11434/v1 and "
    f"{MODEL}=MODEL.",
)
_ENTER = (
    f"Set {ADDRESS} (http://localhost:11434/v1, say), {KEY} if it needs one, and {MODEL}; or enter "
    "them on the page."
)


def connect(
    settings: Settings,
    endpoint: Endpoint | None = None,
    most_calls: int | None = None,
    person: Person = OPERATOR,
) -> Connection:
    """The connection to an endpoint, with the budgets of the settings for the run and the person's
    day."""
    endpoint = endpoint or find_endpoint(settings)
    if endpoint is None:
        raise NoEndpointError("This needs a language model, and none is connected.", _ENTER)
    if not person.is_operator:
        endpoint = replace(endpoint, person=person)
    price = None
    if settings.llm_input_price is not None or settings.llm_output_price is not None:
        price = Price(settings.llm_input_price or 0.0, settings.llm_output_price or 0.0)
    account = None
    daily = Budget(
        settings.llm_daily_calls, settings.llm_daily_tokens, settings.llm_daily_cost, price
    )
    if daily.is_limited and not endpoint.person.is_operator:
        home, url = Home(settings.home), settings.ledger_url.get_secret_value()
        spending = _spending(home, settings.ledger_wait_seconds, url)
        account = Account(endpoint.person.address, daily, spending)
    limits = [limit for limit in (most_calls, settings.llm_max_calls) if limit is not None]
    calls = min(limits, default=None)
    return Connection(
        endpoint,
        Budget(calls, settings.llm_max_tokens, settings.llm_max_cost, price),
        settings.llm_concurrency,
        settings.llm_timeout_seconds,
        settings.llm_retries,
        account,
    )


@lru_cache(maxsize=8)
def _spending(home: Home, wait_seconds: float, url: str) -> Spending:
    return Ledger(home.ledger, wait_seconds, url).spending


def describe(settings: Settings, store: Answers, endpoint: Endpoint | None = None) -> EndpointInfo:
    """What is known of an endpoint (None: of the settings') without asking it."""
    problem = "No language model is connected."
    try:
        endpoint = endpoint or find_endpoint(settings)
    except EndpointError as error:
        problem = str(error)
    if endpoint is None:
        return EndpointInfo("", "", set_up=False, problem=problem, how=HOW)
    info = EndpointInfo(endpoint.address, endpoint.model, set_up=True, how=HOW)
    known = remembered(store, endpoint)
    if known is None:
        return info
    return replace(
        info,
        tried=True,
        logprobs=known.logprobs > 0,
        reasons=known.reasons,
        context=known.context,
    )


def offered_models(connection: Connection, store: Answers) -> list[str]:
    """Names of the models that an endpoint lists; empty where it does not tell."""
    return complete(connection, store, lambda client: client.offered()).value


def try_endpoint(connection: Connection, store: Answers) -> None:
    """Find out again what the endpoint can do; what is remembered stays on an EndpointError."""

    async def work(client: Client) -> None:
        await client.try_out()
        client.raise_problem()

    complete(connection, store, work)


# -- what questions would take --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Estimator:
    """Sizes of questions to one model."""

    known: Capabilities  # what the model can do, as far as found out
    price: Price | None = None  # None where none is set: no cost then
    model: str = ""  # "" where none is connected

    def estimate(self, sample: Sequence[Prompt[Any]], calls: int) -> Estimate:
        """What ``calls`` questions of the mean size of these would take, none in the ledger."""
        sizes = [self.known.size(prompt) for prompt in sample]
        each = calls / max(1, len(sizes))
        sent = round(each * sum(sent for sent, _ in sizes))
        answered = round(each * sum(answered for _, answered in sizes))
        cost = None if self.price is None else self.price.cost(sent, answered)
        return Estimate(calls=calls, input_tokens=sent, output_tokens=answered, cost=cost)

    def of_items(
        self,
        items: Sequence[Item],
        ask: Callable[[Sequence[Item]], Sequence[Prompt[Any]]],
        sample: int,
    ) -> Estimate:
        """What the questions about all items would take, by those about ``sample`` of them, evenly
        spread."""
        some = items[:: -(-len(items) // sample) or 1]
        prompts = ask(some)
        calls = round(len(prompts) * len(items) / max(1, len(some)))
        return replace(self.estimate(prompts, calls), items=len(items))


def estimator(connection: Connection | None, store: Answers) -> Estimator:
    """The estimator for a connection; for None one of a model that nothing is known of."""
    if connection is None:
        return Estimator(Capabilities())
    known = remembered(store, connection.endpoint) or Capabilities()
    return Estimator(known, connection.budget.price, connection.endpoint.model)
