"""The corpora of a home: listing, importing, opening, deleting."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from engine.config import DEMO, DEMO_CORPUS, Settings
from engine.corpora.folders import Trash, store_of, sweep_all
from engine.corpora.importing import Importer
from engine.corpora.indexing import has_classifier
from engine.corpora.notes import note_all, rebuild
from engine.corpora.opened import OpenCorpus
from engine.corpora.relens import LensChange, Relens
from engine.corpora.relens import preview as preview_documents
from engine.corpora.scenario_store import has_scenarios, settings_stamp
from engine.corpora.summary import contents_of, is_synthetic, sentences_of
from engine.corpora.uploads import save_upload, sweep_uploads
from engine.errors import (
    BadInputError,
    CorpusMissingError,
    ModelMissingError,
    StorageError,
    UnknownNameError,
)
from engine.ingest import (
    DELIMITERS,
    ENCODINGS,
    FIELDS,
    FORMATS,
)
from engine.ingest.apart import Apart, Reading
from engine.jobs.processes import ImportJobs
from engine.lenses.definitions import (
    RESEARCH,
    SHIPPED,
    choose_lens,
    lens_from_fields,
    lens_from_json,
    own_lens,
)
from engine.permissions import (
    check_lead,
    check_operator,
    check_source,
    leads_only,
    operator_only,
)
from engine.types.callbacks import Ask, Tell, never, tell_nobody
from engine.types.collections import Collection
from engine.types.corpora import (
    CorpusContents,
    CorpusInfo,
    ImportJob,
    ImportReport,
    ImportRequest,
    Mapped,
    Preview,
    Rows,
)
from engine.types.documents import Document
from engine.types.encoders import EMBEDDED, Encoder, EncoderSpec
from engine.types.lenses import Lens
from engine.types.people import ForPerson, Person
from engine.types.repairs import NO_REPAIRS, CheckReport, Repairs
from storage.home import Home, check_corpus_name, suggest_corpus_name
from storage.ledger import Ledger
from storage.locks import alone
from storage.records import CorpusRow
from storage.removal import Removal
from storage.scenarios import ScenarioTable
from storage.vectors import DocumentTable

MOST_OPEN = 4
"""Corpora kept open at once; the one used longest ago gives way."""


class Library(ForPerson):
    """All corpora of one home. Safe to share between threads.

    Attributes:
        jobs: imports that run in processes of their own.
        formats, fields: what can be read, and what columns can be mapped to.
        encodings, delimiters: what people choose from, with what they call it.
        lenses: what comes with SeedLens.

    Args:
        systems: names of the systems that every corpus can be searched with.
        prepared: of those that need scenarios.
    """

    formats = FORMATS
    fields = FIELDS
    encodings = ENCODINGS
    delimiters = DELIMITERS
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
        self.jobs = ImportJobs(home, self._check_import)
        self._systems, self._prepared = tuple(systems), tuple(prepared)
        self._home, self._ledger, self._settings = home, ledger, settings
        self._trash = Trash(home, ledger)
        self._apart = Apart()
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

    @operator_only
    def lens_for(self, name: str, choice: str | None = None) -> Lens:
        """The lens to import ``name`` with.

        Args:
            choice: a shipped lens's key or the path of a lens file; None: the corpus's own, or
                the one for research abstracts when there is no such corpus yet.
        """
        if choice is not None:
            return choose_lens(choice)
        return self._own_lens_of(name)

    def _own_lens_of(self, name: str) -> Lens:
        row = self._ledger.listed_corpus(name)
        return RESEARCH if row is None else lens_from_json(row.lens)

    @leads_only
    def own_lens(self, fields: Mapping[str, Any]) -> Lens:
        """A lens from what a person wrote into a form; see :mod:`engine.lenses.definitions`."""
        return own_lens(lens_from_fields(fields, "Your lens"))

    def contents(self, name: str) -> CorpusContents:
        """What is in a corpus, at a glance."""
        return contents_of(self.open(name))

    # -- importing ---------------------------------------------------------------------

    @leads_only
    def importable(self, path: Path) -> Path:
        """A path, without the links in it, if this person may import from it: the demo and what
        was uploaded is for all leads.

        Raises:
            NotAllowedError: as :func:`engine.permissions.check_source`.
        """
        return self._importable(self.person, path)

    @leads_only
    def preview(
        self,
        path: Path,
        source_format: str = "auto",
        mapping: Mapped | None = None,
        repairs: Repairs = NO_REPAIRS,
    ) -> Preview:
        """The first rows of a source, and how they would be read; see :class:`Apart`.

        Raises:
            BadInputError: as ``Apart.preview``.
            NotAllowedError: this is for no lead, or the path is not one to import from.
        """
        return self._apart.preview(self._reading(path, source_format, mapping, repairs))

    @leads_only
    def examine(
        self,
        path: Path,
        source_format: str = "auto",
        mapping: Mapped | None = None,
        repairs: Repairs = NO_REPAIRS,
    ) -> CheckReport:
        """What importing a whole source would meet; nothing is written. As :meth:`preview`."""
        return self._apart.examine(self._reading(path, source_format, mapping, repairs))

    @leads_only
    def save_upload(self, name: str, content: bytes) -> Path:
        """Keep a file that came in through the browser; returns where it lies."""
        return save_upload(self._home, name, content)

    @leads_only
    def start_import(
        self,
        path: Path,
        name: str,
        source_format: str = "auto",
        mapping: Mapped | None = None,
        lens: Lens | None = None,
        owner: str = "",
        repairs: Repairs = NO_REPAIRS,
    ) -> ImportJob:
        """Import in a process of its own; see :class:`engine.jobs.processes.ImportJobs`.

        Args:
            lens: None for the corpus's own; see :meth:`lens_for`.
            owner: who asks for it.
            repairs: what to do about rows that cannot be used as they are.

        Raises:
            NotAllowedError: this is for no lead, or the path is not one to import from.
        """
        path = self.importable(path)
        chosen = lens or self._own_lens_of(name)
        request = ImportRequest(path, name, source_format, mapping, lens=chosen, repairs=repairs)
        return self.jobs.start(request, owner)

    @leads_only
    def start_demo(self) -> ImportJob:
        """Index the demo corpus in a process of its own."""
        return self.start_import(DEMO, DEMO_CORPUS)

    def demo_job(self) -> ImportJob | None:
        """The latest import of the demo corpus, or None."""
        return next((job for job in self.jobs.list() if job.request.name == DEMO_CORPUS), None)

    @operator_only
    def import_documents(
        self,
        request: ImportRequest,
        on_progress: Tell = tell_nobody,
        cancelled: Ask = never,
    ) -> ImportReport:
        """See :meth:`engine.corpora.importing.Importer.run`."""
        importer = Importer(self._home, self._ledger, self._settings, self._load)
        return importer.run(request, on_progress, cancelled)

    @operator_only
    def import_here(
        self,
        request: ImportRequest,
        on_progress: Tell = tell_nobody,
        cancelled: Ask = never,
        owner: str = "a program",
    ) -> ImportReport:
        """:meth:`import_documents`, which the Library page lists and can cancel while it runs.

        Args:
            owner: what the page calls whoever started it.
        """
        with self.jobs.here(request, owner, on_progress, cancelled) as (tell, ask):
            return self.import_documents(request, tell, ask)

    @operator_only
    def add(
        self,
        name: str,
        rows: Rows,
        *,
        mapping: Mapped | None = None,
        lens: Lens | None = None,
        encoder: str | None = None,
        repairs: Repairs = NO_REPAIRS,
        on_progress: Tell = tell_nobody,
    ) -> ImportReport:
        """Add documents from memory to a corpus, which is made when there is none of that name.

        As importing a file of the same rows does: all are checked before anything is written,
        a document that is there unchanged is left alone, one whose content changed takes the
        place of its former version.

        Args:
            rows: a pandas DataFrame, an Arrow table, or an iterable of dicts, with columns as in
                a file: ``doc_id`` and ``text`` (or ``sentences``), and any others. It is read
                twice, so an iterator is held as a list.
            mapping: document field -> column, on top of what is guessed.
            lens: None for the corpus's own, or the one for research abstracts.
            encoder: model name or folder; None for the corpus's own, or the embedded one.
            repairs: what to do about rows that cannot be used as they are. Numbers count from 1
                (``row-1``) in every call, so rows added later need ids of their own.

        Raises:
            BadInputError: a row cannot be used; it is named by its number, from 1.
            CorpusNameError, CorpusBusyError, StorageFullError: as for a file.
        """
        request = ImportRequest(
            rows, name, mapping=mapping, encoder=encoder, lens=lens, repairs=repairs
        )
        return self.import_here(request, on_progress)

    @operator_only
    def import_collection(
        self,
        collection: Collection,
        on_progress: Tell = tell_nobody,
    ) -> str:
        """Index a test collection's own documents once, under its name; returns that name.

        A corpus of that name that is there already is taken as it is, never added to.
        """
        if collection.documents is None:
            raise BadInputError(
                f"The collection '{collection.name}' has no documents of its own.",
                "Name the corpus that holds them with --corpus.",
            )
        row = self._ledger.corpus(collection.name)
        if row is None or row.state != "ready":
            request = ImportRequest(collection.documents, collection.name, collection.source_format)
            self.import_here(request, on_progress)
        return collection.name

    # -- opening -----------------------------------------------------------------------

    def open(self, name: str) -> OpenCorpus:
        """The corpus as it is now; kept open while nobody writes to it."""
        row = self._row(name)
        limit = self._settings.resident_megabytes * 2**20
        with self._lock:
            held = self._open.get(name)
            store = store_of(self._home, row)
            if held is not None and held.table.path == store and held.table.is_newest():
                opened = held
            else:
                try:
                    table, lens = DocumentTable.open(store), lens_from_json(row.lens)
                    spec = EncoderSpec.from_json(row.encoder)
                    opened = OpenCorpus(name, table, lens, spec, limit)
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
        with self._writing(name):
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
        with self._writing(name):
            self._trash.put(self._row(name))
            with self._lock:
                self._open.pop(name, None)

    @leads_only
    def restore(self, name: str) -> None:
        """Undo :meth:`delete`."""
        with self._writing(name):
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
        """Forget deleted corpora, what became of changed ones and old uploads, for good.

        Each stays for some time; see :mod:`storage.removal`.
        """
        Removal(self._home).finish()
        self._trash.empty()
        sweep_all(self._home, self._ledger)
        sweep_uploads(self._home, self._sources)

    @operator_only
    def note_corpora(self) -> None:
        """See :func:`engine.corpora.notes.note_all`."""
        note_all(self._home, self._ledger)

    @operator_only
    def rebuild(self) -> tuple[list[str], list[str]]:
        """See :func:`engine.corpora.notes.rebuild`."""
        return rebuild(self._home, self._ledger)

    def _sources(self) -> set[str]:
        """What corpora were made of, and what imports that can be resumed read."""
        rows = (self._home.located(row.source) for row in self._ledger.corpora())
        return {*rows, *(str(job.request.source) for job in self.jobs.list())}

    # -- inside ------------------------------------------------------------------------

    def _check_import(self, person: Person, request: ImportRequest) -> None:
        check_lead(person)
        if isinstance(request.source, Path):
            self._importable(person, request.source)
        else:
            check_operator(person)  # rows in memory are a program's

    def _importable(self, person: Person, path: Path) -> Path:
        roots = (self._home.uploads, DEMO, *self._settings.import_roots)
        return check_source(person, path, roots)

    def _reading(
        self, path: Path, source_format: str, mapping: Mapped | None, repairs: Repairs
    ) -> Reading:
        most = self._settings.max_document_chars
        return Reading(self.importable(path), source_format, mapping, RESEARCH, most, repairs)

    def _row(self, name: str) -> CorpusRow:
        rows = {row.name: row for row in self._ledger.listed_corpora()}
        if name not in rows:
            known = f"Known: {', '.join(rows)}." if rows else "None is imported yet."
            raise UnknownNameError(f"There is no corpus '{name}'.", known)
        return rows[name]

    def _info(self, row: CorpusRow) -> CorpusInfo:
        path, state = store_of(self._home, row), row.state
        documents = size = 0
        try:
            documents, size = self._size(path)
        except CorpusMissingError:
            pass  # nothing is stored yet
        except StorageError:
            state = "damaged"  # its neighbours can still be listed, and it can be deleted
        return CorpusInfo(
            name=row.name,
            documents=documents,
            expected=row.expected,
            state=state,
            systems=(*self._systems, *(self._prepared if has_scenarios(path) else ()))
            if documents
            else (),
            lens=lens_from_json(row.lens),
            encoder=EncoderSpec.from_json(row.encoder).source,
            bytes=size,
            source=self._home.located(row.source),
            source_format=row.source_format,
            updated_at=row.updated_at.isoformat(timespec="seconds"),
        )

    def _size(self, path: Path) -> tuple[int, int]:
        """Documents and bytes of a stored corpus; counted again when somebody wrote to it."""
        stamp = (DocumentTable.stamp(path), ScenarioTable.stamp(path))
        known = self._sizes.get(path)
        if known is None or known[0] != stamp:
            table = DocumentTable.open(path)
            known = self._sizes[path] = (stamp, table.count(), table.bytes())
        return known[1:]

    def _load(self, source: str, *, bulk: bool = False) -> Encoder:
        # Imported here: torch and its friends take seconds, and most commands need none.
        from engine.encode.loaders import load_encoder

        return load_encoder(source, threads=self._settings.threads, bulk=bulk)

    def _writing(self, name: str) -> AbstractContextManager[None]:
        return alone(
            self._home.corpus_lock(name),
            f"The corpus '{name}' is being indexed by another process.",
            "Wait until it is done, or cancel it.",
        )
