"""arXiv (https://info.arxiv.org/help/api/user-manual.html: Atom feeds, one request in 3 seconds)
and the ACL Anthology, which has no search for programs: its data are XML files in
https://github.com/acl-org/acl-anthology, one per venue and year."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from xml.etree.ElementTree import Element

from engine.bibliographic import doi_in
from engine.errors import BadInputError
from engine.sources.client import (
    Client,
    Page,
    RefusedError,
    Row,
    Service,
    TransientError,
    digits,
    parsed,
    people,
    split_ids,
    unknown_form,
    words,
)
from engine.types.corpora import ServiceQuery

PAGE = 200  # Results of one request; up to 2,000 are allowed, and small slices are asked for
MOST = 30_000  # Results of one query that arXiv hands out
_ATOM = "{http://www.w3.org/2005/Atom}"
_OPEN = "{http://a9.com/-/spec/opensearch/1.1/}"
_ARXIV = "{http://arxiv.org/schemas/atom}"
_ID = re.compile(
    r"(?:https?://(?:www\.|export\.)?arxiv\.org/(?:abs|pdf)/|arxiv:)?"
    r"(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?(?:\.pdf)?",
    re.IGNORECASE,
)
_OPERATORS = ("AND", "OR", "ANDNOT")
_FIELDED = re.compile(r"\b(ti|au|abs|co|jr|cat|rn|id|all|submittedDate|lastUpdatedDate):")


class ArXiv(Service, key="arxiv"):
    """Articles of arXiv."""

    batch = 100

    def id_of(self, text: str) -> str | None:
        found = _ID.fullmatch(text)
        return found[1] if found else None

    def of_ids(self, client: Client, query: ServiceQuery, ids: Sequence[str]) -> list[Row]:
        params = {"id_list": ",".join(ids), "start": 0, "max_results": len(ids)}
        rows, _, refused = client.text("/api/query", params, _feed)
        if refused and not rows and len(ids) > 1:
            # One id of the wrong form makes arXiv refuse all of them: each on its own.
            return [row for id_ in ids for row in self.of_ids(client, query, [id_])]
        return rows

    def search(self, client: Client, query: ServiceQuery, cursor: str) -> Page:
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


def _query(typed: str) -> str:
    """Words as arXiv's own syntax: plain ones are looked for everywhere, all of them.

    >>> _query("cat:cs.CL AND ti:negation"), _query("negation scope")
    ('cat:cs.CL AND ti:negation', 'all:negation AND all:scope')
    """
    if _FIELDED.search(typed):
        return typed
    parts = re.findall(r'"[^"]+"|\S+', typed)
    query: list[str] = []
    for part in parts:
        if part not in _OPERATORS:
            if query and query[-1] not in _OPERATORS:
                query.append("AND")
            part = "all:" + (part if part.startswith('"') else part.strip("()"))
        query.append(part)
    return " ".join(query)


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
        elif row := _arxiv_row(entry):
            rows.append(row)
    return rows, digits(total), refused


def _arxiv_row(entry: Element) -> Row | None:
    def text(tag: str) -> str:
        return words(entry.findtext(tag))

    link = text(f"{_ATOM}id")
    id_ = _ID.fullmatch(link)
    if not id_:
        return None
    category = entry.find(f"{_ARXIV}primary_category")
    year = text(f"{_ATOM}published")[:4]
    doi = text(f"{_ARXIV}doi")
    return {
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


_SITE = "https://aclanthology.org"
_FILES = "/acl-org/acl-anthology/master/data/xml"
_URL = re.compile(r"https?://(?:www\.)?aclanthology\.org/(?:volumes/|events/)?", re.IGNORECASE)
_NEW = re.compile(r"(\d{4}\.[a-z0-9_]+)(?:-([a-z0-9]+)(?:\.(\d{1,5}))?)?", re.IGNORECASE)
_OLD = re.compile(r"([A-Z]\d{2})(?:-(\d{1,2}|\d{4}))?")
_PLACE = re.compile(r"[0-9]{1,4}")
_EVENT = re.compile(r"([a-z][a-z_]*)-?(\d{4})", re.IGNORECASE)
_VENUE_LETTERS = (
    "acl:P anlp:A cl:J coling:C conll:K eacl:E emnlp:D hlt:H ijcnlp:I lrec:L muc:M naacl:N "
    "paclic:Y semeval:S tacl:Q tipster:X ws:W"
)
_LETTERS = dict(pair.split(":") for pair in _VENUE_LETTERS.split())
"""Venues before 2020, whose files have a letter and two digits of the year."""


_Place = tuple[str | None, str | None]
"""A volume of a file, and a paper of that: without them, the whole file, or the whole volume."""


class AclAnthology(Service, key="acl"):
    """Papers of the ACL Anthology."""

    def read(self, text: str) -> tuple[str, tuple[str, ...]]:
        found, ids = split_ids(text, lambda part: _URL.sub("", part).strip("/"))
        for id_ in ids:
            _wanted(id_)
        return found, ids

    def page(self, client: Client, query: ServiceQuery, cursor: str) -> Page:
        """The papers of one file."""
        wanted = {id_: _wanted(id_) for id_ in query.ids}
        files = list(dict.fromkeys(file for file, _ in wanted.values()))
        at = int(cursor or 0)
        here = {id_: place for id_, (file, place) in wanted.items() if file == files[at]}
        after = str(at + 1) if at + 1 < len(files) else None
        try:
            root = client.text(f"{_FILES}/{files[at]}.xml", {}, _collection)
        except RefusedError as error:
            if error.status != 404:
                raise
            return Page((), after, None, list(here))
        papers = list(_papers(root, set(here.values())))
        met = {place for _, places in papers for place in places}
        rows = [row for row, _ in papers]
        missing = [id_ for id_, place in here.items() if place not in met]
        return Page(rows, after, len(rows) if len(files) == 1 else None, missing)


def _wanted(id_: str) -> tuple[str, _Place]:
    """The file of an id, and its place in that."""
    if new := _NEW.fullmatch(id_):
        return new[1].lower(), (new[2] and new[2].lower(), new[3])
    if old := _OLD.fullmatch(id_):
        file, digits = old[1], old[2]
        if digits is None or len(digits) < 4:
            return file, (digits and str(int(digits)), None)
        places = 2 if _wide(file, digits) else 1
        return file, (str(int(digits[:places])), str(int(digits[places:])))
    if event := _EVENT.fullmatch(id_):
        venue, year = event[1].lower(), event[2]
        letter = _LETTERS.get(venue) if int(year) < 2020 else None
        return f"{letter}{year[2:]}" if letter else f"{year}.{venue}", (None, None)
    raise BadInputError(
        f"{id_[:80]!r} is no id of the ACL Anthology, which cannot be searched from here.",
        "Give ids such as acl-2024, 2024.acl-long, 2024.acl-long.1 or P18-1001; "
        "Semantic Scholar finds papers of the Anthology by words.",
    )


def _wide(file: str, digits: str) -> bool:
    """Whether the volume has two of the four digits of an old id."""
    return file[0] == "W" or file == "C69" or (file == "D19" and int(digits[0]) >= 5)


def _collection(text: str) -> Element:
    root = parsed(text, AclAnthology.info.name)
    if root.tag != "collection" or not root.get("id"):
        raise unknown_form(AclAnthology.info.name)
    return root


def _papers(root: Element, wanted: Set[_Place]) -> Iterator[tuple[Row, tuple[_Place, ...]]]:
    """The papers of a file that are wanted, and the places by which each can be asked for."""
    file = root.get("id", "")
    for volume in root.findall("volume"):
        name = volume.get("id", "")
        for paper in volume.findall("paper"):
            number = paper.get("id", "")
            places: tuple[_Place, ...] = (None, None), (name, None), (name, number)
            if not wanted.isdisjoint(places):
                yield _acl_row(paper, volume, _full_id(file, name, number)), places


def _full_id(file: str, volume: str, paper: str) -> str:
    if file[0].isdigit() or not (_PLACE.fullmatch(volume) and _PLACE.fullmatch(paper)):
        return f"{file}-{volume}.{paper}"
    if _wide(file, volume.zfill(2) if int(volume) > 9 else volume):
        return f"{file}-{int(volume):02d}{int(paper):02d}"
    return f"{file}-{int(volume)}{int(paper):03d}"


def _acl_row(paper: Element, volume: Element, id_: str) -> Row:
    def text(path: str, parent: Element = paper) -> str:
        # Titles and abstracts hold <fixed-case>, <tex-math> and the like.
        found = parent.find(path)
        return "" if found is None else words("".join(found.itertext()))

    year = text("meta/year", volume)
    return {
        "doc_id": id_,
        "title": text("title"),
        "text": text("abstract"),
        "year": digits(year),
        "authors": people(f"{text('first', a)} {text('last', a)}" for a in paper.findall("author")),
        "url": f"{_SITE}/{id_}",
        "doi": doi_in(text("doi")),
        "venue": text("meta/booktitle", volume),
        "pages": text("pages"),
        "publisher": text("meta/publisher", volume),
        "source": "ACL Anthology",
    }
