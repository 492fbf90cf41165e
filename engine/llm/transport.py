"""Requests to an endpoint through the ``openai`` client, and its errors as ours.

Temporary failures and lost answers are repeated here (``Retry-After``, else after a doubling pause)
and not by the client: every request counts against the budget. Errors are raised outside of
``except`` blocks, so that no traceback holds a request with its key.
"""

from __future__ import annotations

import asyncio
import functools
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

import httpx2
import openai

from engine.llm.endpoints import (
    KEY,
    MODEL,
    MOST_CHARS,
    Connection,
    Endpoint,
    EndpointError,
    Meter,
    RefusedError,
    TooLongError,
    TransientError,
    UnsupportedError,
    scrub,
)
from engine.llm.messages import Reply, read_choice
from engine.types.callbacks import tell_nobody
from engine.types.limits import ANSWER_CHARS_PER_TOKEN

TIMEOUT, CONCURRENCY = "SEEDLENS_LLM_TIMEOUT_SECONDS", "SEEDLENS_LLM_CONCURRENCY"
UNREADABLE = (
    *(ValueError, TypeError, AttributeError, LookupError),
    *(OverflowError, RecursionError),  # JSON knows infinite numbers, and may be nested deeply
)
"""Raised when something is read that is no chat completion."""
MOST_REPORTED = 10**9  # Tokens of one answer
QUEUE_FACTOR = 10
"""Timeouts that a request waits for its answer to begin, at most, while others are answered."""
FIRST_PAUSE, LAST_PAUSE, LONGEST_PAUSE = 0.5, 8.0, 120.0
"""Seconds before the first repeat, doubled until the last; the longest an endpoint may ask for."""
_TOO_LONG = re.compile(
    r"context[ _]?(?:length|window|size)|maximum (?:context|.{0,20}tokens)|too (?:long|many tokens)"
    r"|prompt is too|exceeds? the (?:model|context|maximum)|longer than the (?:model|maximum)"
    r"|max_model_len|(?:less|fewer) than \d[\d,]* tokens|max_new_tokens`? must be"
    r"|reduce the length of",
    re.IGNORECASE,
)
_NO_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_PERSISTENT = (
    f"Check the address (it usually ends in /v1), {KEY} and {MODEL}; "
    "`seedlens doctor` tries them out."
)
_REFUSALS = {
    401: ("does not accept the key, or needs one", f"Enter the right key ({KEY})."),
    403: (
        "forbids the use of '{model}' with this key",
        "Ask its owner for access, or choose another model.",
    ),
    404: (
        "has no model '{model}', or is not the address of an endpoint",
        f"Check {MODEL} and the address (it usually ends in /v1).",
    ),
}
"""What is wrong, and what to do about it, by status."""


