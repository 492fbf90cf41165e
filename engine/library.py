"""What the Library page asks for: files that came in by upload, and what is in a corpus."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path

from engine.config import DEMO, DEMO_CORPUS
from engine.corpus import OpenCorpus
from engine.errors import StorageError
from engine.text.sentences import split_sentences
from engine.types import CorpusContents, CorpusInfo, SourceDocument
from storage.home import Home

TITLES = 8
SAMPLE = 500
NAME_LENGTH = 120
"""Characters of an uploaded file's name that are kept; file systems allow 255 bytes."""


def save_upload(home: Home, name: str, content: bytes) -> Path:
    """Keep an uploaded file under ``uploads/<beginning of its SHA-256>/<its name>``.

    The same content under the same name is stored once.

    Raises:
        StorageError: it could not be written.
    """
    path = home.uploads / hashlib.sha256(content).hexdigest()[:16] / safe_name(name)
    if path.is_file() and path.stat().st_size == len(content):
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        number, beside = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(number, "wb") as handle:
            handle.write(content)
        return Path(beside).replace(path)
    except OSError as error:
        raise StorageError(
            f"The file {name[:80]!r} could not be stored: {error.strerror or error}.",
            f"Free some space in {home.uploads}, or give the path of the file instead.",
        ) from error


def safe_name(name: str) -> str:
    """A file name that leads nowhere else; its ending, which tells the format, is kept.

    >>> safe_name("../../etc/Papers of 2020.CSV")
    'Papers of 2020.CSV'
    >>> safe_name("..")
    'upload'
    """
    last = re.split(r"[/\\]", name)[-1]
    plain = re.sub(r"[^\w .()+-]", "_", last).strip(" .") or "upload"
    stem, ending = os.path.splitext(plain)  # noqa: PTH122 - a name, not a path
    return stem[: NAME_LENGTH - len(ending)] + ending[:NAME_LENGTH]


def sentences_of(document: SourceDocument) -> list[str]:
    """The sentences that a document would be indexed by."""
    spans = document.sentences
    if spans is None:
        spans = split_sentences(document.text)
    return [document.text[start:end] for start, end in spans]


def is_synthetic(info: CorpusInfo) -> bool:
    """True for the invented documents that ship with SeedLens."""
    return info.name == DEMO_CORPUS and Path(info.source).parts[-2:] == DEMO.parts[-2:]


def contents_of(corpus: OpenCorpus) -> CorpusContents:
    """First titles, years, and how the sentences spread over the aspects."""
    years = [year for year in corpus.years if year is not None]
    # Spread evenly: the documents of one source, or of one year, often stand together.
    step = max(1, -(-len(corpus) // SAMPLE))
    sampled = corpus.documents(corpus.doc_ids[::step])
    roles = [sentence.role for document in sampled for sentence in document.sentences]
    return CorpusContents(
        titles=tuple(corpus.titles[:TITLES]),
        years=(min(years), max(years)) if years else None,
        undated=len(corpus) - len(years),
        shares=tuple(
            (aspect, roles.count(i) / len(roles) if roles else 0.0)
            for i, aspect in enumerate(corpus.lens.aspects)
        ),
        sampled=len(sampled),
    )
