"""Requests to the endpoint through the ``openai`` client: retries, and errors as ours.

Nothing but this and :mod:`engine.llm.transport_errors` imports ``openai``. Errors are raised anew
outside of ``except`` blocks: the client's own carry the request with the key in its headers, and
words of the server that may repeat it; neither may end up in a traceback.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import random
import re
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import openai
import tenacity

from engine.llm.budget import Meter
from engine.llm.endpoint_errors import EndpointError, RefusedError, TransientError, UnsupportedError
from engine.llm.endpoints import Endpoint, RetryPolicy, ambient_headers
from engine.llm.messages import Reply
from engine.llm.streamed_reply import StreamedReply
from engine.llm.transport_errors import broken_off, explained, garbled, timed_out
from engine.types.limits import ANSWER_CHARS_PER_TOKEN

log = logging.getLogger("seedlens.llm")
_PATH = "/chat/completions"
UNREADABLE = (
    *(ValueError, TypeError, AttributeError, LookupError),
    *(OverflowError, RecursionError),  # JSON knows infinite numbers, and may be nested deeply
)
"""What reading something raises that is no chat completion."""
MOST_MODELS = 10_000
"""Models of an endpoint that are looked at; those with the most offer some hundreds."""
QUEUE_FACTOR = 10
"""So many timeouts a request waits for its answer to begin, at most, while others are answered."""
_STREAM_USAGE = re.compile(r"stream_options|include_usage")
_STREAM = re.compile(r"\bstream(?:s|ed|ing)?\b")


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A model that the endpoint offers; ``context`` in tokens where it tells."""

    name: str
    context: int | None


