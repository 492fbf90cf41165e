"""Requests to services: paced, bounded in size and time, repeated where that may help.

The clients that exist for single services (``pyalex``, ``arxiv``, ``semanticscholar``,
``pyzotero``) each bring their own retries, hold the cursor of a page in a generator, so that a
killed run cannot go on, and read answers of any size; ``acl-anthology`` clones a repository of
gigabytes. One client for all has one behaviour to test.
"""

from __future__ import annotations

import json
import logging
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
import tenacity

from engine.config import Settings, __version__
from engine.errors import ServiceError
from engine.sources.pace import Pace
from engine.types.callbacks import Ask, never
from engine.types.limits import SERVICE_PAGE_BYTES, SERVICE_PAGE_VALUES

log = logging.getLogger("seedlens.sources")
Value = TypeVar("Value")

ATTEMPTS = 6
LONGEST_WAIT = 120.0
"""Seconds that a service may ask to wait; with more, the run ends and can be taken up then."""
FIRST_WAIT = 1.0
"""Seconds before a request is repeated where the service does not say; doubled with each time."""
HURRIED = (2, 5.0)
HURRIED_TIMEOUT = 15.0
"""Attempts, longest wait, and longest silence, all in seconds, where a person waits."""
WHOLE_FACTOR = 5
"""So many timeouts a whole answer may take."""
_WEB_PAGE = re.compile(r"\s*<(!doctype html|html)", re.IGNORECASE)
_SIGNS = ("{", "[", ",", "<", "=")
"""Of which the values of JSON and XML have one each, at least."""
_LATER = "What came so far is kept: the same import goes on where it stopped."


@dataclass(frozen=True, slots=True)
class Address:
    """Where a service is asked, and as whom.

    Attributes:
        name: what messages call it.
        url: without a slash at the end.
        seconds: between two requests, as the service asks for.
        headers, params: of every request, with keys; never part of a message or of a log.
        busy: statuses by which it says that requests come too fast.
        own: it is not the service's own address, but one that an operator set.
        refused: what to do where it refuses the key, or wants one.
        more: what would let it answer more requests, "" where nothing would.
    """

    key: str
    name: str
    url: str
    seconds: float
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    params: Mapping[str, str] = field(default_factory=dict, repr=False)
    busy: tuple[int, ...] = (429,)
    own: bool = False
    refused: str = "Check what is asked for."
    more: str = ""

    @property
    def secrets(self) -> list[str]:
        """Words that no message may hold, although a service may repeat them."""
        values = (*self.headers.values(), *self.params.values())
        return [word for value in values for word in value.split() if len(word) > 6]

    @classmethod
    def of(cls, settings: Settings, key: str, name: str, url: str, **others: Any) -> Address:
        """A service's own address, or what an operator set in its place."""
        own = settings.service_addresses.get(key)
        return cls(key, name, own or url, own=own is not None, **others)


class StoppedError(Exception):
    """Whoever waits for an answer does not want it any more."""


class TransientError(ServiceError):
    """Asking again may help.

    Attributes:
        wait: seconds that the service asks to wait; None where it does not say.
    """

    def __init__(self, message: str, remedy: str = _LATER, wait: float | None = None) -> None:
        super().__init__(message, remedy)
        self.wait = wait


class RefusedError(ServiceError):
    """The service will not answer this request, however often it is asked.

    Attributes:
        status: of its answer.
    """

    def __init__(self, message: str, remedy: str, status: int) -> None:
        super().__init__(message, remedy)
        self.status = status


@dataclass(frozen=True, slots=True)
class Answer:
    """What came: the body as text, and headers under names in small letters."""

    text: str
    headers: Mapping[str, str]


