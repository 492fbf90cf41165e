"""RIS, record by record (``TY`` to ``ER`` or the next ``TY``), with rispy's names for the tags.

Columns: ``key`` (``ID``, else the DOI, else the accession number, else ``rows.hashed_id``),
``title``, ``abstract``, ``year``, ``authors`` (a list, "First Last"), ``url``, ``venue``,
``keywords`` and rispy's names for the other tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import rispy

from engine.bibliographic import doi_in, year_in
from engine.errors import BadInputError
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


def rows(file: InputFile) -> Iterator[Row]:
    """One row per record; one that the file ends in, where others have an end, has a problem."""
    number = 0
    ended = False
    for number, (line, lines, closed, last) in enumerate(_records(file), start=1):
        where = f"{file.name}, row {number} (line {line})"
        if sum(len(value) for _, value in lines) > ROW_BYTES:
            yield too_long(where)
        elif ended and last and not closed:
            fault = "the record that begins here has no ER line."
            yield Row.broken(where, fault, "End every record with a line 'ER  - '.")
        else:
            yield Row(where, _values(_record(lines)))
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
    has two letters that RIS knows.
    """
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


def _records(file: InputFile) -> Iterator[tuple[int, Tagged, bool, bool]]:
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


def _record(lines: Tagged) -> dict[str, Any]:
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


def _values(record: dict[str, Any]) -> dict[str, Any]:
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