class Transport:
    """One endpoint, asked from one event loop. Close it there as well.

    Answers are streamed, so that the timeout is the longest silence between two pieces of an
    answer, however long the whole of it takes. A request whose answer has not begun waits while
    others are being answered: small servers answer one or a few at a time, and queue the rest.
    Where an endpoint refuses to stream, the whole answer is one piece.

    Attributes:
        repeats: requests that had to be sent again.
        cut: streams that stopped at the limit of tokens.
        streams: whether the endpoint accepts requests for a stream, as far as known.
        stream_usage: whether it accepts that a stream is to tell what it took.
        responsive: something has come from the endpoint. While nothing has, a request that times
            out is not repeated: it would only keep a slow model busier.
    """

    def __init__(self, endpoint: Endpoint, retries: RetryPolicy) -> None:
        self.endpoint = endpoint
        self._retries = retries
        self._not_before = 0.0
        # Requests whose answers have not begun, and the latest time at which each is given up.
        self._queued: dict[asyncio.Timeout, float] = {}
        self.repeats = self.cut = 0
        self.streams = True
        self.stream_usage = True
        self.responsive = False
        self._client = _open(endpoint)

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
            body: the JSON body of a chat completion, without the parameters of streams.
            tokens: (input, output) to set aside for each request sent. An answer of many times
                the output is cut off: the endpoint disregards the limit.
            choices: the answers whose alternatives are wanted.

        Raises:
            BudgetReachedError: the next request would go beyond the budget.
            TransientError: it failed as often, or for as long, as the retry policy allows.
            RefusedError, TooLongError, WithheldError: asking again is no use.
        """
        async for attempt in self._attempts():
            with attempt:
                await self._pause()
                answer = StreamedReply(choices)
                async for _ in self._pieces(body, meter, tokens, answer):
                    pass
        return answer.reply()

    async def stream(
        self, body: Mapping[str, Any], meter: Meter, tokens: tuple[int, int]
    ) -> AsyncGenerator[str]:
        """The text of one reply, piece by piece, reasoning included.

        Transient errors are waited out until the first piece; after it they are raised, for what
        was said cannot be taken back. Arguments and errors as in :meth:`complete`.
        """
        async for attempt in self._attempts():
            with attempt:
                await self._pause()
                answer = StreamedReply()
                pieces = self._pieces(body, meter, tokens, answer)
                first = await anext(pieces, "")
        async with aclosing(pieces):
            yield first
            async for piece in pieces:
                yield piece
        self.cut += answer.cut

    async def models(self) -> list[ModelCard]:
        """What the endpoint offers; empty where it does not tell."""
        try:
            async with asyncio.timeout(min(10.0, self._retries.timeout)):
                page: Any = await self._client.get("/models", cast_to=object)
                return [_card(model) for model in page["data"][:MOST_MODELS]]
        # Anything may come back where nothing is promised; not knowing is no failure.
        except (openai.OpenAIError, TimeoutError, *UNREADABLE):
            return []

    def _attempts(self) -> tenacity.AsyncRetrying:
        return tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception_type(TransientError),
            stop=tenacity.stop_after_attempt(self._retries.attempts)
            | tenacity.stop_before_delay(self._retries.seconds),
            wait=self._wait,
            before_sleep=self._before_sleep,
            reraise=True,
        )

    async def _pause(self) -> None:
        """Until the endpoint, which may have asked for a pause, wants to be asked again."""
        await asyncio.sleep(max(0.0, self._not_before - time.monotonic()))

    async def _pieces(
        self, body: Mapping[str, Any], meter: Meter, tokens: tuple[int, int], answer: StreamedReply
    ) -> AsyncGenerator[str]:
        """The text of one answer as it comes; sent again without what a refusal names."""
        while True:
            sent = self._with_stream(body)
            try:
                async with aclosing(self._request(sent, meter, tokens, answer)) as pieces:
                    async for piece in pieces:
                        yield piece
            except UnsupportedError as refusal:
                # By what was sent: another request may have been refused for it meanwhile.
                if "stream_options" in sent and _STREAM_USAGE.search(refusal.hint):
                    self.stream_usage = False
                elif "stream" in sent and _STREAM.search(refusal.hint):
                    self.streams = False
                else:
                    raise
            else:
                return

    def _with_stream(self, body: Mapping[str, Any]) -> dict[str, Any]:
        if not self.streams:
            return dict(body)
        options = {"stream_options": {"include_usage": True}} if self.stream_usage else {}
        return {**body, "stream": True, **options}

    async def _request(
        self, sent: Mapping[str, Any], meter: Meter, tokens: tuple[int, int], answer: StreamedReply
    ) -> AsyncGenerator[str]:
        """One request's text as it comes; what it used is settled however it ends."""
        meter.hold(*tokens)
        most_chars = ANSWER_CHARS_PER_TOKEN * tokens[1]
        failure: EndpointError | None = None
        may_work = False  # the endpoint, which says no more what that takes
        try:
            async with aclosing(self._chunks(sent)) as chunks:
                async for chunk in chunks:
                    self._heard()
                    if piece := answer.add(chunk):
                        yield piece
                    if answer.size > most_chars:
                        answer.cut = answer.complete = True
                        break
            if not answer.complete:
                failure = broken_off(self.endpoint)
        except (openai.OpenAIError, TimeoutError, OSError) as error:
            failure = self._explained(error)
            may_work = isinstance(error, (openai.APITimeoutError, TimeoutError))
        except UNREADABLE:
            failure = garbled(self.endpoint)
        except (asyncio.CancelledError, GeneratorExit):
            may_work = True
            raise
        finally:
            meter.settle(tokens, answer.used, answered=may_work or answer.size > 0)
        if failure is not None and not answer.complete:  # what follows the end does not matter
            raise failure

    async def _chunks(self, sent: Mapping[str, Any]) -> AsyncGenerator[Any]:
        """The JSON of an answer's chunks as they come; a whole answer is the only one."""
        # The typed form of the client would take it more time than all that we do.
        post = functools.partial(self._client.post, _PATH, cast_to=object, body=dict(sent))
        if "stream" not in sent:
            async with self._silence(begun=False):
                whole = await post()
            yield whole
            return
        async with self._silence(begun=False):
            stream = await post(stream=True, stream_cls=openai.AsyncStream[object])
        async with stream:
            kind = stream.response.headers.get("content-type", "")
            if "json" in kind or "html" in kind:  # it does not stream, and does not say so
                async with self._silence(begun=False):
                    content = await stream.response.aread()
                yield json.loads(content)
                return
            arriving, begun = aiter(stream), False
            while True:
                async with self._silence(begun=begun):
                    chunk = await anext(arriving, None)
                if chunk is None:
                    return
                begun = True
                yield chunk

    @asynccontextmanager
    async def _silence(self, *, begun: bool) -> AsyncIterator[None]:
        """Wait for the next piece, and no longer than the timeout; see :meth:`_heard`."""
        timeout = self._retries.timeout
        async with asyncio.timeout(timeout) as limit:
            if not begun:
                self._queued[limit] = asyncio.get_running_loop().time() + QUEUE_FACTOR * timeout
            try:
                yield
            finally:
                self._queued.pop(limit, None)

    def _heard(self) -> None:
        """A piece of an answer came: the endpoint is busy, not silent."""
        self.responsive = True
        until = asyncio.get_running_loop().time() + self._retries.timeout
        for limit, latest in self._queued.items():
            if not limit.expired():
                limit.reschedule(min(until, latest))

    def _explained(self, error: Exception) -> EndpointError:
        if isinstance(error.__cause__, EndpointError):  # raised before anything was sent
            return error.__cause__
        if isinstance(error, (openai.APITimeoutError, TimeoutError)):
            return timed_out(self.endpoint, self._retries.timeout, responsive=self.responsive)
        return explained(error, self.endpoint)

    def _wait(self, state: tenacity.RetryCallState) -> float:
        """Seconds until the next request: as long as was asked for, or doubled each time."""
        asked = self._failure(state).retry_after
        retries = self._retries
        doubled = retries.first_wait * 2 ** (state.attempt_number - 1)
        pause = min(doubled, retries.longest_wait) if asked is None else asked
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
        if error.retry_after is not None and error.retry_after > self._retries.seconds:
            raise RefusedError(
                f"{self.endpoint.address} asks to wait {error.retry_after:,.0f} s before the next "
                "request.",
                "Run again later: answers that are there are not asked for twice.",
            )
        return error


