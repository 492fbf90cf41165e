"""Zotero: https://www.zotero.org/support/dev/web_api/v3/basics, and the same of Zotero as it runs
on this machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.bibliographic import doi_in, year_in
from engine.config import Settings
from engine.errors import BadInputError
from engine.sources.client import (
    Address,
    Client,
    Page,
    Row,
    by_ids,
    digits,
    listed,
    people,
    split_ids,
    words,
)
from engine.types.corpora import ServiceInfo, ServiceQuery

PAGE = 100
BATCH = 50
LOCAL = "local"
_LIBRARY = re.compile(
    r"(?:https?://www\.zotero\.org/)?(local/groups/\d+|local|users/\d+|groups/\d+)"
    r"(?:/(?!collections/)[^/\s]+)?(?:/collections/([23456789A-Z]{8}))?(?:/\S*)?"
)
_KEY = re.compile(r"[23456789A-Z]{8}")
_NO_PAPERS = ("attachment", "note", "annotation")
_VENUES = ("publicationTitle", "proceedingsTitle", "bookTitle", "conferenceName", "repository")
_NAMES = "volume issue pages publisher place series ISSN ISBN edition language"
_BIBLIOGRAPHIC = tuple(_NAMES.split())


class Zotero:
    """Items of a library of Zotero, on the web or of the program on this machine."""

    info = ServiceInfo(
        "zotero",
        "Zotero",
        "A library: users/NUMBER, groups/NUMBER or local (Zotero as it runs on this machine), "
        "with /collections/KEY for one collection; words behind it search in it, item keys pick "
        "items. Libraries that are not public need a key.",
        "groups/2497076/collections/ABCD2345",
    )

    def address(self, query: ServiceQuery, settings: Settings, /) -> Address:
        headers = {"Zotero-API-Version": "3"}
        if is_local(query):
            return Address.of(
                settings,
                replace(self.info, key="zotero-local", name="Zotero on this machine"),
                "http://localhost:23119/api",
                seconds=0.0,
                headers=headers,
                refused="Start Zotero, and allow other applications to communicate with it in its "
                "settings (Advanced).",
            )
        key = settings.zotero_key.get_secret_value()
        return Address.of(
            settings,
            self.info,
            "https://api.zotero.org",
            seconds=0.5,
            headers=headers | ({"Zotero-API-Key": key} if key else {}),
            refused="Check the numbers and the collection; where the library is not public, set "
            "SEEDLENS_ZOTERO_KEY (zotero.org/settings/keys).",
        )

    def read(self, text: str) -> tuple[str, tuple[str, ...]]:
        first, _, rest = text.strip().partition(" ")
        library = _LIBRARY.fullmatch(first.rstrip("/"))
        if library is None:
            raise BadInputError(
                f"{first[:80]!r} is no library of Zotero.",
                "Begin with users/NUMBER, groups/NUMBER or local; the number of your own library "
                "is on zotero.org/settings/keys.",
            )
        place = library[1] + (f"/collections/{library[2]}" if library[2] else "")
        found, ids = split_ids(rest, _key) if rest.strip() else ("", ())
        return f"{place} {found}".strip(), ids

    def page(self, client: Client, query: ServiceQuery, cursor: str) -> Page:
        place, _, search = query.words.partition(" ")
        path, params = _path(place), {"format": "json", "limit": PAGE}
        if query.ids:

            def ask(asked: list[str]) -> list[Row]:
                keys = {"itemKey": ",".join(asked)}
                return _rows(client.json(f"{path}/items", params | keys, _is_list)[0])

            return by_ids(query.ids, cursor, BATCH, ask)
        start = int(cursor or 0)
        # In the order in which items were added: what is added meanwhile comes last.
        order = {"start": start, "sort": "dateAdded", "direction": "asc"}
        asks = {"q": search} if search else {}
        asks |= {"since": query.since} if query.since else {}
        found, headers = client.json(f"{path}/items/top", params | order | asks, _is_list)
        rows, sent = _rows(found), len(found)
        total = digits(headers.get("total-results", ""))
        after_this = start + sent
        more = sent == PAGE if total is None else after_this < total
        after = str(after_this) if sent and more else None
        # On this machine versions only change with Zotero's next synchronisation.
        version = "" if is_local(query) else headers.get("last-modified-version", "")
        return Page(rows, after, total, skipped=sent - len(rows), version=version)


def is_local(query: ServiceQuery) -> bool:
    """Whether a query asks the Zotero that runs on this machine."""
    library = query.words.partition(" ")[0].partition("/")[0]
    return query.service == Zotero.info.key and library == LOCAL


def _key(text: str) -> str | None:
    return text if _KEY.fullmatch(text) else None


def _path(place: str) -> str:
    library, _, collection = place.partition("/collections/")
    if library == LOCAL:
        library = "users/0"
    library = library.removeprefix(f"{LOCAL}/")
    return f"/{library}" + (f"/collections/{collection}" if collection else "")


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _rows(found: Any) -> list[Row]:
    return [row for row in map(_row, listed(found)) if row]


def _row(item: Mapping[str, Any]) -> Row | None:
    data, key = item.get("data"), words(item.get("key"))
    if not isinstance(data, Mapping) or not key or data.get("itemType") in _NO_PAPERS:
        return None
    creators = listed(data.get("creators"))
    authors = [c for c in creators if c.get("creatorType") == "author"] or creators
    doi, link = doi_in(data.get("DOI")), words(data.get("url"))
    return {
        "doc_id": key,
        "title": words(data.get("title")),
        "text": words(data.get("abstractNote")),
        "year": year_in(words(data.get("date"))),
        "authors": people(
            words(c.get("name")) or f"{words(c.get('firstName'))} {words(c.get('lastName'))}"
            for c in authors
        ),
        "url": link if link.lower().startswith(("http://", "https://")) else None,
        "doi": doi,
        "venue": next(filter(None, (words(data.get(name)) for name in _VENUES)), ""),
        **{name: words(data.get(name)) for name in _BIBLIOGRAPHIC},
        "type": words(data.get("itemType")),
        "tags": "; ".join(words(tag.get("tag")) for tag in listed(data.get("tags"))),
        "source": "Zotero",
    }
