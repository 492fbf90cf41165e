"""Records with a tag a line: RIS (with rispy's names for the tags), PubMed (`.nbib`, XML), Web of
Science (`.ciw`) and EndNote (`.enw`, XML).

Columns: `key` (`ID`, else the DOI, else the accession number, else `rows.hashed_id`), `title`,
`abstract`, `year`, `authors` (a list, "First Last"), `url`, `venue`, `keywords` and rispy's names
for the other tags; tags without a column keep their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from xml.etree.ElementTree import Element, ParseError

import rispy
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse
from rispy.config import WOK_TAG_KEY_MAPPING

from engine.bibliographic import doi_in, year_in
from engine.errors import BadInputError
from engine.ingest.encodings import opened
from engine.ingest.rows import InputFile, Row, hashed_id, too_long
from engine.types.limits import ROW_BYTES

FIELDS = {
    "doc_id": "key",
    "title": "title",
    "text": "abstract",
    "year": "year",
    "authors": "authors",
    "url": "url",
}
_TITLES = ("title", "primary_title", "translated_title", "short_title")
_VENUES = ("journal_name", "secondary_title", "alternate_title3", "alternate_title2")
_ABSTRACTS = ("abstract", "notes_abstract")
_YEARS = ("year", "publication_year", "date")
_NAMES = rispy.RisParser.DEFAULT_MAPPING
_OF_LISTS = {*rispy.RisParser.DEFAULT_LIST_TAGS, *rispy.RisParser.DEFAULT_DELIMITER_MAPPING}
"""Tags whose values are lists, to which a line without a tag adds one."""
_TAG = re.compile(r"\s*([A-Z][A-Z0-9])(\s+)-(?!-)(.*)", re.DOTALL)


def ris_rows(file: InputFile) -> Iterator[Row]:
    """One row per record; one that the file ends in, where others have an end, has a problem."""
    number = 0
    ended = False
    for number, (line, lines, closed, last) in enumerate(_ris_records(file), start=1):
        where = f"{file.name}, row {number} (line {line})"
        if sum(len(value) for _, value in lines) > ROW_BYTES:
            yield too_long(where)
        elif ended and last and not closed:
            fault = "the record that begins here has no ER line."
            yield Row.broken(where, fault, "End every record with a line 'ER  - '.")
        else:
            yield Row(where, _ris_values(_ris_record(lines)))
        ended = ended or closed
    if not number:
        first = next(((n, line) for n, line in file.lines() if line.strip()), (1, ""))
        raise BadInputError(
            f"There are no documents in {file.name} (0 rows read as ris): line {first[0]},"
            f" {' '.join(first[1].split())[:60]!r}, is no tag of RIS.",
            "Begin every record with a line such as 'TY  - JOUR', or choose another format.",
        )


def tagged(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    """Number, tag and value of each line that is not blank; the tag is "" where a value goes on.
    Tags are also known with a tab, no-break spaces or blanks before or behind them. "IL - 6", with
    one blank, may be words: it is a tag in a record whose ``TY`` is written so, else only where it
    has two letters that RIS knows."""
    loose = False
    for number, line in lines:
        found = _TAG.match(line)
        tag, gap, value = found.groups() if found else ("", "", line)
        value = value.strip()
        if tag == "TY":
            loose = gap == " "
        if gap == " " and not (
            tag in _NAMES and (loose or (tag.isalpha() and (tag != "ER" or not value)))
        ):
            tag, value = "", line.strip()
        if tag or value:
            yield number, tag, value


Tagged = list[tuple[str, str]]  # Tags and values of a record, line by line


def _ris_records(file: InputFile) -> Iterator[tuple[int, Tagged, bool, bool]]:
    """First line and lines of each record, whether it has an end, and whether the file ends in
    it."""
    first, lines, size = 0, Tagged(), 0
    for number, tag, value in tagged(file.lines()):
        if tag == "TY":
            if lines:
                yield first, lines, False, False
            first, lines, size = number, [], 0
        if tag == "ER" and lines:
            yield first, lines, True, False
            lines = []
        elif (tag == "TY" or lines) and size <= ROW_BYTES:  # one line more: it is too long
            lines.append((tag, value))
            size += len(value)
    if lines:
        yield first, lines, False, True


def _ris_record(lines: Tagged) -> dict[str, Any]:
    """The values of a record under rispy's names: of a list all, of abstracts all as one, of
    others the first, of years the first that is one."""
    whole: list[tuple[str, list[str]]] = []
    for tag, value in lines:
        if tag or whole[-1][0] in _OF_LISTS:
            whole.append((tag or whole[-1][0], [value]))
        else:
            whole[-1][1].append(value)
    record: dict[str, Any] = {}
    for tag, parts in whole:
        name, value = _NAMES.get(tag, ""), " ".join(parts)
        if tag in _OF_LISTS:
            values = value.split(";") if tag == "UR" else [value]
            record.setdefault(name, []).extend(filter(None, map(str.strip, values)))
        elif name and (not record.get(name) or (name in _YEARS and not year_in(record[name]))):
            record[name] = value
        elif name in _ABSTRACTS and value not in record[name]:
            record[name] += f" {value}"
    return record


def _ris_values(record: dict[str, Any]) -> dict[str, Any]:
    year = _first(record, _YEARS)
    values = {name: _joined(value) for name, value in record.items()}
    values |= {
        "key": _key(record) or hashed_id(str(_first(record, _TITLES) or ""), year),
        "title": _first(record, _TITLES),
        "abstract": _first(record, _ABSTRACTS),
        "year": year,
        "authors": [*record.get("authors", ()), *record.get("first_authors", ())],
        "url": next(iter(record.get("urls", ())), None),
        "venue": _first(record, _VENUES),
    }
    used = (*_TITLES[1:], *_VENUES, *_ABSTRACTS[1:], *_YEARS[1:], "first_authors", "urls")
    return {name: value for name, value in values.items() if name not in used and value}


def _key(record: dict[str, Any]) -> Any:
    return record.get("id") or doi_in(record.get("doi")) or record.get("accession_number")


def _first(record: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((record[name] for name in names if record.get(name)), None)


def _joined(value: Any) -> Any:
    return "; ".join(str(item) for item in value if item) if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class _Tags:
    """How lines of one program begin."""

    line: re.Pattern[str]  # a tag and its value
    first: str  # the tag that begins a record
    columns: Mapping[str, str]  # tag -> column, in order of trust where several serve one column


def _columns(table: str) -> dict[str, str]:
    """Tag -> column, of a table such as `title:TI,BTI year:DP`."""
    pairs = (one.split(":") for one in table.split())
    return {tag: column for column, tags in pairs for tag in tags.split(",")}


MEDLINE = _Tags(
    re.compile(r"([A-Z][A-Z0-9]{1,3}) {0,2}- ?(.*)"),
    "PMID",
    _columns(
        "accession_number:PMID title:TI,BTI,TT abstract:AB,OAB year:DP authors:FAU,AU,CN "
        "venue:JT,TA doi:LID,AID volume:VI issue:IP pages:PG keywords:OT,MH "
        "language:LA issn:IS type:PT"
    ),
)
_WEB_OF_SCIENCE = _columns(
    "accession_number:UT title:TI abstract:AB year:PY,EA authors:AF,AU,CA venue:SO doi:DI "
    "volume:VL issue:IS pages:AR keywords:DE language:LA type:DT publisher:PU issn:SN"
)
WEB_OF_SCIENCE = _Tags(
    re.compile(r"([A-Z][A-Z0-9])(?: (.*))?\Z"),
    "PT",
    _WEB_OF_SCIENCE | WOK_TAG_KEY_MAPPING | _WEB_OF_SCIENCE,
)
ENDNOTE = _Tags(
    re.compile(r"%(\S)(?: (.*))?\Z"),
    "0",
    _columns(
        "accession_number:M title:T abstract:X year:D,8 authors:A venue:J,B doi:R url:U volume:V "
        "issue:N pages:P keywords:K publisher:I address:C language:G issn:@ type:0"
    ),
)
_LISTS = ("authors", "keywords")
"""Columns in which a line without a tag is another value; in others the value goes on."""


def _rows(tags: _Tags, file: InputFile) -> Iterator[Row]:
    """One row per record, from its first tag to the next one's."""
    for number, (line, lines) in enumerate(_records(tags, file), start=1):
        where = f"{file.name}, row {number} (line {line})"
        if sum(map(len, lines)) > ROW_BYTES:
            yield too_long(where)
        else:
            yield Row(where, _values(tags, lines))


