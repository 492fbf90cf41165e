"""Files looked at in a process of their own, whose memory and time are limited.

A file from outside may be made to fill the memory, or to take for ever: that ends the process
(:mod:`engine.ingest.reading_process`), and nobody who uses the app notices.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from engine import errors
from engine.config import ROOT
from engine.errors import BadInputError
from engine.ingest.rows import short
from engine.types.corpora import Mapped, Preview
from engine.types.documents import SourceDocument
from engine.types.lenses import Lens
from engine.types.limits import (
    CHECK_BYTES,
    CHECK_SECONDS,
    MEGABYTE,
    PREVIEW_BYTES,
    PREVIEW_SECONDS,
)
from engine.types.repairs import NO_REPAIRS, CheckReport, Fault, Repairs

log = logging.getLogger("seedlens.ingest")
T = TypeVar("T")

AT_ONCE = 2
"""Processes for previews at the same time, and for checks; the others wait."""
MOST_KEPT = 16
"""Results, and refusals, that are kept."""
_START_SECONDS = 5.0
_ALONE = {
    # Each thread and each allocator of its own would take from the memory that is allowed.
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "PYTHONIOENCODING": "utf-8",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """A file, and how it is to be read; as for :func:`engine.ingest.source.open_source`.

    Attributes:
        max_chars: characters that a text may have at most.
    """

    path: Path
    source_format: str
    mapping: Mapped | None
    lens: Lens
    max_chars: int
    repairs: Repairs = NO_REPAIRS


class Apart:
    """Looks at files, and keeps what it saw for as long as they do not change. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns = {t: threading.BoundedSemaphore(AT_ONCE) for t in ("preview", "examine")}
        self._kept: OrderedDict[Hashable, Preview | CheckReport | BadInputError] = OrderedDict()

    def preview(self, reading: Reading) -> Preview:
        """The first rows as :func:`engine.ingest.source.preview` has them, every value cut.

        Raises:
            BadInputError: as there, or it took more memory or time than is allowed.
        """
        limits = (PREVIEW_BYTES, PREVIEW_SECONDS)
        return self._once("preview", reading, lambda: _preview(_asked("preview", reading, *limits)))

    def examine(self, reading: Reading) -> CheckReport:
        """What :func:`engine.ingest.checks.examine` finds. Raises as :meth:`preview`."""
        limits = (CHECK_BYTES, CHECK_SECONDS)
        return self._once("examine", reading, lambda: _report(_asked("examine", reading, *limits)))

    def _once(self, task: str, reading: Reading, look: Callable[[], T]) -> T:
        key = (task, _key(reading))
        with self._turns[task]:
            with self._lock:
                found: Any = self._kept.get(key)
            if found is None:
                try:
                    found = look()
                except BadInputError as error:
                    found = error
            with self._lock:
                self._kept[key] = found
                self._kept.move_to_end(key)
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
        if isinstance(found, BadInputError):
            raise type(found)(found.message, found.remedy)
        return found  # type: ignore[no-any-return]


def check(reading: Reading) -> CheckReport:
    """What :func:`engine.ingest.checks.check` finds in a file, however long that takes.

    Raises:
        BadInputError: as there, or it took more memory than is allowed.
    """
    return _report(_asked("check", reading, CHECK_BYTES, None))


def _key(reading: Reading) -> Hashable:
    chosen = tuple(sorted((reading.mapping or {}).items()))
    return (*_state(reading.path), reading.source_format, chosen, reading.repairs, reading.lens,
            reading.max_chars)  # fmt: skip


def _state(path: Path) -> Iterator[Hashable]:
    """What changes when a file does, or one in a folder."""
    try:
        for one in (path, *(sorted(path.iterdir()) if path.is_dir() else ())):
            there = one.stat()
            yield str(one), there.st_mtime_ns, there.st_size
    except (OSError, ValueError) as error:  # told by whoever opens it
        yield str(path), str(error)


def _asked(task: str, reading: Reading, memory: int, seconds: float | None) -> Mapping[str, Any]:
    """The answer of a process that looks at a file, with so many bytes and seconds."""
    fields = {"task": task, "memory": memory, "seconds": seconds, **asdict(reading)}
    fields |= {"path": str(reading.path), "mapping": dict(reading.mapping or {})}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "engine.ingest.reading_process"],
            input=json.dumps(fields).encode(),
            capture_output=True,
            timeout=seconds and seconds + _START_SECONDS,
            check=False,
            cwd=ROOT,
            env={**os.environ, **_ALONE},
        )
    except subprocess.TimeoutExpired:
        raise _over(reading, "time", "", memory, seconds) from None
    if done.returncode < 0:  # ended by the system
        raise _over(reading, "memory", "", memory, seconds)
    if done.returncode:
        log.error("Reading %s failed: %s", reading.path, done.stderr.decode(errors="replace"))
        raise RuntimeError(f"Reading {reading.path.name} failed.")
    answer = json.loads(done.stdout)
    if "refused" in answer:
        kind, message, remedy = answer["refused"]
        refusal = getattr(errors, kind, BadInputError)
        raise refusal(message, remedy)
    if "over" in answer:
        raise _over(reading, answer["over"], answer["place"], memory, seconds)
    return answer["done"]  # type: ignore[no-any-return]


def _over(
    reading: Reading, what: str, place: str, memory: int, seconds: float | None
) -> BadInputError:
    """The error for a file that goes beyond its memory or time."""
    place = f", after {short(place)}" if place else ""
    if what == "memory":
        return BadInputError(
            f"{reading.path.name}{place}: reading it takes more than {memory // MEGABYTE:,}"
            " MB of memory.",
            "Leave out columns or values that are very large, or split the file.",
        )
    return BadInputError(
        f"{reading.path.name}{place}: reading it takes longer than {seconds or 0:,.0f} s.",
        "Split the file, or import it on the command line (seedlens import).",
    )


def _preview(fields: Mapping[str, Any]) -> Preview:
    return Preview(
        **{
            **fields,
            "columns": tuple(fields["columns"]),
            "rows": tuple(fields["rows"]),
            "documents": tuple(map(_document, fields["documents"])),
            "problems": tuple(fields["problems"]),
        }
    )


def _document(fields: Mapping[str, Any]) -> SourceDocument:
    sentences, roles = fields["sentences"], fields["roles"]
    return SourceDocument(
        **{
            **fields,
            "sentences": None if sentences is None else tuple((a, b) for a, b in sentences),
            "roles": None if roles is None else tuple(roles),
            "authors": tuple(fields["authors"]),
        }
    )


def _report(fields: Mapping[str, Any]) -> CheckReport:
    faults = tuple(Fault(**{**one, "places": tuple(one["places"])}) for one in fields["faults"])
    return CheckReport(**{**fields, "warnings": tuple(fields["warnings"]), "faults": faults})
