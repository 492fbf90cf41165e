"""JSON Lines: one JSON object a line. Row numbers are line numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator

from engine.ingest.rows import InputFile, Row, spread_metadata, too_long

_REMEDY = "Write one JSON object per line."
_KINDS = {list: "a list", str: "a string", int: "a number", float: "a number", bool: "a boolean"}


def rows(file: InputFile) -> Iterator[Row]:
    """One row per line that is not blank; a broken line is a row with a problem."""
    for number, line in file.short_lines():
        where = f"{file.name}, row {number}"
        if line is None:
            yield too_long(where)
        elif line.strip():
            yield _row(where, line)


def _row(where: str, line: str) -> Row:
    try:
        value = json.loads(line.rstrip("\r\n"))
    except json.JSONDecodeError as e:
        return Row.broken(where, f"broken JSON at character {e.pos + 1}: {e.msg}.", _REMEDY, e)
    except (ValueError, RecursionError) as e:
        return Row.broken(where, f"JSON that cannot be read: {e}.", _REMEDY, e)
    if not isinstance(value, dict):
        kind = _KINDS.get(type(value), "null")
        return Row.broken(where, f"expected a JSON object, found {kind}.", _REMEDY)
    return Row(where, spread_metadata(value))
