"""Corpora: where their documents come from, how they are read, and what is there."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from engine.types.documents import SourceDocument
from engine.types.jobs import Job
from engine.types.lenses import Aspect, Lens
from storage.records import FRAGMENT_ROWS

QUERY_BYTES = 200  # of a query where it is named; a whole one may be 50,000 ids

DEFAULT_DOCUMENTS = 1_000  # Documents that a search brings unless another number is asked for
DATASET_PREFIX = "ir:"  # What a source that names a data set begins with


@dataclass(frozen=True, slots=True)
class ServiceInfo:
    """A service that documents can be retrieved from."""

    key: str  # what it is called on the command line, `openalex`
    name: str  # what people call it
    help: str  # what can be asked of it, in a sentence or two
    example: str  # a query that could be typed
    searches: bool = True  # it finds documents by words; others are asked by ids alone


@dataclass(frozen=True, slots=True)
class ServiceQuery:
    """What is asked of a service."""

    service: str  # its key
    words: str = ""  # in the service's syntax; of Zotero the library first; "" with ids alone
    ids: tuple[str, ...] = ()  # of documents, in the order in which they were given
    limit: int = DEFAULT_DOCUMENTS  # documents at most, from 1 to `SERVICE_DOCUMENTS`
    with_abstract: bool = False  # else the title stands in for a missing abstract
    since: str = ""  # only what changed since the library had this version; "" for everything

    @property
    def digest(self) -> str:
        """Names what is asked, whatever is made of it: 16 hex digits."""
        asked = (self.service, self.words, self.ids, *filter(None, [self.since]))
        content = json.dumps(asked).encode()
        return hashlib.sha256(content).hexdigest()[:16]

    def __str__(self) -> str:
        """As it is typed: ``openalex:words``; of many ids and long words the beginning."""
        asked = " ".join(filter(None, (self.words, ",".join(self.ids))))
        text = f"{self.service}:{asked}".encode()
        if len(text) <= QUERY_BYTES:
            return text.decode()
        return text[:QUERY_BYTES].decode(errors="ignore") + " …"


@dataclass(frozen=True, slots=True)
class ServiceQueries:
    """One query or several, whose documents go into one corpus."""

    queries: tuple[ServiceQuery, ...]

    def __str__(self) -> str:
        return "; ".join(map(str, self.queries))


@dataclass(frozen=True, slots=True)
class Found:
    """What a service has for a query, before anything is retrieved."""

    query: ServiceQuery  # as it was read
    total: int | None  # documents in all, as the service says; None where it does not say
    titles: tuple[str, ...]  # of the first of them
    looked_at: int
    without_abstract: int  # how many of the first documents, as many as `looked_at`, have none
    missing: tuple[str, ...] = ()  # ids that do not exist, among the first that were asked for


@dataclass(frozen=True, slots=True)
class CorpusSource:
    """A service that a corpus has documents from."""

    query: ServiceQuery
    name: str  # what people call the service
    documents: int  # at the last full retrieval, and added since
    updated_at: str  # when it was asked last; ISO 8601, UTC
    version: str = ""  # of its library then, to ask for changes alone; else ""

    @property
    def update(self) -> ServiceQuery:
        """What brings what is new there."""
        return replace(self.query, since=self.version)


@dataclass(frozen=True, slots=True)
class NamedDataset:
    """A data set of ``ir_datasets`` by its name there, ``beir/scifact``."""

    name: str

    def __str__(self) -> str:
        return f"{DATASET_PREFIX}{self.name}"


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """What a data set brings, known before it is downloaded."""

    name: str
    documents: int | None  # how many; None where `ir_datasets` does not say, as below
    judged: str  # the data set, or a part of it, with queries and judgments; "" for none
    queries: int | None  # queries, judgments: how many
    judgments: int | None
    is_there: bool  # it was downloaded before


FaultKind = Literal["broken", "empty", "id", "duplicate"]
"""Unreadable or too long; without text; without id; with the id of an earlier row that differs."""
Duplicates = Literal["", "keep-first", "merge", "rename"]
DUPLICATES: tuple[str, ...] = get_args(Duplicates)
PdfParts = Literal["papers", "sections"]
PDF_PARTS: tuple[str, ...] = get_args(PdfParts)


@dataclass(frozen=True, slots=True)
class Repairs:
    """How a source is read, and what becomes of rows that cannot be used as they are.

    Without a choice such a row refuses the whole import. On the command line each field but
    ``abstracts`` is an option. Rows that are equal are kept once in any case.

    Options:
        encoding: utf-8, cp1252, utf-16 ... Default: detected.
        delimiter: Of a CSV or TSV file: ; or , or tab. Default: detected.
        skip_broken: Leave out rows that cannot be read.
        skip_empty: Leave out documents without text.
        title_as_text: Use the title as text where a row has none.
        number_ids: Number rows without id: FILE-1, FILE-2 ... With --ids-from-doi, those without
            DOI.
        ids_from_doi: Use the DOI as id of rows without id, and instead of BibTeX keys.
        duplicates: Rows with one id: keep the first, merge them, or rename later ones (ID-2).
        pdf: Of PDFs: one document per paper (its abstract) or per section.
        fill_abstracts: Look up abstracts that are missing by their DOIs, at OpenAlex and Crossref.
    """

    encoding: str = ""  # a name that Python knows; "" to detect it, likewise `delimiter`
    delimiter: str = ""
    skip_broken: bool = False
    skip_empty: bool = False  # after `title_as_text`
    title_as_text: bool = False
    number_ids: bool = False  # after `ids_from_doi`
    ids_from_doi: bool = False
    duplicates: Duplicates = ""
    pdf: PdfParts = "papers"
    fill_abstracts: bool = False
    abstracts: str = ""  # file of abstracts found before the import (JSON Lines); "" for none

    def skips(self, kind: FaultKind) -> bool:
        """Whether rows with such a fault are left out."""
        return {"broken": self.skip_broken, "empty": self.skip_empty}.get(kind, False)


NO_REPAIRS = Repairs()
"""Whatever cannot be used refuses the import; encoding and delimiter are detected."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The rows of a source that have one fault, whether or not it is repaired."""

    kind: FaultKind
    rows: int  # how many
    substitutes: int  # how many of them have what can stand in: a title (`empty`) or a DOI (`id`)
    places: tuple[str, ...]  # a line about each of the first of them
    refused: int  # how many of them no choice is made for; any refuses the import


