"""Requests to services: paced, bounded in size and time, repeated where that may help.

One client for all: those that exist for single services (``pyalex``, ``arxiv``, ``pyzotero`` ...)
hold the cursor of a page in a generator, so that a killed run cannot go on, and read answers of any
size.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx2
import tenacity
from filelock import FileLock

from engine.config import Settings, __version__
from engine.errors import ServiceError
from engine.types.callbacks import Ask, never
from engine.types.limits import SERVICE_PAGE_BYTES, SERVICE_PAGE_VALUES

log = logging.getLogger("seedlens.sources")
logging.getLogger("httpx2").setLevel(logging.WARNING)  # it logs addresses, which may hold keys
Value = TypeVar("Value")

ATTEMPTS = 6
LONGEST_WAIT = 120.0
"""Seconds that a service may ask to wait; with more, the run ends and can be taken up then."""
FIRST_WAIT = 1.0
"""Seconds before a request is repeated where the service does not say; doubled with each time."""
HURRIED = (2, 5.0)
HURRIED_TIMEOUT = 15.0
"""Attempts, longest wait, and longest silence, all in seconds, where a person waits."""
WHOLE_FACTOR = 5  # So many timeouts a whole answer may take
_WEB_PAGE = re.compile(r"\s*<(!doctype html|html)", re.IGNORECASE)
_SIGNS = ("{", "[", ",", "<", "=")  # Of which the values of JSON and XML have one each, at least
_LATER = "What came so far is kept: the same import goes on where it stopped."


@dataclass(frozen=True, slots=True)
class Address:
    """Where a service is asked, and as whom."""

    key: str
    name: str  # what messages call it
    url: str  # without a slash at the end
    seconds: float  # between two requests, as the service asks for
    # headers, params: of every request, with keys; never part of a message or of a log
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    params: Mapping[str, str] = field(default_factory=dict, repr=False)
    busy: tuple[int, ...] = (429,)  # statuses by which it says that requests come too fast
    own: bool = False  # it is not the service's own address, but one that an operator set
    refused: str = "Check what is asked for."  # what to do where it refuses the key, or wants one
    more: str = ""  # what would let it answer more requests, "" where nothing would

    @classmethod
    def of(cls, settings: Settings, key: str, name: str, url: str, **others: Any) -> Address:
        """A service's own address, or what an operator set in its place."""
        own = settings.service_addresses.get(key)
        return cls(key, name, own or url, own=own is not None, **others)


class StoppedError(Exception):
    """The wait for an answer was stopped."""


class TransientError(ServiceError):
    """Asking again may help, after ``wait`` seconds where the service says so."""

    def __init__(self, message: str, remedy: str = _LATER, wait: float | None = None) -> None:
        super().__init__(message, remedy)
        self.wait = wait


class RefusedError(ServiceError):
    """The service will not answer this request, however often it is asked; ``status`` is that of
    its answer."""

    def __init__(self, message: str, remedy: str, status: int) -> None:
        super().__init__(message, remedy)
        self.status = status


class Pace:
    """When the next request is due, for all processes that share a file.

    `file`: whose time of change is when the next request is due. `seconds`: between two requests; 0
    for no pace.
    """

    def __init__(self, file: Path, seconds: float) -> None:
        self._file, self._seconds = file, seconds

    def until_due(self, most: float = math.inf) -> float:
        """Take the next turn if it comes within ``most`` seconds; returns the seconds until it."""
        if not self._seconds:
            return 0.0
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{self._file}.lock"):
            now = time.time()
            at = max(now, self._file.stat().st_mtime if self._file.exists() else 0.0)
            if at - now <= most:
                self._due_at(at + self._seconds)
        return at - now

    def postpone(self, seconds: float) -> None:
        """Let no request begin for some time."""
        if self._seconds:
            self._due_at(time.time() + seconds)

    def _due_at(self, moment: float) -> None:
        self._file.touch()
        os.utime(self._file, (moment, moment))


