"""OpenAlex, Semantic Scholar and Crossref: https://developers.openalex.org,
https://api.semanticscholar.org/api-docs/graph,
https://www.crossref.org/documentation/retrieve-metadata/rest-api/.

Abstracts are looked up at OpenAlex (an index of words, for legal reasons), and at Crossref (JATS)
those that it lacks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.bibliographic import abstract_of, doi_in, doi_of
from engine.config import Settings
from engine.sources.client import (
    START,
    Address,
    Client,
    Page,
    RefusedError,
    Row,
    at,
    batch,
    by_ids,
    has_list,
    listed,
    number,
    people,
    split_ids,
    words,
)
from engine.types.corpora import ServiceInfo, ServiceQuery

PAGE = 100
OPENALEX_BATCH = 50  # Ids of one request, joined by `|`; up to 100 are allowed
PAGED = 10_000  # Results that page numbers reach
OPENALEX_FIELDS = (
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
            self.info,
            "https://api.openalex.org",
            seconds=0.1,  # it allows 100 a second, of everybody together
            params=({"api_key": key} if key else {}) | ({"mailto": email} if email else {}),
            busy=(403, 429),
            more="" if key else f"{_KEY} gives ten times as much. ",
            refused="Set SEEDLENS_OPENALEX_KEY to a key, which is free: openalex.org/settings/api.",
        )

    def read(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Ids of works come before DOIs: one request asks for one kind."""
        asked, ids = split_ids(text, _work_or_doi)
        return asked, tuple(sorted(ids, key=lambda id_: not _WORK.fullmatch(id_)))

    def page(self, client: Client, query: ServiceQuery, cursor: str) -> Page:
        if query.ids:

            def ask(asked: Sequence[str]) -> list[Row]:
                works = [id_ for id_ in asked if _WORK.fullmatch(id_)]
                others = [id_ for id_ in asked if id_ not in works]
                filters = {"openalex": works, "doi": others}
                return [
                    row
                    for field, ids in filters.items()
                    if ids
                    for row in self._works(client, filter=f"{field}:{'|'.join(ids)}")[1]
                ]

            return by_ids(query.ids, cursor, OPENALEX_BATCH, ask, ("doc_id", "doi"))
        by_cursor = "api_key" in client.address.params
        paging = {"cursor": cursor or "*"} if by_cursor else {"page": cursor or "1"}
        answer, rows = self._works(client, search=query.words, **paging)
        total, sent = number(at(answer, "meta", "count")), len(listed(answer["results"]))
        if by_cursor:
            after = at(answer, "meta", "next_cursor") or None
        else:
            number_of_page = int(cursor or 1)
            more = number_of_page * PAGE < min(PAGED, total or PAGED)
            after = str(number_of_page + 1) if more else None
        return Page(rows, after if sent else None, total, skipped=sent - len(rows))

    def _works(self, client: Client, **params: Any) -> tuple[Any, list[Row]]:
        """An answer, and the rows in it."""
        params |= {"per_page": PAGE, "select": OPENALEX_FIELDS}
        answer, _ = client.json("/works", params, has_list("results"))
        return answer, [row for row in map(_work_row, listed(answer["results"])) if row]


def _work_or_doi(text: str) -> str | None:
    if work := _WORK.fullmatch(text):
        return work[1].upper()
    return doi_in(doi_of(text))


def _work_row(work: Mapping[str, Any]) -> Row | None:
    id_ = _WORK.fullmatch(words(work.get("id")))
    if not id_:
        return None
    doi = doi_in(work.get("doi"))
    authors = listed(work.get("authorships"))
    return {
        "doc_id": id_[1],
        "title": words(work.get("display_name")),
        "text": words(abstract_of(work.get("abstract_inverted_index"))),
        "year": number(work.get("publication_year")),
        "authors": people(at(one, "author", "display_name") for one in authors),
        "url": f"https://doi.org/{doi}" if doi else f"https://openalex.org/{id_[1]}",
        "doi": doi,
        "venue": words(at(work, "primary_location", "source", "display_name")),
        "volume": words(at(work, "biblio", "volume")),
        "issue": words(at(work, "biblio", "issue")),
        "start_page": words(at(work, "biblio", "first_page")),
        "end_page": words(at(work, "biblio", "last_page")),
        "keywords": "; ".join(people(k.get("display_name") for k in listed(work.get("keywords")))),
        "field": words(at(work, "primary_topic", "field", "display_name")),
        "type": words(work.get("type")),
        "language": words(work.get("language")),
        "source": "OpenAlex",
    }


CROSSREF_BATCH = 50  # DOIs of one request, each a filter; those of one name are joined by "or"


class Crossref:
    """Abstracts of Crossref."""

    info = ServiceInfo("crossref", "Crossref", "DOIs.", "10.5555/12345678", searches=False)

    def address(self, _: ServiceQuery, settings: Settings, /) -> Address:
        email = settings.contact_email
        return Address.of(
            settings,
            self.info,
            "https://api.crossref.org",
            seconds=1.0,
            params={"mailto": email} if email else {},
            more="" if email else "An address to write to (SEEDLENS_CONTACT_EMAIL) helps. ",
        )

    def read(self, text: str) -> tuple[str, tuple[str, ...]]:
        return split_ids(text, doi_in)

    def page(self, client: Client, query: ServiceQuery, cursor: str) -> Page:
        def ask(asked: Sequence[str]) -> list[Row]:
            params = {
                "filter": ",".join(f"doi:{doi}" for doi in asked),
                "select": "DOI,title,abstract",
                "rows": len(asked),
            }
            answer, _ = client.json("/works", params, has_list("message", "items"))
            works = listed(answer["message"]["items"])
            return [row for row in map(_abstract_row, works) if row]

        return by_ids(query.ids, cursor, CROSSREF_BATCH, ask, ("doi",))


