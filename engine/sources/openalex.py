"""OpenAlex: https://developers.openalex.org.

Search results are paged by cursor with a key; without one OpenAlex hands out no cursors, and
page numbers end at 10,000 results. Abstracts come as an index of words, for legal reasons.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from engine.bibliographic import abstract_of, doi_in, doi_of
from engine.config import Settings
from engine.sources.contracts import (
    Page,
    Row,
    batch,
    has_list,
    listed,
    number,
    people,
    split_ids,
    total_of,
    words,
)
from engine.sources.http import Address, Client
from engine.types.corpora import ServiceInfo, ServiceQuery

PAGE = 100
BATCH = 50  # Ids of one request, joined by `|`; up to 100 are allowed
PAGED = 10_000  # Results that page numbers reach
FIELDS = (
    "id,doi,display_name,publication_year,authorships,abstract_inverted_index,"
    "primary_location,type,language,primary_topic,biblio,keywords"
)
_KEY = "A key (SEEDLENS_OPENALEX_KEY), which is free: openalex.org/settings/api,"
_WORK = re.compile(r"(?:https?://(?:api\.)?openalex\.org/(?:works/)?)?(W\d{1,12})", re.IGNORECASE)


class OpenAlex:
    """Works of OpenAlex."""

    info = ServiceInfo(
        "openalex",
        "OpenAlex",
        'Search words (AND, OR, NOT and "phrases" work), or OpenAlex ids and DOIs. OpenAlex '
        "wants a free key for more than a few requests a day.",
        "reading comprehension AND children",
    )

    def address(self, _: ServiceQuery, settings: Settings, /) -> Address:
        key, email = settings.openalex_key.get_secret_value(), settings.contact_email
        return Address.of(
            settings,
            self.info.key,
            self.info.name,
            "https://api.openalex.org",
            seconds=0.1,  # it allows 100 a second, of everybody together
            params=({"api_key": key} if key else {}) | ({"mailto": email} if email else {}),
            busy=(403, 429),
            more="" if key else f"{_KEY} gives ten times as much. ",
            refused="Set SEEDLENS_OPENALEX_KEY to a key, which is free: openalex.org/settings/api.",
        )

    def read(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Ids of works come before DOIs: one request asks for one kind."""
        asked, ids = split_ids(text, _id)
        return asked, tuple(sorted(ids, key=lambda id_: not _WORK.fullmatch(id_)))

    def page(self, client: Client, query: ServiceQuery, cursor: str) -> Page:
        if query.ids:
            return self._of_ids(client, query.ids, cursor)
        params: dict[str, Any] = {"search": query.words, "per_page": PAGE, "select": FIELDS}
        by_cursor = "api_key" in client.address.params
        params |= {"cursor": cursor or "*"} if by_cursor else {"page": cursor or "1"}
        answer, _ = client.json("/works", params, has_list("results"))
        meta, rows, sent = _results(answer)
        after = _next(meta, cursor, by_cursor) if sent else None
        return Page(rows, after, total_of(meta, "count"), skipped=sent - len(rows))

    def _of_ids(self, client: Client, ids: Sequence[str], cursor: str) -> Page:
        asked, after = batch(ids, cursor, BATCH)
        rows: list[Row] = []
        for field, group in (
            ("openalex", [id_ for id_ in asked if _WORK.fullmatch(id_)]),
            ("doi", [id_ for id_ in asked if not _WORK.fullmatch(id_)]),
        ):
            if group:
                params = {"filter": f"{field}:{'|'.join(group)}", "per_page": PAGE}
                params |= {"select": FIELDS}
                answer, _ = client.json("/works", params, has_list("results"))
                rows += _results(answer)[1]
        there = {row[name] for row in rows for name in ("doc_id", "doi")}
        missing = [id_ for id_ in asked if id_ not in there]
        return Page(rows, after, len(ids), missing)


def _id(text: str) -> str | None:
    if work := _WORK.fullmatch(text):
        return work[1].upper()
    return doi_in(doi_of(text))


def _next(meta: Mapping[str, Any], cursor: str, by_cursor: bool) -> str | None:
    if by_cursor:
        after = meta.get("next_cursor")
        return after if isinstance(after, str) and after else None
    done = int(cursor or 1) * PAGE
    total = total_of(meta, "count")
    return str(int(cursor or 1) + 1) if done < min(PAGED, total or PAGED) else None


def _results(answer: Any) -> tuple[Mapping[str, Any], list[Row], int]:
    """What the answer says of itself, its rows, and how many works it holds."""
    found = listed(answer["results"])
    meta = answer.get("meta")
    rows = [row for row in map(_row, found) if row]
    return meta if isinstance(meta, Mapping) else {}, rows, len(found)


def _row(work: Mapping[str, Any]) -> Row | None:
    id_ = _WORK.fullmatch(words(work.get("id")))
    if not id_:
        return None
    location, topic = work.get("primary_location"), work.get("primary_topic")
    location = location if isinstance(location, Mapping) else {}
    venue, field = location.get("source"), topic.get("field") if isinstance(topic, Mapping) else {}
    doi = doi_in(work.get("doi"))
    authors = [a.get("author") for a in listed(work.get("authorships"))]
    places = work.get("biblio")
    places = places if isinstance(places, Mapping) else {}
    return {
        "doc_id": id_[1],
        "title": words(work.get("display_name")),
        "text": words(abstract_of(work.get("abstract_inverted_index"))),
        "year": number(work.get("publication_year")),
        "authors": people(a.get("display_name") for a in authors if isinstance(a, Mapping)),
        "url": f"https://doi.org/{doi}" if doi else f"https://openalex.org/{id_[1]}",
        "doi": doi,
        "venue": words(venue.get("display_name")) if isinstance(venue, Mapping) else "",
        "volume": words(places.get("volume")),
        "issue": words(places.get("issue")),
        "start_page": words(places.get("first_page")),
        "end_page": words(places.get("last_page")),
        "keywords": "; ".join(people(k.get("display_name") for k in listed(work.get("keywords")))),
        "field": words(field.get("display_name")) if isinstance(field, Mapping) else "",
        "type": words(work.get("type")),
        "language": words(work.get("language")),
        "source": "OpenAlex",
    }
