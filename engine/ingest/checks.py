"""A full pass over a source before anything is written: it is sound, or we say where not."""

from __future__ import annotations

from collections.abc import Iterator

from engine.errors import BadInputError
from engine.ingest.repairs import Refuse, each_once, pass_over, raise_at_once
from engine.ingest.source import Source, no_documents
from engine.ingest.values import Notes
from engine.types.documents import SourceDocument
from engine.types.repairs import CheckReport, Fault, FaultKind, Repairs

_FAULTS: dict[FaultKind, tuple[str, str]] = {
    "broken": ("row cannot be read or is too long", "rows cannot be read or are too long"),
    "empty": ("row has no text", "rows have no text"),
    "id": ("row has no id", "rows have no id"),
    "duplicate": ("row repeats an id with other content", "rows repeat an id with other content"),
}
_SKIP = "leaves such rows out"
_REASONS = 5
"""Sentences that say why no document is left."""


def _options(fault: Fault, repairs: Repairs) -> list[str]:
    """What repairs the refused rows, beyond what was chosen already."""
    title = fault.substitutes and not repairs.title_as_text
    doi = fault.substitutes and not repairs.ids_from_doi
    options: dict[FaultKind, list[str]] = {
        "broken": [f"--skip-broken {_SKIP}"],
        "empty": [f"--skip-empty {_SKIP}"] + ["--title-as-text takes their titles"] * bool(title),
        "id": ["--number-ids numbers such rows"] + ["--ids-from-doi takes their DOIs"] * bool(doi),
        "duplicate": ["--duplicates keep-first, merge or rename decides about them"],
    }
    return options[fault.kind]


def check(source: Source, max_chars: int) -> CheckReport:
    """Read everything once, and refuse a source with a row that cannot be used.

    Args:
        max_chars: characters that a text may have at most.
    """
    first: dict[FaultKind, BadInputError] = {}
    report = _examined(source, max_chars, first.setdefault)
    if first:
        raise _refusal(report.refused, first, source.repairs)
    if not report.documents:
        raise BadInputError(
            f"No document is left of {source.name}. {' '.join(report.warnings[:_REASONS])}",
            "Choose other files or columns, or let something stand in for what rows lack.",
        )
    return report


def examine(source: Source, max_chars: int) -> CheckReport:
    """:func:`check` without an error: rows that nothing was chosen for are counted."""
    return _examined(source, max_chars, pass_over)


def unique_documents(
    source: Source,
    notes: Notes | None = None,
    max_chars: int | None = None,
    refuse: Refuse = raise_at_once,
) -> Iterator[SourceDocument]:
    """The documents of a source, each once; exact repeats are left out and counted in ``notes``."""

    def read(notes: Notes, refuse: Refuse) -> Iterator[SourceDocument]:
        return source.read(notes, max_chars, refuse)

    return each_once(read, source.repairs, notes or Notes(), refuse)


def _examined(source: Source, max_chars: int, refuse: Refuse) -> CheckReport:
    """Keeps two 16-byte digests per document, nothing else."""
    notes = Notes()
    documents = characters = 0
    lacking = {"title", "year", "authors"}
    for document in unique_documents(source, notes, max_chars, refuse):
        documents += 1
        characters += len(document.text)
        lacking -= {field for field in lacking if getattr(document, field)}
    faults = notes.faults()
    if not documents and not faults:
        raise no_documents(source)
    warnings = (*source.encoding_remarks(), *notes.sentences(), *source.other_columns(lacking))
    return CheckReport(documents, characters, warnings, faults, notes.counts["fillable"])


def _refusal(
    refused: tuple[Fault, ...], first: dict[FaultKind, BadInputError], repairs: Repairs
) -> BadInputError:
    faults = sorted(refused, key=lambda fault: list(first).index(fault.kind))
    more = []
    for fault in faults:
        others = " more" if fault is faults[0] else ""
        if count := fault.refused - bool(others):
            more.append(f"{count:,}{others} {_FAULTS[fault.kind][count > 1]}")
    error = first[faults[0].kind]
    message = error.message + (f" {'; '.join(more)}." if more else "")
    options = "; ".join(option for fault in faults for option in _options(fault, repairs))
    return BadInputError(message, f"{error.remedy} Or: {options}.")
