"""A full pass over a source before anything is written: it is sound, or we say where not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

from engine.errors import BadInputError
from engine.ingest.source import Source, no_documents
from engine.ingest.values import Notes
from engine.types.documents import SourceDocument


@dataclass(frozen=True, slots=True)
class CheckReport:
    """A source without faults.

    Attributes:
        documents: how many different ones it holds.
        characters: of all their texts.
        warnings: plain sentences about what was corrected.
    """

    documents: int
    characters: int
    warnings: tuple[str, ...]


def check(source: Source, max_chars: int) -> CheckReport:
    """Read everything once; keeps two 16-byte digests per document, nothing else.

    Args:
        max_chars: characters that a text may have at most.

    Raises:
        BadInputError: at the first bad row (broken, without id or text, too long, an id
            with two different contents), or when there is no row.
    """
    notes = Notes()
    documents = characters = 0
    for document in unique_documents(source, notes):
        if len(document.text) > max_chars:
            raise BadInputError(
                f"{document.where}: the text has {len(document.text)} characters,"
                f" more than the {max_chars} allowed.",
                "Split it into several documents, or raise SEEDLENS_MAX_DOCUMENT_CHARS.",
            )
        documents += 1
        characters += len(document.text)
    if not documents:
        raise no_documents(source)
    return CheckReport(documents, characters, notes.sentences())


def unique_documents(source: Source, notes: Notes | None = None) -> Iterator[SourceDocument]:
    """The documents of a source, each once: exact repeats are skipped and counted in ``notes``.

    Raises:
        BadInputError: as ``Source.read``, and when an id comes again with other content.
    """
    notes = notes if notes is not None else Notes()
    seen: dict[bytes, bytes] = {}
    for document in source.read(notes):
        key = hashlib.blake2b(document.doc_id.encode(), digest_size=16).digest()
        content = bytes.fromhex(content_hash(document))
        before = seen.setdefault(key, content)
        if before is content:
            yield document
        elif before == content:
            notes.add({"duplicates"})
        else:
            raise _conflict(source, document)


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


def _conflict(source: Source, document: SourceDocument) -> BadInputError:
    # Where the first one stands is looked up only now: remembering all rows would cost memory.
    first = next((d.where for d in source.read() if d.doc_id == document.doc_id), "")
    return BadInputError(
        f"{document.where}: the id {document.doc_id[:80]!r} is taken by {first},"
        " with different content.",
        "Give every document an id of its own, or remove one of the two.",
    )
