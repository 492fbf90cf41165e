"""One judgment as a line of a file: every field of it, and back again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, get_args

from engine.annotate.projects import printable
from engine.errors import BadInputError
from engine.search.queries import LONGEST_INSTRUCTION
from engine.types.annotating import ADJUDICATED, Judgment, Origin, Verdict
from engine.types.documents import Span

FIELDS = (
    "query_id", "doc_id", "relevance", "annotator", "verdict", "note", "marks", "time",
    "seconds", "origin", "rank", "system", "instruction", "blind", "event",
)  # fmt: skip
"""What a line has, in the order of the columns."""
HIGHEST = 10**9
"""Of ranks and seconds; far beyond any."""
LONGEST = LONGEST_INSTRUCTION


def to_fields(judgment: Judgment) -> dict[str, Any]:
    """An event as JSON-ready values."""
    fields = {name: getattr(judgment, name) for name in FIELDS}
    fields["marks"] = [list(span) for span in judgment.marks]
    fields["time"] = judgment.time.isoformat()
    return fields | ({"undoes": judgment.undoes} if judgment.undoes else {})


def to_cells(fields: Mapping[str, Any]) -> dict[str, str]:
    """The fields as a CSV holds them: nothing for None, lists as JSON."""
    return {
        name: "" if value is None else value if isinstance(value, str) else json.dumps(value)
        for name, value in fields.items()
    }


def parsed(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: it is none, or nested deeper than anything that we write.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error


def from_fields(fields: Mapping[str, Any], annotator: str = "") -> Judgment:
    """Read what :func:`to_fields` or :func:`to_cells` made, or a person with the same columns.

    Only query_id, doc_id and relevance must be there, and an annotator unless one is given. A
    judgment without an ``event`` has "" for it; one without a time is of now.

    Args:
        annotator: whose judgment it is where the fields do not say; adjudicated grades are
            nobody's in them.

    Raises:
        BadInputError: a field that cannot be read.
    """
    texts = ("query_id", "doc_id", "annotator", "note", "system", "instruction", "event", "undoes")
    found: dict[str, Any] = {name: _text(fields, name) for name in texts}
    if found["annotator"].strip().casefold() in ("", ADJUDICATED):
        found["annotator"] = annotator or found["annotator"]
    for name in ("event", "undoes", "system", "instruction"):
        if found[name] != printable(found[name]) or len(found[name]) > LONGEST:
            raise BadInputError(f"The {name} is too long or holds control characters.")
    if any("\ud800" <= c <= "\udfff" for c in found["query_id"] + found["doc_id"]):
        raise BadInputError("An id holds half a character.")
    relevance = _number(fields, "relevance", int)
    verdict = _text(fields, "verdict") or ("grade" if relevance is not None else "")
    if not verdict:
        raise BadInputError("There is no relevance.", "Give a grade, or a verdict like 'skip'.")
    # What our own files say is kept; what a person wrote is an import.
    origin = _text(fields, "origin") if found["event"] else "import"
    time = _text(fields, "time")
    if verdict == "undo" and not (found["event"] and found["undoes"] and time):
        raise BadInputError("The undo does not name its event, time and what it takes back.")
    return Judgment(
        relevance=relevance,
        verdict=_one_of(verdict, get_args(Verdict), "verdict"),
        origin=_one_of(origin or "import", get_args(Origin), "origin"),
        marks=_marks(fields.get("marks")),
        time=_time(time) if time else datetime.now(UTC),
        seconds=_number(fields, "seconds", float),
        rank=_number(fields, "rank", int),
        blind=fields.get("blind") in (True, "true", "True", "TRUE"),
        **found,
    )


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is None or isinstance(value, (list, dict)):
        return ""
    return str(value)


def _number(fields: Mapping[str, Any], name: str, kind: type[int] | type[float]) -> Any:
    value = fields.get(name)
    if value is None or value == "":
        return None
    try:
        if isinstance(value, bool) or (kind is int and isinstance(value, float)):
            raise ValueError(value)
        found = kind(value)
        if not 0 <= found <= HIGHEST:  # NaN is not either
            raise ValueError(value)
    except (ValueError, TypeError) as error:
        what = "whole number" if kind is int else "number"
        raise BadInputError(f"The {name} '{value}' is not a {what} from 0 on.") from error
    return found


def _one_of(value: str, allowed: tuple[str, ...], what: str) -> Any:
    if value not in allowed:
        raise BadInputError(f"'{value}' is no {what}.", f"Use {', '.join(allowed)}.")
    return value


def _marks(value: Any) -> tuple[Span, ...]:
    wrong = "The marks are no list of [start, end]."
    try:
        spans = parsed(value) if isinstance(value, str) and value else value or []
        found = tuple((start, end) for start, end in spans)
    except (ValueError, TypeError) as error:
        raise BadInputError(wrong) from error
    if any(type(a) is not int or type(b) is not int or not 0 <= a < b for a, b in found):
        raise BadInputError(wrong)
    return found


def _time(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BadInputError(f"The time '{text}' cannot be read.", "Write ISO 8601.") from error