class Transport:
    """One endpoint, asked from one event loop; close it there. The timeout is the longest silence
    between two pieces of an answer; a request waits to begin while others are answered, as small
    servers queue them."""

    def __init__(self, connection: Connection) -> None:
        self.endpoint = connection.endpoint
        self._timeout, self._retries = connection.timeout, connection.retries
        # Requests whose answers have not begun, and the latest time at which each is given up.
        self._queued: dict[asyncio.Timeout, float] = {}
        self.repeats = 0  # requests sent again
        # something has come from the endpoint; before that, a request that times out is not
        # repeated
        self.responsive = False
        self._client = openai.AsyncOpenAI(
            # For None it would take the key of the environment.
            api_key=self.endpoint.key.get_secret_value() or "none",
            base_url=self.endpoint.address,
            max_retries=0,
            timeout=None,  # ours counts from one piece to the next
            http_client=openai.DefaultAsyncHttpx2Client(
                verify=_certificates(),
                follow_redirects=False,  # a redirect would send questions to another address
                event_hooks={} if self.endpoint.ambient else {"request": [self._bare]},
            ),
        )

    async def close(self) -> None:
        await self._client.close()

    async def _bare(self, request: httpx2.Request) -> None:
        """Leave out the headers that the environment sets for its own endpoint."""
        own = ("host", "accept", "content-length", "content-type", "authorization")
        kept = {name: request.headers[name] for name in own if name in request.headers}
        key = self.endpoint.key.get_secret_value() or "none"
        request.headers = httpx2.Headers(kept | {"authorization": f"Bearer {key}"})

    async def complete(
        self,
        body: Mapping[str, Any],
        meter: Meter,
        tokens: tuple[int, int],
        choices: tuple[str, ...] = (),
        on_piece: Callable[[str], None] | None = None,
    ) -> Reply:
        """One reply. ``tokens`` (input, output) are set aside per request; an answer of many times
        the output is cut off. Alternatives come for ``choices``; ``on_piece`` gets each piece of
        the text once, reasoning included."""
        attempt = 0
        while True:
            answer = StreamedReply(choices)
            try:
                await self._receive(body, meter, tokens, answer, on_piece or tell_nobody)
                return answer.reply()
            except TransientError as error:
                pause = error.pause
                if pause is None:
                    pause = min(LAST_PAUSE, FIRST_PAUSE * 2**attempt)
                given = on_piece is not None and answer.shown
                if attempt >= self._retries or pause > LONGEST_PAUSE or given:
                    raise
            await asyncio.sleep(pause)
            attempt += 1
            self.repeats += 1

    async def models(self) -> dict[str, int | None]:
        """The models that the endpoint offers, with their context in tokens where it is stated;
        empty where it does not say."""
        try:
            async with asyncio.timeout(min(10.0, self._timeout)):
                page: Any = await self._client.get("/models", cast_to=object)
                return {str(model["id"]): _context(model) for model in page["data"]}
        # Anything may come back where nothing is promised; not knowing is no failure.
        except (openai.OpenAIError, TimeoutError, OSError, *UNREADABLE):
            return {}

    async def _receive(
        self,
        body: Mapping[str, Any],
        meter: Meter,
        tokens: tuple[int, int],
        answer: StreamedReply,
        on_piece: Callable[[str], None],
    ) -> None:
        """Send one request and add what comes to the answer; usage is settled however it ends."""
        most_chars = ANSWER_CHARS_PER_TOKEN * tokens[1]
        failure: EndpointError | None = None
        may_work = False  # the endpoint, which no longer reports what that takes
        meter.hold(*tokens)
        try:
            async with aclosing(self._chunks(body)) as chunks:
                async for chunk in chunks:
                    self._heard()
                    if piece := answer.add(chunk):
                        on_piece(piece)
                    if answer.size > most_chars:
                        answer.cut = answer.complete = True
                        break
            if not answer.complete:
                failure = self._lost("broke off in the middle of an answer")
        except TimeoutError:
            failure, may_work = self._timed_out(), True
        except openai.APIStatusError as error:
            failure = refusal(self.endpoint, error)
        except (openai.APIConnectionError, httpx2.HTTPError, httpx2.StreamError, OSError):
            failure = TransientError(
                f"{self.endpoint.address} cannot be reached, or broke off.",
                "Check that it runs, and its address.",
            )
        except openai.APIError as error:  # within a stream
            said = scrub(str(error), self.endpoint.key.get_secret_value())
            failure = self._lost(f"broke off in the middle of an answer{_quoted(said)}")
        except UNREADABLE:
            failure = self._lost(
                "sent an answer that is no chat completion",
                "If this happens every time, the address is not that of an OpenAI-compatible "
                "endpoint; it usually ends in /v1.",
            )
        except asyncio.CancelledError:
            may_work = True
            raise
        finally:
            meter.settle(tokens, answer.used, answered=may_work or answer.size > 0)
        if failure is not None and not answer.complete:  # what follows the end does not matter
            raise failure

    async def _chunks(self, body: Mapping[str, Any]) -> AsyncGenerator[Any]:
        """The JSON of an answer's chunks as they come; a whole answer is one chunk."""
        # The typed form of the client would take it more time than all that we do.
        post = functools.partial(
            self._client.post, "/chat/completions", cast_to=object, body=dict(body)
        )
        if "stream" not in body:
            async with self._waiting():
                whole = await post()
            yield whole
            return
        async with self._waiting():
            stream = await post(stream=True, stream_cls=openai.AsyncStream[object])
        async with stream:
            kind = stream.response.headers.get("content-type", "")
            if "json" in kind or "html" in kind:  # it does not stream, and does not say so
                async with self._waiting():
                    content = await stream.response.aread()
                yield json.loads(content)
                return
            chunks, begun = aiter(stream), False
            while True:
                async with self._waiting(queued=not begun):
                    chunk = await anext(chunks, None)
                if chunk is None:
                    break
                begun = True
                yield chunk

    @asynccontextmanager
    async def _waiting(self, *, queued: bool = True) -> AsyncIterator[None]:
        """Wait at most the timeout; for an answer to begin, longer where :meth:`_heard` says so."""
        async with asyncio.timeout(self._timeout) as limit:
            if queued:
                latest = asyncio.get_running_loop().time() + QUEUE_FACTOR * self._timeout
                self._queued[limit] = latest
            try:
                yield
            finally:
                self._queued.pop(limit, None)

    def _heard(self) -> None:
        self.responsive = True
        until = asyncio.get_running_loop().time() + self._timeout
        for limit, latest in self._queued.items():
            if not limit.expired():
                limit.reschedule(min(until, latest))

    def _timed_out(self) -> EndpointError:
        """An error for the timeout; not to be retried where nothing came before."""
        where, seconds = self.endpoint.address, f"{self._timeout:g} s"
        remedy = (
            f"If the model is slow, set {TIMEOUT} to more seconds, or {CONCURRENCY} to fewer "
            "requests at once."
        )
        if self.responsive:
            return TransientError(f"{where} sent nothing for {seconds}.", remedy, pause=0.0)
        return RefusedError(
            f"{where} answered nothing within {seconds}; the run ends here.", remedy
        )

    def _lost(self, what: str, remedy: str = "Ask again.") -> TransientError:
        """An error for an answer that is lost, to be asked for again at once."""
        return TransientError(f"{self.endpoint.address} {what}.", remedy, pause=0.0)


