"""The services by name, what people ask them, and what they send.

What came is kept page by page, so that a run that was killed goes on after its last: a folder holds
the documents (`documents.jsonl`) and, in `state.json`, the cursor of the next page with the length
of the documents of the pages before it. The state is replaced in one step after the documents are
on the disk: what follows that length was never committed, and is cut off when the run goes on."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import TypeAdapter

from engine.config import Settings
from engine.errors import BadInputError, StorageError, UnknownNameError
from engine.sources.client import (
    FIELDS,
    START,
    Client,
    Page,
    RefusedError,
    Row,
    Service,
    StoppedError,
)
from engine.sources.json_services import Crossref, OpenAlex, SemanticScholar, Zotero
from engine.sources.xml_services import AclAnthology, ArXiv
from engine.text import counted
from engine.types.callbacks import Ask, Tell, never, tell_nobody
from engine.types.corpora import DEFAULT_DOCUMENTS, Found, Progress, ServiceInfo, ServiceQuery
from engine.types.limits import PASTED_CHARS, SERVICE_DOCUMENTS
from storage.files import write_whole
from storage.home import Home

_ALL: tuple[Service, ...] = (OpenAlex(), ArXiv(), SemanticScholar(), AclAnthology(), Zotero())
_BY_KEY: dict[str, Service] = {service.info.key: service for service in (*_ALL, Crossref())}
SERVICES: tuple[ServiceInfo, ...] = tuple(service.info for service in _ALL)
"""Those that people choose from; Crossref is asked for abstracts alone."""
_OFFERED = tuple(info.key for info in SERVICES)
TITLES = 5


def service_of(key: str) -> Service:
    """The service of that key; UnknownNameError listing them when there is none."""
    if key not in _BY_KEY:
        raise UnknownNameError(
            f"There is no service {key[:40]!r}.", f"Services are: {', '.join(_OFFERED)}."
        )
    return _BY_KEY[key]


def names_service(text: str) -> bool:
    """Whether a text begins with the name of a service: ``openalex:words``."""
    return text.partition(":")[0].lower() in _OFFERED and ":" in text


def read_query(
    key: str, text: str, limit: int | None = None, *, typed: bool = True
) -> ServiceQuery:
    """What is asked of a service, as people write it."""
    service = service_of(key)
    if typed and len(text) > PASTED_CHARS:
        raise BadInputError(
            f"The query has {len(text):,} characters, more than the {PASTED_CHARS:,} allowed.",
            "Put ids into a file, and import it by a command.",
        )
    if limit is not None and not 1 <= limit <= SERVICE_DOCUMENTS:
        raise BadInputError(
            f"The limit is {limit:,} documents.", f"Give a number from 1 to {SERVICE_DOCUMENTS:,}."
        )
    words, ids = service.read(text)
    by_ids = bool(ids) or not service.info.searches
    return ServiceQuery(
        key, words, ids, limit or (SERVICE_DOCUMENTS if by_ids else DEFAULT_DOCUMENTS)
    )


def client_of(
    query: ServiceQuery,
    settings: Settings,
    home: Home,
    stopped: Ask = never,
    *,
    patient: bool = True,
) -> Client:
    """A client for what a query asks; all processes of a home share its pace."""
    place = service_of(query.service).place(query)
    return Client(place, settings, home.retrieved, stopped, patient=patient)


def look_up(query: ServiceQuery, settings: Settings, home: Home) -> Found:
    """How much a service has for a query, and the first of it: one request or two."""
    with client_of(query, settings, home, patient=False) as client:
        page = service_of(query.service).page(client, query, START)
    rows = page.rows
    return Found(
        query,
        len(rows) if page.cursor is None and page.total is None else page.total,
        tuple(str(row["title"]) for row in rows[:TITLES]),
        len(rows),
        sum(not row["text"] for row in rows),
        tuple(page.missing),
    )


def ids_of_file(path: Path) -> str:
    """The ids in a file, as they would be typed; BadInputError where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(
            f"{path} cannot be read: {error}.", "Give a text file of ids."
        ) from error