medline, web_of_science, endnote = (
    partial(_rows, tags) for tags in (MEDLINE, WEB_OF_SCIENCE, ENDNOTE)
)


def _records(tags: _Tags, file: InputFile) -> Iterator[tuple[int, list[str]]]:
    first, lines, size = 0, list[str](), 0
    for number, line in file.lines():
        line = line.rstrip()
        found = tags.line.match(line)
        if found and found[1] == tags.first:
            if lines:
                yield first, lines
            first, lines, size = number, [], 0
        if first and size <= ROW_BYTES:  # one line more tells that it is too long
            lines.append(line)
            size += len(line)
    if lines:
        yield first, lines


def _values(tags: _Tags, lines: list[str]) -> dict[str, Any]:
    found: dict[str, list[str]] = {}
    tag = ""
    for line in filter(None, lines):
        begins = tags.line.match(line)
        tag = begins[1] if begins else tag
        words = (begins[2] or "" if begins else line).strip()
        values = found.setdefault(tag, [])
        if begins or tags.columns.get(tag) in _LISTS or not values:
            values.append(words)
        else:
            values[-1] += f" {words}"
    columns: dict[str, list[str]] = {}
    for tag in (*tags.columns, *found):
        column = tags.columns.get(tag, tag)
        values = list(filter(None, found.pop(tag, ())))
        if column == "doi":
            values = list(filter(None, map(doi_in, values)))
        if values:
            columns.setdefault(column, values)
    return record(columns)


