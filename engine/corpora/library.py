"""The corpora of a home: listing, opening, deleting; :mod:`.library_imports` fills them."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

from engine.config import Settings
from engine.corpora.folders import Trash, store_of, sweep_all
from engine.corpora.importing import can_undo, undo_import
from engine.corpora.indexing import has_classifier
from engine.corpora.library_imports import Imports
from engine.corpora.notes import note_all, noted_sources, rebuild
from engine.corpora.opened import OpenCorpus
from engine.corpora.relens import LensChange, Relens
from engine.corpora.relens import preview as preview_documents
from engine.corpora.scenario_store import has_scenarios, settings_stamp
from engine.corpora.service_imports import sweep_retrieved
from engine.corpora.service_notes import sources_of
from engine.corpora.sharing import generation_of, publish_all, sweep_store, to_search, writing
from engine.corpora.summary import contents_of, is_synthetic, sentences_of
from engine.corpora.uploads import sweep_uploads
from engine.errors import (
    BadInputError,
    CorpusMissingError,
    ModelMissingError,
    StorageError,
    UnknownNameError,
)
from engine.lenses.definitions import SHIPPED, lens_from_fields, lens_from_json, own_lens
from engine.permissions import leads_only, operator_only
from engine.types.callbacks import Tell, tell_nobody
from engine.types.corpora import CorpusContents, CorpusInfo, ImportJob
from engine.types.documents import Document
from engine.types.encoders import EMBEDDED, Encoder, EncoderSpec
from engine.types.lenses import Lens
from engine.types.sources import ServiceQueries
from storage.home import Home, check_corpus_name, suggest_corpus_name
from storage.ledger import Ledger
from storage.records import CorpusRow
from storage.removal import Removal
from storage.scenarios import ScenarioTable
from storage.vectors import DocumentTable

MOST_OPEN = 4
"""Corpora kept open at once; the one used longest ago gives way."""


class Library(Imports):
    """All corpora of one home. Safe to share between threads.

    Attributes:
        lenses: what comes with SeedLens.

    Args:
        systems: names of the systems that every corpus can be searched with.
        prepared: of those that need scenarios.
    """

    lenses = SHIPPED
    check_name = staticmethod(check_corpus_name)
    suggest_name = staticmethod(suggest_corpus_name)
    sentences_of = staticmethod(sentences_of)
    is_synthetic = staticmethod(is_synthetic)

    def __init__(
        self,
        home: Home,
        ledger: Ledger,
        settings: Settings,
        systems: Sequence[str],
        prepared: Sequence[str],
    ) -> None:
        super().__init__(home, ledger, settings)
        self._systems, self._prepared = tuple(systems), tuple(prepared)
        self._trash = Trash(home, ledger)
        self._open: dict[str, OpenCorpus] = {}
        self._loaded: set[str] = set()
        self._sizes: dict[Path, tuple[Hashable, int, int]] = {}
        self._lock = threading.Lock()

    # -- what is there -----------------------------------------------------------------

    def corpora(self) -> list[CorpusInfo]:
        """All corpora of this home, by name; deleted ones are not among them."""
        return list(map(self._info, self._ledger.listed_corpora()))

    def corpus(self, name: str) -> CorpusInfo:
        """One corpus, or UnknownNameError."""
        return self._info(self._row(name))

    def names(self) -> list[str]:
        """Names of the corpora that can be searched."""
        return [row.name for row in self._ledger.corpora() if row.state == "ready"]

    def lens(self, name: str) -> Lens:
        """The lens of a corpus."""
        return lens_from_json(self._row(name).lens)

    @leads_only
    def own_lens(self, fields: Mapping[str, Any]) -> Lens:
        """A lens from what a person wrote into a form; see :mod:`engine.lenses.definitions`."""
        return own_lens(lens_from_fields(fields, "Your lens"))

    def contents(self, name: str) -> CorpusContents:
        """What is in a corpus, at a glance."""
        return contents_of(self.open(name))

    @leads_only
    def sources_to_update(self, name: str) -> ServiceQueries:
        """What the services that a corpus has documents from were asked.

        Raises:
            UnknownNameError: there is no such corpus.
            BadInputError: it came from no service.
        """
        sources = self.corpus(name).sources
        if not sources:
            raise BadInputError(
                f"The corpus '{name}' came from no service.",
                "Import its file again, under the same name, to bring what is new in it.",
            )
        return ServiceQueries(tuple(source.update for source in sources))

    @leads_only
    def update(self, name: str, owner: str = "") -> ImportJob:
        """Bring what is new from the services that a corpus has documents from, in a process of
        its own; raises as :meth:`sources_to_update` and :meth:`start_from_services`."""
        return self.start_from_services(name, self.sources_to_update(name), owner=owner)

    # -- opening -----------------------------------------------------------------------

    def open(self, name: str) -> OpenCorpus:
        """The corpus as it is now; kept open while nobody writes to it."""
        row, remote = to_search(self._home, self._ledger, self._row(name))
        limit = self._settings.resident_megabytes * 2**20
        with self._lock:
            held = self._open.get(name)
            store = store_of(self._home, row)
            is_same = held is not None and (held.table.path, held.table.remote) == (store, remote)
            if held is not None and is_same and held.table.is_newest():
                opened = held
            else:
                try:
                    table, lens = DocumentTable.open(store, remote), lens_from_json(row.lens)
                    spec = EncoderSpec.from_json(row.encoder)
                    bring = partial(self._bring_selection, name, store)
                    shared = bool(row.generation)
                    opened = OpenCorpus(name, table, lens, spec, limit, bring, shared)
                except StorageError as error:
                    self._row(name)  # says so when it was deleted meanwhile
                    if DocumentTable.is_stored(store):
                        raise
                    raise CorpusMissingError(
                        f"The corpus '{name}' has no documents yet.",
                        "Try again when its import has stored some; import it again if none runs.",
                    ) from error
            self._open.pop(name, None)
            self._open[name] = opened  # the latest used goes last
            # One limit for all: the one used longest ago gives way, not the one that is wanted.
            while len(self._open) > MOST_OPEN or self._resident_bytes() > limit:
                self._open.pop(next(iter(self._open)))
            return opened

    def _resident_bytes(self) -> int:
        return sum(opened.resident_bytes for opened in self._open.values())

    def state(self, name: str) -> Hashable:
        """Equal while searches in a corpus find the same: nobody wrote to it or its scenarios."""
        opened = self.open(name)
        path = opened.table.path
        return opened.identity, ScenarioTable.stamp(path), settings_stamp(path)

    def encoder(self, corpus: OpenCorpus) -> Encoder:
        """The model that the corpus was indexed with, or ModelMissingError."""
        encoder = self._own_encoder(corpus.name, corpus.spec)
        self._loaded.add(corpus.spec.source)
        return encoder

    def loaded_encoder(self, corpus: OpenCorpus) -> Encoder | None:
        """:meth:`encoder` where it was asked for before; None where it would take seconds."""
        return self.encoder(corpus) if corpus.spec.source in self._loaded else None

    def embedded(self) -> Encoder:
        """The model that ships with SeedLens."""
        return self._load(EMBEDDED)

    def _own_encoder(self, name: str, spec: EncoderSpec) -> Encoder:
        encoder = self._load(spec.source)
        if encoder.spec.fingerprint != spec.fingerprint:
            raise ModelMissingError(
                f"The model '{spec.source}' is not the one that corpus '{name}' "
                "was indexed with (its weights differ).",
                "Put the old model back, or import the corpus again under a new name.",
            )
        return encoder

    # -- changing the lens -------------------------------------------------------------

    @leads_only
    def set_lens(self, name: str, lens: Lens, on_progress: Tell = tell_nobody) -> bool:
        """Sort a corpus's sentences by another lens; nothing is encoded again.

        Whatever goes wrong leaves the corpus as it was; searches under way go on. False when it
        has that lens already. See :class:`engine.corpora.relens.LensChange`.

        Raises:
            BadInputError: it is still being imported.
            CorpusBusyError: another process is writing to it.
            StorageFullError: there is no room for both.
            ModelMissingError: its model is gone, and the lens has no classifier of its own.
        """
        self._row(name)
        busy, remedy = _busy(name)
        with writing(self._home, self._ledger, name, busy, remedy):
            row = self._row(name)
            if lens_from_json(row.lens) == lens:
                return False
            if row.state != "ready":
                raise BadInputError(
                    f"The import of '{name}' is not finished.", "Finish it, then change the lens."
                )
            LensChange(self._home, self._ledger, self._settings, self._own_encoder).run(
                row, lens, on_progress
            )
        return True

    @leads_only
    def preview_lens(self, name: str, lens: Lens, count: int = 10) -> tuple[Document, ...]:
        """Documents of a corpus, evenly spread over it, with the roles that their sentences would
        have under another lens; nothing is stored.

        Raises:
            UnknownNameError, CorpusMissingError: there is no such corpus, or not any more.
            ModelMissingError: its model is gone, and the lens has no classifier of its own.
        """
        opened = self.open(name)
        every = max(1, len(opened.doc_ids) // count)
        encoder = None if has_classifier(lens) else self.encoder(opened)
        change = Relens(opened.lens, lens, opened.spec, encoder, count)
        return preview_documents(opened.table, opened.doc_ids[::every][:count], change)

    # -- undoing an import -------------------------------------------------------------

    @leads_only
    def can_undo_import(self, name: str) -> bool:
        """Whether the last import into a corpus can be undone: not the first one."""
        return can_undo(self._home, self._row(name))

    @leads_only
    def undo_import(self, name: str) -> int:
        """Take the last import into a corpus back; returns how many documents it holds now.

        Raises:
            BadInputError: there is none, or it was the first one.
            CorpusBusyError: it is being imported into.
        """
        self._row(name)
        self.jobs.check_idle(name)
        with writing(self._home, self._ledger, name, *_busy(name)):
            return undo_import(self._home, self._ledger, self._row(name))

    # -- deleting ----------------------------------------------------------------------

    @leads_only
    def delete(self, name: str) -> None:
        """Take a corpus out; :meth:`restore` brings it back until :meth:`empty_trash`.

        Judgments stay in the ledger.

        Raises:
            CorpusBusyError: it is being imported into, by whomever.
        """
        self._row(name)
        self.jobs.check_idle(name)
        with self._alone(name):
            self._trash.put(self._row(name))
            with self._lock:
                self._open.pop(name, None)

    @leads_only
    def restore(self, name: str) -> None:
        """Undo :meth:`delete`."""
        with self._alone(name):
            row = self._ledger.corpus(name)
            if row is None or not self._trash.holds(row):
                raise UnknownNameError(f"There is no deleted corpus '{name}' to bring back.")
            self._trash.take_back(row)

    @leads_only
    def deleted(self) -> list[str]:
        """Names of corpora that :meth:`restore` can bring back."""
        return [row.name for row in self._ledger.corpora() if self._trash.holds(row)]

    @operator_only
    def empty_trash(self) -> None:
        """Forget deleted corpora, what became of changed ones, old uploads, and what services
        sent for imports that were left, for good.

        Each stays for some time; see :mod:`storage.removal`.
        """
        Removal(self._home).finish()
        self._trash.empty()
        sweep_all(self._home, self._ledger)
        sweep_store(self._home, self._ledger)
        sweep_uploads(self._home, self._sources)
        sweep_retrieved(self._home)

    @operator_only
    def note_corpora(self) -> None:
        """Note beside corpora what they are, and bring those into the store that are here alone;
        see :func:`engine.corpora.notes.note_all` and :func:`engine.corpora.sharing.publish_all`."""
        note_all(self._home, self._ledger)
        publish_all(self._home, self._ledger)

    @operator_only
    def rebuild(self) -> tuple[list[str], list[str]]:
        """See :func:`engine.corpora.notes.rebuild`."""
        return rebuild(self._home, self._ledger)

    def _sources(self) -> set[str]:
        """What corpora were made of, and what imports that can be resumed read."""
        rows = (self._home.located(row.source) for row in self._ledger.corpora())
        jobs = (str(job.request.source) for job in self.jobs.list())
        return {*rows, *jobs, *noted_sources(self._home)}

    # -- inside ------------------------------------------------------------------------

    def _row(self, name: str) -> CorpusRow:
        rows = {row.name: row for row in self._ledger.listed_corpora()}
        if name not in rows:
            known = f"Known: {', '.join(rows)}." if rows else "None is imported yet."
            raise UnknownNameError(f"There is no corpus '{name}'.", known)
        return rows[name]

    def _info(self, row: CorpusRow) -> CorpusInfo:
        path, state = store_of(self._home, row), row.state
        documents, size, prepared = row.documents * bool(row.generation), 0, False
        try:
            if generation := generation_of(self._home, self._ledger, row):
                size, prepared = generation.bytes, generation.has(ScenarioTable.name)
            else:
                (documents, size), prepared = self._size(path), has_scenarios(path)
        except CorpusMissingError:
            pass  # nothing is stored yet
        except StorageError:
            # Its neighbours can still be listed, and it can be deleted; the store may come back.
            state = state if row.generation else "damaged"
        return CorpusInfo(
            name=row.name,
            documents=documents,
            expected=row.expected,
            state=state,
            systems=(*self._systems, *(self._prepared if prepared else ())) if documents else (),
            lens=lens_from_json(row.lens),
            encoder=EncoderSpec.from_json(row.encoder).source,
            bytes=size,
            source=self._home.located(row.source),
            source_format=row.source_format,
            updated_at=row.updated_at.isoformat(timespec="seconds"),
            sources=sources_of(path),
        )

    def _size(self, path: Path) -> tuple[int, int]:
        """Documents and bytes of a stored corpus; counted again when somebody wrote to it."""
        stamp = (DocumentTable.stamp(path), ScenarioTable.stamp(path))
        known = self._sizes.get(path)
        if known is None or known[0] != stamp:
            table = DocumentTable.open(path)
            known = self._sizes[path] = (stamp, table.count(), table.bytes())
        return known[1:]

    def _bring_selection(self, name: str, folder: Path, key: str) -> None:
        if self._home.mirror is not None:
            self._home.mirror.find_selection(name, folder, key)

    def _alone(self, name: str) -> AbstractContextManager[None]:
        return self._ledger.locks.alone(self._home.corpus_lock(name), *_busy(name))


def _busy(name: str) -> tuple[str, str]:
    """The error where somebody writes a corpus, and what to do about it."""
    return (
        f"The corpus '{name}' is being indexed by another process.",
        "Wait until it is done, or cancel it.",
    )
