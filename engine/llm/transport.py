"""Requests to the endpoint through the ``openai`` client: retries, and errors as ours.

The only importer of ``openai``. Errors are raised anew outside of ``except`` blocks: the
client's own carry the request with the key in its headers, and words of the server that may
repeat it; neither may end up in a traceback.
"""

from __future__ import annotations

import asyncio
import email.utils
import functools
import json
import logging
import math
import random
import re
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import openai
import tenacity

from engine.llm.budget import Meter
from engine.llm.endpoint_errors import (
    EndpointError,
    RefusedError,
    TooLongError,
    TransientError,
    UnsupportedError,
    WithheldError,
    scrub,
)
from engine.llm.endpoints import KEY, MODEL, Endpoint, RetryPolicy, ambient_headers
from engine.llm.messages import Reply, read_choice

log = logging.getLogger("seedlens.llm")
_PATH = "/chat/completions"
TIMEOUT, CONCURRENCY = "SEEDLENS_LLM_TIMEOUT_SECONDS", "SEEDLENS_LLM_CONCURRENCY"
QUEUE_FACTOR = 10
"""So many timeouts a request waits for its answer to begin, at most, while others are answered."""
CHARS_PER_TOKEN_AT_MOST = 32
"""An answer with more characters per token that was asked for goes beyond its limit: the longest
tokens are runs of blanks, and a whole answer has some four characters a token."""
_TOO_LONG = re.compile(
    r"context[ _]?(?:length|window|size)|maximum (?:context|.{0,20}tokens)|too (?:long|many tokens)"
    r"|prompt is too|exceeds? the (?:model|context|maximum)|longer than the (?:model|maximum)"
    r"|max_model_len|(?:less|fewer) than \d[\d,]* tokens|max_new_tokens`? must be"
    r"|reduce the length of",
    re.IGNORECASE,
)
_STREAM_USAGE = re.compile(r"stream_options|include_usage")
_STREAM = re.compile(r"\bstream(?:s|ed|ing)?\b")
_NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
_PERSISTENT = (
    f"Check the address (it usually ends in /v1), {KEY} and {MODEL}; "
    "`seedlens doctor` tries them out."
)


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
        self.repeats = 0
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
                answer = _Answer()
                async for _ in self._pieces(body, meter, tokens, answer):
                    pass
        return answer.reply(choices)

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
                pieces = self._pieces(body, meter, tokens, _Answer())
                first = await anext(pieces, "")
        async with aclosing(pieces):
            yield first
            async for piece in pieces:
                yield piece

    async def models(self) -> list[ModelCard]:
        """What the endpoint offers; empty where it does not tell."""
        try:
            async with asyncio.timeout(min(10.0, self._retries.timeout)):
                page = await self._client.models.list()
                return [_card(model.model_dump()) for model in page.data]
        # Anything may come back where nothing is promised; not knowing is no failure.
        except (openai.OpenAIError, TimeoutError, ValueError, TypeError, AttributeError, KeyError):
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
        self, body: Mapping[str, Any], meter: Meter, tokens: tuple[int, int], answer: _Answer
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
        self, sent: Mapping[str, Any], meter: Meter, tokens: tuple[int, int], answer: _Answer
    ) -> AsyncGenerator[str]:
        """One request's text as it comes; what it used is settled however it ends."""
        meter.hold(*tokens)
        most_chars = CHARS_PER_TOKEN_AT_MOST * tokens[1]
        failure: EndpointError | None = None
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
        except (ValueError, TypeError, AttributeError, IndexError, KeyError):
            failure = garbled(self.endpoint)
        finally:
            meter.settle(tokens, answer.used, answered=answer.size > 0)
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
    dropped = ambient_headers(endpoint.address)

    async def drop(request: Any) -> None:
        for name in dropped:
            request.headers.pop(name, None)

    return openai.AsyncOpenAI(
        api_key=key,
        base_url=endpoint.address,
        max_retries=0,
        timeout=None,  # ours counts from one piece to the next
        default_headers={"Authorization": f"Bearer {key}"} if dropped else None,
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


class _Answer:
    """A reply, put together from the chunks of a stream or read from a whole completion.

    Attributes:
        size: characters so far, reasoning included; every chunk counts as one at least.
        used: (input, output) tokens, once they are reported.
        cut: it stopped at the limit of tokens.
        complete: its end has come.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._tokens: list[Mapping[str, Any]] = []
        self._model = ""
        self._reasoned = False
        self.size = 0
        self.used: tuple[int, int] | None = None
        self.cut = False
        self.complete = False

    def add(self, chunk: Any) -> str:
        """The text of a chunk; raises KeyError and its like where parts are missing."""
        usage = chunk.get("usage") or {}
        self.used = _used(usage) or self.used
        details = usage.get("completion_tokens_details") or {}
        self._model = str(chunk.get("model") or self._model)
        choices = chunk["choices"]
        if not choices:  # the last chunk may carry the usage alone
            self.complete = self.complete or bool(usage)
            return ""
        choice = choices[0]
        message = choice.get("delta") or choice.get("message") or {}
        text = _text(message.get("content"))
        reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
        self._reasoned |= bool(reasoning) or bool(details.get("reasoning_tokens"))
        self._texts.append(text)
        self._tokens += (choice.get("logprobs") or {}).get("content") or []
        self.size += max(1, len(text) + len(str(reasoning)))
        self.cut |= choice.get("finish_reason") == "length"
        self.complete |= bool(choice.get("finish_reason")) or "message" in choice
        return text

    def reply(self, choices: tuple[str, ...]) -> Reply:
        """The reply, with the alternatives to the first token that is one of ``choices``."""
        return Reply(
            text="".join(self._texts),
            options=_options(self._tokens, choices),
            used=self.used,
            model=self._model,
            cut=self.cut,
            reasoned=self._reasoned,
        )


def _text(content: Any) -> str:
    if content is not None and not isinstance(content, str):
        raise ValueError("the content is no text")
    return content or ""


def _used(usage: Mapping[str, Any]) -> tuple[int, int] | None:
    sent = usage.get("prompt_tokens")
    return (sent, int(usage.get("completion_tokens") or 0)) if isinstance(sent, int) else None


def _options(
    tokens: Sequence[Mapping[str, Any]], choices: tuple[str, ...]
) -> tuple[tuple[str, float], ...]:
    """The alternatives at the first token that spells one of the choices."""
    for token in tokens:
        if read_choice(token["token"], choices) is not None:
            top = token.get("top_logprobs") or []
            return tuple((str(o["token"]), float(o["logprob"])) for o in top)
    return ()


def _card(fields: Mapping[str, Any]) -> ModelCard:
    # vLLM, LM Studio, OpenRouter and others each have a name of their own for it.
    names = ("max_model_len", "max_context_length", "context_length", "context_window")
    sizes = [fields.get(name) for name in names]
    sizes.append((fields.get("meta") or {}).get("n_ctx"))  # llama.cpp
    context = next((size for size in sizes if isinstance(size, int) and size > 0), None)
    return ModelCard(str(fields["id"]), context)


def explained(error: Exception, endpoint: Endpoint) -> EndpointError:
    """The client's error as one of ours, free of the key."""
    where = endpoint.address
    if isinstance(error, openai.APIStatusError):
        return _status(error, endpoint)
    if isinstance(error, (openai.APIConnectionError, OSError)):
        return TransientError(
            f"{where} cannot be reached, or broke off.", "Check that it runs, and its address."
        )
    said = scrub(str(error), endpoint.key.get_secret_value())
    if type(error) is openai.APIError:  # within a stream
        return broken_off(endpoint, said)
    return RefusedError(f"{where} could not be asked: {said}", _PERSISTENT)


def timed_out(endpoint: Endpoint, timeout: float, *, responsive: bool) -> EndpointError:
    """Nothing came for so many seconds; where nothing came before, asking again is no use."""
    remedy = (
        f"If the model is slow, set {TIMEOUT} to more seconds, or {CONCURRENCY} to fewer requests "
        "at once."
    )
    if responsive:
        return TransientError(f"{endpoint.address} sent nothing for {timeout:g} s.", remedy)
    return RefusedError(
        f"{endpoint.address} answered nothing within {timeout:g} s; the run ends here.", remedy
    )


def broken_off(endpoint: Endpoint, said: str = "") -> TransientError:
    """A streamed answer ended before its end."""
    quoted = f" ({said})" if said else ""
    return TransientError(
        f"{endpoint.address} broke off in the middle of an answer{quoted}.", "Ask again."
    )


def garbled(endpoint: Endpoint) -> TransientError:
    """The answer was no chat completion."""
    return TransientError(
        f"{endpoint.address} sent an answer that is no chat completion.",
        "If this happens every time, the address is not that of an OpenAI-compatible endpoint; "
        "it usually ends in /v1.",
    )


def _status(error: openai.APIStatusError, endpoint: Endpoint) -> EndpointError:
    status, where = error.status_code, endpoint.address
    said = scrub(_server_message(error), endpoint.key.get_secret_value())
    quoted = f" ({said})" if said else ""
    code = str(error.code or "")
    if status == 429 and (code in _NO_CREDIT or str(error.type) in _NO_CREDIT):
        return RefusedError(
            f"The account at {where} has no credit left{quoted}.", "Top it up, or use another."
        )
    if status in (408, 409, 425, 429) or status >= 500:
        busy = "is busy" if status == 429 else f"failed with status {status}"
        return TransientError(
            f"{where} {busy}{quoted}.",
            "Run again later: answers that are there are not asked for twice.",
            retry_after(error.response.headers),
        )
    if status in (400, 413, 422):
        return _bad_request(error, status, where, said)
    return RefusedError(*_refusal(status, endpoint, quoted, error))


def _bad_request(error: openai.APIStatusError, status: int, where: str, said: str) -> EndpointError:
    code = str(error.code or "")
    quoted = f" ({said})" if said else ""
    if status == 413 or code == "context_length_exceeded" or _TOO_LONG.search(said):
        return TooLongError(f"A question was too long for the model at {where}{quoted}.")
    if code in ("content_filter", "content_policy_violation"):
        return WithheldError(f"{where} withheld an answer{quoted}.")
    return UnsupportedError(
        f"{where} does not accept the request{quoted}.",
        "If the message names a setting, change it; otherwise another model may do.",
        hint=f"{error.param or ''} {said}".lower(),
    )


def _refusal(
    status: int, endpoint: Endpoint, quoted: str, error: openai.APIStatusError
) -> tuple[str, str]:
    where = endpoint.address
    if status == 401:
        remedy = "Enter the right key" if endpoint.key.get_secret_value() else "It needs a key: set"
        return f"{where} does not accept the key{quoted}.", f"{remedy} ({KEY})."
    if status == 403:
        return (
            f"{where} forbids the use of '{endpoint.model}' with this key{quoted}.",
            "Ask its owner for access, or choose another model.",
        )
    if status == 404:
        return (
            f"{where} has no model '{endpoint.model}', or is not the address of an endpoint"
            f"{quoted}.",
            f"Check {MODEL} and the address (it usually ends in /v1).",
        )
    if 300 <= status < 400:
        target = scrub(error.response.headers.get("location", ""), endpoint.key.get_secret_value())
        return (
            f"{where} points to another address: {target}.",
            "Enter that address, if you trust it.",
        )
    return f"{where} refused with status {status}{quoted}.", _PERSISTENT


def _server_message(error: openai.APIStatusError) -> str:
    """The server's own words, where it has some that are meant for people."""
    body = error.body
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, Mapping) else inner
        detail = message or body.get("message") or body.get("detail") or ""
        return str(detail)
    text = str(body or "")
    return "" if text.lstrip().startswith("<") else text  # a page of HTML explains nothing


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait, from ``Retry-After`` (seconds or a date)."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        return max(0.0, seconds) if math.isfinite(seconds) else None
    when = email.utils.parsedate_tz(headers.get("retry-after", ""))
    if when is None:
        return None
    try:
        return max(0.0, email.utils.mktime_tz(when) - time.time())
    except (OverflowError, ValueError):
        return None