def record(columns: Mapping[str, list[str]]) -> dict[str, Any]:
    """The values of a record's columns as one each, but for its authors, with a key."""
    values: dict[str, Any] = {
        column: (" " if column in ("title", "abstract") else "; ").join(several)
        for column, several in columns.items()
    }
    values |= {
        column: columns[column][0] for column in ("year", "doi", "type") if column in columns
    }
    key = next((values[name] for name in ("accession_number", "doi") if name in values), None)
    key = key or hashed_id(values.get("title", ""), values.get("year"))
    return values | {"key": key, "authors": columns.get("authors", ())}


# -- XML ---------------------------------------------------------------------------------

_ENDNOTE = {
    "accession_number": ".//accession-num",
    "title": "titles/title",
    "abstract": "abstract",
    "year": "dates/year",
    "authors": "contributors/authors/author",
    "venue": "titles/secondary-title",
    "doi": "electronic-resource-num",
    "url": "urls/related-urls/url",
    "volume": "volume",
    "issue": "number",
    "pages": "pages",
    "keywords": "keywords/keyword",
    "publisher": "publisher",
    "issn": "isbn",
    "language": "language",
}
_PUBMED = {
    "accession_number": "MedlineCitation/PMID",
    "title": ".//ArticleTitle",
    "abstract": ".//Article/Abstract/AbstractText",
    "year": ".//JournalIssue/PubDate/*",
    "authors": ".//AuthorList/Author",
    "venue": ".//Journal/Title",
    "doi": ".//ArticleIdList/ArticleId",
    "volume": ".//JournalIssue/Volume",
    "issue": ".//JournalIssue/Issue",
    "pages": ".//MedlinePgn",
    "keywords": ".//Keyword",
    "issn": ".//Journal/ISSN",
    "language": ".//Language",
}
_ELEMENTS = {"record": _ENDNOTE, "PubmedArticle": _PUBMED}
"""Element of a record -> column -> path of its values in it."""


def xml(file: InputFile) -> Iterator[Row]:
    """One row per record."""
    number, root = 0, None
    try:
        with opened(file.path) as content:
            for event, element in iterparse(content, events=("start", "end")):
                root = element if root is None else root
                if event == "end" and element.tag in _ELEMENTS:
                    number += 1
                    yield Row(f"{file.name}, row {number}", record(_xml_columns(element)))
                    root.clear()
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise BadInputError(
            f"{file.name}, after row {number}: XML that cannot be read ({error}).",
            "Export it again, or as RIS.",
        ) from error
    if root is not None and not number:
        raise BadInputError(
            f"{file.name} is XML of {root.tag!r}; that of EndNote and PubMed is read.",
            "Export RIS, BibTeX or CSV.",
        )


def _xml_columns(element: Element) -> dict[str, list[str]]:
    columns = {
        column: list(filter(None, map(_words, element.iterfind(path))))
        for column, path in _ELEMENTS[element.tag].items()
    }
    columns["doi"] = list(filter(None, map(doi_in, columns["doi"])))
    return {column: values for column, values in columns.items() if values}


def _words(element: Element) -> str:
    if element.tag == "Author":  # of PubMed
        parts = (element.findtext(part) for part in ("LastName", "ForeName"))
        return ", ".join(filter(None, parts)) or element.findtext("CollectiveName") or ""
    words = " ".join("".join(element.itertext()).split())
    label = element.get("Label")
    return f"{label}: {words}" if label and words else words
