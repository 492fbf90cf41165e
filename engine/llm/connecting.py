"""Which endpoint would be asked, whether it can be, and how to connect one."""

from __future__ import annotations

from engine.config import Settings
from engine.llm.cache import AnswerStore
from engine.llm.capabilities import remembered
from engine.llm.client import Client
from engine.llm.endpoint_errors import EndpointError
from engine.llm.endpoints import (
    ADDRESS,
    KEY,
    MODEL,
    Connection,
    Endpoint,
    find_endpoint,
    make_connection,
)
from engine.llm.run import complete
from engine.types.reranking import EndpointInfo

HOW = (
    f"Hosted: set {ADDRESS} to the provider's address (https://api.openai.com/v1, say), {KEY} "
    f"and {MODEL}.",
    f"vLLM: run `vllm serve MODEL`, then set {ADDRESS}=http://localhost:8000/v1 and {MODEL}=MODEL.",
    f"Ollama: run `ollama pull MODEL`, then set {ADDRESS}=http://localhost:11434/v1 and "
    f"{MODEL}=MODEL.",
)


def connect(
    settings: Settings, endpoint: Endpoint | None = None, most_calls: int | None = None
) -> Connection:
    """The connection to an endpoint, with the budget of the settings.

    Args:
        endpoint: None for the one that the settings name.
        most_calls: requests at most; where the settings allow fewer, theirs is the limit.

    Raises:
        NoEndpointError: none is, or its settings cannot be used.
        BadInputError: a limit of cost without a price.
    """
    if most_calls is not None:
        allowed = settings.llm_max_calls
        most_calls = most_calls if allowed is None else min(allowed, most_calls)
        settings = settings.model_copy(update={"llm_max_calls": most_calls})
    return make_connection(settings, endpoint or find_endpoint(settings))


def describe(
    settings: Settings, store: AnswerStore, endpoint: Endpoint | None = None
) -> EndpointInfo:
    """What is known of an endpoint (None: of the settings') without asking it."""
    try:
        endpoint = endpoint or find_endpoint(settings)
    except EndpointError as error:
        return unusable(error)
    if endpoint is None:
        return EndpointInfo(
            "", "", set_up=False, problem="No language model is connected.", how=HOW
        )
    known = remembered(store, endpoint)
    if known is None:
        return EndpointInfo(endpoint.address, endpoint.model, set_up=True, how=HOW)
    return EndpointInfo(
        endpoint.address,
        endpoint.model,
        set_up=True,
        tried=True,
        logprobs=known.logprobs > 0,
        reasons=known.reasons,
        context=known.context,
        how=HOW,
    )


def unusable(error: EndpointError) -> EndpointInfo:
    """What to say of settings that name no endpoint that can be asked."""
    return EndpointInfo("", "", set_up=False, problem=str(error), how=HOW)


def try_endpoint(connection: Connection, store: AnswerStore) -> None:
    """Find out anew what the endpoint can do, and remember it.

    Raises:
        EndpointError: it does not answer; what was remembered stays.
    """

    async def work(client: Client) -> None:
        await client.try_out()
        client.raise_problem()

    complete(connection, store, work)
