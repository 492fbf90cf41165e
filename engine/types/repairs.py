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

    Without a choice such a row refuses the whole import. On the command line each field is an
    option: ``skip_empty`` is ``--skip-empty``.

    Attributes:
        encoding: of a text file, a name that Python knows; "" to detect it.
        delimiter: of a CSV or TSV file, one character; "" to detect it.
        skip_broken: leave out rows that cannot be read or are too long.
        skip_empty: leave out rows without text, after ``title_as_text``.
        title_as_text: the title serves where there is no text.
        number_ids: a row without id is called ``FILE-NUMBER``, after ``ids_from_doi``.
        ids_from_doi: the DOI serves where there is no id, and in place of a BibTeX key; rows of
            one DOI are merged unless ``duplicates`` says otherwise.
        fill_abstracts: abstracts of rows without text are looked up by their DOIs, before the
            import.
        abstracts: the file of what was found so (``doi`` and ``text``, JSON Lines); "" for none.
        pdf: what becomes a document of a PDF: the paper with its abstract (``papers``), or the
            abstract and each section (``sections``).
        duplicates: of rows with one id and different content, keep the first, merge them (what
            the first lacks comes from the others, and the longest text counts), or rename the
            later ones (``ID-2``). Rows that are equal are kept once in any case.
    """

    encoding: str = ""
    delimiter: str = ""
    skip_broken: bool = False
    skip_empty: bool = False
    title_as_text: bool = False
    number_ids: bool = False
    ids_from_doi: bool = False
    duplicates: Duplicates = ""
    pdf: PdfParts = "papers"
    fill_abstracts: bool = False
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
    """The rows of a source that have one fault, whether or not it is repaired.

    Attributes:
        rows: how many.
        substitutes: how many of them have what can stand in: a title (``empty``) or a DOI (``id``).
        places: a line about each of the first of them.
        refused: how many of them no choice is made for; any refuses the import.
    """

    kind: FaultKind
    rows: int
    substitutes: int
    places: tuple[str, ...]
    refused: int


BYTES_PER_CHARACTER = 35
"""Disk that an indexed character takes, vectors included; measured on abstracts."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a pass over a whole source found.

    Attributes:
        documents: how many different ones it holds, without refused rows.
        characters: of all their texts.
        warnings: plain sentences about what was corrected or left out.
        faults: one per kind that occurs, in the order of their first rows.
        fillable: rows without text that have a DOI.
    """

    documents: int
    characters: int
    warnings: tuple[str, ...]
    faults: tuple[Fault, ...] = ()
    fillable: int = 0

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
