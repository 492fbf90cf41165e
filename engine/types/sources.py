"""What documents come from on the internet: services, what they are asked and what was found, and
data sets by name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.types.limits import QUERY_BYTES, SERVICE_DOCUMENTS

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
    # search words in the service's own syntax; of Zotero the library before them. "" where a
    # service is asked by ids alone.
    words: str = ""
    ids: tuple[str, ...] = ()  # of documents, in the order in which they were given
    limit: int = DEFAULT_DOCUMENTS  # documents at most, from 1 to `SERVICE_DOCUMENTS`
    # those without an abstract are left out; else their title is their text
    with_abstract: bool = False
    since: str = ""  # only what changed since the library had this version; "" for everything

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> ServiceQuery:
        """From what ``dataclasses.asdict`` made of one, and JSON of that."""
        limit = min(SERVICE_DOCUMENTS, max(1, int(fields["limit"])))
        words, ids = str(fields["words"]), tuple(map(str, fields["ids"]))
        with_abstract, since = bool(fields["with_abstract"]), str(fields.get("since", ""))
        return cls(str(fields["service"]), words, ids, limit, with_abstract, since)

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

    @classmethod
    def from_fields(cls, fields: Sequence[Mapping[str, Any]]) -> ServiceQueries:
        """From what ``dataclasses.asdict`` made of its queries; raises as one of those does."""
        return cls(tuple(map(ServiceQuery.from_fields, fields)))

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
    # how many it sent when it was last asked for everything, and what was added since
    documents: int
    updated_at: str  # when it was asked last; ISO 8601, UTC
    # of its library then, where all of that came and it can be asked for changes alone; else ""
    version: str = ""

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
    # what its queries and judgments are taken from, the data set itself or a part of it; "" where
    # it has none
    judged: str
    queries: int | None  # queries, judgments: how many
    judgments: int | None
    is_there: bool  # it was downloaded before