DOCUMENTS = "documents.jsonl"
_STATE = "state.json"
FRESH = timedelta(days=1)
"""A run that came to its end, or was left, longer ago than this starts again."""
MOST_REPEATED = 3
"""Pages in a row without a new document by which a service is known to send the same again."""
AskPage = Callable[[str], Page]  # Cursor to page; see `page`


@dataclass(frozen=True, slots=True)
class Retrieved:
    """How far a retrieval is."""

    cursor: str = START  # of the next page
    bytes: int = 0  # of the documents that are committed
    documents: int = 0  # how many those are
    skipped: int = 0  # entries that are no papers
    total: int | None = None  # the last one that the service gave; None where it says nothing
    # the total became smaller while pages were read (where they are counted by their places,
    # documents moved to pages that had been read), or the same pages came again and again
    shrank: bool = False
    missing: tuple[str, ...] = ()  # ids that do not exist
    version: str = ""  # of the library when its first page came; see `Page`
    done: bool = False  # the service has no more
    updated_at: str = ""
    stopped: bool = False  # it was stopped, and goes on when it is run again


_RETRIEVED = TypeAdapter(Retrieved)


class Retrieval:
    """One query's documents in a folder. One process at a time may run it."""

    def __init__(self, folder: Path, name: str, query: ServiceQuery) -> None:
        self.file = folder / DOCUMENTS
        self._folder, self._name, self._limit = folder, name, query.limit
        self._by_ids = bool(query.ids)

    def run(
        self, page: AskPage, on_progress: Tell = tell_nobody, stopped: Ask = never
    ) -> Retrieved:
        """Ask for pages until there are no more, or enough; or go on where that was stopped."""
        try:
            state = self._committed()
            try:
                return self._rest(state, page, on_progress, stopped)
            except RefusedError as error:
                # A cursor is good for some time only. What came with it comes again.
                expired = state.cursor != START and error.status in (400, 404, 410, 422)
                if not expired or self._committed() != state:
                    raise
            return self._rest(Retrieved(), page, on_progress, stopped)
        except OSError as error:
            raise StorageError(
                f"What {self._name} sent cannot be stored: {error.strerror or error}.",
                f"Free some space in {self._folder.parent}; the same import goes on then.",
            ) from error

    def _rest(self, state: Retrieved, page: AskPage, on_progress: Tell, stopped: Ask) -> Retrieved:
        started, before = time.perf_counter(), state.documents
        known, repeated = set(self._ids(state)), 0
        while not state.done and state.documents < self._limit:
            if stopped():
                return replace(state, stopped=True)
            try:
                found = page(state.cursor)
            except StoppedError:
                return replace(state, stopped=True)
            rows = {row["doc_id"]: row for row in found.rows if row["doc_id"] not in known}
            new = list(rows.values())[: self._limit - state.documents]
            known.update(row["doc_id"] for row in new)
            repeated = 0 if new else repeated + bool(found.rows)
            if repeated == MOST_REPEATED and found.cursor and not self._by_ids:
                found = replace(found, cursor=None)
                state = replace(state, shrank=state.shrank or state.documents != found.total)
            state = self._commit(_after(state, found, len(new), self._limit), new)
            seconds = time.perf_counter() - started
            rate = (state.documents - before) / max(seconds, 1e-9)
            most = self._limit if state.total is None else min(self._limit, state.total)
            total = max(most, state.documents)
            on_progress(Progress("retrieving", state.documents, total, seconds, rate))
        return state

    def has_abstracts(self) -> bool:
        """Whether any document that came has one."""
        with self.file.open("rb") as lines:
            return any(json.loads(line)["text"] for line in lines)

    # -- the folder ----------------------------------------------------------------------

    def _committed(self) -> Retrieved:
        """What is there; nothing where that cannot be read, or is of long ago."""
        try:
            state = _RETRIEVED.validate_json((self._folder / _STATE).read_bytes())
            age = datetime.now(UTC) - datetime.fromisoformat(state.updated_at)
            whole = self.file.stat().st_size >= state.bytes if state.bytes else True
        except (OSError, ValueError, TypeError, KeyError):
            return Retrieved()
        # The limit may be another now.
        usable = whole and age <= FRESH and state.documents <= self._limit
        return state if usable else Retrieved()

    def _ids(self, state: Retrieved) -> Iterator[str]:
        if not state.bytes:
            return
        with self.file.open("rb") as lines:
            while lines.tell() < state.bytes:
                yield json.loads(lines.readline())["doc_id"]

    def _commit(self, state: Retrieved, new: list[Row]) -> Retrieved:
        self._folder.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps(_kept(row), ensure_ascii=False) + "\n" for row in new)
        content = lines.encode(errors="replace")
        self.file.touch(0o600)
        with self.file.open("r+b") as out:
            out.truncate(state.bytes)
            out.seek(state.bytes)
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        now = datetime.now(UTC).isoformat()
        state = replace(state, bytes=state.bytes + len(content), updated_at=now)
        written = _RETRIEVED.dump_json(state)
        write_whole(self._folder / _STATE, written, private=True, synced=True)
        return state


