"""The corpora of a home: listing, importing, opening, deleting."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from engine.callbacks import Ask, Tell, never, tell_nobody
from engine.collections import Collection
from engine.config import DEMO, DEMO_CORPUS, Settings
from engine.contents import contents_of, is_synthetic, sentences_of
from engine.corpus import OpenCorpus
from engine.encode.protocols import Encoder, EncoderSpec
from engine.errors import (
    BadInputError,
    CorpusBusyError,
    CorpusMissingError,
    ModelMissingError,
    StorageError,
    UnknownNameError,
)
from engine.importing import Importer, ImportRequest
from engine.ingest import FIELDS, FORMATS, preview
from engine.jobs import Jobs
from engine.lenses import lens_from_json
from engine.retrieve import SYSTEMS
from engine.types import CorpusContents, CorpusInfo, ImportReport, Job, Lens, Mapped, Preview
from engine.uploads import save_upload
from storage.home import Home, check_corpus_name, suggest_corpus_name
from storage.ledger import Ledger
from storage.records import CorpusRow
from storage.vectors import DocumentTable

MOST_OPEN = 4
"""Corpora kept open at once; the one used longest ago gives way."""


class Library:
    """All corpora of one home. Safe to share between threads.

    Attributes:
        jobs: imports that run in processes of their own.
        formats, fields: what can be read, and what columns can be mapped to.
    """

    formats = FORMATS
    fields = FIELDS
    check_name = staticmethod(check_corpus_name)
    suggest_name = staticmethod(suggest_corpus_name)
    sentences_of = staticmethod(sentences_of)
    is_synthetic = staticmethod(is_synthetic)

    def __init__(self, home: Home, ledger: Ledger, settings: Settings) -> None:
        self.jobs = Jobs(home)
        self._home, self._ledger, self._settings = home, ledger, settings
        self._open: dict[str, OpenCorpus] = {}
        self._lock = threading.Lock()

    # -- what is there -----------------------------------------------------------------

    def corpora(self) -> list[CorpusInfo]:
        """All corpora of this home, by name; deleted ones are not among them."""
        return [self._info(row) for row in self._ledger.corpora() if row.state != "deleted"]

    def corpus(self, name: str) -> CorpusInfo:
        """One corpus, or UnknownNameError."""
        return self._info(self._row(name))

    def names(self) -> list[str]:
        """Names of the corpora that can be searched."""
        return [row.name for row in self._ledger.corpora() if row.state == "ready"]

    def lens(self, name: str) -> Lens:
        """The lens of a corpus."""
        return lens_from_json(self._row(name).lens)

    def contents(self, name: str) -> CorpusContents:
        """What is in a corpus, at a glance."""
        return contents_of(self.open(name))

    # -- importing ---------------------------------------------------------------------

    def preview(
        self, path: Path, source_format: str = "auto", mapping: Mapped | None = None
    ) -> Preview:
        """The first rows of a source, and how they would be read."""
        return preview(path, source_format, mapping)

    def save_upload(self, name: str, content: bytes) -> Path:
        """Keep a file that came in through the browser; returns where it lies."""
        return save_upload(self._home, name, content)

    def start_import(
        self, path: Path, name: str, source_format: str = "auto", mapping: Mapped | None = None
    ) -> Job:
        """Import in a process of its own; see :class:`engine.jobs.Jobs`."""
        return self.jobs.start_import(ImportRequest(path, name, source_format, mapping))

    def start_demo(self) -> Job:
        """Index the demo corpus in a process of its own."""
        return self.start_import(DEMO, DEMO_CORPUS)

    def demo_job(self) -> Job | None:
        """The latest import of the demo corpus, or None."""
        return next((job for job in self.jobs.list() if job.corpus == DEMO_CORPUS), None)

    def import_documents(
        self,
        request: ImportRequest,
        on_progress: Tell = tell_nobody,
        cancelled: Ask = never,
    ) -> ImportReport:
        """See :meth:`engine.importing.Importer.run`."""
        importer = Importer(
            self._home, self._ledger, self._settings, partial(self._load, bulk=True)
        )
        return importer.run(request, on_progress, cancelled)

    def import_demo(self, on_progress: Tell = tell_nobody) -> ImportReport | None:
        """Index the demo corpus unless it is there; None when nothing was to be done."""
        row = self._ledger.corpus(DEMO_CORPUS)
        if row is not None and row.state == "ready":
            return None
        return self.import_documents(ImportRequest(DEMO, DEMO_CORPUS), on_progress)

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
            self.import_documents(request, on_progress)
        return collection.name

    # -- opening -----------------------------------------------------------------------

    def open(self, name: str) -> OpenCorpus:
        """The corpus as it is now; kept open while nobody writes to it."""
        row = self._row(name)
        with self._lock:
            held = self._open.get(name)
            if held is not None and held.table.newest_version() == held.version:
                self._open[name] = self._open.pop(name)  # the latest used goes last
                return held
            opened = OpenCorpus(
                name,
                DocumentTable.open(self._home.corpus(name)),
                lens_from_json(row.lens),
                EncoderSpec.from_json(row.encoder),
                self._settings.resident_megabytes * 2**20,
            )
            self._open[name] = opened
            while len(self._open) > MOST_OPEN:
                self._open.pop(next(iter(self._open)))
            return opened

    def encoder(self, corpus: OpenCorpus) -> Encoder:
        """The model that the corpus was indexed with, or ModelMissingError."""
        encoder = self._load(corpus.spec.source)
        if encoder.spec.fingerprint != corpus.spec.fingerprint:
            raise ModelMissingError(
                f"The model '{corpus.spec.source}' is not the one that corpus '{corpus.name}' "
                "was indexed with (its weights differ).",
                "Put the old model back, or import the corpus again under a new name.",
            )
        return encoder

    # -- deleting ----------------------------------------------------------------------

    def delete(self, name: str) -> None:
        """Take a corpus out; :meth:`restore` brings it back until :meth:`empty_trash`.

        Judgments stay in the ledger.
        """
        self._row(name)
        with self._writing(name):
            bin_ = self._home.trash / name
            row = self._row(name)
            # Noted first: a crash in between leaves the documents where restore finds them.
            # What was searchable comes back so, however an addition to it ended.
            expected = row.documents if row.state == "ready" else row.expected
            now = datetime.now(UTC)
            self._ledger.put_corpus(
                replace(row, state="deleted", expected=expected, updated_at=now)
            )
            if self._home.corpus(name).exists():
                shutil.rmtree(bin_, ignore_errors=True)
                self._home.trash.mkdir(parents=True, exist_ok=True)
                shutil.move(self._home.corpus(name), bin_)
            with self._lock:
                self._open.pop(name, None)

    def restore(self, name: str) -> None:
        """Undo :meth:`delete`."""
        row = self._ledger.corpus(name)
        bin_ = self._home.trash / name
        if row is None or row.state != "deleted" or not self._remains(name):
            raise UnknownNameError(f"There is no deleted corpus '{name}' to bring back.")
        with self._writing(name):
            if bin_.exists():
                shutil.move(bin_, self._home.corpus(name))
            state = "ready" if row.documents >= row.expected else "indexing"
            self._ledger.put_corpus(replace(row, state=state, updated_at=datetime.now(UTC)))

    def deleted(self) -> list[str]:
        """Names of corpora that :meth:`restore` can bring back."""
        gone = [row.name for row in self._ledger.corpora() if row.state == "deleted"]
        return [name for name in gone if self._remains(name)]

    def _remains(self, name: str) -> bool:
        return (self._home.trash / name).exists() or self._home.corpus(name).exists()

    def empty_trash(self) -> None:
        """Forget deleted corpora for good."""
        for row in self._ledger.corpora():
            if row.state == "deleted":
                shutil.rmtree(self._home.corpus(row.name), ignore_errors=True)
                self._ledger.remove_corpus(row.name)
        shutil.rmtree(self._home.trash, ignore_errors=True)

    # -- inside ------------------------------------------------------------------------

    def _row(self, name: str) -> CorpusRow:
        row = self._ledger.corpus(name)
        if row is None or row.state == "deleted":
            names = [r.name for r in self._ledger.corpora() if r.state != "deleted"]
            known = f"Known: {', '.join(names)}." if names else "None is imported yet."
            raise UnknownNameError(f"There is no corpus '{name}'.", known)
        return row

    def _info(self, row: CorpusRow) -> CorpusInfo:
        path, state = self._home.corpus(row.name), row.state
        documents = size = 0
        try:
            table = DocumentTable.open(path)
            documents, size = table.count(), table.bytes()
        except CorpusMissingError:
            pass  # nothing is stored yet
        except StorageError:
            state = "damaged"  # its neighbours can still be listed, and it can be deleted
        return CorpusInfo(
            name=row.name,
            documents=documents,
            expected=row.expected,
            state=state,
            systems=tuple(SYSTEMS) if documents else (),
            lens=lens_from_json(row.lens),
            encoder=EncoderSpec.from_json(row.encoder).source,
            bytes=size,
            source=row.source,
            source_format=row.source_format,
            updated_at=row.updated_at.isoformat(timespec="seconds"),
        )

    def _load(self, source: str, *, bulk: bool = False) -> Encoder:
        # Imported here: torch and its friends take seconds, and most commands need none.
        from engine.encode.loaders import load_encoder

        return load_encoder(source, threads=self._settings.threads, bulk=bulk)

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        lock = FileLock(self._home.corpus_lock(name), blocking=False)
        try:
            lock.acquire()
        except Timeout as error:
            raise CorpusBusyError(
                f"The corpus '{name}' is being indexed by another process.",
                "Wait until it is done, or cancel it.",
            ) from error
        try:
            yield
        finally:
            lock.release()
