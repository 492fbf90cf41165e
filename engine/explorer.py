"""The facade: the one object that pages and the command line call."""

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
from engine.corpus import OpenCorpus
from engine.encode.protocols import Encoder, EncoderSpec
from engine.errors import (
    BadInputError,
    CorpusBusyError,
    CorpusMissingError,
    ModelMissingError,
    UnknownNameError,
)
from engine.importing import Importer, ImportRequest
from engine.ingest import FIELDS, FORMATS, preview
from engine.jobs import Jobs
from engine.lenses import lens_from_json
from engine.library import contents_of, is_synthetic, save_upload, sentences_of
from engine.queries import parse_filter, query_from_json, query_id, query_to_json
from engine.retrieve import SYSTEMS, find_system
from engine.searching import Searcher
from engine.types import (
    CorpusContents,
    CorpusInfo,
    Document,
    Filter,
    ImportReport,
    Job,
    Lens,
    Mapped,
    Preview,
    Query,
    SearchResults,
)
from storage.home import Home, check_corpus_name, suggest_corpus_name
from storage.ledger import Ledger
from storage.records import CorpusRow, JudgmentRow
from storage.vectors import DocumentTable

DEMO_SEED = "demo-0275"
MOST_OPEN = 4
"""Corpora kept open at once; the one used longest ago gives way."""


