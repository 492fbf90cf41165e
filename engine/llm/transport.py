"""Requests to the endpoint through the ``openai`` client: retries, and errors as ours.

The only importer of ``openai``. Errors are raised anew outside of ``except`` blocks: the
client's own carry the request with the key in its headers, and words of the server that may
repeat it; neither may end up in a traceback.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import openai
import tenacity

from engine.llm.budget import Meter
from engine.llm.connection import Patience
from engine.llm.endpoints import Endpoint, ambient_headers
from engine.llm.errors import EndpointError, RefusedError, TransientError
from engine.llm.messages import Reply
from engine.llm.parsing import read_choice
from engine.llm.refusals import explained, garbled

log = logging.getLogger("seedlens.llm")


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A model that the endpoint offers; ``context`` in tokens where it tells."""

    name: str
    context: int | None


class Transport:
    """One endpoint, asked from one event loop. Close it there as well.

    Attributes:
        repeats: requests that had to be sent again.
    """

    def __init__(self, endpoint: Endpoint, patience: Patience) -> None:
        self.endpoint = endpoint
        self._patience = patience
        self._not_before = 0.0
        self.repeats = 0
        self._client = _open(endpoint, patience.timeout)

    async def close(self) -> None:
        await self._client.close()

    async def complete(
        self,
        body: Mapping[str, Any],
        meter: Meter,
        tokens: tuple[int, int],
        choices: tuple[str, ...] = (),
    ) -> Reply:
        """One reply; transient errors are waited out.

        Args:
            body: the JSON body of a chat completion.
            tokens: (input, output) to set aside for each request sent.
            choices: the answers whose alternatives are wanted.

        Raises:
            BudgetReachedError: the next request would go beyond the budget.
            TransientError: it failed as often, or for as long, as patience allows.
            RefusedError, TooLongError, WithheldError: asking again is no use.
        """
        async for attempt in tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception_type(TransientError),
            stop=tenacity.stop_after_attempt(self._patience.attempts)
            | tenacity.stop_before_delay(self._patience.seconds),
            wait=self._wait,
            before_sleep=self._before_sleep,
            reraise=True,
        ):
            with attempt:
                await asyncio.sleep(max(0.0, self._not_before - time.monotonic()))
                meter.hold(*tokens)
                used, answered = None, False
                try:
                    reply = await self._once(body, choices)
                    used, answered = reply.used, True
                finally:
                    meter.settle(tokens, used, answered=answered)
        return reply

    async def models(self) -> list[ModelCard]:
        """What the endpoint offers; empty where it does not tell."""
        try:
            async with asyncio.timeout(min(10.0, self._patience.timeout)):
                page = await self._client.models.list()
                return [_card(model.model_dump()) for model in page.data]
        # Anything may come back where nothing is promised; not knowing is no failure.
        except (openai.OpenAIError, TimeoutError, ValueError, TypeError, AttributeError, KeyError):
            return []

    async def _once(self, body: Mapping[str, Any], choices: tuple[str, ...]) -> Reply:
        failure: EndpointError
        try:
            async with asyncio.timeout(self._patience.timeout):
                found = await self._client.chat.completions.create(**body)
            return _reply(found, choices)
        except (openai.OpenAIError, TimeoutError, OSError) as error:
            failure = explained(error, self.endpoint, self._patience.timeout)
        except (ValueError, TypeError, AttributeError, IndexError, KeyError):
            failure = garbled(self.endpoint)
        raise failure

    def _wait(self, state: tenacity.RetryCallState) -> float:
        """Seconds until the next request: as long as was asked for, or doubled each time."""
        asked = self._failure(state).retry_after
        patience = self._patience
        doubled = patience.first_wait * 2 ** (state.attempt_number - 1)
        pause = min(doubled, patience.longest_wait) if asked is None else asked
        # What was asked for is the least; jitter keeps calls that failed together apart.
        return pause + random.uniform(0, min(doubled, 1.0) / 2)  # noqa: S311 - no secret

    def _before_sleep(self, state: tenacity.RetryCallState) -> None:
        self.repeats += 1
        failure = self._failure(state)
        log.info("%s Asking again in %.1f s.", failure.message, state.upcoming_sleep)
        if failure.retry_after is not None:  # "not so fast" is meant for all calls
            self._not_before = max(self._not_before, time.monotonic() + failure.retry_after)

    def _failure(self, state: tenacity.RetryCallState) -> TransientError:
        error = state.outcome.exception() if state.outcome else None
        if not isinstance(error, TransientError):
            raise RefusedError("A request was repeated although it had not failed.")
        if error.retry_after is not None and error.retry_after > self._patience.seconds:
            raise RefusedError(
                f"{self.endpoint.address} asks to wait {error.retry_after:,.0f} s before the next "
                "request.",
                "Run again later: answers that are there are not asked for twice.",
            )
        return error


def _open(endpoint: Endpoint, timeout: float) -> openai.AsyncOpenAI:
    """The client, which takes nothing from the environment that was not set for this address."""
    # For None it would take the key of the environment.
    key = endpoint.key.get_secret_value() or "none"
    dropped = ambient_headers(endpoint.address)

    async def drop(request: Any) -> None:
        for name in dropped:
            request.headers.pop(name, None)

    return openai.AsyncOpenAI(
        api_key=key,
        base_url=endpoint.address,
        max_retries=0,
        timeout=timeout,
        default_headers={"Authorization": f"Bearer {key}"} if dropped else None,
        http_client=openai.DefaultAsyncHttpx2Client(
            follow_redirects=False,  # a redirect would carry questions to a stranger
            event_hooks={"request": [drop]},
        ),
    )


def _reply(found: Any, choices: tuple[str, ...]) -> Reply:
    """Read a completion; raises ValueError and its like where parts are missing."""
    choice = found.choices[0]
    content = choice.message.content
    if content is not None and not isinstance(content, str):
        raise ValueError("the content is no text")
    extra = choice.message.model_extra or {}
    reasoning = extra.get("reasoning_content") or extra.get("reasoning")
    usage = found.usage
    used = None
    if usage is not None and isinstance(usage.prompt_tokens, int):
        used = (usage.prompt_tokens, int(usage.completion_tokens or 0))
    details = getattr(usage, "completion_tokens_details", None)
    return Reply(
        text=content or "",
        options=_options(choice.logprobs, choices),
        used=used,
        model=str(found.model or ""),
        cut=choice.finish_reason == "length",
        reasoned=bool(reasoning) or bool(getattr(details, "reasoning_tokens", 0)),
    )


def _options(logprobs: Any, choices: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    """The alternatives at the first token that spells one of the choices."""
    for token in (logprobs.content or []) if logprobs is not None else []:
        if read_choice(token.token, choices) is not None:
            return tuple((o.token, float(o.logprob)) for o in token.top_logprobs or [])
    return ()


def _card(fields: Mapping[str, Any]) -> ModelCard:
    # vLLM, LM Studio, OpenRouter and others each have a name of their own for it.
    names = ("max_model_len", "max_context_length", "context_length", "context_window")
    sizes = [fields[n] for n in names if isinstance(fields.get(n), int) and fields[n] > 0]
    return ModelCard(str(fields["id"]), sizes[0] if sizes else None)
