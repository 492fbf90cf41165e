"""Requests to services, and what their answers have in common: pages, ids, single values.

One client for all: those that exist for single services (`pyalex`, `arxiv`, `pyzotero` ...) hold
the cursor of a page in a generator, so that a killed run cannot go on, and read answers of any
size.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Self, TypeVar
from xml.etree.ElementTree import Element, ParseError

import httpx2
import tenacity
from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException
from filelock import FileLock

from engine.bibliographic import at, without_markup
from engine.config import ASSETS, Settings, __version__
from engine.errors import BadInputError, ServiceError
from engine.types.callbacks import Ask, never
from engine.types.corpora import ServiceInfo, ServiceQuery

log = logging.getLogger("seedlens.sources")
logging.getLogger("httpx2").setLevel(logging.WARNING)  # it logs addresses, which may hold keys
Value = TypeVar("Value")

ATTEMPTS = 6
LONGEST_WAIT = 120.0
"""Seconds that a service may ask to wait; with more, the run ends and can be taken up then."""
FIRST_WAIT = 1.0  # Seconds before a request is repeated, unless the service says; then doubled
HURRIED, HURRIED_TIMEOUT = (2, 5.0), 15.0
"""Attempts, longest wait, and longest silence, all in seconds, where a person waits."""
WHOLE_FACTOR = 5  # So many timeouts a whole answer may take
_NO_JSON = object()
_WEB_PAGE = re.compile(r"\s*<(!doctype html|html)", re.IGNORECASE)
TABLES: dict[str, dict[str, Any]] = tomllib.loads(
    (ASSETS / "sources" / "services.toml").read_text(encoding="utf-8")
)
"""What is known of each service, by its key."""
_LATER = "What came so far is kept: the same import goes on where it stopped."


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


class Client:
    """Asks one service, at its own address or one that an operator set in its place. To be closed;
    not for several threads at once. `key`: of its table in ``assets/sources/services.toml``.
    `paces`: the folder that all processes which ask services share. `stopped`: asked while it
    waits; True ends the wait with a StoppedError. `patient`: False where a person waits: one more
    attempt, and short waits. `params`: of every request, with keys; never part of a message."""

    def __init__(
        self,
        key: str,
        settings: Settings,
        paces: Path,
        stopped: Ask = never,
        *,
        patient: bool = True,
    ) -> None:
        table, own = TABLES[key], settings.service_addresses.get(key)
        secret = getattr(settings, table["key"]).get_secret_value() if "key" in table else ""
        email = settings.contact_email if table.get("mailto") else ""
        headers, self.params = dict(table.get("headers", {})), {"mailto": email} if email else {}
        if secret and "param" in table:
            self.params[table["param"]] = secret
        elif secret:
            headers[table["header"]] = secret
        self._name, self._url = table["name"], own or table["url"]
        self._secrets = (*headers.values(), *self.params.values())
        self._busy_statuses = table.get("busy", [429])
        self._refused = table.get("refused", "Check what is asked for.")
        helped = secret or (email and "key" not in table)
        self._more = "" if helped else table.get("more", "")  # to be answered more often
        self._attempts, self._longest = (ATTEMPTS, LONGEST_WAIT) if patient else HURRIED
        self._stopped, self._patient = stopped, patient
        self._factor = settings.service_pace if own else 1.0
        # Its time of change is when the next request is due.
        self._pace, self._gap = paces / f"{key}.pace", table["seconds"] * self._factor
        timeout = settings.service_timeout_seconds
        timeout = timeout if patient else min(timeout, HURRIED_TIMEOUT)
        self._whole = timeout * WHOLE_FACTOR
        contact = f" (mailto:{settings.contact_email})" if settings.contact_email else ""
        self._http = httpx2.Client(
            headers={"User-Agent": f"SeedLens/{__version__}{contact}", **headers},
            params=self.params,
            timeout=timeout,
            # Proxies of the environment are for the internet.
            trust_env=not own and "//localhost" not in self._url,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def json(
        self, path: str, params: Mapping[str, Any], fits: Callable[[Any], bool], *, body: Any = None
    ) -> tuple[Any, Mapping[str, str]]:
        """The value of a JSON answer, and its headers under names in small letters. `fits`: whether
        a value has the form of an answer: services report with status 200 that they ran out of
        time. `body`: sent as JSON by POST; None for a GET. Raises ServiceError: no such answer
        came after all attempts; StoppedError: the wait was stopped."""
        name = self._name

        def read(text: str) -> Any:
            value: Any = _NO_JSON
            # Not raised within: the library's errors hold the answer, which may repeat keys.
            with suppress(ValueError, RecursionError):
                value = json.loads(text)
            if value is _NO_JSON:
                raise TransientError(f"{name} answered with something that is no JSON.")
            if not fits(value):
                raise unknown_form(name)
            return value

        return self._repeated(read, path, params=params, json=body)

    def text(self, path: str, params: Mapping[str, Any], read: Callable[[str], Value]) -> Value:
        """What ``read`` makes of the text of an answer; raises as ``json``. `read`: raises
        TransientError where the answer should be asked for again."""
        return self._repeated(read, path, params=params)[0]

    def _repeated(
        self, read: Callable[[str], Value], path: str, **request: Any
    ) -> tuple[Value, Mapping[str, str]]:
        def once() -> tuple[Value, Mapping[str, str]]:
            text, headers = self._ask(path, **request)
            if _WEB_PAGE.match(text):
                raise TransientError(f"{self._name} answered with a web page, not data.")
            return read(text), headers

        return tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(TransientError),
            stop=tenacity.stop_after_attempt(self._attempts),
            wait=self._wait,
            sleep=self._sleep,
            reraise=True,
        )(once)

    def _ask(self, path: str, **request: Any) -> tuple[str, Mapping[str, str]]:
        """The text and the headers of one answer, asked for when that is due."""
        most = math.inf if self._patient else HURRIED_TIMEOUT
        wait = self._until_due(most) if self._gap else 0.0
        if wait > most:
            raise self._busy(wait)
        self._sleep(wait)
        failed = None
        try:
            return self._send(path, **request)
        except httpx2.TimeoutException:
            failed = "did not answer in time."
        except (httpx2.HTTPError, httpx2.InvalidURL):
            failed = "cannot be reached, or broke off its answer."
        # Raised out here: the library's errors hold the request with its keys.
        raise TransientError(f"{self._name} {failed}", f"Check the connection. {_LATER}")

    def _until_due(self, most: float) -> float:
        """Take the next turn if it comes within ``most`` seconds; returns the seconds until it."""
        self._pace.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{self._pace}.lock"):
            now = time.time()
            due = max(now, self._pace.stat().st_mtime if self._pace.exists() else 0.0)
            if due - now <= most:
                self._due_at(due + self._gap)
        return due - now

    def _due_at(self, moment: float) -> None:
        self._pace.touch()
        os.utime(self._pace, (moment, moment))

    def _send(self, path: str, **request: Any) -> tuple[str, Mapping[str, str]]:
        method = "GET" if request.get("json") is None else "POST"
        deadline = time.monotonic() + self._whole
        pieces = []
        with self._http.stream(method, self._url + path, **request) as response:
            for piece in response.iter_bytes():
                pieces.append(piece)
                if self._stopped():
                    raise StoppedError
                if time.monotonic() > deadline:
                    raise TransientError(f"{self._name} takes too long to answer.")
        headers = {key.lower(): value for key, value in response.headers.items()}
        if self._gap and (backoff := _seconds(headers.get("backoff"))):  # Zotero, with any answer
            self._due_at(time.time() + min(backoff, LONGEST_WAIT) * self._factor)
        text = b"".join(pieces).decode("utf-8", "replace")
        self._check(response.status_code, headers, text)
        return text, headers

    def _check(self, status: int, headers: Mapping[str, str], text: str) -> None:
        name = self._name
        if status in self._busy_statuses:
            raise self._busy(_seconds(headers.get("retry-after")))
        if status >= 500 or status in (408, 425):
            raise TransientError(f"{name} has a problem of its own (status {status}).")
        if status == 404:
            raise RefusedError(f"{name} has nothing of that name.", self._refused, status)
        if status >= 300:
            verb, remedy = "does not accept", "Check the words and ids that are asked for."
            if status in (401, 403):
                verb, remedy = "refuses", self._refused
            message = f"{name} {verb} the request (status {status}){self._reason(text)}"
            raise RefusedError(message, remedy, status)

    def _reason(self, text: str) -> str:
        """The words of a service for a refusal, as the end of a sentence; a web page, or words with
        a key, are left out."""
        answer: Any = None if text.lstrip().startswith("<") else text
        with suppress(ValueError, RecursionError):
            answer = json.loads(text)
        words = at(answer, "message") or at(answer, "error") or answer
        secrets = (secret for secret in self._secrets if len(secret) > 6)
        if not isinstance(words, str) or any(secret in words for secret in secrets):
            return "."
        words = " ".join(words.split())[:200].rstrip(".")
        return f": {words}." if words else "."

    def _busy(self, wait: float | None) -> ServiceError:
        name, remedy = self._name, f"{self._more}{_LATER}"
        if wait is None or wait <= self._longest:
            message = f"{name} gets too many requests."
            return TransientError(message, f"Try again later. {remedy}", wait)
        units = ((5400, 3600, "hours", 1), (90, 60, "minutes", 0), (0, 1, "seconds", 0))
        later = next(f"{wait / n:.{d}f} {unit}" for least, n, unit, d in units if wait > least)
        message = f"{name} wants no more requests for {later}: its limit is reached."
        return RefusedError(message, f"Try again then. {remedy}", 429)

    def _wait(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        wait = error.wait if isinstance(error, TransientError) else None
        log.info("%s: attempt %s failed", self._name, state.attempt_number)
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
    """The seconds of ``Retry-After``, which has them or a date."""
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


Row = dict[str, Any]
"""A document as :mod:`engine.ingest` reads it: ``doc_id``, ``title``, ``text`` (the abstract, "" if
there is none), ``year``, ``authors``, ``url``; everything else is metadata."""
FIELDS = ("doc_id", "title", "text", "year", "authors", "url")
START = ""  # The cursor of the first page
_UNSEEN = re.compile("[\x00-\x1f\x7f\u200b-\u200f\ufeff]+")
"""Control characters, and those without width that come along when ids are copied from pages."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of results."""

    rows: Sequence[Row]  # documents, in the service's order; some may have been on a page before
    cursor: str | None  # of the next page; None after the last
    # documents of the query in all, as the service says; None where it does not
    total: int | None = None
    missing: Sequence[str] = ()  # ids that were asked for on this page and that do not exist
    skipped: int = 0  # entries that are no papers, such as attachments
    # of the library that was asked, by which it can be asked for changes; "" for none
    version: str = ""