class Explorer:
    """SeedLens over one home. Safe to share between threads."""

    formats = FORMATS
    fields = FIELDS
    demo_corpus = DEMO_CORPUS
    systems = tuple(SYSTEMS)

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.home = Home(self.settings.home)
        self.home.create()
        self.ledger = Ledger(self.home.ledger, self.settings.ledger_wait_seconds)
        self.jobs = Jobs(self.home)
        self._open: dict[str, OpenCorpus] = {}
        self._lock = threading.Lock()

    # -- starting ----------------------------------------------------------------------

    def start(self) -> None:
        """What the app does once: forget deleted corpora, and index the demo in a new home."""
        self.empty_trash()
        if not self.ledger.corpora() and self.demo_job() is None:
            self.jobs.start_import(ImportRequest(DEMO, DEMO_CORPUS))

    def demo_job(self) -> Job | None:
        """The latest import of the demo corpus, or None."""
        return next((job for job in self.jobs.list() if job.corpus == DEMO_CORPUS), None)

    def warm_up(self) -> None:
        """Do once what the first searches would wait for: the model, and corpora in memory."""
        for name in self.names()[:MOST_OPEN]:
            seed, aspect = self.starting_point(name)
            self.search(Query(name, seed=seed, aspect=aspect or None))
            self._encoder(self.open(name))

    # -- corpora ---------------------------------------------------------------------

    def corpora(self) -> list[CorpusInfo]:
        """All corpora of this home, by name; deleted ones are not among them."""
        return [self._info(row) for row in self.ledger.corpora() if row.state != "deleted"]

    def corpus(self, name: str) -> CorpusInfo:
        """One corpus, or UnknownNameError."""
        return self._info(self._row(name))

    def lens(self, name: str) -> Lens:
        """The lens of a corpus."""
        return lens_from_json(self._row(name).lens)

    def preview(
        self, path: Path, source_format: str = "auto", mapping: Mapped | None = None
    ) -> Preview:
        """The first rows of a source, and how they would be read."""
        return preview(path, source_format, mapping)

    check_name = staticmethod(check_corpus_name)
    suggest_name = staticmethod(suggest_corpus_name)
    sentences_of = staticmethod(sentences_of)
    is_synthetic = staticmethod(is_synthetic)

    def save_upload(self, name: str, content: bytes) -> Path:
        """Keep a file that came in through the browser; returns where it lies."""
        return save_upload(self.home, name, content)

    def start_import(
        self, path: Path, name: str, source_format: str = "auto", mapping: Mapped | None = None
    ) -> Job:
        """Import in a process of its own; see :class:`engine.jobs.Jobs`."""
        return self.jobs.start_import(ImportRequest(path, name, source_format, mapping))

    def start_demo(self) -> Job:
        """Index the demo corpus in a process of its own."""
        return self.start_import(DEMO, DEMO_CORPUS)

    def contents(self, name: str) -> CorpusContents:
        """What is in a corpus, at a glance."""
        return contents_of(self.open(name))

    def import_documents(
        self,
        request: ImportRequest,
        on_progress: Tell = tell_nobody,
        cancelled: Ask = never,
    ) -> ImportReport:
        """See :meth:`engine.importing.Importer.run`."""
        importer = Importer(self.home, self.ledger, self.settings, partial(self._load, bulk=True))
        return importer.run(request, on_progress, cancelled)

    def import_demo(self, on_progress: Tell = tell_nobody) -> ImportReport | None:
        """Index the demo corpus unless it is there; None when nothing was to be done."""
        row = self.ledger.corpus(DEMO_CORPUS)
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
        row = self.ledger.corpus(collection.name)
        if row is None or row.state != "ready":
            request = ImportRequest(collection.documents, collection.name, collection.source_format)
            self.import_documents(request, on_progress)
        return collection.name

    def delete(self, name: str) -> None:
        """Take a corpus out; :meth:`restore` brings it back until :meth:`empty_trash`.

        Judgments stay in the ledger.
        """
        self._row(name)
        with self._writing(name):
            bin_ = self.home.trash / name
            shutil.rmtree(bin_, ignore_errors=True)
            self.home.trash.mkdir(parents=True, exist_ok=True)
            row = self._row(name)
            if self.home.corpus(name).exists():
                shutil.move(self.home.corpus(name), bin_)
            self.ledger.put_corpus(replace(row, state="deleted", updated_at=datetime.now(UTC)))
            with self._lock:
                self._open.pop(name, None)

    def restore(self, name: str) -> None:
        """Undo :meth:`delete`."""
        row = self.ledger.corpus(name)
        bin_ = self.home.trash / name
        if row is None or row.state != "deleted" or not bin_.exists():
            raise UnknownNameError(f"There is no deleted corpus '{name}' to bring back.")
        with self._writing(name):
            shutil.move(bin_, self.home.corpus(name))
            state = "ready" if row.documents >= row.expected else "indexing"
            self.ledger.put_corpus(replace(row, state=state, updated_at=datetime.now(UTC)))

    def deleted(self) -> list[str]:
        """Names of corpora that :meth:`restore` can bring back."""
        gone = [row.name for row in self.ledger.corpora() if row.state == "deleted"]
        return [name for name in gone if (self.home.trash / name).exists()]

    def empty_trash(self) -> None:
        """Forget deleted corpora for good."""
        for row in self.ledger.corpora():
            if row.state == "deleted":
                shutil.rmtree(self.home.trash / row.name, ignore_errors=True)
                self.ledger.remove_corpus(row.name)

    def names(self) -> list[str]:
        """Names of the corpora that can be searched."""
        return [row.name for row in self.ledger.corpora() if row.state == "ready"]

    def starting_point(self, corpus: str) -> tuple[str, str]:
        """A seed and an aspect to open a corpus with: the first document that has them all."""
        opened = self.open(corpus)
        keys = list(opened.aspects)
        preferred = [DEMO_SEED] if corpus == DEMO_CORPUS and DEMO_SEED in opened.row_of else []
        for document in opened.documents([*preferred, *opened.doc_ids[:50]]):
            if {s.role for s in document.sentences} >= set(range(len(keys))):
                return document.doc_id, "method" if "method" in keys else keys[0]
        return opened.doc_ids[0], ""

    # -- documents ---------------------------------------------------------------------

    def document(self, corpus: str, doc_id: str) -> Document:
        """One document, or UnknownNameError."""
        return self.open(corpus).document(doc_id)

    def find_titles(self, corpus: str, words: str, limit: int = 8) -> list[Document]:
        """Documents whose title has all words, for choosing a seed as one types."""
        opened = self.open(corpus)
        return opened.documents(opened.find_titles(words, limit))

    def browse(self, corpus: str, offset: int, limit: int) -> list[Document]:
        """Documents in the order of the corpus."""
        opened = self.open(corpus)
        return opened.documents(opened.doc_ids[offset : offset + limit])

    # -- searching ---------------------------------------------------------------------

    def search(self, query: Query) -> SearchResults:
        """A page of ranked documents with evidence."""
        return self.searcher(query.corpus).search(query)

    def searcher(self, corpus: str) -> Searcher:
        """The search engine of one corpus."""
        opened = self.open(corpus)
        return Searcher(opened, lambda: self._encoder(opened))

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
                DocumentTable.open(self.home.corpus(name)),
                lens_from_json(row.lens),
                EncoderSpec.from_json(row.encoder),
                self.settings.resident_megabytes * 2**20,
            )
            self._open[name] = opened
            while len(self._open) > MOST_OPEN:
                self._open.pop(next(iter(self._open)))
            return opened

    def reads_aspect(self, system: str) -> bool:
        """False when the system ranks the same whatever the aspect."""
        return find_system(system).reads_aspect

    def parse_filter(self, text: str) -> Filter:
        """Read a filter like ``year>=2010``."""
        return parse_filter(text)

    # -- judging and trails --------------------------------------------------------------

    def judge(
        self,
        query: Query,
        doc_id: str,
        relevance: int | None,
        *,
        rank: int | None = None,
        annotator: str | None = None,
        note: str = "",
    ) -> JudgmentRow:
        """Store a grade from 0 to 3, or None to take one back. Nothing is overwritten."""
        if relevance is not None and relevance not in (0, 1, 2, 3):
            raise BadInputError(f"The grade is {relevance}.", "Grades are 0, 1, 2 and 3.")
        self.document(query.corpus, doc_id)
        row = JudgmentRow(
            corpus=query.corpus,
            query_id=query_id(query),
            doc_id=doc_id,
            relevance=relevance,
            annotator=annotator or self.settings.annotator,
            note=note,
            instruction=query.instruction or "",
            rank=rank,
            system=query.system,
            time=datetime.now(UTC),
        )
        self.ledger.add_judgment(row)
        return row

    def grades(self, query: Query, annotator: str | None = None) -> dict[str, int]:
        """The annotator's current grades for a query, by doc_id."""
        who = annotator or self.settings.annotator
        rows = self.ledger.latest_judgments(query.corpus, query_id(query), who)
        return {row.doc_id: row.relevance for row in rows if row.relevance is not None}

    def add_step(self, trail_id: str, query: Query) -> None:
        """Note a search in a trail."""
        self.ledger.add_step(trail_id, query.corpus, query_to_json(query))

    def trail(self, trail_id: str) -> list[Query]:
        """The searches of a trail, in order."""
        return [query_from_json(step.query) for step in self.ledger.steps(trail_id)]

    def keep(self, trail_id: str, corpus: str, doc_id: str, *, kept: bool = True) -> None:
        """Keep a document (or let it go)."""
        (self.ledger.keep if kept else self.ledger.unkeep)(trail_id, corpus, doc_id)

    def kept(self, trail_id: str) -> list[tuple[str, Document]]:
        """Kept documents with their corpus; those of a corpus that is gone are left out."""
        found = []
        names = {row.name for row in self.ledger.corpora() if row.state != "deleted"}
        for row in self.ledger.kept(trail_id):
            if row.corpus in names:
                found += [(row.corpus, d) for d in self.open(row.corpus).documents([row.doc_id])]
        return found

    def seed_title(self, query: Query) -> str:
        """What to call the seed of a query: its title, or the beginning of its text."""
        if query.text is not None:
            return query.text[:60]
        if query.corpus not in self.names():
            return query.seed or ""
        opened = self.open(query.corpus)
        row = opened.row_of.get(query.seed or "")
        return (opened.titles[row] if row is not None else "") or query.seed or ""

    def export_trail(self, trail_id: str, kind: str) -> str:
        """A trail as ``markdown``, ``bibtex`` or ``jsonl``."""
        from engine.trails import export_trail

        steps = self.trail(trail_id)
        titles = {q.seed: self.seed_title(q) for q in steps if q.seed}
        return export_trail(kind, steps, self.kept(trail_id), titles)

    def put_text(self, text: str) -> str:
        """Store a pasted text under a short id for links."""
        return self.ledger.put_text(text)

    def text(self, text_id: str) -> str:
        """The pasted text of a link, or UnknownNameError."""
        text = self.ledger.text(text_id)
        if text is None:
            raise UnknownNameError(
                f"The pasted text '{text_id}' is not stored here.",
                "Links to pasted texts work only with the home that they were made in.",
            )
        return text

    # -- inside ------------------------------------------------------------------------

    def _row(self, name: str) -> CorpusRow:
        row = self.ledger.corpus(name)
        if row is None or row.state == "deleted":
            names = [r.name for r in self.ledger.corpora() if r.state != "deleted"]
            known = f"Known: {', '.join(names)}." if names else "None is imported yet."
            raise UnknownNameError(f"There is no corpus '{name}'.", known)
        return row

    def _info(self, row: CorpusRow) -> CorpusInfo:
        path = self.home.corpus(row.name)
        try:
            table = DocumentTable.open(path)
            documents, size = table.count(), table.bytes()
        except CorpusMissingError:
            documents = size = 0
        return CorpusInfo(
            name=row.name,
            documents=documents,
            expected=row.expected,
            state=row.state,
            systems=self.systems if documents else (),
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

        return load_encoder(source, threads=self.settings.threads, bulk=bulk)

    def _encoder(self, corpus: OpenCorpus) -> Encoder:
        encoder = self._load(corpus.spec.source)
        if encoder.spec.fingerprint != corpus.spec.fingerprint:
            raise ModelMissingError(
                f"The model '{corpus.spec.source}' is not the one that corpus '{corpus.name}' "
                "was indexed with (its weights differ).",
                "Put the old model back, or import the corpus again under a new name.",
            )
        return encoder

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        lock = FileLock(self.home.corpus_lock(name), blocking=False)
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
