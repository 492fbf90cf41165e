"""Files looked at in another process (:mod:`engine.ingest.isolated`) before they are imported."""

from __future__ import annotations

import json
import pickle
from collections.abc import Hashable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from engine.errors import BadInputError
from engine.ingest import source as sources
from engine.ingest.isolated import OutOfTimeError, isolated
from engine.types.corpora import CheckReport, ImportRequest, Preview
from engine.types.lenses import Lens
from engine.types.limits import CHECK_BYTES, CHECK_SECONDS, MEGABYTE, PREVIEW_BYTES, PREVIEW_SECONDS

CELL_CHARS = 300  # of longer values the beginning is shown
MOST_KEPT = 16  # Results that are kept while their files do not change


def preview(request: ImportRequest, max_chars: int) -> Preview:
    """The first rows as :func:`engine.ingest.source.preview` has them, every value as text."""
    return cast("Preview", _looked_at("preview", request, max_chars))


def examine(request: ImportRequest, max_chars: int) -> CheckReport:
    """What :func:`engine.ingest.source.examine` finds."""
    return cast("CheckReport", _looked_at("examine", request, max_chars))


def check(request: ImportRequest, max_chars: int) -> CheckReport:
    """What :func:`engine.ingest.source.check` finds in a file, however long that takes."""
    return cast("CheckReport", _found("check", request, max_chars, CHECK_BYTES, None))


def _looked_at(task: str, request: ImportRequest, max_chars: int) -> Any:
    found = _kept(task, pickle.dumps(request), max_chars, _state(Path(str(request.source))))
    if isinstance(found, BadInputError):
        raise type(found)(found.message, found.remedy)
    return found


@lru_cache(MOST_KEPT)
def _kept(task: str, request: bytes, max_chars: int, _: Hashable) -> Any:
    limits = (PREVIEW_BYTES, PREVIEW_SECONDS) if task == "preview" else (CHECK_BYTES, CHECK_SECONDS)
    try:
        return _found(task, pickle.loads(request), max_chars, *limits)  # noqa: S301 - our own
    except BadInputError as error:  # kept too: a file that takes too long is read once
        return error


def _state(path: Path) -> Hashable:
    """What changes when a file does, or one in a folder."""
    try:
        files = (path, *(sorted(path.iterdir()) if path.is_dir() else ()))
        return tuple((str(f), f.stat().st_mtime_ns, f.stat().st_size) for f in files)
    except (OSError, ValueError) as error:  # reported when it is opened
        return str(error)


def _found(
    task: str, request: ImportRequest, max_chars: int, memory: int, seconds: float | None
) -> Any:
    megabytes, name = memory // MEGABYTE, Path(str(request.source)).name
    try:
        return isolated(_look, task, request, max_chars, seconds=seconds, megabytes=megabytes)
    except MemoryError:
        raise BadInputError(
            f"{name}: reading it takes more than {megabytes:,} MB of memory.",
            "Leave out columns or values that are very large, or split the file.",
        ) from None
    except OutOfTimeError:
        raise BadInputError(
            f"{name}: reading it takes longer than {seconds or 0:,.0f} s.",
            "Split the file, or import it on the command line (seedlens import).",
        ) from None


# -- in the process ---------------------------------------------------------------------------


def _look(task: str, request: ImportRequest, max_chars: int) -> Preview | CheckReport:
    chosen = (Path(str(request.source)), request.source_format, request.mapping)
    lens, repairs = cast("Lens", request.lens), request.repairs  # a lens is always chosen
    if task == "preview":
        whole = sources.preview(*chosen, lens=lens, repairs=repairs, max_chars=max_chars)
        rows = (
            {str(name): cell(value) for name, value in row.items() if name in whole.columns}
            for row in whole.rows
        )
        return replace(whole, rows=tuple(rows))
    source = sources.open_source(*chosen, lens=lens, repairs=repairs)
    return (sources.check if task == "check" else sources.examine)(source, max_chars)


def cell(value: Any) -> str:
    """A value as text, lists and objects as JSON; of a long one the beginning."""
    if value is None:
        return ""
    try:
        text = (
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        )
    except (ValueError, RecursionError):
        text = "…"
    return text if len(text) <= CELL_CHARS else f"{text[:CELL_CHARS]} …"
