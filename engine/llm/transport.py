"""Requests to the endpoint through the ``openai`` client, and its errors as ours.

Temporary failures and lost answers are retried (``Retry-After``, else after a doubling pause).
Nothing else imports ``openai``. Errors are raised outside of ``except`` blocks: the client's own
hold the key, and must not end up in a traceback.
"""

from __future__ import annotations

import asyncio
import functools
import json
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2
import openai

from engine.llm.budget import Meter
from engine.llm.endpoint_errors import (
    MOST_CHARS,
    EndpointError,
    RefusedError,
    TooLongError,
    TransientError,
    UnsupportedError,
    WithheldError,
    scrub,
)
from engine.llm.endpoints import KEY, MODEL, Connection, Endpoint, ambient_headers
from engine.llm.messages import Reply, read_choice
from engine.types.limits import ANSWER_CHARS_PER_TOKEN, MOST_REPORTED

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
FIRST_PAUSE, LAST_PAUSE, LONGEST_PAUSE = 0.5, 8.0, 120.0
"""Seconds before the first repeat, doubled for each that follows until they are so many; and what
an endpoint may ask for at most."""
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


class Transport:
    """One endpoint, asked from one event loop. Close it there as well.

    Answers are streamed: the timeout is the longest silence between two pieces. A request whose
    answer has not begun waits while others are answered, as small servers queue them.
    """

    def __init__(self, connection: Connection) -> None:
        self.endpoint = connection.endpoint
        self._timeout, self._retries = connection.timeout, connection.retries
        # Requests whose answers have not begun, and the latest time at which each is given up.
        self._queued: dict[asyncio.Timeout, float] = {}
        self.repeats = self.cut = 0  # requests sent again; streams stopped at the token limit
        # something has come from the endpoint; before that, a request that times out is not
        # repeated
        self.responsive = False
        self._dropped = ambient_headers(self.endpoint)
        self._client = openai.AsyncOpenAI(
            # For None it would take the key of the environment.
            api_key=self.endpoint.key.get_secret_value() or "none",
            base_url=self.endpoint.address,
            max_retries=0,  # each request counts against the budget: they are sent again here
            timeout=None,  # ours counts from one piece to the next
            http_client=openai.DefaultAsyncHttpx2Client(
                verify=_certificates(),
                follow_redirects=False,  # a redirect would send questions to another address
                event_hooks={"request": [self._sending]},
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
            tokens: (input, output) to set aside per request; an answer of many times the output is
                cut off.
            choices: the answers whose alternatives are wanted.
        """

        async def ask() -> Reply:
            answer = StreamedReply(choices)
            async for _ in self._pieces(body, meter, tokens, answer):
                pass
            return answer.reply()

        return await self._again(ask)

    async def stream(
        self, body: Mapping[str, Any], meter: Meter, tokens: tuple[int, int]
    ) -> AsyncGenerator[str]:
        """The text of one reply, piece by piece, reasoning included; not retried after the first
        piece."""

        async def begin() -> tuple[str, AsyncGenerator[str], StreamedReply]:
            answer = StreamedReply()
            pieces = self._pieces(body, meter, tokens, answer)
            return await anext(pieces, ""), pieces, answer

        first, pieces, answer = await self._again(begin)
        async with aclosing(pieces):
            yield first
            async for piece in pieces:
                yield piece
        self.cut += answer.cut

    async def models(self) -> list[ModelCard]:
        """What the endpoint offers; empty where it does not say."""
        try:
            async with asyncio.timeout(min(10.0, self._timeout)):
                page: Any = await self._client.get("/models", cast_to=object)
                return [_card(model) for model in page["data"][:MOST_MODELS]]
        # Anything may come back where nothing is promised; not knowing is no failure.
        except (openai.OpenAIError, TimeoutError, *UNREADABLE):
            return []

    async def _again(self, ask: Callable[[], Awaitable[Value]]) -> Value:
        """What ``ask`` returns, retried after a pause on temporary failures."""
        for pause in (min(LAST_PAUSE, FIRST_PAUSE * 2**n) for n in range(self._retries)):
            try:
                return await ask()
            except TransientError as error:
                if error.pause is not None and error.pause > LONGEST_PAUSE:
                    raise
                wanted = error.pause
            await asyncio.sleep(pause if wanted is None else wanted)
            self.repeats += 1
        return await ask()

    async def _pieces(
        self, body: Mapping[str, Any], meter: Meter, tokens: tuple[int, int], answer: StreamedReply
    ) -> AsyncGenerator[str]:
        """The text of one answer as it comes; its usage is settled however it ends."""
        most_chars = ANSWER_CHARS_PER_TOKEN * tokens[1]
        failure: EndpointError | None = None
        may_work = False  # the endpoint, which no longer reports what that takes
        meter.hold(*tokens)
        try:
            async with aclosing(self._chunks(body)) as chunks:
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
        except UNREADABLE:
            failure = TransientError(
                f"{self.endpoint.address} sent an answer that is no chat completion.",
                "If this happens every time, the address is not that of an OpenAI-compatible "
                "endpoint; it usually ends in /v1.",
                pause=0.0,
            )
        except (asyncio.CancelledError, GeneratorExit):
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
            arriving = aiter(stream)
            async with self._waiting():
                chunk = await anext(arriving, None)
            while chunk is not None:
                yield chunk
                async with asyncio.timeout(self._timeout):
                    chunk = await anext(arriving, None)

    @asynccontextmanager
    async def _waiting(self) -> AsyncIterator[None]:
        """Wait for an answer to begin, at most the timeout; see :meth:`_heard`."""
        async with asyncio.timeout(self._timeout) as limit:
            self._queued[limit] = asyncio.get_running_loop().time() + QUEUE_FACTOR * self._timeout
            try:
                yield
            finally:
                self._queued.pop(limit, None)

    async def _sending(self, request: httpx2.Request) -> None:
        """Before each request: leave out what the environment adds for another endpoint."""
        if self._dropped:
            for name in self._dropped:
                request.headers.pop(name, None)
            key = self.endpoint.key.get_secret_value() or "none"
            host = request.url.netloc.decode("ascii")
            request.headers.update({"Authorization": f"Bearer {key}", "Host": host})
            request.headers.update(dict.fromkeys(("Accept", "Content-Type"), "application/json"))

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


@functools.cache
def _certificates() -> ssl.SSLContext:
    """The default certificates, cached: reading them is slow."""
    return httpx2.create_ssl_context()


def _card(fields: Mapping[str, Any]) -> ModelCard:
    # vLLM, LM Studio, OpenRouter and others each have a name of their own for it.
    names = ("max_model_len", "max_context_length", "context_length", "context_window")
    sizes = [fields.get(name) for name in names]
    sizes.append((fields.get("meta") or {}).get("n_ctx"))  # llama.cpp
    context = next((size for size in sizes if isinstance(size, int) and size > 0), None)
    return ModelCard(str(fields["id"]), context)


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
        text = _text(message.get("content"))
        reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
        self._reasoned |= bool(reasoning) or bool(details.get("reasoning_tokens"))
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


def _text(content: Any) -> str:
    if content is not None and not isinstance(content, str):
        raise ValueError("the content is no text")
    return content or ""


def _sound(text: str) -> str:
    """``text`` with lone surrogates replaced by U+FFFD, so that it can be stored and sent."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _used(usage: Mapping[str, Any]) -> tuple[int, int] | None:
    sent, answered = usage.get("prompt_tokens"), usage.get("completion_tokens") or 0
    if not isinstance(sent, int) or not isinstance(answered, int | float):
        return None
    if not (0 <= sent <= MOST_REPORTED and 0 <= answered <= MOST_REPORTED):
        return None  # less than nothing would be given back to whoever has a budget
    return sent, int(answered)


def _options(
    tokens: Sequence[Mapping[str, Any]], choices: tuple[str, ...]
) -> tuple[tuple[str, float], ...]:
    """The alternatives at the first token that spells a choice; empty where unreadable."""
    with suppress(TypeError, ValueError, KeyError, AttributeError, OverflowError):
        for token in tokens:
            if read_choice(token["token"], choices) is not None:
                top = token.get("top_logprobs") or []
                return tuple((str(o["token"]), float(o["logprob"])) for o in top)
    return ()


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


def _broken_off(endpoint: Endpoint, said: str = "") -> TransientError:
    quoted = f" ({said})" if said else ""
    return TransientError(
        f"{endpoint.address} broke off in the middle of an answer{quoted}.", "Ask again.", pause=0.0
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
            pause=_asked_for(error.response.headers),
        )
    if status in (400, 413, 422):
        return _bad_request(error, status, where, said)
    return RefusedError(*_refusal(status, endpoint, quoted, error))


def _asked_for(headers: Mapping[str, str]) -> float | None:
    """Seconds that an endpoint asks to wait; None where it does not say."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(KeyError, ValueError):
            return max(0.0, float(headers[name]) * unit)
    return None


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
    """The server's own message, where it is meant for people."""
    body = error.body
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, Mapping) else inner
        detail = message or body.get("message") or body.get("detail") or ""
        return str(detail)
    text = str(body or "")
    return "" if text.lstrip().startswith("<") else text  # a page of HTML explains nothing
