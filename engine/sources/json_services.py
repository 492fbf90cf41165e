"""OpenAlex, Crossref, Semantic Scholar and Zotero, which answer with JSON:
https://developers.openalex.org,
https://www.crossref.org/documentation/retrieve-metadata/rest-api/,
https://api.semanticscholar.org/api-docs/graph,
https://www.zotero.org/support/dev/web_api/v3/basics (and the same of Zotero on this machine).

Abstracts are looked up at OpenAlex (an index of words, for legal reasons), and at Crossref (JATS)
those that it lacks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.bibliographic import abstract_of, at, doi_in, doi_of, year_in
from engine.errors import BadInputError
from engine.sources.client import (
    START,
    Client,
    Page,
    RefusedError,
    Row,
    Service,
    batch,
    digits,
    has_list,
    listed,
    number,
    people,
    split_ids,
    words,
)
from engine.types.corpora import ServiceQuery

PAGE = 100
PAGED = 10_000  # Results of OpenAlex that page numbers reach
OPENALEX_FIELDS = (
    "id,doi,display_name,publication_year,authorships,abstract_inverted_index,"
    "primary_location,type,language,primary_topic,biblio,keywords"
)
_WORK = re.compile(r"(?:https?://(?:api\.)?openalex\.org/(?:works/)?)?(W\d{1,12})", re.IGNORECASE)


class OpenAlex(Service, key="openalex"):
    """Works of OpenAlex."""

    id_fields = ("doc_id", "doi")

    def id_of(self, text: str) -> str | None:
        work = _WORK.fullmatch(text)
        return work[1].upper() if work else doi_in(doi_of(text))

    def read(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Ids of works come before DOIs: one request asks for one kind."""
        asked, ids = super().read(text)
        return asked, tuple(sorted(ids, key=lambda id_: not _WORK.fullmatch(id_)))

    def of_ids(self, client: Client, _: ServiceQuery, ids: Sequence[str]) -> list[Row]:
        works = [id_ for id_ in ids if _WORK.fullmatch(id_)]
        filters = {"openalex": works, "doi": [id_ for id_ in ids if id_ not in works]}
        return [
            row
            for field, asked in filters.items()
            if asked
            for row in self._works(client, filter=f"{field}:{'|'.join(asked)}")[1]
        ]

    def search(self, client: Client, query: ServiceQuery, cursor: str) -> Page:
        by_cursor = "api_key" in client.params
        paging = {"cursor": cursor or "*"} if by_cursor else {"page": cursor or "1"}
        answer, rows = self._works(client, search=query.words, **paging)
        total, sent = number(at(answer, "meta", "count")), len(listed(answer["results"]))
        if by_cursor:
            after = at(answer, "meta", "next_cursor") or None
        else:
            page = int(cursor or 1)
            after = str(page + 1) if page * PAGE < min(PAGED, total or PAGED) else None
        return Page(rows, after if sent else None, total, skipped=sent - len(rows))

    def _works(self, client: Client, **params: Any) -> tuple[Any, list[Row]]:
        """An answer, and the rows in it."""
        params |= {"per_page": PAGE, "select": OPENALEX_FIELDS}
        answer, _ = client.json("/works", params, has_list("results"))
        return answer, list(filter(None, map(self.row_of, listed(answer["results"]))))

    def row_of(self, work: Mapping[str, Any]) -> Row | None:
        """A work as a document; None without an id."""
        id_ = _WORK.fullmatch(words(work.get("id")))
        if not id_:
            return None
        doi, keywords = doi_in(work.get("doi")), listed(work.get("keywords"))
        authors = listed(work.get("authorships"))
        return self.row(
            id_[1],
            work,
            text=words(abstract_of(work.get("abstract_inverted_index"))),
            year=number(work.get("publication_year")),
            authors=people(at(one, "author", "display_name") for one in authors),
            url=f"https://doi.org/{doi}" if doi else f"https://openalex.org/{id_[1]}",
            doi=doi,
            keywords="; ".join(people(one.get("display_name") for one in keywords)),
        )


