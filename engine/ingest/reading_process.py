"""The process that looks at a file before it is imported; see :mod:`engine.ingest.apart`.

A request stands on its standard input, the answer on its standard output, both as JSON. It holds
itself to the memory and time that the request names.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from engine.errors import BadInputError
from engine.ingest.checks import check, examine
from engine.ingest.rows import Row
from engine.ingest.source import Source, open_source, preview
from engine.types.corpora import Preview
from engine.types.lenses import Lens
from engine.types.limits import PREVIEW_DEPTH, PREVIEW_VALUE_CHARS
from engine.types.repairs import CheckReport, Repairs

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


class _OutOfTimeError(Exception):
    """The seconds of the request are over."""


def main() -> None:
    """Read the request, do it, and write what came of it."""
    request = json.load(sys.stdin)
    _hold_to(request["memory"], request["seconds"])
    answer: dict[str, Any]
    place = [""]
    try:
        answer = {"done": asdict(_done(request, place))}
        _take_time(0)
    except BadInputError as error:
        answer = {"refused": [type(error).__name__, error.message, error.remedy]}
    except MemoryError:
        answer = {"over": "memory", "place": place[0]}
    except _OutOfTimeError:
        answer = {"over": "time", "place": place[0]}
    json.dump(answer, sys.stdout)


def _hold_to(memory: int, seconds: float | None) -> None:
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        if seconds:  # where no Python runs that could be interrupted, and nobody waits any more
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 10, int(seconds) + 10))
    if seconds and hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _stop)
        _take_time(seconds)


def _take_time(seconds: float) -> None:
    """Stop after so many seconds; 0 for never."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _stop(*_: object) -> None:
    raise _OutOfTimeError


def _done(request: Mapping[str, Any], place: list[str]) -> Preview | CheckReport:
    """What was asked for.

    Args:
        place: of the latest row is put there.
    """
    lens, repairs = Lens.from_fields(request["lens"]), Repairs(**request["repairs"])
    most = request["max_chars"]
    named = (request["path"], request["source_format"], request["mapping"])
    if request["task"] == "preview":
        return _shown(preview(*named, lens=lens, repairs=repairs, max_chars=most))
    task: Callable[[Source, int], CheckReport] = check if request["task"] == "check" else examine
    source = open_source(*named, lens=lens, repairs=repairs)

    def rows() -> Iterator[Row]:
        for row in source._rows():
            place[0] = row.where
            yield row

    return task(replace(source, _rows=rows), most)


def _shown(whole: Preview) -> Preview:
    """The preview with values that JSON can hold, as much of each as is shown."""
    columns = frozenset(whole.columns)
    rows = [
        {str(name): plain(value) for name, value in row.items() if name in columns}
        for row in whole.rows
    ]
    return replace(whole, rows=tuple(rows))


def plain(value: Any, depth: int = PREVIEW_DEPTH) -> Any:
    """A value as JSON can hold it, cut to ``PREVIEW_VALUE_CHARS`` and to so many levels."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple | Mapping) and not depth:
        return "…"
    if isinstance(value, Mapping):
        first = list(value.items())[:PREVIEW_VALUE_CHARS]
        return {plain(str(name)): plain(item, depth - 1) for name, item in first}
    if isinstance(value, list | tuple):
        return [plain(item, depth - 1) for item in value[:PREVIEW_VALUE_CHARS]]
    text = str(value[:PREVIEW_VALUE_CHARS] if isinstance(value, bytes) else value)
    return text if len(text) <= PREVIEW_VALUE_CHARS else f"{text[:PREVIEW_VALUE_CHARS]}…"


if __name__ == "__main__":
    main()
