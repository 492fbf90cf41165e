"""Requests to the endpoint through the ``openai`` client, and its errors as ours.

The client sends a request again that was refused for the moment or did not get through
(``Retry-After``, else a pause that doubles); an answer that is lost on its way is asked for again
here. Nothing else imports ``openai``. Errors are raised outside of ``except`` blocks: the client's
own carry the request with the key in its headers, and words of the server that may repeat it;
neither may end up in a traceback.
"""

from __future__ import annotations

import asyncio
import functools
import json
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2
import openai

from engine.llm.budget import Meter
from engine.llm.endpoint_errors import (
    EndpointError,
    LostAnswerError,
    RefusedError,
    TooLongError,
    TransientError,
    UnsupportedError,
    WithheldError,
    scrub,
)
from engine.llm.endpoints import KEY, MODEL, Connection, Endpoint, ambient_headers
from engine.llm.messages import Reply
from engine.llm.streamed_reply import StreamedReply
from engine.types.limits import ANSWER_CHARS_PER_TOKEN

Value = TypeVar("Value")
TIMEOUT, CONCURRENCY = "SEEDLENS_LLM_TIMEOUT_SECONDS", "SEEDLENS_LLM_CONCURRENCY"
UNREADABLE = (
    *(ValueError, TypeError, AttributeError, LookupError),
    *(OverflowError, RecursionError),  # JSON knows infinite numbers, and may be nested deeply
)
"""What reading something raises that is no chat completion."""
MOST_MODELS = 10_000
"""Models of an endpoint that are looked at; those with the most offer some hundreds."""
QUEUE_FACTOR = 10
"""So many timeouts a request waits for its answer to begin, at most, while others are answered."""
LONGEST_PAUSE = 120.0
"""Seconds that the client waits at most before a repeat, where the endpoint asks for it."""
_TOO_LONG = re.compile(
    r"context[ _]?(?:length|window|size)|maximum (?:context|.{0,20}tokens)|too (?:long|many tokens)"
    r"|prompt is too|exceeds? the (?:model|context|maximum)|longer than the (?:model|maximum)"
    r"|max_model_len|(?:less|fewer) than \d[\d,]* tokens|max_new_tokens`? must be"
    r"|reduce the length of",
    re.IGNORECASE,
)
_NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
_PERSISTENT = (
    f"Check the address (it usually ends in /v1), {KEY} and {MODEL}; "
    "`seedlens doctor` tries them out."
)


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A model that the endpoint offers; ``context`` in tokens where it is stated."""

    name: str
    context: int | None


@dataclass(slots=True)
class _Call:
    """The requests for one answer: the first, and those that the client sends again.

    Attributes:
        tokens: (input, output) set aside for each of them.
        again: called before a repeat.
        limit: of the wait for the answer to begin.
        arrived: the endpoint has begun to answer: the client repeats nothing any more.
    """

    meter: Meter
    tokens: tuple[int, int]
    again: Callable[[], None]
    limit: asyncio.Timeout | None = None
    held: bool = False
    arrived: bool = False

    def begin(self) -> None:
        """A request goes out. Raises BudgetReachedError."""
        if self.held:
            self.settle(None, answered=False)
            self.again()
        self.meter.hold(*self.tokens)
        self.held = True

    def settle(self, used: tuple[int, int] | None, *, answered: bool) -> None:
        """The request has ended; see :meth:`Meter.settle`."""
        if self.held:
            self.meter.settle(self.tokens, used, answered=answered)
        self.held = False


_CALL: ContextVar[_Call | None] = ContextVar("call", default=None)
"""The call that the client sends a request for."""


class Transport:
    """One endpoint, asked from one event loop. Close it there as well.

    Answers are streamed, so that the timeout is the longest silence between two pieces of an
    answer, however long the whole of it takes. A request whose answer has not begun waits while
    others are being answered: small servers answer one or a few at a time, and queue the rest.

    Attributes:
        repeats: requests that had to be sent again.
        cut: streams that stopped at the limit of tokens.
        responsive: something has come from the endpoint. While nothing has, a request that times
            out is not repeated: it would only keep a slow model busier.
    """

    def __init__(self, connection: Connection) -> None:
        self.endpoint = connection.endpoint
        self._timeout, self._retries = connection.timeout, connection.retries
        # Requests whose answers have not begun, and the latest time at which each is given up.
        self._queued: dict[asyncio.Timeout, float] = {}
        self.repeats = self.cut = 0
        self.responsive = False
        self._dropped = ambient_headers(self.endpoint)
        self._client = openai.AsyncOpenAI(
            # For None it would take the key of the environment.
            api_key=self.endpoint.key.get_secret_value() or "none",
            base_url=self.endpoint.address,
            max_retries=connection.retries,
            timeout=None,  # ours counts from one piece to the next
            http_client=openai.DefaultAsyncHttpx2Client(
                verify=_certificates(),
                follow_redirects=False,  # a redirect would send questions to another address
                event_hooks={"request": [self._sending], "response": [self._sent]},
            ),
        )

    async def close(self) -> None:
        await self._client.close()

    async def complete(
        self,
        body: Mapping[str, Any],
        meter: Meter,
        tokens: tuple[int, int],
        choices: tuple[str, ...] = (),
    ) -> Reply:
        """One reply.

        Args:
            body: the JSON body of a chat completion.
            tokens: (input, output) to set aside for each request sent. An answer of many times
                the output is cut off: the endpoint disregards the limit.
            choices: the answers whose alternatives are wanted.

        Raises:
            BudgetReachedError: the next request would go beyond the budget.
            TransientError: it failed as often as it may be repeated.
            RefusedError, TooLongError, WithheldError: asking again is no use.
        """

        async def ask() -> Reply:
            answer = StreamedReply(choices)
            async for _ in self._pieces(body, meter, tokens, answer):
                pass
            return answer.reply()

        return await self._again_if_lost(ask)

    async def stream(
        self, body: Mapping[str, Any], meter: Meter, tokens: tuple[int, int]
    ) -> AsyncGenerator[str]:
        """The text of one reply, piece by piece, reasoning included.

        What fails after the first piece is raised: what was shown cannot be taken back. Arguments
        and errors as in :meth:`complete`.
        """

        async def begin() -> tuple[str, AsyncGenerator[str], StreamedReply]:
            answer = StreamedReply()
            pieces = self._pieces(body, meter, tokens, answer)
            return await anext(pieces, ""), pieces, answer

        first, pieces, answer = await self._again_if_lost(begin)
        async with aclosing(pieces):
            yield first
            async for piece in pieces:
                yield piece
        self.cut += answer.cut

    async def models(self) -> list[ModelCard]:
        """What the endpoint offers; empty where it does not say."""
        try:
            async with asyncio.timeout(min(10.0, self._timeout)):
                page: Any = await self._client.with_options(max_retries=0).get(
                    "/models", cast_to=object
                )
                return [_card(model) for model in page["data"][:MOST_MODELS]]
        # Anything may come back where nothing is promised; not knowing is no failure.
        except (openai.OpenAIError, TimeoutError, *UNREADABLE):
            return []

    async def _again_if_lost(self, ask: Callable[[], Awaitable[Value]]) -> Value:
        """What ``ask`` returns; an answer that is lost on its way is asked for again."""
        for _ in range(self._retries):
            with suppress(LostAnswerError):
                return await ask()
            self._repeat()
        return await ask()

    def _repeat(self) -> None:
        self.repeats += 1

    async def _pieces(
        self, body: Mapping[str, Any], meter: Meter, tokens: tuple[int, int], answer: StreamedReply
    ) -> AsyncGenerator[str]:
        """The text of one answer as it comes; what it used is settled however it ends."""
        call = _Call(meter, tokens, self._repeat)
        most_chars = ANSWER_CHARS_PER_TOKEN * tokens[1]
        failure: EndpointError | None = None
        may_work = False  # the endpoint, which no longer reports what that takes
        try:
            async with aclosing(self._chunks(body, call)) as chunks:
                async for chunk in chunks:
                    self._heard()
                    if piece := answer.add(chunk):
                        yield piece
                    if answer.size > most_chars:
                        answer.cut = answer.complete = True
                        break
            if not answer.complete:
                failure = _broken_off(self.endpoint)
        except TimeoutError:
            failure, may_work = self._timed_out(), True
        except (openai.OpenAIError, OSError) as error:
            failure = explained(error, self.endpoint)
            if call.arrived and isinstance(failure, TransientError):
                failure = LostAnswerError(failure.message, failure.remedy)
        except UNREADABLE:
            failure = LostAnswerError(
                f"{self.endpoint.address} sent an answer that is no chat completion.",
                "If this happens every time, the address is not that of an OpenAI-compatible "
                "endpoint; it usually ends in /v1.",
            )
        except (asyncio.CancelledError, GeneratorExit):
            may_work = True
            raise
        finally:
            call.settle(answer.used, answered=may_work or answer.size > 0)
        if failure is not None and not answer.complete:  # what follows the end does not matter
            raise failure

    async def _chunks(self, body: Mapping[str, Any], call: _Call) -> AsyncGenerator[Any]:
        """The JSON of an answer's chunks as they come; a whole answer is the only one."""
        # The typed form of the client would take it more time than all that we do.
        post = functools.partial(
            self._client.post, "/chat/completions", cast_to=object, body=dict(body)
        )
        if "stream" not in body:
            async with self._waiting(call):
                whole = await post()
            yield whole
            return
        async with self._waiting(call):
            stream = await post(stream=True, stream_cls=openai.AsyncStream[object])
        call.arrived = True
        async with stream:
            kind = stream.response.headers.get("content-type", "")
            if "json" in kind or "html" in kind:  # it does not stream, and does not say so
                async with self._waiting():
                    content = await stream.response.aread()
                yield json.loads(content)
                return
            arriving = aiter(stream)
            async with self._waiting():
                chunk = await anext(arriving, None)
            while chunk is not None:
                yield chunk
                async with asyncio.timeout(self._timeout):
                    chunk = await anext(arriving, None)

    @asynccontextmanager
    async def _waiting(self, call: _Call | None = None) -> AsyncIterator[None]:
        """Wait for an answer to begin, no longer than the timeout; see :meth:`_heard`."""
        async with asyncio.timeout(self._timeout) as limit:
            self._queued[limit] = asyncio.get_running_loop().time() + QUEUE_FACTOR * self._timeout
            if call is not None:
                call.limit = limit
            _CALL.set(call)
            try:
                yield
            finally:
                _CALL.set(None)
                self._queued.pop(limit, None)

    async def _sending(self, request: httpx2.Request) -> None:
        """Before each request, repeats included."""
        if self._dropped:
            for name in self._dropped:
                request.headers.pop(name, None)
            key = self.endpoint.key.get_secret_value() or "none"
            host = request.url.netloc.decode("ascii")
            request.headers.update({"Authorization": f"Bearer {key}", "Host": host})
            request.headers.update(dict.fromkeys(("Accept", "Content-Type"), "application/json"))
        if (call := _CALL.get()) is not None:
            call.begin()
            if call.limit is not None:
                now = asyncio.get_running_loop().time()
                call.limit.reschedule(now + self._timeout)
                self._queued[call.limit] = now + QUEUE_FACTOR * self._timeout

    async def _sent(self, response: httpx2.Response) -> None:
        """After each request: a pause that the endpoint asks for is no silence."""
        call = _CALL.get()
        if call is not None and call.limit is not None and response.is_error:
            self._queued.pop(call.limit, None)
            now = asyncio.get_running_loop().time()
            call.limit.reschedule(now + LONGEST_PAUSE + self._timeout)

    def _heard(self) -> None:
        """A piece of an answer came: the endpoint is busy, not silent."""
        self.responsive = True
        until = asyncio.get_running_loop().time() + self._timeout
        for limit, latest in self._queued.items():
            if not limit.expired():
                limit.reschedule(min(until, latest))

    def _timed_out(self) -> EndpointError:
        """Nothing came in time; where nothing came before, asking again is no use."""
        where, seconds = self.endpoint.address, f"{self._timeout:g} s"
        remedy = (
            f"If the model is slow, set {TIMEOUT} to more seconds, or {CONCURRENCY} to fewer "
            "requests at once."
        )
        if self.responsive:
            return LostAnswerError(f"{where} sent nothing for {seconds}.", remedy)
        return RefusedError(
            f"{where} answered nothing within {seconds}; the run ends here.", remedy
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


# -- errors ----------------------------------------------------------------------------------


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
        return _broken_off(endpoint, said)
    return RefusedError(f"{where} could not be asked: {said}", _PERSISTENT)


def _broken_off(endpoint: Endpoint, said: str = "") -> LostAnswerError:
    quoted = f" ({said})" if said else ""
    return LostAnswerError(
        f"{endpoint.address} broke off in the middle of an answer{quoted}.", "Ask again."
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
        if not endpoint.key.get_secret_value():
            return f"{where} needs a key{quoted}.", f"Set one ({KEY})."
        return f"{where} does not accept the key{quoted}.", f"Enter the right key ({KEY})."
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