def _abstract_row(work: Mapping[str, Any]) -> Row | None:
    doi, titles = doi_in(work.get("DOI")), work.get("title")
    if not doi:
        return None
    return {
        "doc_id": doi,
        "title": words(titles[0]) if isinstance(titles, list) and titles else "",
        "text": words(work.get("abstract")),  # JATS
        "url": f"https://doi.org/{doi}",
        "doi": doi,
        "source": "Crossref",
    }


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


S2_BATCH = 100  # Papers of one request by id; up to 500 are allowed, and answers to 10 MB
S2_FIELDS = (
    "title,abstract,year,authors,externalIds,url,venue,journal,publicationTypes,fieldsOfStudy"
)
_PREFIXES = "CorpusId|DOI|ARXIV|MAG|ACL|PMID|PMCID|URL"
_PREFIXED = re.compile(rf"({_PREFIXES}):(\S+)", re.IGNORECASE)
_PAPER = re.compile(r"[0-9a-f]{40}")
_SPELLING = {prefix.lower(): prefix for prefix in _PREFIXES.split("|")}


class SemanticScholar:
    """Papers of Semantic Scholar."""

    info = ServiceInfo(
        "s2",
        "Semantic Scholar",
        'Search words ("phrases", + for and, | for or, - for not), or paper ids, DOIs, and ids '
        "such as ARXIV:2106.15928, ACL:W12-3903, PMID:19872477.",
        '"information extraction" + clinical',
    )

    def address(self, _: ServiceQuery, settings: Settings, /) -> Address:
        key = settings.semantic_scholar_key.get_secret_value()
        return Address.of(
            settings,
            self.info,
            "https://api.semanticscholar.org/graph/v1",
            seconds=1.0,
            headers={"x-api-key": key} if key else {},
            more="" if key else "A key of your own (SEEDLENS_SEMANTIC_SCHOLAR_KEY) helps. ",
            refused="Check SEEDLENS_SEMANTIC_SCHOLAR_KEY; it also works without a key, slower.",
        )

    def read(self, text: str) -> tuple[str, tuple[str, ...]]:
        return split_ids(text, _paper_id)

    def page(self, client: Client, query: ServiceQuery, cursor: str) -> Page:
        if query.ids:
            asked, after = batch(query.ids, cursor, S2_BATCH)
            found = _papers_of(client, asked)
            rows = [row for row in map(_paper_row, listed(found)) if row]
            missing = [id_ for id_, paper in zip(asked, found, strict=True) if paper is None]
            return Page(rows, after, len(query.ids), missing)
        params = {"query": query.words, "fields": S2_FIELDS} | ({"token": cursor} if cursor else {})
        answer, _ = client.json("/paper/search/bulk", params, has_list("data"))
        rows = [row for row in map(_paper_row, listed(answer["data"])) if row]
        token = answer.get("token")
        return Page(rows, token if token and rows else None, number(answer.get("total")))


def _papers_of(client: Client, ids: list[str]) -> list[Any]:
    """One entry per id, null where there is no such paper."""

    def fits(value: Any) -> bool:
        return isinstance(value, list) and len(value) == len(ids)

    try:
        found, _ = client.json("/paper/batch", {"fields": S2_FIELDS}, fits, body={"ids": ids})
    except RefusedError as error:
        # "No valid paper ids given", where none of them exists.
        if error.status != 400:
            raise
        return [None] * len(ids)
    return list(found)


def _paper_id(text: str) -> str | None:
    if prefixed := _PREFIXED.fullmatch(text):
        return f"{_SPELLING[prefixed[1].lower()]}:{prefixed[2]}"
    if _PAPER.fullmatch(text):
        return text
    doi = doi_in(text)
    return f"DOI:{doi}" if doi else None


def _paper_row(paper: Mapping[str, Any]) -> Row | None:
    id_ = words(paper.get("paperId"))
    if not id_:
        return None
    fields, types = paper.get("fieldsOfStudy"), paper.get("publicationTypes")
    return {
        "doc_id": id_,
        "title": words(paper.get("title")),
        "text": words(paper.get("abstract")),
        "year": number(paper.get("year")),
        "authors": people(author.get("name") for author in listed(paper.get("authors"))),
        "url": words(paper.get("url")) or f"https://www.semanticscholar.org/paper/{id_}",
        "doi": doi_in(at(paper, "externalIds", "DOI")),
        "venue": words(paper.get("venue")) or words(at(paper, "journal", "name")),
        "volume": words(at(paper, "journal", "volume")),
        "pages": words(at(paper, "journal", "pages")),
        "field": words(fields[0]) if isinstance(fields, list) and fields else "",
        "type": words(types[0]) if isinstance(types, list) and types else "",
        "source": "Semantic Scholar",
    }
