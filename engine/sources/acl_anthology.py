"""The ACL Anthology, by ids: it has no search for programs, and its data are XML files in
https://github.com/acl-org/acl-anthology, one per venue and year."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from xml.etree.ElementTree import Element

from engine.bibliographic import doi_in
from engine.config import Settings
from engine.errors import BadInputError
from engine.sources.client import (
    Address,
    Client,
    Page,
    RefusedError,
    Row,
    digits,
    parsed,
    people,
    split_ids,
    unknown_form,
    words,
)
from engine.types.corpora import ServiceInfo, ServiceQuery

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


class AclAnthology:
    """Papers of the ACL Anthology."""

    info = ServiceInfo(
        "acl",
        "ACL Anthology",
        "Ids: a venue and year (acl-2024), a volume (2024.acl-long, P18-1) or papers "
        "(2024.acl-long.1, P18-1001). The Anthology cannot be searched from here.",
        "2024.acl-long, tacl-2023",
        searches=False,
    )

    def address(self, _: ServiceQuery, settings: Settings, /) -> Address:
        url = "https://raw.githubusercontent.com"
        return Address.of(settings, self.info, url, seconds=1.0)

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
                yield _row(paper, volume, _full_id(file, name, number)), places


def _full_id(file: str, volume: str, paper: str) -> str:
    if file[0].isdigit() or not (_PLACE.fullmatch(volume) and _PLACE.fullmatch(paper)):
        return f"{file}-{volume}.{paper}"
    if _wide(file, volume.zfill(2) if int(volume) > 9 else volume):
        return f"{file}-{int(volume):02d}{int(paper):02d}"
    return f"{file}-{int(volume)}{int(paper):03d}"


def _row(paper: Element, volume: Element, id_: str) -> Row:
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
