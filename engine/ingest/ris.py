"""RIS, record by record (``TY`` to ``ER``), each parsed by rispy.

Columns: ``key`` (``ID``, else the DOI, else the accession number, else ``rows.hashed_id``),
``title``, ``abstract``, ``year``, ``authors`` (a list, "First Last"), ``url``, ``venue``,
``keywords`` and rispy's names for the other tags.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import rispy

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
_IDS = ("id", "doi", "accession_number")
_OF_LISTS = {*rispy.RisParser.DEFAULT_LIST_TAGS, *rispy.RisParser.DEFAULT_DELIMITER_MAPPING}
"""Tags whose values are lists, to which a line without a tag adds one."""


def rows(file: InputFile) -> Iterator[Row]:
    """One row per record; a record without end is a row with a problem."""
    for number, (line, lines, closed) in enumerate(_records(file), start=1):
        where = f"{file.name}, row {number} (line {line})"
        if sum(map(len, lines)) > ROW_BYTES:
            yield too_long(where)
        elif closed:
            yield _row(where, lines)
        else:
            fault = "the record that begins here has no ER line."
            yield Row.broken(where, fault, "End every record with a line 'ER  - '.")


def _records(file: InputFile) -> Iterator[tuple[int, list[str], bool]]:
    # rispy drops a record without ER in silence, so the cutting is done here.
    first, lines, size = 0, list[str](), 0
    for number, line in file.lines():
        tag = line[:2] if line[2:5] == "  -" else ""
        if tag == "TY":
            if lines:
                yield first, lines, False
            first, lines, size = number, [line], len(line)
        elif lines:
            if size <= ROW_BYTES:  # one line more tells that it is too long
                lines.append(line)
                size += len(line)
            if tag == "ER":
                yield first, lines, True
                lines = []
    if lines:
        yield first, lines, False


def _row(where: str, lines: list[str]) -> Row:
    text = "\n".join(_values_whole(lines))
    try:
        records = rispy.loads(text, skip_unknown_tags=True)
    except (rispy.parser.ParseError, ValueError, KeyError, TypeError, AttributeError) as e:
        fault = f"the record cannot be parsed ({type(e).__name__}: {e})."
        remedy = "Begin every line with a two-letter tag, two spaces and a dash."
        return Row.broken(where, fault, remedy, e)
    return Row(where, _values(records[0]) if records else {})


def _values_whole(lines: list[str]) -> list[str]:
    """The lines of a record, each value on one: rispy copies all of a value for each line more.

    Blank lines, which would be appended to the field above them, are left out.
    """
    whole: list[list[str]] = []
    tag = ""
    for line in filter(None, map(str.rstrip, lines)):
        own = line[:2] if line[2:5] == "  -" and line[:2].isupper() and line[0].isalpha() else ""
        tag = own or tag
        if own or tag in _OF_LISTS or not whole:
            whole.append([line])
        else:
            whole[-1].append(line.strip())
    return [" ".join(parts) for parts in whole]


def _values(record: dict[str, Any]) -> dict[str, Any]:
    record = {name: value for name, value in record.items() if value}
    year = _first(record, _YEARS)
    values = {name: _joined(value) for name, value in record.items()}
    values |= {
        "key": _first(record, _IDS) or hashed_id(str(_first(record, _TITLES) or ""), year),
        "title": _first(record, _TITLES),
        "abstract": _first(record, _ABSTRACTS),
        "year": year,
        "authors": [*record.get("authors", ()), *record.get("first_authors", ())],
        "url": next(iter(record.get("urls", ())), None) or record.get("doi"),
        "venue": _first(record, _VENUES),
    }
    used = (*_TITLES[1:], *_VENUES, *_ABSTRACTS[1:], *_YEARS[1:], "first_authors", "urls")
    return {name: value for name, value in values.items() if name not in used and value}


def _first(record: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((record[name] for name in names if record.get(name)), None)


def _joined(value: Any) -> Any:
    return "; ".join(str(item) for item in value if item) if isinstance(value, list) else value