class Crossref(Service, key="crossref"):
    """Abstracts of Crossref."""

    id_fields = ("doi",)

    def id_of(self, text: str) -> str | None:
        return doi_in(text)

    def of_ids(self, client: Client, _: ServiceQuery, ids: Sequence[str]) -> list[Row]:
        params = {
            "filter": ",".join(f"doi:{doi}" for doi in ids),  # those of one name: any of them
            "select": "DOI,title,abstract",
            "rows": len(ids),
        }
        answer = client.json("/works", params, has_list("message", "items"))[0]
        return list(filter(None, map(self.row_of, listed(answer["message"]["items"]))))

    def row_of(self, work: Mapping[str, Any]) -> Row | None:
        """A work as a document; None without a DOI."""
        doi, titles = doi_in(work.get("DOI")), work.get("title")
        if not doi:
            return None
        title = words(titles[0]) if isinstance(titles, list) and titles else ""
        return self.row(doi, work, title=title, url=f"https://doi.org/{doi}", doi=doi)


FIRST, SECOND = OpenAlex(), Crossref()
"""Abstracts are looked up at OpenAlex, and at Crossref those that it lacks."""
NAMES = f"{FIRST.info.name} and {SECOND.info.name}"


def abstracts_page(first: Client, second: Client, query: ServiceQuery, cursor: str) -> Page:
    """The works of one batch of DOIs: a row for each, with its abstract if either has it."""
    page = FIRST.page(first, query, cursor)
    asked, _ = batch(query.ids, cursor, FIRST.batch)
    whole = {row["doi"] for row in page.rows if row["text"]}
    lacking = tuple(doi for doi in asked if doi not in whole)
    if not lacking:
        return page
    more = SECOND.page(second, replace(query, service=SECOND.info.key, ids=lacking), START)
    rows = {row["doi"]: row for row in more.rows if row["text"]}
    kept = [row for row in page.rows if row["doi"] not in rows]
    return replace(page, rows=[*kept, *rows.values()])


S2_FIELDS = (
    "title,abstract,year,authors,externalIds,url,venue,journal,publicationTypes,fieldsOfStudy"
)
_PREFIXES = "CorpusId|DOI|ARXIV|MAG|ACL|PMID|PMCID|URL"
_PREFIXED = re.compile(rf"({_PREFIXES}):(\S+)", re.IGNORECASE)
_PAPER = re.compile(r"[0-9a-f]{40}")
_SPELLING = {prefix.lower(): prefix for prefix in _PREFIXES.split("|")}


class SemanticScholar(Service, key="s2"):
    """Papers of Semantic Scholar."""

    batch = 100  # up to 500 are allowed, and answers to 10 MB

    def id_of(self, text: str) -> str | None:
        if prefixed := _PREFIXED.fullmatch(text):
            return f"{_SPELLING[prefixed[1].lower()]}:{prefixed[2]}"
        doi = doi_in(text)
        return text if _PAPER.fullmatch(text) else doi and f"DOI:{doi}"

    def page(self, client: Client, query: ServiceQuery, cursor: str) -> Page:
        if not query.ids:
            return self.search(client, query, cursor)
        asked, after = batch(query.ids, cursor, self.batch)
        found = self._papers(client, asked)
        missing = [id_ for id_, paper in zip(asked, found, strict=True) if paper is None]
        return Page(self._rows(found), after, len(query.ids), missing)

    def search(self, client: Client, query: ServiceQuery, cursor: str) -> Page:
        params = {"query": query.words, "fields": S2_FIELDS} | ({"token": cursor} if cursor else {})
        answer, _ = client.json("/paper/search/bulk", params, has_list("data"))
        rows, token = self._rows(answer["data"]), answer.get("token")
        return Page(rows, token if token and rows else None, number(answer.get("total")))

    def _papers(self, client: Client, ids: list[str]) -> list[Any]:
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

    def _rows(self, found: Any) -> list[Row]:
        return list(filter(None, map(self.row_of, listed(found))))

    def row_of(self, paper: Mapping[str, Any]) -> Row | None:
        """A paper as a document; None without an id."""
        id_ = words(paper.get("paperId"))
        if not id_:
            return None
        fields, types = paper.get("fieldsOfStudy"), paper.get("publicationTypes")
        return self.row(
            id_,
            paper,
            year=number(paper.get("year")),
            authors=people(author.get("name") for author in listed(paper.get("authors"))),
            url=words(paper.get("url")) or f"https://www.semanticscholar.org/paper/{id_}",
            doi=doi_in(at(paper, "externalIds", "DOI")),
            venue=words(paper.get("venue")) or words(at(paper, "journal", "name")),
            field=words(fields[0]) if isinstance(fields, list) and fields else "",
            type=words(types[0]) if isinstance(types, list) and types else "",
        )


