"""A corpus beside another one: the same documents, their sentence roles estimated.

It is derived from stored vectors, nothing is encoded again, and kept while its source is
unchanged. It answers what the labels that came with the data are worth.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from engine.config import Settings
from engine.corpora.folders import (
    Trash,
    next_store,
    registered,
    store_of,
    superseded,
    sweep,
)
from engine.corpora.importing import build_indexes
from engine.corpora.indexing import has_classifier
from engine.corpora.library import Library
from engine.corpora.notes import register
from engine.corpora.opened import OpenCorpus
from engine.corpora.relens import Relens
from engine.corpora.sharing import writing
from engine.errors import BadInputError, StorageFullError
from engine.types.callbacks import Tell, tell_nobody
from engine.types.corpora import Progress
from storage.files import folder_bytes
from storage.home import NAME_LENGTH, Home
from storage.ledger import Ledger
from storage.records import CorpusRow
from storage.removal import Removal, never_used

SUFFIX = "-without-labels"
FORMAT = "derived"
"""The ``source_format`` of a derived corpus: nothing can be imported in it."""


def unlabelled_name(name: str) -> str:
    """What the corpus derived from ``name`` is called.

    >>> unlabelled_name("csfcube")
    'csfcube-without-labels'
    """
    if len(name) + len(SUFFIX) <= NAME_LENGTH:
        return name + SUFFIX
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: NAME_LENGTH - len(SUFFIX) - 9]}-{digest}{SUFFIX}"


class _WithoutLabels(Relens):
    """Copies a corpus; every sentence's roles are estimated, those that were labelled too."""

    def _labels(self, stored: Sequence[float]) -> tuple[str | None, ...] | None:
        del stored
        return None


@dataclass(frozen=True)
class Unlabelled:
    """Derives corpora without labels within one home."""

    home: Home
    ledger: Ledger
    settings: Settings
    library: Library

    def current(self, name: str) -> str | None:
        """The corpus derived from ``name`` as it is now, or None when it has to be derived."""
        row = self.ledger.listed_corpus(unlabelled_name(name))
        source = _source(self.library.open(name))
        fits = row is not None and row.state == "ready" and row.source == source
        return row.name if row is not None and fits else None

    def derive(self, name: str, tell: Tell = tell_nobody) -> str:
        """The corpus derived from ``name``, made now unless it is there; returns its name.

        Raises:
            UnknownNameError: there is no corpus ``name``.
            BadInputError: a corpus of the derived name exists that was imported.
            CorpusBusyError: another process is deriving it.
            StorageFullError: there is no room for both.
        """
        found = self.current(name)
        if found is not None:
            return found
        derived = unlabelled_name(name)
        busy = f"The corpus '{derived}' is being made by another process."
        with writing(self.home, self.ledger, derived, busy, "Wait until it is done."):
            self._make(self.library.open(name), derived, tell)
        return derived

    def _make(self, source: OpenCorpus, name: str, tell: Tell) -> None:
        known = self.ledger.listed_corpus(name)
        if known is not None and known.source_format != FORMAT:
            raise BadInputError(
                f"A corpus '{name}' exists already and was not derived from '{source.name}'.",
                "Import it under another name; the derived corpus needs this one.",
            )
        if known is not None:
            sweep(self.home, known)
        self._check_space(source)
        folder = self.home.corpus(name) if known is None else next_store(self.home, known)
        if known is None:
            if (deleted := self.ledger.corpus(name)) is not None:
                Trash(self.home, self.ledger).give_up(deleted)
            Removal(self.home).remove(folder, never_used)  # what a run that was killed left
        lens = source.lens
        encoder = None if has_classifier(lens) else self.library.encoder(source)
        copy = _WithoutLabels(lens, lens, source.spec, encoder, self.settings.shard_documents)
        now = datetime.now(UTC)
        row = CorpusRow(
            name=name,
            state="ready",
            source=_source(source),
            source_format=FORMAT,
            lens=registered(lens, folder),
            encoder=source.spec.to_json(),
            documents=len(source),
            expected=len(source),
            created_at=now,
            updated_at=now,
            generation=known.generation if known else "",
        )
        try:
            table = copy.copy(source.table, folder, tell)
            tell(Progress("finishing", len(source), len(source), 0.0))
            build_indexes(table, row, lens, self.settings, timedelta(0))
        except BaseException:
            Removal(self.home).remove(folder, never_used)
            raise
        register(self.home, self.ledger, replace(row, documents=table.count()))
        if known is not None:
            superseded(store_of(self.home, known))

    def _check_space(self, source: OpenCorpus) -> None:
        needed, free = folder_bytes(source.table.path), shutil.disk_usage(self.home.root).free
        if needed > free:
            raise StorageFullError(
                f"A copy without labels needs about {needed / 1e9:.1f} GB; {free / 1e9:.1f} GB "
                f"are free in {self.home.root}.",
                "Free some space, or evaluate with the labels.",
            )


def _source(corpus: OpenCorpus) -> str:
    """What the derived corpus remembers of where it comes from."""
    return f"derived from corpus '{corpus.name}' ({corpus.identity}), labels left aside"
