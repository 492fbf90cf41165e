"""Semantic Scholar: https://api.semanticscholar.org/api-docs/graph. Bulk search, by token."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from engine.bibliographic import doi_in
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
from engine.sources.http import Address, Client, RefusedError
from engine.types.corpora import ServiceInfo, ServiceQuery

BATCH = 100  # Papers of one request by id; up to 500 are allowed, and answers to 10 MB
FIELDS = "title,abstract,year,authors,externalIds,url,venue,journal,publicationTypes,fieldsOfStudy"
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
            self.info.key,
            self.info.name,
            "https://api.semanticscholar.org/graph/v1",
            seconds=1.0,
            headers={"x-api-key": key} if key else {},
            more="" if key else "A key of your own (SEEDLENS_SEMANTIC_SCHOLAR_KEY) helps. ",
            refused="Check SEEDLENS_SEMANTIC_SCHOLAR_KEY; it also works without a key, slower.",
        )

    def read(self, text: str) -> tuple[str, tuple[str, ...]]:
        return split_ids(text, _id)

    def page(self, client: Client, query: ServiceQuery, cursor: str) -> Page:
        if query.ids:
            asked, after = batch(query.ids, cursor, BATCH)
            found = _papers_of(client, asked)
            rows = [row for row in map(_row, listed(found)) if row]
            missing = [id_ for id_, paper in zip(asked, found, strict=True) if paper is None]
            return Page(rows, after, len(query.ids), missing)
        params = {"query": query.words, "fields": FIELDS} | ({"token": cursor} if cursor else {})
        answer, _ = client.json("/paper/search/bulk", params, has_list("data"))
        rows = [row for row in map(_row, listed(answer["data"])) if row]
        token = answer.get("token")
        more = token if isinstance(token, str) and token and rows else None
        return Page(rows, more, total_of(answer, "total"))


def _papers_of(client: Client, ids: list[str]) -> list[Any]:
    """One entry per id, null where there is no such paper."""

    def fits(value: Any) -> bool:
        return isinstance(value, list) and len(value) == len(ids)

    try:
        found, _ = client.json("/paper/batch", {"fields": FIELDS}, fits, body={"ids": ids})
    except RefusedError as error:
        # "No valid paper ids given", where none of them exists.
        if error.status != 400:
            raise
        return [None] * len(ids)
    return list(found)


def _id(text: str) -> str | None:
    if prefixed := _PREFIXED.fullmatch(text):
        return f"{_SPELLING[prefixed[1].lower()]}:{prefixed[2]}"
    if _PAPER.fullmatch(text):
        return text
    doi = doi_in(text)
    return f"DOI:{doi}" if doi else None


def _row(paper: Mapping[str, Any]) -> Row | None:
    id_ = words(paper.get("paperId"))
    if not id_:
        return None
    others = paper.get("externalIds")
    doi = doi_in(others.get("DOI")) if isinstance(others, Mapping) else None
    fields, types = paper.get("fieldsOfStudy"), paper.get("publicationTypes")
    journal = paper.get("journal")
    journal = journal if isinstance(journal, Mapping) else {}
    return {
        "doc_id": id_,
        "title": words(paper.get("title")),
        "text": words(paper.get("abstract")),
        "year": number(paper.get("year")),
        "authors": people(author.get("name") for author in listed(paper.get("authors"))),
        "url": words(paper.get("url")) or f"https://www.semanticscholar.org/paper/{id_}",
        "doi": doi,
        "venue": words(paper.get("venue")) or words(journal.get("name")),
        "volume": words(journal.get("volume")),
        "pages": words(journal.get("pages")),
        "field": words(fields[0]) if isinstance(fields, list) and fields else "",
        "type": words(types[0]) if isinstance(types, list) and types else "",
        "source": "Semantic Scholar",
    }
