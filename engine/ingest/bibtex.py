"""BibTeX, entry by entry: the file is cut where an ``@`` begins a line, so any size streams.

Columns: ``key`` (the citation key, else ``id``, ``doi``, else ``rows.hashed_id``), ``title``,
``abstract``, ``year``, ``author`` (a list, "First Last"), ``url``, ``venue`` and the entry's
other fields under their lower-case names.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from bibtexparser.entrypoint import parse_string
from bibtexparser.exceptions import ParsingException
from bibtexparser.middlewares.names import (
    InvalidNameError,
    parse_single_name_into_parts,
    split_multiple_persons_names,
)
from bibtexparser.model import (
    Block,
    DuplicateFieldKeyBlock,
    Entry,
    ParsingFailedBlock,
    String,
)

from engine.errors import BadInputError
from engine.ingest.latex import plain, unbraced
from engine.ingest.rows import InputFile, Row, hashed_id, too_long
from engine.types.limits import ROW_BYTES

FIELDS = {
    "doc_id": "key",
    "title": "title",
    "text": "abstract",
    "year": "year",
    "authors": "author",
    "url": "url",
}
# The same rule as bibtexparser's: a block begins only at the start of a line.
_BLOCK = re.compile(r"\s*@\w*[ \t]*[{(]")
_COMMENT = re.compile(r"\s*@comment\b", re.IGNORECASE)
_MARKS = re.compile(r"\\.|[{}\"]", re.DOTALL)
"""What may end a value, and what is passed over: a command of LaTeX, as ``\\{`` or ``\\"``."""
_NEXT = re.compile(r"\s[\w-]+\s*=")
"""Where the next field begins, in a value without braces and quotes."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_VERBATIM = frozenset({"url", "doi", "file", "eprint"})

# Every fault becomes an error of ours that names the line; its warnings would say it twice.
logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)


class _TooLongError(Exception):
    """Macros, which may name each other, make more of an entry than is read as one row."""


def rows(file: InputFile) -> Iterator[Row]:
    """One row per entry; a block that cannot be parsed is a row with a problem."""
    strings = {month: month for month in _MONTHS}
    number = 0
    for first_line, chunk in _chunks(file):
        if chunk is None:
            number += 1
            yield too_long(f"{file.name}, row {number} (line {first_line})")
            continue
        for block in _parse(file, first_line, chunk):
            line = first_line + (block.start_line or 0)
            if isinstance(block, String):
                with suppress(_TooLongError):
                    strings[block.key.lower()] = _value(block.value, strings, verbatim=True)
            elif isinstance(block, Entry):
                number += 1
                where = f"{file.name}, row {number} (line {line})"
                try:
                    if name := next((f.key for f in block.fields if not _is_value(f.value)), ""):
                        yield _without_comma(where, name)
                    else:
                        yield _row(where, block, strings)
                except _TooLongError:
                    yield too_long(where)
            elif isinstance(block, ParsingFailedBlock) and not _COMMENT.match(block.raw or ""):
                number += 1
                yield _failed(f"{file.name}, row {number} (line {line})", block)


def _chunks(file: InputFile) -> Iterator[tuple[int, str | None]]:
    """Each block with the number of its first line; None for one that is too long."""
    first, lines, size = 0, list[str](), 0
    for number, line in file.lines():
        if _BLOCK.match(line):
            if lines:
                yield first, "".join(lines) if size <= ROW_BYTES else None
            first, lines, size = number, [line], len(line)
        elif lines and size <= ROW_BYTES:  # words before the first entry are a comment
            lines.append(line)
            size += len(line)
    if lines:
        yield first, "".join(lines) if size <= ROW_BYTES else None


def _parse(file: InputFile, first_line: int, chunk: str) -> list[Block]:
    try:
        blocks: list[Block] = parse_string(chunk, parse_stack=[]).blocks
    except ParsingException as e:
        raise BadInputError(
            f"{file.name}, line {first_line}: not BibTeX that can be read ({e}).",
            "Correct the entry that begins there, or export the file again.",
        ) from e
    return blocks


def _failed(where: str, block: ParsingFailedBlock) -> Row:
    if isinstance(block, DuplicateFieldKeyBlock):
        names = ", ".join(sorted(block.duplicate_keys))
        fault, remedy = f"the entry gives {names} twice.", "Keep one of them, remove the other."
    else:
        reason = " ".join(str(getattr(block.error, "abort_reason", block.error)).split())
        fault = f"the entry cannot be parsed: {reason}"
        remedy = "Check the braces, quotes and commas of the entry."
    return Row.broken(where, fault, remedy, block.error)


def _without_comma(where: str, name: str) -> Row:
    fault = f"there is more behind the value of {name}."
    return Row.broken(where, fault, "Write a comma between two fields, and braces in pairs.")


def _row(where: str, entry: Entry, strings: Mapping[str, str]) -> Row:
    values: dict[str, Any] = {}
    size = 0
    for item in entry.fields:
        name = item.key.lower()
        words = _value(item.value, strings, verbatim=name in _VERBATIM or name == "author")
        size += len(words)
        if size > ROW_BYTES:
            raise _TooLongError
        values[name] = _people(words) if name == "author" else words
    venues = [values.pop(name, "") for name in ("journal", "journaltitle", "booktitle")]
    values["venue"] = next(filter(None, venues), "")
    values["year"] = values.get("year") or values.get("date")
    if not values.get("url") and values.get("doi"):
        values["url"] = values["doi"]
    values["key"] = (
        entry.key.strip()
        or values.get("id")
        or values.get("doi")
        or hashed_id(str(values.get("title") or ""), values["year"])
    )
    return Row(where, values | {"type": entry.entry_type})


def _is_value(raw: str) -> bool:
    """Whether a field's value ends where its braces or quotes do: behind a comma that is missing,
    the next field counts as part of it."""
    return all(map(_ends_as_it_begins, _pieces(raw) if "#" in raw else (raw.strip(),)))


def _ends_as_it_begins(piece: str) -> bool:
    if piece[:1] not in ("{", '"'):
        return _NEXT.search(piece) is None
    depth, last = 0, len(piece) - 1
    for mark in _MARKS.finditer(piece, 1):
        if mark[0] == piece[0].replace("{", "}") and depth == 0:
            return mark.start() == last
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
    return True


def _value(raw: str, strings: Mapping[str, str], verbatim: bool = False) -> str:
    """``{A} # macro`` as text: pieces joined, macros looked up, LaTeX decoded.

    Raises:
        _TooLongError: the pieces are longer than ``ROW_BYTES``.
    """
    pieces = []
    for piece in _pieces(raw) if "#" in raw else (raw.strip(),):
        if piece[:1] in ("{", '"') and len(piece) > 1:
            pieces.append(piece[1:-1])
        else:
            pieces.append(strings.get(piece.lower(), piece))
    if sum(map(len, pieces)) > ROW_BYTES:
        raise _TooLongError
    joined = "".join(pieces)
    return joined if verbatim else plain(joined)


def _pieces(raw: str) -> list[str]:
    """``raw`` cut at every ``#`` that stands outside braces and quotes."""
    cuts, depth, quoted = [-1], 0, False
    for at, mark in enumerate(raw):
        if mark == '"' and depth == 0:
            quoted = not quoted
        elif mark in "{}":
            depth += 1 if mark == "{" else -1
        elif mark == "#" and depth == 0 and not quoted:
            cuts.append(at)
    ends = [*cuts[1:], len(raw)]
    return [raw[start + 1 : end].strip() for start, end in zip(cuts, ends, strict=True)]


def _people(names: str) -> list[str]:
    # bibtexparser loses a command that a later name begins with (and \'Etienne).
    names = re.sub(r" and (?=\\)", " and {}", " ".join(names.split()))
    people = split_multiple_persons_names(names)
    return [_person(name) for name in people if name.lower() != "others"]


def _person(name: str) -> str:
    if name.startswith("{") and name.endswith("}"):
        return plain(name)  # an organisation, not a first and a last name
    try:
        return plain(parse_single_name_into_parts(name).merge_first_name_first)
    except InvalidNameError:
        return plain(unbraced(name))
