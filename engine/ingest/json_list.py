"""JSON that is one list of objects, such as the CSL-JSON that Zotero and other programs export, or
an object with one, as services answer.

Columns are the objects' own names. Dates of CSL become plain; ``issued`` is the column ``year``,
``container-title`` the column ``venue``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from engine.errors import BadInputError
from engine.ingest.encodings import text_pieces
from engine.ingest.records import LISTS, plain_record
from engine.ingest.rows import InputFile, Row, too_long
from engine.types.limits import ROW_BYTES

_BETWEEN = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder()
_LIST = re.compile(rf'"(?:{"|".join(LISTS)})"\s*:\s*(?=\[\s*\{{)')
_CUT = 12  # Characters before the end of a piece in which a value that goes on there looks broken
_REMEDY = "Write one list of JSON objects: [{...}, {...}]."


def rows(file: InputFile) -> Iterator[Row]:
    """One row per object, of which one at a time is held in memory; one that is too long, or that
    the file ends in, is a row with a problem, and so is what stands behind the list.
    """
    text = _Text(text_pieces(file.path, file.encoding))
    within = text.next_sign() == "{"
    if not (text.find(_LIST) if within else text.next_sign() == "["):
        raise BadInputError(f"{file.name} is no list of JSON objects.", _REMEDY)
    text.at += 1
    number = 0
    while (sign := text.next_sign()) != "]":
        number += 1
        where = f"{file.name}, row {number}"
        if not sign:
            yield Row.broken(where, "the file ends before the list does.", _REMEDY)
            return
        yield _row(where, text.value(where))
    text.at += 1
    if text.next_sign() and not within:
        where = f"{file.name}, row {number + 1}"
        yield Row.broken(where, "there is more behind the end of the list.", _REMEDY)


class _Text:
    """The text of a file as far as it was read, and the place in it."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self._pieces, self._text, self.at = pieces, "", 0

    def next_sign(self) -> str:
        """Go on to the next character that is neither blank nor comma; "" at the end."""
        while True:
            found = _BETWEEN.match(self._text, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self._text) or not self._read_on():
                return self._text[self.at : self.at + 1]

    def find(self, pattern: re.Pattern[str]) -> bool:
        """Go on to the end of what matches, which is not far from the beginning."""
        while not (found := pattern.search(self._text)):
            if len(self._text) > ROW_BYTES or not self._read_on():
                return False
        self.at = found.end()
        return True

    def value(self, where: str) -> Any:
        """The value that begins here; a BadInputError, not raised, where it is too long or the
        file ends in it."""
        while True:
            try:
                begin = self.at
                value, self.at = _DECODER.raw_decode(self._text, begin)
                return value if self.at - begin <= ROW_BYTES else too_long(where).problem
            except json.JSONDecodeError as error:
                fault = f"broken JSON ({error.msg})."
                goes_on = error.pos >= len(self._text) - _CUT or "Unterminated" in error.msg
                if len(self._text) - self.at > ROW_BYTES:
                    raise too_long(where).problem or error from error
                if not goes_on:
                    raise BadInputError(f"{where}: {fault}", _REMEDY) from error
                if not self._read_on():
                    self.at = len(self._text)
                    return BadInputError(f"{where}: {fault}", _REMEDY)
            except (ValueError, RecursionError) as error:
                fault = f"JSON that cannot be read: {error}."
                raise BadInputError(f"{where}: {fault}", _REMEDY) from error

    def _read_on(self) -> bool:
        """Read as much again as is left, so that a long object is tried a few times only; False
        at the end of the file."""
        left = self._text[self.at :]
        pieces, wanted = [left], max(1, len(left))
        while wanted > 0 and (piece := next(self._pieces, "")):
            pieces.append(piece)
            wanted -= len(piece)
        self._text, self.at = "".join(pieces), 0
        return len(pieces) > 1


def _row(where: str, value: Any) -> Row:
    if isinstance(value, BadInputError):
        return Row(where, problem=value)
    if not isinstance(value, Mapping):
        return Row.broken(where, "expected a JSON object.", _REMEDY)
    values = {name: _date(value) for name, value in plain_record(value).items()}
    if "issued" in values:
        values.setdefault("year", values.pop("issued"))
    if isinstance(values.get("container-title"), str):
        values.setdefault("venue", values.pop("container-title"))
    return Row(where, values)


def _date(value: Any) -> Any:
    """A CSL date, ``{"date-parts": [[2020, 3]]}`` or in words, as "2020-03"; all else as it is."""
    match value:
        case {"date-parts": [[*parts], *_]}:
            return "-".join(str(part).zfill(2) for part in parts)
        case {"literal": str(words)} | {"raw": str(words)}:
            return words
    return value
