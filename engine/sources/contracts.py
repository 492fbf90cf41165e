"""What every service has, and what a page of one is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from engine.config import Settings
from engine.sources.http import Address, Client
from engine.types.sources import ServiceInfo, ServiceQuery

Row = dict[str, Any]
"""A document as :mod:`engine.ingest` reads it: ``doc_id``, ``title``, ``text`` (the abstract, "" if
there is none), ``year``, ``authors``, ``url``; everything else is metadata."""
FIELDS = ("doc_id", "title", "text", "year", "authors", "url")
START = ""
"""The cursor of the first page."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of results.

    Attributes:
        rows: documents, in the service's order; some may have been on a page before.
        cursor: of the next page; None after the last.
        total: documents of the query in all, as the service says; None where it does not.
        missing: ids that were asked for on this page and that do not exist.
        skipped: entries that are no papers, such as attachments.
        version: of the library that was asked, by which it can be asked for changes; "" for none.
    """

    rows: Sequence[Row]
    cursor: str | None
    total: int | None = None
    missing: Sequence[str] = ()
    skipped: int = 0
    version: str = ""


class Service(Protocol):
    """A service that documents can be retrieved from."""

    @property
    def info(self) -> ServiceInfo: ...

    def address(self, query: ServiceQuery, settings: Settings, /) -> Address:
        """Where it is asked, and how often that may be."""
        ...

    def read(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Search words and ids of a query as people type it; one of the two is empty but
        for Zotero.
        """
        ...

    def page(self, client: Client, query: ServiceQuery, cursor: str) -> Page:
        """One page.

        Args:
            cursor: :data:`START`, or what the page before said.

        Raises:
            ServiceError: the service does not send it.
            StoppedError: the client was told to stop while it waited.
        """
        ...


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