BYTES_PER_CHARACTER = 35
"""Disk that an indexed character takes, vectors included; measured on abstracts."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a pass over a whole source found."""

    documents: int  # how many different ones it holds, without refused rows
    characters: int  # of all their texts
    warnings: tuple[str, ...]  # plain sentences about what was corrected or left out
    faults: tuple[Fault, ...] = ()  # one per kind that occurs, in the order of their first rows
    fillable: int = 0  # rows without text that have a DOI
    abstracts: int = 0  # documents whose text is not just their title

    @property
    def disk(self) -> int:
        """Bytes at most while indexing: its documents, and as many again while compacting."""
        kept = self.characters * BYTES_PER_CHARACTER
        return kept + kept * min(self.documents, FRAGMENT_ROWS) // max(self.documents, 1)

    @property
    def refused(self) -> tuple[Fault, ...]:
        """Those that refuse the import."""
        return tuple(fault for fault in self.faults if fault.refused)


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
    title: str = ""  # the name that people see; `name` stays for good


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
    warnings: tuple[str, ...] = ()  # on rows corrected, skipped, merged or renamed
    cancelled: bool = False  # it was stopped, and can be resumed
    encoding: str = ""  # what the file was read as, for people; "" where that does not apply
    kept: Mapping[str, int] = field(default_factory=dict)  # field that lacks -> documents

    @property
    def done(self) -> str:
        """``3 added, 1 updated, 0 unchanged, in 1.2 s. Kept where the source has none: venue (1).
        Read as UTF-8.``"""
        fields = sorted(self.kept.items(), key=lambda one: -one[1])
        kept = ", ".join(f"{name} ({count:,})" for name, count in fields[:8])
        return (
            f"{self.added:,} added, {self.updated:,} updated, {self.unchanged:,} unchanged, "
            f"in {self.seconds:.1f} s."
            + (f" Kept where the source has none: {kept}." if kept else "")
            + (f" Read as {self.encoding}." if self.encoding else "")
        )


@dataclass(frozen=True, slots=True)
class CorpusContents:
    """What is in a corpus, at a glance."""

    titles: tuple[str, ...]  # of its first documents
    years: tuple[int, int] | None  # first and last year, None when no document has one
    undated: int  # documents without a year
    shares: tuple[tuple[Aspect, float], ...]  # of sentences; the rest serves none
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


Rows = Any  # A DataFrame, an Arrow table (or what becomes one), or mappings `{column: value}`


def absolute(path: Path | str) -> Path:
    """A path as the process that names it means it: others have another working folder."""
    # Path.expanduser raises when there is no such person; that path does not exist, no more.
    return Path(os.path.abspath(os.path.expanduser(path)))  # noqa: PTH100, PTH111


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """What to import."""

    # file, folder, rows in memory, services, or an `ir_datasets` data set
    source: Annotated[
        Path | ServiceQueries | NamedDataset | Rows, Field(union_mode="left_to_right")
    ]
    name: str
    source_format: str = "auto"
    # document field -> column; "" for none, so that {"roles": ""} ignores given roles
    mapping: Mapped | None = None
    encoder: str | None = None  # model name or folder; None: the corpus's own, or the embedded one
    lens: Lens | None = None  # of the sentences; None: that of the corpus, or for abstracts
    repairs: Repairs = NO_REPAIRS  # of services, their own count
    origin: str = ""  # what the corpus is said to come from; "" for the source itself

    def __post_init__(self) -> None:
        if isinstance(self.source, Path | str):
            object.__setattr__(self, "source", absolute(self.source))


@dataclass(frozen=True, slots=True)
class ImportJob(Job[Progress, ImportReport]):
    """An import in a process of its own."""

    request: ImportRequest
    progress: Progress
    report: ImportReport | None = None
    started_at: str = ""  # of the last (re)start; ISO 8601, UTC
    machine: str = ""
    pid: int = 0  # its process; 0 until it was started