def warnings_of(state: Retrieved, name: str, query: ServiceQuery) -> tuple[str, ...]:
    """Plain sentences about what the retrieval of a query met."""
    found, limit = [], query.limit
    if state.missing:
        n, shown = len(state.missing), ", ".join(state.missing[:20])
        many = "1 id does" if n == 1 else f"{n:,} ids do"
        more = f" and {n - 20:,} more" if n > 20 else ""
        found.append(f"{many} not exist at {name}: {shown}{more}.")
    expected = min(limit, state.total or 0)
    # Some services estimate how many there are.
    short = state.documents + state.skipped < expected - expected // 100
    if (short or state.shrank) and not query.ids:
        many = "more" if state.total is None else f"{state.total:,}"
        found.append(
            f"{name} says that it has {many} documents, and sent {state.documents:,}: its "
            "list changed meanwhile, or some cannot be had. Ask it again for what was missed."
        )
    elif state.total is not None and state.total > limit:
        found.append(
            f"{name} has {state.total:,} documents; the limit of {limit:,} leaves the rest out."
        )
    return tuple(found)


def nothing_found(state: Retrieved, name: str, query: ServiceQuery) -> BadInputError:
    """The error for a query that found no document, or none that is not to be left out."""
    if state.documents:
        many = counted(state.documents, "document")
        return BadInputError(
            f"{name} has {many} for {query}, and no abstract of any.",
            "Do not leave out documents without an abstract: their titles serve then.",
        )
    if state.missing:
        return BadInputError(warnings_of(state, name, query)[0], "Check the ids.")
    return BadInputError(f"{name} finds nothing for {query}.", "Ask for something else.")


def _kept(row: Row) -> Row:
    """A row without metadata that say nothing."""
    return {name: value for name, value in row.items() if name in FIELDS or value}


def _after(state: Retrieved, found: Page, new: int, limit: int) -> Retrieved:
    documents = state.documents + new
    # What the limit cuts off comes again where a larger one is set.
    cut = documents >= limit
    return replace(
        state,
        cursor=state.cursor if cut or found.cursor is None else found.cursor,
        documents=documents,
        skipped=state.skipped + found.skipped,
        total=state.total if found.total is None else found.total,
        shrank=state.shrank or (found.total is not None and found.total < (state.total or 0)),
        version=state.version or found.version,
        missing=tuple(dict.fromkeys((*state.missing, *found.missing))),
        done=found.cursor is None and not cut,
    )