_certificates = functools.cache(httpx2.create_ssl_context)  # reading them is slow


def _context(fields: Mapping[str, Any]) -> int | None:
    # vLLM, LM Studio, OpenRouter and others each have a name of their own for it.
    names = ("max_model_len", "max_context_length", "context_length", "context_window")
    sizes = [fields.get(name) for name in names]
    sizes.append((fields.get("meta") or {}).get("n_ctx"))  # llama.cpp
    return next((size for size in sizes if isinstance(size, int) and size > 0), None)


# -- replies ----------------------------------------------------------------------------------


class StreamedReply:
    """A reply, put together from the chunks of a stream or read from a whole completion."""

    def __init__(self, choices: tuple[str, ...] = ()) -> None:
        self._choices = choices
        self._texts: list[str] = []
        self._options: tuple[tuple[str, float], ...] = ()
        self._model = ""
        self._reasoned = False
        self.size = 0  # characters so far, reasoning included; every chunk counts as at least one
        self.used: tuple[int, int] | None = None  # (input, output) tokens, once reported
        self.cut = False  # stopped at the limit of tokens
        self.complete = False  # its end has come
        self.shown = False  # some of its text has come

    def add(self, chunk: Any) -> str:
        """The text of a chunk; raises KeyError and its like where parts are missing."""
        usage = chunk.get("usage") or {}
        self.used = _used(usage) or self.used
        details = usage.get("completion_tokens_details") or {}
        self._model = _sound(str(chunk.get("model") or self._model)[:MOST_CHARS])
        choices = chunk["choices"]
        if not choices:  # the last chunk may carry the usage alone
            self.complete = self.complete or bool(usage)
            return ""
        choice = choices[0]
        message = choice.get("delta") or choice.get("message") or {}
        text = message.get("content") or ""
        reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
        self._reasoned |= bool(reasoning) or bool(details.get("reasoning_tokens"))
        self.shown |= bool(text)
        self._texts.append(text)
        if self._choices and not self._options:
            tokens = (choice.get("logprobs") or {}).get("content") or []
            self._options = _options(tokens, self._choices)
        self.size += max(1, len(text) + len(str(reasoning)))
        self.cut |= choice.get("finish_reason") == "length"
        self.complete |= bool(choice.get("finish_reason")) or "message" in choice
        return _sound(text)

    def reply(self) -> Reply:
        """The reply, with the alternatives to the first token that is one of the choices."""
        return Reply(
            text=_sound("".join(self._texts)),
            options=self._options,
            used=self.used,
            model=self._model,
            cut=self.cut,
            reasoned=self._reasoned,
        )


