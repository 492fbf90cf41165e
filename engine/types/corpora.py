"""Corpora, and the jobs that make them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from engine.types.documents import SourceDocument
from engine.types.jobs import Job
from engine.types.lenses import Aspect, Lens
from engine.types.repairs import NO_REPAIRS, Repairs
from engine.types.sources import CorpusSource, NamedDataset, ServiceQueries


@dataclass(frozen=True, slots=True)
class CorpusInfo:
    """A corpus as ``seedlens corpora`` and the Library page list it."""

    name: str
    documents: int
    expected: int
    state: str
    systems: tuple[str, ...]
    lens: Lens
    encoder: str
    bytes: int
    source: str
    source_format: str
    updated_at: str
    sources: tuple[CorpusSource, ...] = ()  # services on the internet that it has documents from


Phase = Literal["retrieving", "checking", "indexing", "finishing", "mapping", "done"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long job is: ``done`` of ``total`` documents in ``phase`` after ``seconds``."""

    phase: Phase
    done: int
    total: int
    seconds: float
    rate: float = 0.0
    disk: int = 0  # bytes that indexing is going to take, said once before it begins; else 0

    @property
    def share(self) -> float:
        """How far it is, 0 to 1."""
        return min(1.0, self.done / max(1, self.total))

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds to go, None while there is no rate yet."""
        return (self.total - self.done) / self.rate if self.rate > 0 else None


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did."""

    corpus: str
    read: int
    added: int
    updated: int
    unchanged: int
    documents: int
    seconds: float
    # plain sentences about what was corrected, skipped, merged or renamed
    warnings: tuple[str, ...] = ()
    cancelled: bool = False  # it was stopped, and can be resumed
    encoding: str = ""  # what the file was read as, for people; "" where that does not apply
    # field -> documents of which the source lacks it, and that have it from before
    kept: Mapping[str, int] = field(default_factory=dict)

    @property
    def kept_line(self) -> str:
        """`` Kept where the source has none: authors (3), volume (2).``; "" for nothing."""
        fields = sorted(self.kept.items(), key=lambda one: -one[1])
        words = ", ".join(f"{name} ({count:,})" for name, count in fields[:8])
        return f" Kept where the source has none: {words}." if words else ""


@dataclass(frozen=True, slots=True)
class CorpusContents:
    """What is in a corpus, at a glance."""

    titles: tuple[str, ...]  # of its first documents
    years: tuple[int, int] | None  # first and last year, None when no document has one
    undated: int  # documents without a year
    # (aspect, share of the sentences that serve it, 0 to 1), in the lens's order; what is missing
    # to 1 serves none
    shares: tuple[tuple[Aspect, float], ...]
    sampled: int  # how many documents, spread over the corpus, the shares were counted in


@dataclass(frozen=True, slots=True)
class FieldValues:
    """What the documents of a corpus have in one field that filters can name."""

    counts: Mapping[str, int]  # value -> documents that have it, most frequent first
    without: int  # documents that have none


@dataclass(frozen=True, slots=True)
class Preview:
    """The first rows of a source as they are, and how its fields would be read."""

    source_format: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    mapping: Mapping[str, str]
    documents: tuple[SourceDocument, ...]
    problems: tuple[str, ...] = ()
    encoding: str = ""  # name of the encoding in use; "" where that does not apply, as `delimiter`
    delimiter: str = ""


Mapped = Mapping[str, str]
"""Document field -> column of the source: ``{"doc_id": "PMID", "text": "Abstract"}``."""


Rows = Any
"""Documents in memory: a pandas DataFrame, an Arrow table (or what turns into one, such as a
polars DataFrame), or an iterable of mappings ``{column: value}``. The libraries are optional, so
their types are not named."""


def absolute(path: Path | str) -> Path:
    """A path as the process that names it means it: others have another working folder."""
    # Path.expanduser raises when there is no such person; that path does not exist, no more.
    return Path(os.path.abspath(os.path.expanduser(path)))  # noqa: PTH100, PTH111


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """What to import."""

    # a file, a folder, rows in memory, what services on the internet are asked, or a data set of
    # `ir_datasets`
    source: Path | ServiceQueries | NamedDataset | Rows
    name: str
    source_format: str = "auto"
    # document field -> column; an empty column means that the field has none, so that `{"roles":
    # ""}` leaves the sentence roles of the source aside
    mapping: Mapped | None = None
    encoder: str | None = None  # model name or folder; None: the corpus's own, or the embedded one
    # what its sentences are sorted by; None: the corpus's own, or the one for research abstracts.
    # An existing corpus refuses one with other aspects.
    lens: Lens | None = None
    # what to do about rows that cannot be used as they are; of services, theirs is what counts
    repairs: Repairs = NO_REPAIRS
    origin: str = ""  # what the corpus is said to come from; "" for the source itself

    def __post_init__(self) -> None:
        if isinstance(self.source, Path | str):
            object.__setattr__(self, "source", absolute(self.source))


@dataclass(frozen=True, slots=True)
class ImportJob(Job[Progress, ImportReport]):
    """An import in a process of its own; its ``request`` is an :class:`ImportRequest`."""

    # started_at, updated_at: ISO 8601, UTC; of the last (re)start and the last sign of life
    started_at: str = ""
    updated_at: str = ""
    pid: int = 0  # pid, pid_started: its process; 0 and None until that has come up
    pid_started: str | None = None
    host: str = ""  # the machine it was started on; "" in files from before that was noted