class Client:
    """Asks one service. To be closed; not for several threads at once.

    Args:
        pace: a file that all processes which ask this service share; None for this client alone.
        stopped: asked while it waits; True ends the wait with a StoppedError.
        patient: somebody who waits in front of a page is not: one more attempt, and short waits.
    """

    def __init__(
        self,
        address: Address,
        settings: Settings,
        pace: Path | None = None,
        stopped: Ask = never,
        *,
        patient: bool = True,
    ) -> None:
        self.address = address
        self._attempts, self._longest = (ATTEMPTS, LONGEST_WAIT) if patient else HURRIED
        self._stopped, self._patient = stopped, patient
        self._factor = settings.service_pace if address.own else 1.0
        self._pace = Pace(pace, address.seconds * self._factor)
        timeout = settings.service_timeout_seconds
        timeout = timeout if patient else min(timeout, HURRIED_TIMEOUT)
        self._whole = timeout * WHOLE_FACTOR
        self._deadline = 0.0
        email = settings.contact_email
        contact = f" (mailto:{email})" if email else ""
        self._http = httpx2.Client(
            headers={"User-Agent": f"SeedLens/{__version__}{contact}", **address.headers},
            timeout=timeout,
            follow_redirects=False,
            transport=_Transport(address.params, _proxy_of(address), self._check_wanted),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._http.close()

    def json(
        self,
        path: str,
        params: Mapping[str, Any],
        fits: Callable[[Any], bool],
        *,
        body: Any = None,
    ) -> tuple[Any, Mapping[str, str]]:
        """The value that a JSON answer holds, and its headers.

        Args:
            fits: whether a value has the form of an answer. Services say in others that they ran
                out of time, with status 200.
            body: sent as JSON by POST; None for a GET.

        Raises:
            ServiceError: no such answer came, however often it was asked for.
            StoppedError: nobody waits any more.
        """

        def read(text: str) -> Any:
            value = _as_json(text, self.address.name)
            if not fits(value):
                raise unknown_form(self.address.name)
            return value

        return self._repeated(path, params, body, read)

    def text(self, path: str, params: Mapping[str, Any], read: Callable[[str], Value]) -> Value:
        """What ``read`` makes of the text of an answer, which is no web page; raises as ``json``.

        Args:
            read: raises TransientError where the answer should be asked for again.
        """

        def plain(text: str) -> Value:
            if _WEB_PAGE.match(text):
                raise TransientError(f"{self.address.name} answered with a web page, not data.")
            return read(text)

        return self._repeated(path, params, None, plain)[0]

    def _repeated(
        self, path: str, params: Mapping[str, Any], body: Any, read: Callable[[str], Value]
    ) -> tuple[Value, Mapping[str, str]]:
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(TransientError),
            stop=tenacity.stop_after_attempt(self._attempts),
            wait=self._wait,
            sleep=self._sleep,
            reraise=True,
        )

        def once() -> tuple[Value, Mapping[str, str]]:
            answer = self.ask(path, params, body)
            return read(answer.text), answer.headers

        return retrying(once)

    def ask(self, path: str, params: Mapping[str, Any], body: Any = None) -> Answer:
        """One request, when it is due.

        Raises:
            TransientError: it may be answered when it is sent again.
            RefusedError: it will not.
            StoppedError: nobody waits any more.
        """
        self._sleep(self._turn())
        name, failed = self.address.name, None
        try:
            answer = self._send(path, params, body)
        except httpx2.TimeoutException:
            failed = f"{name} did not answer in time."
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError):  # half a letter in a cursor
            failed = f"{name} cannot be reached, or broke off its answer."
        # Raised out here: the library's errors hold the request with the key in its headers.
        if failed is not None:
            raise TransientError(failed, f"Check the connection. {_LATER}")
        return answer

    def _send(self, path: str, params: Mapping[str, Any], body: Any) -> Answer:
        method, url = "GET" if body is None else "POST", self.address.url + path
        self._deadline = time.monotonic() + self._whole
        pieces, size = [], 0
        with self._http.stream(method, url, params=params, json=body) as response:
            for piece in response.iter_bytes():
                size += len(piece)
                pieces.append(piece)
                if size > SERVICE_PAGE_BYTES:
                    limit = f"{SERVICE_PAGE_BYTES // 2**20} MB"
                    raise self._too_much(limit, response.status_code)
        headers = {key.lower(): value for key, value in response.headers.items()}
        if backoff := _seconds(headers.get("backoff")):  # Zotero, with any answer
            self._pace.postpone(min(backoff, LONGEST_WAIT) * self._factor)
        text = b"".join(pieces).decode("utf-8", "replace")
        if max(map(text.count, _SIGNS)) > SERVICE_PAGE_VALUES:
            raise self._too_much(f"{SERVICE_PAGE_VALUES:,} values", response.status_code)
        self._check(response.status_code, headers, text)
        return Answer(text, headers)

    def _too_much(self, limit: str, status: int) -> RefusedError:
        message = f"{self.address.name} sent more than {limit} for one page."
        return RefusedError(message, "Ask for less at once.", status)

    def _check_wanted(self) -> None:
        """Raise where nobody waits for the answer any more, or it has taken too long."""
        if self._stopped():
            raise StoppedError
        if time.monotonic() > self._deadline:
            raise TransientError(f"{self.address.name} takes too long to answer.")

    def _turn(self) -> float:
        """Seconds until the next request is due; a ServiceError where nobody waits for so long."""
        most = math.inf if self._patient else HURRIED_TIMEOUT
        wait = self._pace.until_due(most)
        if wait > most:
            raise self._busy(wait)
        return wait

    def _check(self, status: int, headers: Mapping[str, str], text: str) -> None:
        name = self.address.name
        if status in self.address.busy:
            raise self._busy(_seconds(headers.get("retry-after")))
        if status >= 500 or status in (408, 425):
            raise TransientError(f"{name} has a problem of its own (status {status}).")
        if status in (401, 403):
            message = f"{name} refuses the request (status {status}){self._reason(text)}"
            raise RefusedError(message, self.address.refused, status)
        if status == 404:
            raise RefusedError(f"{name} has nothing of that name.", self.address.refused, status)
        if status >= 300:
            message = f"{name} does not accept the request (status {status}){self._reason(text)}"
            raise RefusedError(message, "Check the words and ids that are asked for.", status)

    def _reason(self, text: str) -> str:
        """What a service says of a refusal, as the end of a sentence; a web page says nothing."""
        try:
            said = json.loads(text)
        except (ValueError, RecursionError):
            said = "" if text.lstrip().startswith("<") else text
        if isinstance(said, Mapping):
            said = said.get("message") or said.get("error") or ""
        if not isinstance(said, str) or any(key in said for key in self.address.secrets):
            return "."
        words = " ".join(said.split())[:200].rstrip(".")
        return f": {words}." if words else "."

    def _busy(self, wait: float | None) -> ServiceError:
        name = self.address.name
        if wait is not None and wait > self._longest:
            later = f"{wait / 3600:.1f} hours" if wait > 5400 else f"{wait / 60:.0f} minutes"
            later = later if wait > 90 else f"{wait:.0f} seconds"
            message = f"{name} wants no more requests for {later}: its limit is reached."
            return RefusedError(message, f"Try again then. {self.address.more}{_LATER}", 429)
        remedy = f"Try again later. {self.address.more}{_LATER}"
        return TransientError(f"{name} gets too many requests.", remedy, wait)

    def _wait(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        wait = error.wait if isinstance(error, TransientError) else None
        log.info("%s: attempt %s failed", self.address.name, state.attempt_number)
        if wait is None:
            wait = min(FIRST_WAIT * 2 ** (state.attempt_number - 1), LONGEST_WAIT)
        return wait * self._factor

    def _sleep(self, seconds: float) -> None:
        """Wait, unless nobody wants the answer any more."""
        until = time.monotonic() + seconds
        while True:
            if self._stopped():
                raise StoppedError
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, 0.1))


