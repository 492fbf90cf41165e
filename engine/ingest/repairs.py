"""Between rows and documents: what was chosen about rows that cannot be used as they are."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from engine.bibliographic import doi_of
from engine.errors import BadInputError
from engine.ingest.builder import Builder
from engine.ingest.rows import Row, RowError, short
from engine.ingest.values import Notes
from engine.types.corpora import DUPLICATES, PDF_PARTS, FaultKind, Repairs
from engine.types.documents import SourceDocument
from engine.types.limits import AUTHORS_CHARS, DOCUMENT_FIELDS, ID_CHARS, TITLE_CHARS

Refuse = Callable[[FaultKind, BadInputError], object]
"""Called with a row that nothing was chosen for; it raises, or the row is left out."""


def raise_at_once(_: FaultKind, error: BadInputError) -> None:
    """A :data:`Refuse` that ends the reading at the first fault."""
    raise error


def pass_over(_: FaultKind, __: BadInputError) -> None:
    """A :data:`Refuse` that leaves such rows out."""


def checked(repairs: Repairs) -> Repairs:
    """The repairs, or BadInputError where one of them is none."""
    if repairs.duplicates not in DUPLICATES:
        raise BadInputError(
            f"Duplicates cannot be {repairs.duplicates!r}.",
            f"Choose one of {', '.join(filter(None, DUPLICATES))}.",
        )
    if repairs.pdf not in PDF_PARTS:
        raise BadInputError(
            f"PDFs cannot be read as {repairs.pdf!r}.", f"Choose one of {', '.join(PDF_PARTS)}."
        )
    if len(repairs.delimiter) > 1 or repairs.delimiter in ("\r", "\n", '"'):
        raise BadInputError(
            f"{repairs.delimiter!r} is no delimiter.", "Give one character, such as ; or a tab."
        )
    return repairs


def documents(
    rows: Iterable[Row],
    builder: Builder,
    notes: Notes,
    refuse: Refuse,
    max_chars: int | None,
    first: int = 1,
) -> Iterator[SourceDocument]:
    """The documents of rows, in their order, repeated ones included; one at a time."""
    for number, row in enumerate(rows, start=first):
        try:
            document = builder.build(row, number, notes)
            _check_length(document, max_chars)
            yield document
        except BadInputError as error:
            fault: FaultKind = error.kind if isinstance(error, RowError) else "broken"
            if fault == "broken":
                notes.found(fault, short(row.where) + error.message.removeprefix(row.where))
            if builder.repairs.skips(fault):
                notes.left_out(fault, row.where, error, file=builder.source_format.files)
            else:
                notes.refused(fault)
                refuse(fault, error)


def _check_length(document: SourceDocument, max_chars: int | None) -> None:
    for field, words, most in (
        ("title", document.title, TITLE_CHARS),
        ("id", document.doc_id, ID_CHARS),
        ("list of authors", "; ".join(document.authors), AUTHORS_CHARS),
    ):
        if len(words) > most:
            raise BadInputError(
                f"{document.where}: the {field} has {len(words):,} characters,"
                f" more than the {most:,} allowed.",
                f"Shorten it, or choose the column that holds the {field}.",
            )
    if len(document.metadata) > DOCUMENT_FIELDS:
        raise BadInputError(
            f"{document.where}: {len(document.metadata):,} fields beside title and text,"
            f" more than the {DOCUMENT_FIELDS:,} allowed.",
            "Leave out columns that are not needed.",
        )
    if max_chars is not None and len(document.text) > max_chars:
        raise BadInputError(
            f"{document.where}: the text has {len(document.text)} characters,"
            f" more than the {max_chars} allowed.",
            "Split it into several documents, or raise SEEDLENS_MAX_DOCUMENT_CHARS.",
        )


Read = Callable[[Notes, Refuse], Iterator[SourceDocument]]  # Reads a source from its beginning


def each_once(
    read: Read, repairs: Repairs, notes: Notes, refuse: Refuse
) -> Iterator[SourceDocument]:
    """Documents, each once: repeats are left out, merged or renamed, and counted in ``notes``.

    Keeps two 16-byte digests per document; where documents are merged, also those that wait for
    their last part, which takes a second reading. Where ids are DOIs, rows of one DOI are merged.
    """
    by_doi = repairs.ids_from_doi and not repairs.duplicates
    if repairs.duplicates == "merge":
        yield from _merged(read, notes, refuse)
        return
    ids: set[bytes] = set()
    contents: set[bytes] = set()
    for document in _merged(read, notes, refuse, doi_of) if by_doi else read(notes, refuse):
        content = bytes.fromhex(content_hash(document))
        if content in contents:
            notes.add({"duplicates"})
            continue
        contents.add(content)
        if (key := id_digest(document.doc_id)) not in ids:
            ids.add(key)
            yield document
            continue
        notes.found("duplicate", f"{short(document.where)}: id {document.doc_id[:80]} again")
        if repairs.duplicates == "rename":
            document = replace(document, doc_id=_free(document.doc_id, ids))
            ids.add(id_digest(document.doc_id))
            notes.add({"renamed"}, f"{document.where} → {document.doc_id[:80]}")
            yield document
        elif repairs.duplicates == "keep-first":
            notes.add({"kept_first"}, document.where)
        else:
            notes.refused("duplicate")
            refuse("duplicate", _conflict(read, document))


def _merged(
    read: Read, notes: Notes, refuse: Refuse, wanted: Callable[[str], object] = bool
) -> Iterator[SourceDocument]:
    """Documents of which those with one id that is ``wanted`` are joined."""
    ids = (document.doc_id for document in read(Notes(), pass_over))
    times = Counter(id_digest(doc_id) for doc_id in ids if wanted(doc_id))
    left = {key: count for key, count in times.items() if count > 1}
    del times
    held: dict[bytes, SourceDocument] = {}
    contents: set[str] = set()
    for document in read(notes, refuse):
        key = id_digest(document.doc_id)
        if key not in left:
            yield document
            continue
        content = content_hash(document)
        if content in contents:
            notes.add({"duplicates"})
        elif key in held:
            notes.found("duplicate", f"{short(document.where)}: id {document.doc_id[:80]} again")
            notes.add({"merged"}, document.where)
            held[key] = _joined(held[key], document)
        else:
            held[key] = document
        contents.add(content)
        left[key] -= 1
        if not left[key]:
            yield held.pop(key)


def _joined(first: SourceDocument, other: SourceDocument) -> SourceDocument:
    """One document of two: what the first lacks, and the longer text with its sentences."""
    longer = other if len(other.text) > len(first.text) else first
    return replace(
        first,
        title=first.title or other.title,
        text=longer.text,
        sentences=longer.sentences,
        roles=longer.roles,
        year=other.year if first.year is None else first.year,
        authors=first.authors or other.authors,
        url=first.url or other.url,
        metadata={**other.metadata, **first.metadata},
    )


def _free(doc_id: str, ids: set[bytes]) -> str:
    number = 2
    while id_digest(f"{doc_id}-{number}") in ids:
        number += 1
    return f"{doc_id}-{number}"


def id_digest(doc_id: str) -> bytes:
    """16 bytes that stand for an id."""
    return hashlib.blake2b(doc_id.encode(), digest_size=16).digest()


def _conflict(read: Read, document: SourceDocument) -> BadInputError:
    # Where the first one stands is looked up only now: remembering all rows would cost memory.
    same = (d.where for d in read(Notes(), pass_over) if d.doc_id == document.doc_id)
    return BadInputError(
        f"{document.where}: the id {document.doc_id[:80]!r} is taken by {next(same, '')},"
        " with different content.",
        "Give every document a different id, or remove one of the two.",
    )


def content_hash(document: SourceDocument) -> str:
    """32 hex digits (BLAKE2b, 128 bits) over everything that is indexed.

    Equal for equal documents wherever they stand: ``where`` is not part of it.
    """
    content = {
        "doc_id": document.doc_id,
        "title": document.title,
        "text": document.text,
        "sentences": document.sentences,
        "roles": document.roles,
        "year": document.year,
        "authors": document.authors,
        "url": document.url,
        "metadata": dict(document.metadata),
    }
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()