LOCAL = "local"
_LIBRARY = re.compile(
    r"(?:https?://www\.zotero\.org/)?(local/groups/\d+|local|users/\d+|groups/\d+)"
    r"(?:/(?!collections/)[^/\s]+)?(?:/collections/([23456789A-Z]{8}))?(?:/\S*)?"
)
_KEY = re.compile(r"[23456789A-Z]{8}")
_NO_PAPERS = ("attachment", "note", "annotation")
_VENUES = ("publicationTitle", "proceedingsTitle", "bookTitle", "conferenceName", "repository")


class Zotero(Service, key="zotero"):
    """Items of a library of Zotero, on the web or of the program on this machine."""

    def place(self, query: ServiceQuery, /) -> str:
        return "zotero-local" if is_local(query) else "zotero"

    def id_of(self, text: str) -> str | None:
        return text if _KEY.fullmatch(text) else None

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
        found, ids = split_ids(rest, self.id_of) if rest.strip() else ("", ())
        return f"{place} {found}".strip(), ids

    def of_ids(self, client: Client, query: ServiceQuery, ids: Sequence[str]) -> list[Row]:
        return self._items(client, query, "items", itemKey=",".join(ids))[0]

    def search(self, client: Client, query: ServiceQuery, cursor: str) -> Page:
        start, search = int(cursor or 0), query.words.partition(" ")[2]
        asks = ({"q": search} if search else {}) | ({"since": query.since} if query.since else {})
        # In the order in which items were added: what is added meanwhile comes last.
        order = {"start": start, "sort": "dateAdded", "direction": "asc"}
        rows, sent, headers = self._items(client, query, "items/top", **order, **asks)
        total, end = digits(headers.get("total-results", "")), start + sent
        more = sent == PAGE if total is None else end < total
        # On this machine versions only change with Zotero's next synchronisation.
        version = "" if is_local(query) else headers.get("last-modified-version", "")
        after = str(end) if sent and more else None
        return Page(rows, after, total, skipped=sent - len(rows), version=version)

    def _items(
        self, client: Client, query: ServiceQuery, what: str, **params: Any
    ) -> tuple[list[Row], int, Mapping[str, str]]:
        """Documents, the number of items that were sent, and the headers of the answer."""
        library, _, collection = query.words.partition(" ")[0].partition("/collections/")
        library = "users/0" if library == LOCAL else library.removeprefix(f"{LOCAL}/")
        path = f"/{library}" + (f"/collections/{collection}" if collection else "")
        params |= {"format": "json", "limit": PAGE}
        found, headers = client.json(f"{path}/{what}", params, lambda v: isinstance(v, list))
        return list(filter(None, map(self.row_of, listed(found)))), len(found), headers

    def row_of(self, item: Mapping[str, Any]) -> Row | None:
        """An item as a document; None for one that is no paper."""
        data, key = item.get("data"), words(item.get("key"))
        if not isinstance(data, Mapping) or not key or data.get("itemType") in _NO_PAPERS:
            return None
        creators, link = listed(data.get("creators")), words(data.get("url"))
        authors = [c for c in creators if c.get("creatorType") == "author"] or creators
        return self.row(
            key,
            item,
            year=year_in(words(data.get("date"))),
            authors=people(
                words(c.get("name")) or f"{words(c.get('firstName'))} {words(c.get('lastName'))}"
                for c in authors
            ),
            url=link if link.lower().startswith(("http://", "https://")) else None,
            doi=doi_in(data.get("DOI")),
            venue=next(filter(None, (words(data.get(name)) for name in _VENUES)), ""),
            tags="; ".join(words(tag.get("tag")) for tag in listed(data.get("tags"))),
        )


def is_local(query: ServiceQuery) -> bool:
    """Whether a query asks the Zotero that runs on this machine."""
    library = query.words.partition(" ")[0].partition("/")[0]
    return query.service == Zotero.info.key and library == LOCAL
