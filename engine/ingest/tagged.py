"""Records with a tag a line: RIS (with rispy's names for the tags), PubMed (`.nbib`, XML), Web of
Science (`.ciw`) and EndNote (`.enw`, XML).

Columns: `key` (`ID` of RIS, else the accession number or DOI, else `rows.hashed_id`), `title`,
`abstract`, `year`, `authors` (a list, "First Last"), `url`, `venue`, `doi`, `keywords` and the
other tags under their names; tags without a column keep theirs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from xml.etree.ElementTree import Element, ParseError

import rispy
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse
from rispy.config import WOK_TAG_KEY_MAPPING

from engine.bibliographic import doi_in, year_in
from engine.errors import BadInputError
from engine.ingest.files import InputFile, opened, table
from engine.ingest.rows import Row, hashed_id

Lines = Iterator[tuple[int, str, str]]  # Number, tag ("" where a value goes on) and value
_RIS = rispy.RisParser.DEFAULT_MAPPING
_RIS_TAG = re.compile(r"\s*([A-Z][A-Z0-9])(\s+)-(?!-)(.*)", re.DOTALL)
_END = "ER"  # The tag that ends a record


def ris_lines(lines: Iterable[tuple[int, str]]) -> Lines:
    """Lines of RIS. Tags are also known with a tab, no-break spaces or blanks before or behind
    them. "IL - 6", with one blank, may be words: it is a tag in a record whose ``TY`` is written
    so, else only where it has two letters that RIS knows."""
    loose = False
    for number, line in lines:
        found = _RIS_TAG.match(line)
        tag, gap, value = found.groups() if found else ("", "", line)
        value = value.strip()
        if tag == "TY":
            loose = gap == " "
        if gap == " " and not (
            tag in _RIS and (loose or (tag.isalpha() and (tag != _END or not value)))
        ):
            tag, value = "", line.strip()
        yield number, tag, value


def _lines(tag: re.Pattern[str], lines: Iterable[tuple[int, str]]) -> Lines:
    for number, line in lines:
        found = tag.match(line.rstrip())
        yield number, found[1] if found else "", ((found[2] or "") if found else line).strip()


@dataclass(frozen=True, slots=True)
class _Tags:
    """The lines of one program."""

    lines: Callable[[Iterable[tuple[int, str]]], Lines]
    first: str  # the tag that begins a record
    columns: Mapping[str, str]  # tag -> column, in order of trust where several serve one column
    # columns in which a line without a tag is another value; in others the value goes on
    lists: tuple[str, ...] = ("authors", "keywords")
    others: bool = True  # tags without a column are kept
    keys: tuple[str, ...] = ("accession_number", "doi")  # columns that are the key, by trust


_TABLES = table("tags")


def _tags(program: str, tag: str, first: str, others: Mapping[str, str] | None = None) -> _Tags:
    """The tags of a program. `tag`: the pattern of one and its value; `others`: names of tags that
    no table of ours has."""
    columns = {tag: column for column, tags in _TABLES[program].items() for tag in tags.split()}
    lines = partial(_lines, re.compile(tag))
    return _Tags(lines, first, columns | dict(others or {}) | columns)


MEDLINE = _tags("medline", r"([A-Z][A-Z0-9]{1,3}) {0,2}- ?(.*)", "PMID")
RIS = replace(
    _tags("ris", "", "TY", _RIS),
    lines=ris_lines,
    lists=("authors", "keywords", "secondary_authors", "tertiary_authors", "notes", "url"),
    others=False,
    keys=("id", "doi", "accession_number"),
)
WEB_OF_SCIENCE = _tags("web_of_science", r"([A-Z][A-Z0-9])(?: (.*))?\Z", "PT", WOK_TAG_KEY_MAPPING)
ENDNOTE = _tags("endnote", r"%(\S)(?: (.*))?\Z", "0")


def _rows(tags: _Tags, file: InputFile) -> Iterator[Row]:
    """One row per record, from its first tag to its end, or to the next one's first tag."""
    for number, (line, lines, whole) in enumerate(_records(tags, file), start=1):
        where = f"{file.name}, row {number} (line {line})"
        if whole:
            yield Row(where, _record(_values(tags, lines), tags.keys))
        else:
            fault = "the record that begins here has no ER line."
            yield Row.broken(where, fault, "End every record with a line 'ER  - '.")


def _records(tags: _Tags, file: InputFile) -> Iterator[tuple[int, list[tuple[str, str]], bool]]:
    """First line, and tags and values, of each record; False for the last where it alone lacks an
    end."""
    first, lines, ended = 0, list[tuple[str, str]](), False
    for number, tag, value in tags.lines(file.lines()):
        if lines and tag in (tags.first, _END):
            ended |= tag == _END
            yield first, lines, True
            lines = []
        if tag == tags.first:
            first, lines = number, [(tag, value)]
        elif lines and (tag or value):
            lines.append((tag, value))
    if lines:
        yield first, lines, not ended


def _values(tags: _Tags, lines: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Column -> values, of the most trusted tag that has any."""
    found: dict[str, list[list[str]]] = {}
    last = ""
    for tag, value in lines:
        last = tag or last
        if tag or tags.columns.get(last) in tags.lists:
            found.setdefault(last, []).append([value])
        else:
            found[last][-1].append(value)
    columns: dict[str, list[str]] = {}
    for tag in (*tags.columns, *(found if tags.others else ())):
        column = tags.columns.get(tag, tag)
        values = [" ".join(filter(None, parts)) for parts in found.pop(tag, ())]
        if column == "doi":
            values = [doi for doi in map(doi_in, values) if doi]
        if column == "year":
            values = list(filter(year_in, values)) or values
        if values := list(dict.fromkeys(filter(None, values))):
            columns.setdefault(column, values)
    return columns


def _record(columns: Mapping[str, list[str]], keys: tuple[str, ...] = MEDLINE.keys) -> Any:
    """The values of a record's columns as one each, but for its authors, with a key."""
    values: dict[str, Any] = {
        column: (" " if column in ("title", "abstract") else "; ").join(several)
        for column, several in columns.items()
    }
    first = {column: several[0] for column, several in columns.items()}
    values |= {name: first[name] for name in ("year", "doi", "type") if name in columns}
    key = next((first[name] for name in keys if name in columns), None)
    values["key"] = key or hashed_id(values.get("title", ""), values.get("year"))
    return values | ({"authors": columns["authors"]} if "authors" in columns else {})


# -- XML ---------------------------------------------------------------------------------

_ELEMENTS: dict[str, dict[str, str]] = _TABLES["xml"]
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
                    yield Row(f"{file.name}, row {number}", _record(_xml_columns(element)))
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


READERS: dict[str, Callable[[InputFile], Iterator[Row]]] = {
    "ris": partial(_rows, RIS),
    "nbib": partial(_rows, MEDLINE),
    "ciw": partial(_rows, WEB_OF_SCIENCE),
    "enw": partial(_rows, ENDNOTE),
    "xml": xml,
}
"""Format -> its rows."""
