"""Trails: what was searched one after another, what was kept, and the forms it is exported in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from engine.types.documents import Document


@dataclass(frozen=True, slots=True)
class KeptDocument:
    """A document of a reading list, with the corpus it comes from and the reader's note."""

    corpus: str
    document: Document
    note: str = ""


@dataclass(frozen=True, slots=True)
class TrailInfo:
    """A trail in the list of trails."""

    trail_id: str
    name: str  # "" until somebody gives one
    seeds: tuple[str, ...]  # titles of its seeds in order, each once
    searches: int  # how many
    kept: int  # number of documents in its reading list
    time: datetime  # of its latest search, in UTC


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A search under a name; ``link`` is the query part of its address on Explore."""

    name: str
    link: str


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A form in which a trail is exported."""

    label: str  # what people read
    suffix: str  # of the file
    mime: str = "text/plain"  # media type of the file


CITATION_STYLES = {
    "apa": "APA, 7th edition",
    "chicago": "Chicago, author-date",
    "ieee": "IEEE",
    "acm": "ACM",
    "harvard": "Harvard (Cite Them Right)",
    "mla": "MLA, 9th edition",
    "nature": "Nature",
}
EXPORT_FORMATS = {
    "bibtex": ExportFormat("BibTeX", "bib", "application/x-bibtex"),
    "ris": ExportFormat("RIS", "ris", "application/x-research-info-systems"),
    "csl-json": ExportFormat("CSL-JSON", "json", "application/json"),
    **{key: ExportFormat(f"Citations: {name}", "txt") for key, name in CITATION_STYLES.items()},
    **{
        f"{key}-html": ExportFormat(f"Citations with italics: {name}", "html", "text/html")
        for key, name in CITATION_STYLES.items()
    },
    "markdown": ExportFormat("Markdown, with the searches", "md", "text/markdown"),
    "jsonl": ExportFormat("JSONL, with the searches", "jsonl", "application/jsonl"),
}
"""Name, as on the command line -> what it is."""
DOCUMENT_FORMATS = (
    "jsonl",
    "csv",
    *(name for name in EXPORT_FORMATS if name not in ("jsonl", "markdown")),
)
"""Forms in which documents of a corpus are exported."""
