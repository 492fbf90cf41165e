"""JSON Lines: one JSON object a line. Row numbers are line numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from engine.errors import BadInputError
from engine.ingest.rows import Row, spread_metadata, text_lines

_REMEDY = "Write one JSON object per line."
_KINDS = {list: "a list", str: "a string", int: "a number", float: "a number", bool: "a boolean"}


def rows(path: Path) -> Iterator[Row]:
    """One row per line that is not blank; a broken line is a row with a problem."""
    for number, line in text_lines(path):
        if line.strip():
            yield _row(f"{path.name}, row {number}", line)


def _row(where: str, line: str) -> Row:
    try:
        value = json.loads(line.rstrip("\r\n"))
    except json.JSONDecodeError as e:
        message = f"{where}: broken JSON at character {e.pos + 1}: {e.msg}."
        return Row(where, problem=_caused(BadInputError(message, _REMEDY), e))
    except (ValueError, RecursionError) as e:
        message = f"{where}: JSON that cannot be read: {e}."
        return Row(where, problem=_caused(BadInputError(message, _REMEDY), e))
    if not isinstance(value, dict):
        kind = _KINDS.get(type(value), "null")
        problem = BadInputError(f"{where}: expected a JSON object, found {kind}.", _REMEDY)
        return Row(where, problem=problem)
    return Row(where, spread_metadata(value))


def _caused(error: BadInputError, cause: Exception) -> BadInputError:
    # The error is raised later, by whoever is strict; it keeps its cause until then.
    error.__cause__ = cause
    return error
