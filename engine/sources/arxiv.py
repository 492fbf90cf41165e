"""arXiv: https://info.arxiv.org/help/api/user-manual.html. Atom feeds, one request in 3 seconds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any
from xml.etree.ElementTree import Element

from engine.config import Settings
from engine.errors import BadInputError
from engine.sources.client import (
    Address,
    Client,
    Page,
    Row,
    TransientError,
    by_ids,
    digits,
    parsed,
    people,
    split_ids,
    unknown_form,
    words,
)
from engine.types.corpora import ServiceInfo, ServiceQuery

PAGE = 200  # Results of one request; up to 2,000 are allowed, and small slices are asked for
BATCH = 100
MOST = 30_000  # Results of one query that arXiv hands out
_ATOM = "{http://www.w3.org/2005/Atom}"
_OPEN = "{http://a9.com/-/spec/opensearch/1.1/}"
_ARXIV = "{http://arxiv.org/schemas/atom}"
_ID = re.compile(
    r"(?:https?://(?:www\.|export\.)?arxiv\.org/(?:abs|pdf)/|arxiv:)?"
    r"(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?(?:\.pdf)?",
    re.IGNORECASE,
)
_FIELDED = re.compile(r"\b(ti|au|abs|co|jr|cat|rn|id|all|submittedDate|lastUpdatedDate):")


class ArXiv:
    """Articles of arXiv."""

    info = ServiceInfo(
        "arxiv",
        "arXiv",
        'Search words, a query such as cat:cs.CL AND ti:"question answering", or arXiv ids.',
        "cat:cs.CL AND abs:negation",
    )

    def address(self, _: ServiceQuery, settings: Settings, /) -> Address:
        url = "https://export.arxiv.org"
        return Address.of(settings, self.info, url, seconds=3.0, busy=(429, 403))

    def read(self, text: str) -> tuple[str, tuple[str, ...]]:
        return split_ids(text, _id)

    def page(self, client: Client, query: ServiceQuery, cursor: str) -> Page:
        if query.ids:
            return by_ids(query.ids, cursor, BATCH, partial(_of_ids, client))
        start = int(cursor or 0)
        params = {"search_query": _query(query.words), "start": start, "max_results": PAGE}
        order = {"sortBy": "relevance", "sortOrder": "descending"}

        def read(text: str) -> tuple[list[Row], int | None, str]:
            rows, total, refused = _feed(text)
            if not rows and not refused and total is not None and start < min(total, MOST):
                # It happens that a page comes empty; the same request brings it a moment later.
                raise TransientError(f"arXiv sent no results from {start:,} of {total:,} on.")
            return rows, total, refused

        rows, total, refused = client.text("/api/query", params | order, read)
        if refused:
            raise BadInputError(f"arXiv cannot read the query: {refused}.", "Correct the query.")
        after = start + len(rows)
        more = total is None or after < min(total, MOST)
        return Page(rows, str(after) if rows and more else None, total)


def _id(text: str) -> str | None:
    found = _ID.fullmatch(text)
    return found[1] if found else None


def _query(typed: str) -> str:
    """Words as arXiv's own syntax: plain ones are looked for everywhere, all of them.

    >>> _query("cat:cs.CL AND ti:negation"), _query("negation scope")
    ('cat:cs.CL AND ti:negation', 'all:negation AND all:scope')
    """
    if _FIELDED.search(typed):
        return typed
    parts = re.findall(r'"[^"]+"|\S+', typed)
    joined, operator = "", False
    for part in parts:
        if part in ("AND", "OR", "ANDNOT"):
            joined, operator = f"{joined} {part}", True
            continue
        word = part if part.startswith('"') else part.strip("()")
        joined += f"{'' if not joined or operator else ' AND'} all:{word}"
        operator = False
    return joined.strip()


def _of_ids(client: Client, ids: Sequence[str]) -> list[Row]:
    params = {"id_list": ",".join(ids), "start": 0, "max_results": len(ids)}
    rows, _, refused = client.text("/api/query", params, _feed)
    if refused and not rows and len(ids) > 1:
        # One id of the wrong form makes arXiv refuse all of them: each on its own.
        return [row for id_ in ids for row in _of_ids(client, [id_])]
    return rows


def _feed(text: str) -> tuple[list[Row], int | None, str]:
    """Rows, how many there are in all, and the reason where the request is refused."""
    root = parsed(text, "arXiv")
    if root.tag != f"{_ATOM}feed":
        raise unknown_form("arXiv")
    total = words(root.findtext(f"{_OPEN}totalResults"))
    rows, refused = [], ""
    for entry in root.findall(f"{_ATOM}entry"):
        if "/api/errors" in (entry.findtext(f"{_ATOM}id") or ""):
            refused = words(entry.findtext(f"{_ATOM}summary"))[:200] or "no reason is given"
        elif row := _row(entry):
            rows.append(row)
    return rows, digits(total), refused


def _row(entry: Element) -> Row | None:
    def text(tag: str) -> str:
        return words(entry.findtext(tag))

    link = text(f"{_ATOM}id")
    id_ = _ID.fullmatch(link)
    if not id_:
        return None
    category = entry.find(f"{_ARXIV}primary_category")
    year = text(f"{_ATOM}published")[:4]
    doi = text(f"{_ARXIV}doi")
    row: dict[str, Any] = {
        "doc_id": id_[1],
        "title": text(f"{_ATOM}title"),
        "text": text(f"{_ATOM}summary"),
        "year": digits(year),
        "authors": people(a.findtext(f"{_ATOM}name") for a in entry.findall(f"{_ATOM}author")),
        "url": f"https://arxiv.org/abs/{id_[1]}",
        "doi": doi or f"10.48550/arXiv.{id_[1]}",
        "venue": text(f"{_ARXIV}journal_ref"),
        "field": "" if category is None else words(category.get("term")),
        "source": "arXiv",
    }
    return row
