"""What people choose about rows that cannot be used as they are, and what a check found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from storage.records import FRAGMENT_ROWS

FaultKind = Literal["broken", "empty", "id", "duplicate"]
"""``broken``: cannot be read, or is too long; ``empty``: no text; ``id``: no id; ``duplicate``: the
id of an earlier row, with other content."""
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
        title_as_text: Where a row has no text, its title is the text; with --skip-empty, a row
            without both is left out.
        number_ids: Number rows without id: FILE-1, FILE-2 ... With --ids-from-doi, those without
            DOI.
        ids_from_doi: Where a row has no id, and in place of a BibTeX key, its DOI is the id; rows
            of one DOI are merged.
        duplicates: Of rows with one id and different content, keep the first, merge them (what the
            first lacks comes from the others, and the longest text counts), or rename the later
            ones (ID-2).
        pdf: Of PDFs: a document a paper, which is its abstract, or one a section.
        fill_abstracts: Look up abstracts that are missing by their DOIs, at OpenAlex and Crossref.
    """

    # a name that Python knows; "" to detect it. Likewise `delimiter`, one character.
    encoding: str = ""
    delimiter: str = ""
    skip_broken: bool = False
    skip_empty: bool = False  # after `title_as_text`
    title_as_text: bool = False
    number_ids: bool = False  # after `ids_from_doi`
    ids_from_doi: bool = False
    duplicates: Duplicates = ""
    pdf: PdfParts = "papers"
    fill_abstracts: bool = False
    # the file of what was found by `fill_abstracts` before the import (`doi` and `text`, JSON
    # Lines); "" for none
    abstracts: str = ""

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any] | None) -> Repairs:
        """From a stored request; one from before there were repairs has none of these fields."""
        return cls(**(fields or {}))

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

    @property
    def disk(self) -> int:
        """Bytes that the documents take at most while they are indexed: their own, and as many
        again for those that are being compacted."""
        kept = self.characters * BYTES_PER_CHARACTER
        return kept + kept * min(self.documents, FRAGMENT_ROWS) // max(self.documents, 1)

    @property
    def refused(self) -> tuple[Fault, ...]:
        """Those that refuse the import."""
        return tuple(fault for fault in self.faults if fault.refused)