def _open(endpoint: Endpoint) -> openai.AsyncOpenAI:
    """The client, which takes nothing from the environment that was not set for this address."""
    # For None it would take the key of the environment.
    key = endpoint.key.get_secret_value() or "none"
    dropped = ambient_headers(endpoint)
    own = {"Authorization": f"Bearer {key}"}
    own |= dict.fromkeys(("Accept", "Content-Type"), "application/json")

    async def drop(request: httpx2.Request) -> None:
        for name in dropped:
            request.headers.pop(name, None)
        if dropped:
            request.headers.update(own | {"Host": request.url.netloc.decode("ascii")})

    return openai.AsyncOpenAI(
        api_key=key,
        base_url=endpoint.address,
        max_retries=0,
        timeout=None,  # ours counts from one piece to the next
        http_client=openai.DefaultAsyncHttpx2Client(
            verify=_certificates(),
            follow_redirects=False,  # a redirect would send questions to another address
            event_hooks={"request": [drop]},
        ),
    )


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Those that the client trusts by default; reading them takes longer than a fast answer."""
    return httpx2.create_ssl_context()


def _card(fields: Mapping[str, Any]) -> ModelCard:
    # vLLM, LM Studio, OpenRouter and others each have a name of their own for it.
    names = ("max_model_len", "max_context_length", "context_length", "context_window")
    sizes = [fields.get(name) for name in names]
    sizes.append((fields.get("meta") or {}).get("n_ctx"))  # llama.cpp
    context = next((size for size in sizes if isinstance(size, int) and size > 0), None)
    return ModelCard(str(fields["id"]), context)
