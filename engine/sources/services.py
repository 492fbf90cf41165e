"""The services by name, and what people ask them."""

from __future__ import annotations

from pathlib import Path

from engine.config import Settings
from engine.errors import BadInputError, UnknownNameError
from engine.sources.acl_anthology import AclAnthology
from engine.sources.arxiv import ArXiv
from engine.sources.contracts import START, Service
from engine.sources.crossref import Crossref
from engine.sources.http import Client
from engine.sources.openalex import OpenAlex
from engine.sources.semantic_scholar import SemanticScholar
from engine.sources.zotero import Zotero
from engine.types.callbacks import Ask, never
from engine.types.corpora import DEFAULT_DOCUMENTS, Found, ServiceInfo, ServiceQuery
from engine.types.limits import PASTED_CHARS, SERVICE_DOCUMENTS
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
    address = service_of(query.service).address(query, settings)
    pace = home.retrieved / f"{address.key}.pace"
    return Client(address, settings, pace, stopped, patient=patient)


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