class Service:
    """A service that documents can be retrieved from. `key`: of its table in
    ``assets/sources/services.toml``."""

    info: ServiceInfo
    batch = 50  # ids of one request
    id_fields: tuple[str, ...] = ("doc_id",)  # fields of its rows in which ids are found

    def __init_subclass__(cls, key: str) -> None:
        table = TABLES[key]
        searches = table.get("searches", True)
        cls.info = ServiceInfo(key, table["name"], table["help"], table["example"], searches)

    def place(self, _: ServiceQuery, /) -> str:
        """The key of the table of where it is asked."""
        return self.info.key

    def id_of(self, text: str) -> str | None:
        """The id that a text is, None for words."""
        raise NotImplementedError

    def read(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Search words and ids of a query as people type it; one is empty but for Zotero."""
        return split_ids(text, self.id_of)

    def page(self, client: Client, query: ServiceQuery, cursor: str) -> Page:
        """One page; its cursor is :data:`START`, or what the page before has."""
        if not query.ids:
            return self.search(client, query, cursor)
        asked, after = batch(query.ids, cursor, self.batch)
        rows = self.of_ids(client, query, asked)
        there = {row[name] for row in rows for name in self.id_fields}
        return Page(rows, after, len(query.ids), [id_ for id_ in asked if id_ not in there])

    def search(self, client: Client, query: ServiceQuery, cursor: str) -> Page:
        """One page of what is found for words."""
        raise NotImplementedError

    def of_ids(self, client: Client, query: ServiceQuery, ids: Sequence[str]) -> list[Row]:
        """The documents of some ids, as far as they exist."""
        raise NotImplementedError

    def row(self, doc_id: str, record: Mapping[str, Any], **values: Any) -> Row:
        """A document: values, and the texts of a record as its table says."""
        paths = TABLES[self.info.key].get("fields", {}).items()
        found = values | {name: words(at(record, *path.split("."))) for name, path in paths}
        own = {name: found[name] for name in FIELDS if name in found}
        return {"doc_id": doc_id} | own | found | {"source": self.info.name}


def batch(ids: Sequence[str], cursor: str, size: int) -> tuple[list[str], str | None]:
    """The ids of a page where a service is asked by ids, and the cursor of the next page.

    >>> batch(["a", "b", "c"], "", 2), batch(["a", "b", "c"], "2", 2)
    ((['a', 'b'], '2'), (['c'], None))
    """
    at = int(cursor or 0)
    end = at + size
    return list(ids[at:end]), str(end) if end < len(ids) else None


def listed(value: Any) -> list[Mapping[str, Any]]:
    """The JSON objects of a list; nothing for what is no list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def words(value: Any) -> str:
    """A text on one line, without HTML or JATS; "" for what is no text.

    >>> words(" Deep  <i>learning</i> "), words(None)
    ('Deep learning', '')
    >>> words("<jats:sec><jats:title>Aims</jats:title><jats:p>To see.</jats:p></jats:sec>")
    'Aims: To see.'
    """
    if not isinstance(value, str):
        return ""
    return " ".join(str(without_markup(value, set())).split())


def number(value: Any) -> int | None:
    """A year or another whole number, None for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def digits(text: str) -> int | None:
    """The whole number that a text is, None for what is none."""
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def people(names: Iterable[Any]) -> list[str]:
    """Names that are there."""
    return [name for name in map(words, names) if name]


def has_list(*path: str) -> Callable[[Any], bool]:
    """Whether an answer is an object with a list under a path of names."""
    return lambda value: isinstance(at(value, *path), list)


def split_ids(text: str, read: Callable[[str], str | None]) -> tuple[str, tuple[str, ...]]:
    """Words and ids of a query: ids when all of it is ids, between commas, blanks or lines."""
    text = _UNSEEN.sub(" ", text).strip()
    parts = [part for part in re.split(r"[,;\s]+", text) if part]
    if not parts:
        raise BadInputError("Nothing is asked for.", "Give search words, or ids between commas.")
    ids = [read(part) for part in parts]
    wrong = [part for part, id_ in zip(parts, ids, strict=True) if id_ is None]
    if wrong:
        if len(wrong) * 2 < len(parts):
            more = f", and {len(wrong) - 1:,} more" if len(wrong) > 1 else ""
            raise BadInputError(
                f"{wrong[0][:80]!r} is no id{more}; the other {len(parts) - len(wrong):,} are.",
                "Correct it, or ask for words alone.",
            )
        return text, ()
    return "", tuple(dict.fromkeys(id_ for id_ in ids if id_))


def parsed(text: str, name: str) -> Element:
    """The root of an XML document from outside; a TransientError where it is none."""
    try:
        root: Element = ElementTree.fromstring(text, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError, RecursionError):
        root = Element("")
    if not root.tag:
        raise TransientError(f"{name} answered with something that is no XML.")
    return root
