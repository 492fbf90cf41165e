"""The corpora of a home: importing, listing, opening, deleting."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine.config import DEMO, DEMO_CORPUS, Settings
from engine.corpora import registry, uploads
from engine.corpora.importing import Import, Writing, sweep_retrieved
from engine.corpora.indexing import ChangedLens, has_classifier
from engine.corpora.opened import OpenCorpus
from engine.corpora.scenario_store import SETTINGS
from engine.corpora.schema import TEXT_COLUMNS, to_document
from engine.corpora.selections import Selections
from engine.errors import BadInputError, CorpusMissingError, StorageError, UnknownNameError
from engine.ingest import previews
from engine.ingest.documents import citation_fields
from engine.ingest.files import ENCODINGS
from engine.ingest.formats import FORMATS
from engine.ingest.tables import DELIMITERS
from engine.jobs.imports import ImportJobs
from engine.lenses import definitions as lenses
from engine.lenses.definitions import RESEARCH, SHIPPED, lens_from_json
from engine.permissions import check_lead, check_operator, check_source, leads_only, operator_only
from engine.sentences import split_sentences
from engine.sources import datasets, services
from engine.sources.json_services import is_local
from engine.sources.services import SERVICES
from engine.types.callbacks import Ask, Tell, never, tell_nobody
from engine.types.corpora import (
    NO_REPAIRS,
    CheckReport,
    CorpusContents,
    CorpusInfo,
    DatasetInfo,
    Found,
    ImportJob,
    ImportReport,
    ImportRequest,
    Mapped,
    NamedDataset,
    Preview,
    Repairs,
    Rows,
    ServiceQueries,
    ServiceQuery,
)
from engine.types.documents import Document, SourceDocument
from engine.types.encoders import EMBEDDED, Encoder, EncoderSpec
from engine.types.evaluations import Collection
from engine.types.lenses import Lens
from engine.types.people import ForPerson, Person
from storage.files import folder_bytes
from storage.home import Home, check_corpus_name, suggest_corpus_name
from storage.ledger import Ledger
from storage.records import CorpusRow
from storage.removal import changed_at, delete_leftovers
from storage.vectors import DocumentTable, Remote, ScenarioTable

TITLES = 8
SAMPLE = 500  # Documents looked at for the shares of roles
MOST_OPEN = 4  # Corpora kept open at once; the one used longest ago gives way


class Library(ForPerson):
    """All corpora of one home. Safe to share between threads.

    `systems`: names of those that every corpus can be searched with; `prepared`: of those that need
    scenarios. `jobs`: imports in other processes.
    """

    lenses = SHIPPED
    formats = FORMATS
    services = SERVICES
    encodings = ENCODINGS
    delimiters = DELIMITERS
    check_name = staticmethod(check_corpus_name)
    citation_fields = staticmethod(citation_fields)
    suggest_name = staticmethod(suggest_corpus_name)

    def __init__(
        self,
        home: Home,
        ledger: Ledger,
        settings: Settings,
        systems: Sequence[str],
        prepared: Sequence[str],
    ) -> None:
        self.jobs = ImportJobs(home, ledger, self._check_import)
        self._writing = Writing(home, ledger, settings, self._load)
        self._home, self._ledger, self._settings = home, ledger, settings
        self._systems, self._prepared = tuple(systems), tuple(prepared)
        self.every_system = (*systems, *prepared)
        self._open: dict[str, OpenCorpus] = {}
        self._loaded: set[str] = set()
        self._lock = threading.Lock()

    # -- what is there -----------------------------------------------------------------

    def corpora(self) -> list[CorpusInfo]:
        """All corpora of this home, by name; deleted ones are not among them."""
        return list(map(self._info, self._ledger.listed_corpora()))

    def corpus(self, name: str) -> CorpusInfo:
        """One corpus, or UnknownNameError."""
        return self._info(self._row(name))

    def titles(self) -> dict[str, str]:
        """The name that people see of each corpus, by the one under which it is stored."""
        titles = self._ledger.corpus_titles()
        return {row.name: titles.get(row.name, row.name) for row in self._ledger.corpora()}

    def stored_name(self, name: str) -> str:
        """The name under which a corpus is stored, of any of its names; links have it."""
        return self._ledger.stored_name(name)

    def names(self) -> list[str]:
        """Names of the corpora that can be searched."""
        return [row.name for row in self._ledger.corpora() if row.state == "ready"]

    def lens(self, name: str) -> Lens:
        """The lens of a corpus."""
        return lens_from_json(self._row(name).lens)

    def contents(self, name: str) -> CorpusContents:
        """First titles, years, and how the sentences spread over the aspects."""
        corpus = self.open(name)
        years = corpus.years[corpus.years >= 0]
        # Spread evenly: neighbours are often of one source, or of one year.
        step = max(1, -(-len(corpus) // SAMPLE))
        sampled = corpus.documents(corpus.doc_ids[::step])
        roles = [sentence.role for document in sampled for sentence in document.sentences]
        return CorpusContents(
            titles=tuple(corpus.titles[:TITLES]),
            years=(int(years.min()), int(years.max())) if len(years) else None,
            undated=len(corpus) - len(years),
            shares=tuple(
                (aspect, roles.count(i) / len(roles) if roles else 0.0)
                for i, aspect in enumerate(corpus.lens.aspects)
            ),
            sampled=len(sampled),
        )

    @staticmethod
    def is_synthetic(info: CorpusInfo) -> bool:
        """True for the invented documents that ship with SeedLens."""
        return info.name == DEMO_CORPUS and Path(info.source).parts[-2:] == DEMO.parts[-2:]

    @staticmethod
    def sentences_of(document: SourceDocument) -> list[str]:
        """The sentences that a document would be indexed by."""
        spans = document.sentences
        if spans is None:
            spans = split_sentences(document.text)
        return [document.text[start:end] for start, end in spans]

    def source_name(self, source: str) -> str:
        """The source of a corpus or an import for people: an upload by its name."""
        path = Path(source)
        if self._home.uploads.resolve() not in path.parents:
            return source
        dataset = datasets.name_of(path)
        return str(NamedDataset(dataset)) if dataset else f"{path.name} (uploaded)"

    # -- opening -----------------------------------------------------------------------

    def open(self, name: str) -> OpenCorpus:
        """The corpus as it is now; kept open until it changes."""
        row, copy = registry.copied(self._home, self._ledger, self._row(name), documents=True)
        remote = self._home.mirror.remote(copy) if copy and self._home.mirror else None
        name = row.name
        limit = self._settings.resident_megabytes * 2**20
        with self._lock:
            opened = self._open.pop(name, None)
            store = registry.store_of(self._home, row)
            is_same = opened and (opened.table.path, opened.table.remote) == (store, remote)
            if opened is None or not is_same or not opened.table.is_newest():
                opened = self._opened(row, store, remote, limit)
            self._open[name] = opened  # the latest used goes last
            # One limit for all: the one used longest ago gives way, not the one that is wanted.
            while (
                len(self._open) > MOST_OPEN
                or sum(one.resident_bytes for one in self._open.values()) > limit
            ):
                self._open.pop(next(iter(self._open)))
            return opened

    def _opened(self, row: CorpusRow, store: Path, remote: Remote | None, limit: int) -> OpenCorpus:
        try:
            table, lens = DocumentTable.open(store, remote), lens_from_json(row.lens)
            spec = EncoderSpec.from_json(row.encoder)
            selected = Selections(self._ledger, row.name, store).get
            return OpenCorpus(row.name, table, lens, spec, limit, selected, bool(row.generation))
        except StorageError as error:
            self._row(row.name)  # says so when it was deleted meanwhile
            if DocumentTable.is_stored(store):
                raise
            raise registry.no_documents(row) from error

    def state(self, name: str) -> Hashable:
        """Equal until a corpus or its scenarios change."""
        opened = self.open(name)
        path = opened.table.path
        return opened.identity, ScenarioTable.stamp(path), changed_at(path / SETTINGS)

    def encoder(self, corpus: OpenCorpus) -> Encoder:
        """The model that the corpus was indexed with, or ModelMissingError."""
        encoder = self._writing.own_encoder(corpus.name, corpus.spec)
        self._loaded.add(corpus.spec.source)
        return encoder

    def loaded_encoder(self, corpus: OpenCorpus) -> Encoder | None:
        """:meth:`encoder` where it was asked for before; None where it would take seconds."""
        return self.encoder(corpus) if corpus.spec.source in self._loaded else None

    def embedded(self) -> Encoder:
        """The model that ships with SeedLens."""
        return self._load(EMBEDDED)

    def _load(self, source: str, *, bulk: bool = False, download: bool = False) -> Encoder:
        from engine.encode.loaders import load_encoder

        return load_encoder(source, threads=self._settings.threads, bulk=bulk, download=download)

    # -- importing: files --------------------------------------------------------------

    @operator_only
    def lens_for(self, name: str, choice: str | None = None) -> Lens:
        """The lens to import with: a shipped key, a lens file, or the one of the corpus."""
        return self._own_lens_of(name) if choice is None else lenses.choose_lens(choice)

    def _own_lens_of(self, name: str) -> Lens:
        row = self._ledger.listed_corpus(self.stored_name(name))
        return RESEARCH if row is None else lens_from_json(row.lens)

    @leads_only
    def own_lens(self, fields: Mapping[str, Any]) -> Lens:
        """A lens from the fields of a form; see :mod:`engine.lenses.definitions`."""
        return lenses.own_lens(lenses.lens_from_fields(fields, "Your lens"))

    @leads_only
    def importable(self, path: Path) -> Path:
        """A path, without the links in it, if this person may import from it."""
        return self._importable(self.person, path)

    @leads_only
    def preview(self, request: ImportRequest) -> Preview:
        """The first rows of a source, and how they would be read."""
        return previews.preview(*self._of_file(request))

    @leads_only
    def examine(self, request: ImportRequest) -> CheckReport:
        """The faults of a whole source; nothing is written."""
        return previews.examine(*self._of_file(request))

    @leads_only
    def save_upload(self, name: str, content: bytes) -> Path:
        """Keep a file from the browser; returns its path."""
        return uploads.save_upload(self._home, name, content)

    @leads_only
    def save_papers(self, files: Sequence[tuple[str, bytes]]) -> Path:
        """Keep several PDFs from the browser, by name and content, as one zip."""
        return uploads.save_papers(self._home, files)

    @leads_only
    def start_import(self, request: ImportRequest, owner: str = "") -> ImportJob:
        """Import in another process; see :class:`engine.jobs.imports.ImportJobs`."""
        source, name = request.source, self.stored_name(request.name)
        if isinstance(source, Path):
            source = self.importable(source)
        lens = request.lens or self._own_lens_of(name)
        return self.jobs.start(replace(request, source=source, name=name, lens=lens), owner)

    @leads_only
    def add_demo(self) -> None:
        """Add the demo corpus, whose index comes with SeedLens."""
        self._writing.add_demo()

    # -- importing: services and data sets -----------------------------------------------

    @leads_only
    def service_query(self, service: str, text: str, limit: int | None = None) -> ServiceQuery:
        """The query for a service, as it is typed."""
        return services.read_query(service, text, limit)

    @leads_only
    def look_up(self, query: ServiceQuery) -> Found:
        """How much a service has for a query, and the first titles."""
        self._check_import(self.person, ImportRequest(ServiceQueries((query,)), ""))
        return services.look_up(query, self._settings, self._home)

    @leads_only
    def sources_to_update(self, name: str) -> ServiceQueries:
        """The queries of the services that a corpus has documents from."""
        sources = self.corpus(name).sources
        if not sources:
            raise BadInputError(
                f"The corpus '{name}' came from no service.",
                "Import its file again, under the same name, to bring what is new in it.",
            )
        return ServiceQueries(tuple(source.update for source in sources))

    @leads_only
    def update(self, name: str, owner: str = "") -> ImportJob:
        """Import what is new at the services of a corpus, in another process."""
        return self.start_import(ImportRequest(self.sources_to_update(name), name), owner)

    @leads_only
    def datasets(self) -> tuple[str, ...]:
        """The names of all data sets of ``ir_datasets``; BadInputError without that package."""
        return datasets.dataset_names(self._home)

    @leads_only
    def describe_dataset(self, name: str) -> DatasetInfo:
        """What a data set brings; nothing is downloaded."""
        return datasets.describe_dataset(self._home, name)

    # -- importing: in this process --------------------------------------------------------

    @operator_only
    def import_documents(
        self, request: ImportRequest, on_progress: Tell = tell_nobody, cancelled: Ask = never
    ) -> ImportReport:
        """Import, or continue an import that was stopped, then make the map of the corpus."""
        place = (self._home, self._ledger, self._settings, self._load)
        return Import(*place, request, on_progress, cancelled).run()

    @operator_only
    def import_here(
        self,
        request: ImportRequest,
        on_progress: Tell = tell_nobody,
        cancelled: Ask = never,
        owner: str = "a program",
    ) -> ImportReport:
        """:meth:`import_documents`, which the Library page lists and can cancel while it runs."""
        request = replace(request, name=self.stored_name(request.name))
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
        """Add documents from memory to a corpus, or to a new one, like importing a file of them.

        Args:
            rows: a pandas DataFrame, an Arrow table, or an iterable of dicts, with columns as in
                a file: ``doc_id`` and ``text`` (or ``sentences``), and any others.
            mapping: document field -> column, on top of what is guessed.
            lens: None for the corpus's own, or the one for research abstracts.
            encoder: model name or folder; None for the corpus's own, or the embedded one.
            repairs: of rows that cannot be used as they are. Numbers begin with ``row-1`` in every
                call, so rows added later need ids.
        """
        request = ImportRequest(
            rows, name, mapping=mapping, encoder=encoder, lens=lens, repairs=repairs
        )
        return self.import_here(request, on_progress)

    @operator_only
    def import_collection(self, collection: Collection, on_progress: Tell = tell_nobody) -> str:
        """Index a test collection's own documents once, under its name; returns that name."""
        if collection.documents is None:
            raise BadInputError(
                f"The collection '{collection.name}' has no documents of its own.",
                "Name the corpus that holds them with --corpus.",
            )
        name = self.stored_name(collection.name)
        if name != collection.name:
            raise BadInputError(
                f"Another corpus is called '{collection.name}' now.",
                "Rename it, or name the corpus with the documents with --corpus.",
            )
        row = self._ledger.corpus(name)
        if row is None and Path(collection.documents).resolve() == DEMO.resolve():
            self.add_demo()
        elif row is None or row.state != "ready":
            request = ImportRequest(collection.documents, name, collection.source_format)
            self.import_here(request, on_progress)
        return name

    # -- who may import what ---------------------------------------------------------------

    def _check_import(self, person: Person, request: ImportRequest) -> None:
        check_lead(person)
        _check_repairs(person, request.repairs)
        match request.source:
            case ServiceQueries(queries):
                if any(map(is_local, queries)):
                    check_operator(person)  # it is the library of the operator
            case NamedDataset():
                pass
            case Path() as path:
                self._importable(person, path)
            case _:
                check_operator(person)  # rows in memory are a program's

    def _importable(self, person: Person, path: Path) -> Path:
        roots = (self._home.uploads, DEMO, *self._settings.import_roots)
        return check_source(person, path, roots)

    def _of_file(self, request: ImportRequest) -> tuple[ImportRequest, int]:
        """A request to read a file that this person may read, and the most characters of a text."""
        _check_repairs(self.person, request.repairs)
        source = self.importable(Path(str(request.source)))
        request = replace(request, source=source, lens=request.lens or RESEARCH)
        return request, self._settings.max_document_chars

    # -- changing the lens -------------------------------------------------------------

    @leads_only
    def set_lens(self, name: str, lens: Lens, on_progress: Tell = tell_nobody) -> bool:
        """Sort a corpus's sentences by another lens; nothing is encoded again. An error leaves the
        corpus as it was; searches under way go on. False when it has that lens already."""
        with self._changing(name) as row:
            if lens_from_json(row.lens) == lens:
                return False
            self._writing.change_lens(row, lens, on_progress)
        return True

    @leads_only
    def preview_lens(self, name: str, lens: Lens, count: int = 10) -> tuple[Document, ...]:
        """Documents from all over a corpus with the roles under another lens; stores nothing."""
        opened = self.open(name)
        every = max(1, len(opened.doc_ids) // count)
        encoder = None if has_classifier(lens) else self.encoder(opened)
        change = ChangedLens(opened.lens, lens, opened.spec, encoder, count)
        names = opened.table.schema.names
        rows = opened.table.rows(opened.doc_ids[::every][:count], names).select(names)
        changed = map(change.rows, rows.combine_chunks().to_batches())
        texts = (row for batch in changed for row in batch.select(TEXT_COLUMNS).to_pylist())
        return tuple(to_document(row, lens) for row in texts)

    # -- changing names and documents ----------------------------------------------------

    @leads_only
    def rename(self, name: str, title: str) -> None:
        """Give a corpus another name. What belongs to it, and links, go by its first one, which
        keeps leading to it."""
        row, title = self._row(name), title.strip()
        check_corpus_name(title)
        imported = (job.request.name for job in self.jobs.list() if job.running)
        is_imported = title != row.name and title in imported
        if is_imported or not self._ledger.set_corpus_title(row.name, title):
            raise BadInputError(
                f"Another corpus is called '{title}', or was before it got its present name.",
                "Choose another name.",
            )

    @leads_only
    def edit(self, name: str, doc_id: str, fields: Mapping[str, Any]) -> Document:
        """Change ``title``, ``text``, ``year``, ``authors``, ``url`` or metadata of a document,
        which alone is encoded again; "" is for none. :meth:`undo_import` takes it back."""
        with self._changing(name) as row:
            self._writing.edit(row, self.open(name).document(doc_id), fields)
        return self.open(name).document(doc_id)

    @leads_only
    def can_undo_import(self, name: str) -> bool:
        """Whether the last change of a corpus can be undone: not its first import."""
        return self._writing.can_undo(self._row(name))

    @leads_only
    def undo_import(self, name: str) -> int:
        """Take the last import into a corpus, or the last edit, back; returns how many documents
        it holds now."""
        with self._changing(name) as row:
            return self._writing.undo_import(row)

    @contextmanager
    def _changing(self, name: str) -> Iterator[CorpusRow]:
        """A whole corpus that no import is running for, to be written."""
        name = self._row(name).name
        self.jobs.check_idle(name)
        with registry.writing(self._home, self._ledger, name):
            row = self._row(name)
            if row.state != "ready":
                raise BadInputError(f"The import of '{name}' is not finished.", "Finish it first.")
            yield row

    # -- deleting ----------------------------------------------------------------------

    @leads_only
    def delete(self, name: str) -> None:
        """Delete a corpus; :meth:`restore` brings it back for a day. Judgments stay."""
        name = self._row(name).name
        self.jobs.check_idle(name)
        with registry.alone(self._ledger, name):
            row = self._row(name)
            # What could be searched comes back so, however an addition to it ended.
            expected = row.documents if row.state == "ready" else row.expected
            self._set_state(replace(row, expected=expected), "deleted")
            with self._lock:
                self._open.pop(name, None)

    @leads_only
    def restore(self, name: str) -> None:
        """Undo :meth:`delete`."""
        name = self.stored_name(name)
        with registry.alone(self._ledger, name):
            row = self._ledger.corpus(name)
            if row is None or not self._is_restorable(row):
                raise UnknownNameError(f"There is no deleted corpus '{name}' to bring back.")
            self._set_state(row, "ready" if row.documents >= row.expected else "indexing")

    @leads_only
    def deleted(self) -> list[str]:
        """Names of corpora that :meth:`restore` can bring back."""
        return [row.name for row in self._ledger.corpora() if self._is_restorable(row)]

    def _is_restorable(self, row: CorpusRow) -> bool:
        is_stored = bool(row.generation) or registry.store_of(self._home, row).exists()
        return row.state == "deleted" and is_stored

    def _set_state(self, row: CorpusRow, state: str) -> None:
        now = replace(row, state=state, updated_at=datetime.now(UTC))
        self._ledger.put_corpus(now)
        if state in ("ready", "deleted") and not row.generation:
            registry.write_manifest(self._home, now)

    @operator_only
    def empty_trash(self) -> None:
        """Remove what is no longer of use."""
        delete_leftovers(self._home.root)
        registry.sweep_all(self._home, self._ledger)
        uploads.sweep_uploads(self._home, self._sources)
        sweep_retrieved(self._home)

    @operator_only
    def note_corpora(self) -> None:
        """Publish corpora and changes that only this home has."""
        registry.publish_all(self._home, self._ledger)

    @operator_only
    def rebuild(self) -> tuple[list[str], list[str]]:
        """Register corpora that a lost or older ledger does not know; names of those that were
        registered, and of those without a manifest."""
        return registry.rebuild(self._home, self._ledger)

    def _sources(self) -> set[str]:
        """Sources of corpora, and of imports that can be resumed."""
        rows = (self._home.located(row.source) for row in self._ledger.corpora())
        jobs = (str(job.request.source) for job in self.jobs.list())
        return {*rows, *jobs, *registry.manifest_sources(self._home)}

    # -- inside ------------------------------------------------------------------------

    def _row(self, name: str) -> CorpusRow:
        row = self._ledger.listed_corpus(self.stored_name(name))
        if row is None:
            titles = self.titles()
            known = ", ".join(titles[row.name] for row in self._ledger.listed_corpora())
            raise UnknownNameError(
                f"There is no corpus '{name}'.",
                f"Known: {known}." if known else "None is imported yet.",
            )
        return row

    def _info(self, row: CorpusRow) -> CorpusInfo:
        path, state = registry.store_of(self._home, row), row.state
        documents, size, prepared = row.documents * bool(row.generation), 0, False
        try:
            if copy := registry.copied(self._home, self._ledger, row, documents=False)[1]:
                size, prepared = copy.generation.bytes, copy.generation.has(ScenarioTable.name)
            else:
                stamp = (DocumentTable.stamp(path), ScenarioTable.stamp(path))
                (documents, size), prepared = _size(path, stamp), ScenarioTable.is_stored(path)
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
            sources=registry.sources_of(path),
            title=self._ledger.corpus_titles().get(row.name, row.name),
        )


@lru_cache(maxsize=256)
def _size(path: Path, _stamp: Hashable) -> tuple[int, int]:
    """Documents and bytes of a stored corpus; counted again after changes."""
    table = DocumentTable.open(path)
    return table.count(), folder_bytes(path)


def _check_repairs(person: Person, repairs: Repairs) -> None:
    if repairs.abstracts:
        check_operator(person)  # a path of this machine, which the import itself sets
