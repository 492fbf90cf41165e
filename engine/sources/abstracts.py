"""Abstracts by DOI: OpenAlex is asked for them, and Crossref for those that it lacks."""

from __future__ import annotations

from dataclasses import replace

from engine.sources.contracts import START, Page, batch
from engine.sources.crossref import Crossref
from engine.sources.http import Client
from engine.sources.openalex import BATCH, OpenAlex
from engine.types.sources import ServiceQuery

FIRST, SECOND = OpenAlex(), Crossref()
NAMES = f"{FIRST.info.name} and {SECOND.info.name}"


def abstracts_page(first: Client, second: Client, query: ServiceQuery, cursor: str) -> Page:
    """The works of one batch of DOIs: a row for each, with its abstract if either has it.

    Args:
        first, second: clients of OpenAlex and of Crossref.
        query: asks OpenAlex by DOIs alone.
    """
    page = FIRST.page(first, query, cursor)
    asked, _ = batch(query.ids, cursor, BATCH)
    whole = {row["doi"] for row in page.rows if row["text"]}
    lacking = tuple(doi for doi in asked if doi not in whole)
    if not lacking:
        return page
    more = SECOND.page(second, replace(query, service=SECOND.info.key, ids=lacking), START)
    rows = {row["doi"]: row for row in more.rows if row["text"]}
    kept = [row for row in page.rows if row["doi"] not in rows]
    return replace(page, rows=[*kept, *rows.values()])