def _sound(text: str) -> str:
    """``text`` with lone surrogates replaced by U+FFFD, so that it can be stored and sent."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _used(usage: Mapping[str, Any]) -> tuple[int, int] | None:
    sent, answered = usage.get("prompt_tokens"), usage.get("completion_tokens") or 0
    # Anything else would raise, or give back, what a person has left of a day.
    if not all(
        isinstance(count, int) and 0 <= count <= MOST_REPORTED for count in (sent, answered)
    ):
        return None
    return int(sent or 0), int(answered)


def _options(
    tokens: Sequence[Mapping[str, Any]], choices: tuple[str, ...]
) -> tuple[tuple[str, float], ...]:
    """The alternatives at the first token that spells a choice; empty where unreadable."""
    with suppress(*UNREADABLE):
        for token in tokens:
            if read_choice(token["token"], choices) is not None:
                top = token.get("top_logprobs") or []
                return tuple((str(o["token"]), float(o["logprob"])) for o in top)
    return ()


# -- errors ----------------------------------------------------------------------------------


def refusal(endpoint: Endpoint, error: openai.APIStatusError) -> EndpointError:
    """A response that is no answer as one of our errors, free of the key."""
    where, status, headers = endpoint.address, error.status_code, error.response.headers
    code = str(error.code or "")
    told = _told(error.body) or headers.get("location", "")
    said = scrub(told, endpoint.key.get_secret_value())
    quoted = _quoted(said)
    if status == 429 and _NO_CREDIT & {code, str(error.type)}:
        return RefusedError(
            f"The account at {where} has no credit left{quoted}.", "Top it up, or use another."
        )
    if status in (408, 409, 425, 429) or status >= 500:
        busy = "is busy" if status == 429 else f"failed with status {status}"
        remedy = "Run again later: answers that are there are not asked for twice."
        return TransientError(f"{where} {busy}{quoted}.", remedy, pause=_asked_for(headers))
    if status in (400, 413, 422):
        if status == 413 or code == "context_length_exceeded" or _TOO_LONG.search(said):
            return TooLongError(f"A question was too long for the model at {where}{quoted}.")
        if code in ("content_filter", "content_policy_violation"):
            return EndpointError(f"{where} withheld an answer{quoted}.")
        return UnsupportedError(
            f"{where} does not accept the request{quoted}.",
            "If the message names a setting, change it; otherwise another model may do.",
            hint=f"{error.param or ''} {said}".lower(),
        )
    what, remedy = _REFUSALS.get(status, (f"refused with status {status}", _PERSISTENT))
    return RefusedError(f"{where} {what.format(model=endpoint.model)}{quoted}.", remedy)


def _quoted(said: str) -> str:
    return f" ({said})" if said else ""


def _asked_for(headers: Mapping[str, str]) -> float | None:
    """Seconds that an endpoint asks to wait; None where it does not say."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(KeyError, ValueError):
            return max(0.0, float(headers[name]) * unit)
    return None


def _told(body: Any) -> str:
    """The server's own message, where it is meant for people."""
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, Mapping) else inner
        return str(message or body.get("message") or body.get("detail") or "")
    text = str(body or "")
    return "" if text.lstrip().startswith("<") else text  # a page of HTML explains nothing