class Client:
    """Asks one service. To be closed; not for several threads at once.

    `pace`: a file that all processes which ask this service share. `stopped`: asked while it waits;
    True ends the wait with a StoppedError. `patient`: False where a person waits: one more attempt,
    and short waits.
    """

    def __init__(
        self,
        address: Address,
        settings: Settings,
        pace: Path,
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
        email = settings.contact_email
        contact = f" (mailto:{email})" if email else ""
        self._http = httpx2.Client(
            headers={"User-Agent": f"SeedLens/{__version__}{contact}", **address.headers},
            params=address.params,
            timeout=timeout,
            # Proxies of the environment are for the internet.
            trust_env=not address.own and "//localhost" not in address.url,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def json(
        self,
        path: str,
        params: Mapping[str, Any],
        fits: Callable[[Any], bool],
        *,
        body: Any = None,
    ) -> tuple[Any, Mapping[str, str]]:
        """The value that a JSON answer holds, and its headers under names in small letters.

        `fits`: whether a value has the form of an answer. Services say in others that they ran out
        of time, with status 200. `body`: sent as JSON by POST; None for a GET. Raises ServiceError:
        no such answer came, however often it was asked for; StoppedError: the wait was stopped.
        """
        name = self.address.name

        def read(text: str) -> Any:
            value, failed = None, False
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                failed = True
            if failed:
                raise TransientError(f"{name} answered with something that is no JSON.")
            if not fits(value):
                raise unknown_form(name)
            return value

        return self._repeated(path, params, body, read)

    def text(self, path: str, params: Mapping[str, Any], read: Callable[[str], Value]) -> Value:
        """What ``read`` makes of the text of an answer; raises as ``json``.

        `read`: raises TransientError where the answer should be asked for again.
        """
        return self._repeated(path, params, None, read)[0]

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
            text, headers = self._ask(path, params, body)
            if _WEB_PAGE.match(text):
                raise TransientError(f"{self.address.name} answered with a web page, not data.")
            return read(text), headers

        return retrying(once)

    def _ask(
        self, path: str, params: Mapping[str, Any], body: Any
    ) -> tuple[str, Mapping[str, str]]:
        """The text and the headers of one answer, asked for when that is due."""
        most = math.inf if self._patient else HURRIED_TIMEOUT
        wait = self._pace.until_due(most)
        if wait > most:
            raise self._busy(wait)
        self._sleep(wait)
        failed = None
        try:
            return self._send(path, params, body)
        except httpx2.TimeoutException:
            failed = "did not answer in time."
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError):  # half a letter in a cursor
            failed = "cannot be reached, or broke off its answer."
        # Raised out here: the library's errors hold the request with its keys.
        raise TransientError(f"{self.address.name} {failed}", f"Check the connection. {_LATER}")

    def _send(
        self, path: str, params: Mapping[str, Any], body: Any
    ) -> tuple[str, Mapping[str, str]]:
        method, url = "GET" if body is None else "POST", self.address.url + path
        deadline = time.monotonic() + self._whole
        pieces, size = [], 0
        with self._http.stream(method, url, params=params, json=body) as response:
            for piece in response.iter_bytes():
                size += len(piece)
                pieces.append(piece)
                if size > SERVICE_PAGE_BYTES:
                    limit = f"{SERVICE_PAGE_BYTES // 2**20} MB"
                    raise self._too_much(limit, response.status_code)
                if self._stopped():
                    raise StoppedError
                if time.monotonic() > deadline:
                    raise TransientError(f"{self.address.name} takes too long to answer.")
        headers = {key.lower(): value for key, value in response.headers.items()}
        if backoff := _seconds(headers.get("backoff")):  # Zotero, with any answer
            self._pace.postpone(min(backoff, LONGEST_WAIT) * self._factor)
        text = b"".join(pieces).decode("utf-8", "replace")
        if max(map(text.count, _SIGNS)) > SERVICE_PAGE_VALUES:
            raise self._too_much(f"{SERVICE_PAGE_VALUES:,} values", response.status_code)
        self._check(response.status_code, headers, text)
        return text, headers

    def _too_much(self, limit: str, status: int) -> RefusedError:
        message = f"{self.address.name} sent more than {limit} for one page."
        return RefusedError(message, "Ask for less at once.", status)

    def _check(self, status: int, headers: Mapping[str, str], text: str) -> None:
        name = self.address.name
        if status in self.address.busy:
            raise self._busy(_seconds(headers.get("retry-after")))
        if status >= 500 or status in (408, 425):
            raise TransientError(f"{name} has a problem of its own (status {status}).")
        if status == 404:
            raise RefusedError(f"{name} has nothing of that name.", self.address.refused, status)
        if status >= 300:
            by_key = status in (401, 403)
            verb = "refuses" if by_key else "does not accept"
            message = f"{name} {verb} the request (status {status}){self._reason(text)}"
            remedy = (
                self.address.refused if by_key else "Check the words and ids that are asked for."
            )
            raise RefusedError(message, remedy, status)

    def _reason(self, text: str) -> str:
        """What a service says of a refusal, as the end of a sentence; a web page, or words with a
        key, say nothing."""
        try:
            words = json.loads(text)
        except (ValueError, RecursionError):
            words = "" if text.lstrip().startswith("<") else text
        if isinstance(words, Mapping):
            words = words.get("message") or words.get("error") or ""
        keys = (*self.address.headers.values(), *self.address.params.values())
        if not isinstance(words, str) or any(len(key) > 6 and key in words for key in keys):
            return "."
        words = " ".join(words.split())[:200].rstrip(".")
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
        """Wait, unless it is stopped."""
        until = time.monotonic() + seconds
        while not self._stopped():
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, 0.1))
        raise StoppedError


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
