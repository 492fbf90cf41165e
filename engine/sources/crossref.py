"""Crossref, asked for abstracts by DOI: https://www.crossref.org/documentation/retrieve-metadata/rest-api/.
They come as JATS, as publishers deposit them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.bibliographic import doi_in
from engine.config import Settings
from engine.sources.contracts import START, Page, Row, batch, listed, split_ids, words
from engine.sources.http import Address, Client
from engine.sources.openalex import BATCH as OPENALEX_BATCH
from engine.sources.openalex import OpenAlex
from engine.types.corpora import ServiceInfo, ServiceQuery

BATCH = 50  # DOIs of one request, each a filter; those of one name are joined by "or"


class Crossref:
    """Abstracts of Crossref."""

    info = ServiceInfo("crossref", "Crossref", "DOIs.", "10.5555/12345678", searches=False)

    def address(self, _: ServiceQuery, settings: Settings, /) -> Address:
        email = settings.contact_email
        return Address.of(
            settings,
            self.info.key,
            self.info.name,
            "https://api.crossref.org",
            seconds=1.0,
            params={"mailto": email} if email else {},
            more="" if email else "An address to write to (SEEDLENS_CONTACT_EMAIL) helps. ",
        )

    def read(self, text: str) -> tuple[str, tuple[str, ...]]:
        return split_ids(text, doi_in)

    def page(self, client: Client, query: ServiceQuery, cursor: str) -> Page:
        asked, after = batch(query.ids, cursor, BATCH)
        params = {
            "filter": ",".join(f"doi:{doi}" for doi in asked),
            "select": "DOI,title,abstract",
            "rows": len(asked),
        }
        answer, _ = client.json("/works", params, _has_items)
        rows = [row for row in map(_row, listed(answer["message"]["items"])) if row]
        there = {row["doi"] for row in rows}
        return Page(rows, after, len(query.ids), [doi for doi in asked if doi not in there])


def _has_items(answer: Any) -> bool:
    message = answer.get("message") if isinstance(answer, Mapping) else None
    return isinstance(message, Mapping) and isinstance(message.get("items"), list)


def _row(work: Mapping[str, Any]) -> Row | None:
    doi, titles = doi_in(work.get("DOI")), work.get("title")
    if not doi:
        return None
    return {
        "doc_id": doi,
        "title": words(titles[0]) if isinstance(titles, list) and titles else "",
        "text": abstract_of(work.get("abstract")),
        "url": f"https://doi.org/{doi}",
        "doi": doi,
        "source": "Crossref",
    }


def abstract_of(jats: Any) -> str:
    """The text of an abstract in JATS, headings of its sections before a colon.

    >>> abstract_of("<jats:title>Abstract</jats:title><jats:p>It is <jats:italic>so</jats:italic>.")
    'It is so.'
    >>> abstract_of("<jats:sec><jats:title>Aims</jats:title><jats:p>To see.</jats:p></jats:sec>")
    'Aims: To see.'
    """
    return words(jats)


FIRST, SECOND = OpenAlex(), Crossref()
"""Abstracts are looked up at OpenAlex, and at Crossref those that it lacks."""
NAMES = f"{FIRST.info.name} and {SECOND.info.name}"


def abstracts_page(first: Client, second: Client, query: ServiceQuery, cursor: str) -> Page:
    """The works of one batch of DOIs: a row for each, with its abstract if either has it."""
    page = FIRST.page(first, query, cursor)
    asked, _ = batch(query.ids, cursor, OPENALEX_BATCH)
    whole = {row["doi"] for row in page.rows if row["text"]}
    lacking = tuple(doi for doi in asked if doi not in whole)
    if not lacking:
        return page
    more = SECOND.page(second, replace(query, service=SECOND.info.key, ids=lacking), START)
    rows = {row["doi"]: row for row in more.rows if row["text"]}
    kept = [row for row in page.rows if row["doi"] not in rows]
    return replace(page, rows=[*kept, *rows.values()])