class _Transport(httpx2.HTTPTransport):
    """Adds keys to the URL where a service takes them there: below the client, whose log has all
    URLs.

    Args:
        check: raises where an answer is to come no further.
    """

    def __init__(
        self, params: Mapping[str, str], proxy: str | None, check: Callable[[], None]
    ) -> None:
        super().__init__(proxy=proxy)
        self._params = params
        pool = self._pool
        pool._network_backend = _Watched(pool._network_backend, check)  # type: ignore[assignment]

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if self._params:
            request = httpx2.Request(
                request.method,
                request.url.copy_merge_params(self._params),
                headers=request.headers,
                stream=request.stream,
                extensions=request.extensions,
            )
        return super().handle_request(request)


class _Watched:
    """What connects, or a connection: before each piece that is read, it looks whether to go on.

    The library's timeouts count from one piece to the next, and it hands out nothing while headers
    come, or while what comes unpacks to nothing.
    """

    def __init__(self, inner: Any, check: Callable[[], None]) -> None:
        self._inner, self._check = inner, check

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, *args: Any, **options: Any) -> _Watched:
        return _Watched(self._inner.connect_tcp(*args, **options), self._check)

    def start_tls(self, *args: Any, **options: Any) -> _Watched:
        return _Watched(self._inner.start_tls(*args, **options), self._check)

    def read(self, *args: Any, **options: Any) -> bytes:
        self._check()
        content: bytes = self._inner.read(*args, **options)
        return content


def _proxy_of(address: Address) -> str | None:
    """The proxy that the environment names for an address on the internet, as ``HTTPS_PROXY``."""
    parts = urlsplit(address.url)
    if address.own or parts.hostname == "localhost" or proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)


def _as_json(text: str, name: str) -> Any:
    failed = None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        failed = "a web page, not data" if _WEB_PAGE.match(text) else "something that is no JSON"
    raise TransientError(f"{name} answered with {failed}.")


def unknown_form(name: str) -> TransientError:
    """The error for an answer that is not as documented."""
    return TransientError(f"{name} answered in a form that SeedLens does not know.")


def _seconds(value: str | None) -> float | None:
    """What ``Retry-After`` says: seconds, or a date."""
    if not value:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d+)?", value.strip()):
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())
