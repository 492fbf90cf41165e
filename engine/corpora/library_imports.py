"""How documents come into the corpora of a home: from files, from memory, from test collections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from engine.config import DEMO, DEMO_CORPUS, Settings
from engine.corpora.importing import Importer
from engine.corpora.map_making import map_imported
from engine.corpora.service_imports import ServiceImport
from engine.corpora.uploads import save_papers, save_upload
from engine.errors import BadInputError
from engine.ingest import DELIMITERS, ENCODINGS, FIELDS, FORMATS, previews
from engine.ingest.previews import Reading
from engine.jobs.processes import ImportJobs
from engine.lenses.definitions import RESEARCH, choose_lens, lens_from_json
from engine.permissions import check_lead, check_operator, check_source, leads_only, operator_only
from engine.sources.datasets import dataset_names, describe_dataset, name_of
from engine.sources.services import SERVICES, look_up, read_query
from engine.sources.zotero import is_local
from engine.types.callbacks import Ask, Tell, never, tell_nobody
from engine.types.collections import Collection
from engine.types.corpora import ImportJob, ImportReport, ImportRequest, Mapped, Preview, Rows
from engine.types.encoders import Encoder
from engine.types.lenses import Lens
from engine.types.limits import DATASET_DOCUMENTS
from engine.types.people import ForPerson, Person
from engine.types.repairs import NO_REPAIRS, CheckReport, Repairs
from engine.types.sources import DatasetInfo, Found, NamedDataset, ServiceQueries, ServiceQuery
from storage.home import Home
from storage.ledger import Ledger


class Imports(ForPerson):
    """The part of :class:`engine.corpora.library.Library` that imports.

    Attributes:
        jobs: imports that run in processes of their own.
        formats, fields: what can be read, and what columns can be mapped to.
        services: that documents can be retrieved from.
        encodings, delimiters: what people choose from, with what they call it.
    """

    formats = FORMATS
    fields = FIELDS
    services = SERVICES
    encodings = ENCODINGS
    delimiters = DELIMITERS

    def __init__(self, home: Home, ledger: Ledger, settings: Settings) -> None:
        self.jobs = ImportJobs(home, self._check_import, ledger.jobs)
        self._home, self._ledger, self._settings = home, ledger, settings

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
        """The first rows of a source, and how they would be read; see
        :mod:`engine.ingest.previews`.

        Raises:
            NotAllowedError: this is for no lead, or the path is not one to import from.
        """
        return previews.preview(self._reading(path, source_format, mapping, repairs))

    @leads_only
    def examine(
        self,
        path: Path,
        source_format: str = "auto",
        mapping: Mapped | None = None,
        repairs: Repairs = NO_REPAIRS,
    ) -> CheckReport:
        """What importing a whole source would meet; nothing is written. As :meth:`preview`."""
        return previews.examine(self._reading(path, source_format, mapping, repairs))

    @leads_only
    def save_upload(self, name: str, content: bytes) -> Path:
        """Keep a file that came in through the browser; returns where it lies."""
        return save_upload(self._home, name, content)

    @leads_only
    def save_papers(self, files: Sequence[tuple[str, bytes]]) -> Path:
        """Keep several PDFs that came in through the browser, by name and content, as one zip."""
        return save_papers(self._home, files)

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

    # -- services on the internet ------------------------------------------------------------

    @leads_only
    def service_query(self, service: str, text: str, limit: int | None = None) -> ServiceQuery:
        """What is asked of a service, as it is typed; see
        :func:`engine.sources.services.read_query`."""
        return read_query(service, text, limit)

    @leads_only
    def look_up(self, query: ServiceQuery) -> Found:
        """How much a service has for a query, and the first titles.

        Raises:
            ServiceError: it does not answer.
            BadInputError: it cannot be asked this.
            NotAllowedError: this is for no lead, or for whoever runs SeedLens.
        """
        self._check_query(self.person, query)
        return look_up(query, self._settings, self._home)

    @leads_only
    def start_from_services(
        self, name: str, queries: ServiceQueries, lens: Lens | None = None, owner: str = ""
    ) -> ImportJob:
        """Import from services in a process of its own; as :meth:`start_import`."""
        request = ImportRequest(queries, name, lens=lens or self._own_lens_of(name))
        return self.jobs.start(request, owner)

    # -- data sets of ir_datasets ------------------------------------------------------------

    @leads_only
    def datasets(self) -> tuple[str, ...]:
        """The names of all data sets; BadInputError where ``ir_datasets`` is not installed."""
        return dataset_names(self._home)

    @leads_only
    def describe_dataset(self, name: str) -> DatasetInfo:
        """What a data set brings; nothing is downloaded.

        Raises:
            UnknownNameError: there is no such data set.
            BadInputError: it has no documents, or ``ir_datasets`` is not installed.
        """
        return describe_dataset(self._home, name)

    @leads_only
    def start_dataset(
        self, name: str, dataset: str, lens: Lens | None = None, owner: str = ""
    ) -> ImportJob:
        """Download and import a data set in a process of its own; as :meth:`start_import`."""
        source = NamedDataset(dataset)
        request = ImportRequest(source, name, lens=lens or self._own_lens_of(name))
        return self.jobs.start(request, owner)

    def source_name(self, source: str) -> str:
        """What people call the source of a corpus or of an import: a file that was uploaded by
        its name, a data set as ``ir:beir/scifact``, all else as it is stored."""
        path = Path(source)
        if self._home.uploads.resolve() not in path.parents:
            return source
        dataset = name_of(path)
        return str(NamedDataset(dataset)) if dataset else f"{path.name} (uploaded)"

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
        """See :meth:`engine.corpora.importing.Importer.run` and, for services,
        :class:`engine.corpora.service_imports.ServiceImport`.

        Once the corpus can be searched, its map is made; see
        :class:`engine.corpora.map_making.MapMaker`.
        """
        report = self._imported(request, on_progress, cancelled)
        row = self._ledger.listed_corpus(request.name)
        if report.cancelled or row is None or not self._settings.maps:
            return report
        problem = map_imported(self._home, self._ledger, row, on_progress, cancelled)
        return replace(report, warnings=(*report.warnings, problem)) if problem else report

    def _imported(self, request: ImportRequest, on_progress: Tell, cancelled: Ask) -> ImportReport:
        run = Importer(self._home, self._ledger, self._settings, self._load).run
        services = ServiceImport(self._home, self._ledger, self._settings, run)
        if isinstance(request.source, ServiceQueries):
            return services.import_all(request, request.source.queries, on_progress, cancelled)
        if isinstance(request.source, NamedDataset):
            return services.import_dataset(request, request.source.name, on_progress, cancelled)
        if request.repairs.fill_abstracts:
            return services.import_filled(request, on_progress, cancelled)
        return run(request, on_progress, cancelled)

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

    def _check_import(self, person: Person, request: ImportRequest) -> None:
        check_lead(person)
        _check_repairs(person, request.repairs)
        if isinstance(request.source, ServiceQueries):
            for query in request.source.queries:
                self._check_query(person, query)
        elif isinstance(request.source, NamedDataset):
            self._check_dataset(person, request.source.name)
        elif isinstance(request.source, Path):
            self._importable(person, request.source)
        else:
            check_operator(person)  # rows in memory are a program's

    def _check_query(self, person: Person, query: ServiceQuery) -> None:
        if is_local(query):
            check_operator(person)  # it is the library of whoever runs SeedLens

    def _check_dataset(self, person: Person, name: str) -> None:
        """Data sets beyond ``DATASET_DOCUMENTS`` could fill the server's disk."""
        documents = describe_dataset(self._home, name).documents
        if documents is None or documents > DATASET_DOCUMENTS:
            check_operator(person)

    def _importable(self, person: Person, path: Path) -> Path:
        roots = (self._home.uploads, DEMO, *self._settings.import_roots)
        return check_source(person, path, roots)

    def _reading(
        self, path: Path, source_format: str, mapping: Mapped | None, repairs: Repairs
    ) -> Reading:
        most = self._settings.max_document_chars
        _check_repairs(self.person, repairs)
        return Reading(self.importable(path), source_format, mapping, RESEARCH, most, repairs)

    def _load(self, source: str, *, bulk: bool = False, download: bool = False) -> Encoder:
        # Imported here: torch and its friends take seconds, and most commands need none.
        from engine.encode.loaders import load_encoder

        threads = self._settings.threads
        return load_encoder(source, threads=threads, bulk=bulk, download=download)


def _check_repairs(person: Person, repairs: Repairs) -> None:
    if repairs.abstracts:
        check_operator(person)  # a path of this machine, which the import itself sets
