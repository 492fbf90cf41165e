"""One import: check everything, then index resumably; what services send is retrieved first."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial, reduce
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from engine.config import DEMO, Settings
from engine.corpora import registry
from engine.corpora.contracts import LARGE
from engine.corpora.indexing import (
    ChangedLens,
    IndexRun,
    cut,
    edited_fields,
    edited_hash,
    encode_batch,
    has_classifier,
    labels_of,
    table_schema,
)
from engine.corpora.map_making import carry_whole, map_imported
from engine.corpora.scenario_store import carry_scenarios
from engine.corpora.schema import vector_columns
from engine.corpora.selections import Selections
from engine.encode.presets import resolve
from engine.errors import BadInputError, ModelMissingError, StorageFullError
from engine.ingest import previews
from engine.ingest.documents import FIELDS as DOCUMENT_FIELDS
from engine.ingest.files import READS_ENGLISH
from engine.ingest.formats import existing
from engine.ingest.source import Source, check, found_abstracts, open_source, unique_documents
from engine.jobs.cluster import Workers, workers_at
from engine.lenses.definitions import RESEARCH, SHIPPED, lens_from_json
from engine.sources import services
from engine.sources.client import FIELDS, Page
from engine.sources.datasets import fetch_dataset
from engine.sources.json_services import FIRST, NAMES, SECOND, abstracts_page
from engine.text import size
from engine.types.callbacks import Ask, Tell, never, tell_nobody
from engine.types.corpora import (
    CheckReport,
    CorpusSource,
    ImportReport,
    ImportRequest,
    NamedDataset,
    Progress,
    Repairs,
    ServiceQueries,
    ServiceQuery,
)
from engine.types.documents import Document
from engine.types.encoders import EMBEDDED, Encoder, EncoderSpec
from engine.types.lenses import Lens
from storage.files import file_errors, folder_bytes
from storage.home import Home, check_corpus_name
from storage.ledger import Ledger
from storage.locks import alone
from storage.records import CorpusRow
from storage.removal import changed_at, delete, delete_unused
from storage.vectors import DocumentTable

BEFORE, DURING = "before-the-last-import", "before-this-import"
"""Versions of a corpus's table to which :meth:`Writing.undo_import` goes back."""
MANY = 100  # Documents from which the preparation of a faster encoder costs less than it saves
KEPT = timedelta(days=30)  # How long retrieved documents stay that were not imported
MAPPING = {name: name for name in FIELDS} | {"sentences": "", "roles": ""}
"""Columns of what is retrieved."""
MADE_IDS = (
    (
        "Rows of {} have no id, and the numbers that they would get",
        "Give the rows ids. Of another file, another name does",
    ),
    ("Papers of {} are called by the names of their files, which", "Give the files other names"),
)
"""Ids that are in no file (of rows, of PDFs), and the remedy."""


@dataclass(frozen=True)
class Writing:
    """What writes the corpora of a home, each under :func:`engine.corpora.registry.writing`."""

    home: Home
    ledger: Ledger
    settings: Settings
    # loads a model by name; ``bulk`` where preparing it to be faster is worth some seconds,
    # ``download`` where a person named it
    load_encoder: Callable[..., Encoder]

    def own_encoder(self, name: str, spec: EncoderSpec) -> Encoder:
        """The model that a corpus was indexed with, or ModelMissingError."""
        encoder = self.load_encoder(spec.source)
        if encoder.spec.fingerprint != spec.fingerprint:
            raise ModelMissingError(
                f"The model '{spec.source}' is not the one that corpus '{name}' "
                "was indexed with (its weights differ).",
                "Put the old model back, or import the corpus again under a new name.",
            )
        return encoder

    def register(self, row: CorpusRow, **fields: Any) -> None:
        """Put a row that was changed now into the registry."""
        changed = replace(row, **fields, updated_at=datetime.now(UTC))
        registry.register(self.home, self.ledger, changed)

    def add_demo(self) -> None:
        """Copy the demo corpus, whose index comes with SeedLens, into a home that has none."""
        self.home.create()
        index = DEMO / "index"
        manifest = index / "corpus.json"
        row = TypeAdapter(CorpusRow).validate_json(manifest.read_bytes())
        with registry.writing(self.home, self.ledger, row.name):
            deleted = self.ledger.corpus(row.name)
            if deleted is not None and deleted.state != "deleted":
                return
            if deleted is None:
                registry.check_unlisted(self.home, row.name)
            folder = self.home.corpus(row.name)
            if folder.exists():
                folder = registry.next_store(self.home, row)
            files = [file for file in index.rglob("*") if file.is_file() and file != manifest]
            with file_errors(folder):
                for file in (*files, manifest):  # which says that the others are there
                    copy = folder / file.relative_to(index)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, copy)
            if deleted is not None:
                self.ledger.remove_corpus(deleted)
            lens = registry.registered(lens_from_json(row.lens), folder)
            self.register(row, source=str(DEMO), lens=lens, created_at=datetime.now(UTC))

    def can_undo(self, row: CorpusRow) -> bool:
        """Whether :meth:`undo_import` finds the version of before."""
        table = DocumentTable.folder(registry.store_of(self.home, row))
        marks = {file.stem for file in table.glob("_refs/tags/*.json")}
        return self.home.mirror is None and not marks.isdisjoint((BEFORE, DURING))

    def undo_import(self, row: CorpusRow) -> int:
        """Take the last import back; returns the number of documents."""
        if not self.can_undo(row):
            title = self.ledger.corpus_titles().get(row.name, row.name)
            raise BadInputError(
                f"There is no import into '{title}' to undo.",
                "The first one is undone by deleting the corpus.",
            )
        store = registry.store_of(self.home, row)
        table = DocumentTable.open(store)
        marks = table.marks()
        table.go_back(marks.get(DURING, marks.get(BEFORE, table.version)))
        for name in marks:
            table.mark(name, None)
        if sources := registry.sources_of(store):  # changes alone would not bring undone documents
            registry.write_sources(store, (replace(one, version="") for one in sources))
        documents = table.count()
        self.register(row, documents=documents, expected=documents)
        return documents

    def edit(self, row: CorpusRow, stored: Document, fields: Mapping[str, Any]) -> None:
        """Change fields of a stored document, and encode it again; importing the same source again
        changes nothing."""
        if "doc_id" in fields:
            raise BadInputError(
                "The ID of a document cannot be changed.", "Import the document under the new ID."
            )
        if not str(fields.get("text", stored.text) or "").strip():
            raise BadInputError("The abstract is empty.", "Enter a text.")
        own = ("doc_id", "title", "text", "year", "authors", "url")
        values = {name: getattr(stored, name) for name in own}
        values["metadata"] = dict(stored.metadata)
        for name, value in fields.items():
            (values if name in own else values["metadata"])[name] = value
        lens = lens_from_json(row.lens)
        columns = {name: name if name in own else "" for name in DOCUMENT_FIELDS}
        source = open_source([values], mapping=columns, lens=lens)
        (document,) = unique_documents(source, max_chars=self.settings.max_document_chars)
        for name, kind in (("year", "a year"), ("url", "a web address")):
            if values[name] and not getattr(document, name):
                raise BadInputError(f"{str(values[name])[:80]!r} is not {kind}.", "Correct it.")
        # A source may have metadata under the names of fields.
        like_own = {name: one for name, one in stored.metadata.items() if name in own}
        document = replace(document, metadata={**like_own, **document.metadata})
        if document.text == stored.text:
            spans = tuple(sentence.span for sentence in stored.sentences)
            document = replace(document, sentences=spans, roles=labels_of(stored, lens))
        table = DocumentTable.open(registry.store_of(self.home, row))
        (hash_,) = table.rows([stored.doc_id], ["content_hash"])["content_hash"].to_pylist()
        edited = {*edited_fields(hash_), *fields}
        edited |= {"family names", "organisations"} if "authors" in fields else set()
        known = {stored.doc_id: edited_hash(hash_, document, edited)}
        encoder = self.own_encoder(row.name, EncoderSpec.from_json(row.encoder))
        batch = encode_batch([document], encoder, lens, table.schema, known)
        if self.home.mirror is None:
            # Before it is written: a kill between would leave an older version.
            table.mark(BEFORE, table.version)
            table.mark(DURING, None)
        table.write(batch, replace=True)
        if table.count() <= LARGE:  # a document without an index is compared with every query
            build_indexes(table, row, lens, self.settings, registry.READERS_GRACE)
        self.register(row)

    def change_lens(self, row: CorpusRow, lens: Lens, tell: Tell) -> None:
        """Write a corpus under another lens to another folder, then update its row."""
        registry.sweep(self.home, row)
        before, after = registry.store_of(self.home, row), registry.next_store(self.home, row)
        Selections(self.ledger, row.name, before).take_files()
        spec, old = EncoderSpec.from_json(row.encoder), lens_from_json(row.lens)
        encoder = None if has_classifier(lens) else self.own_encoder(row.name, spec)
        try:
            change = ChangedLens(old, lens, spec, encoder, self.settings.shard_documents)
            table = change.copy(DocumentTable.open(before), after, tell)
            documents = table.count()
            tell(Progress("finishing", documents, documents, 0.0))
            build_indexes(table, row, lens, self.settings, timedelta(0))
            carry_scenarios(before, after)
            registry.write_sources(after, registry.sources_of(before))
            carry_whole(before, after)
        except BaseException:
            delete(after)  # after a kill, the next registry.sweep does it
            raise
        self.register(row, lens=registry.registered(lens, after))
        os.utime(before)  # its readers have some time from now


@dataclass(frozen=True)
class Import(Writing):
    """One import into a home. Stopped and run again it goes on; run twice it changes nothing."""

    request: ImportRequest
    tell: Tell = tell_nobody
    cancelled: Ask = never

    def run(self) -> ImportReport:
        """Import from any source, then make the map."""
        check_corpus_name(self.request.name)
        self.home.create()
        report = self._from_any()
        row = self._row()
        if report.cancelled or row is None or not self.settings.maps:
            return report
        problem = map_imported(self.home, self.ledger, row, self.tell, self.cancelled)
        return replace(report, warnings=(*report.warnings, problem)) if problem else report

    def _from_any(self) -> ImportReport:
        source = self.request.source
        if isinstance(source, ServiceQueries):
            reports: list[ImportReport] = []
            for query in source.queries:
                if not any(report.cancelled for report in reports):
                    reports.append(self._from_service(query))
            return reduce(_together, reports)
        if isinstance(source, NamedDataset):
            return self._from_dataset(source.name)
        return self._filled() if self.request.repairs.fill_abstracts else self.index()

    def _row(self) -> CorpusRow | None:
        return self.ledger.listed_corpus(self.request.name)

    # -- what is retrieved first ---------------------------------------------------------------

    def _from_dataset(self, name: str) -> ImportReport:
        """Import a data set of ``ir_datasets``: documents without text by their title, unless the
        request leaves them out; others without text and too long ones are left out and counted."""
        self.tell(Progress("retrieving", 0, 0, 0.0))
        folder = fetch_dataset(self.home, name, self.tell, self.cancelled)
        if folder is None:
            return self._stopped()
        known = self.request.repairs
        repairs = replace(
            known, title_as_text=not known.skip_empty, skip_empty=True, skip_broken=True
        )
        request = replace(self.request, source=folder, repairs=repairs)
        return replace(replace(self, request=request).index(), encoding="")

    @contextmanager
    def _retrieved(
        self, name: str, page: Callable[..., Page], query: ServiceQuery, *also: ServiceQuery
    ) -> Iterator[tuple[services.Retrieval, services.Retrieved]]:
        """A query's documents, locked, and how far they came; `page`: takes a client for each
        query, the first query and a cursor."""
        folder = self.home.retrieved / f"{self.request.name}-{query.digest}"
        busy = f"{name}: another process sends the same query."
        with alone(folder.with_suffix(".lock"), busy, "Wait until it is done, or cancel it."):
            self.tell(Progress("retrieving", 0, query.limit, 0.0))
            retrieval = services.Retrieval(folder, name, query)
            place = (self.settings, self.home, self.cancelled)
            with ExitStack() as held:
                opened = (services.client_of(one, *place) for one in (query, *also))
                asked = partial(page, *map(held.enter_context, opened), query)
                state = retrieval.run(asked, self.tell, self.cancelled)
            yield retrieval, state

    def _from_service(self, query: ServiceQuery) -> ImportReport:
        service = services.service_of(query.service)
        name = service.info.name
        with self._retrieved(name, service.page, query) as (retrieval, state):
            if state.stopped:
                return self._stopped(state.documents)
            if state.documents and (retrieval.has_abstracts() or not query.with_abstract):
                repairs = Repairs(
                    skip_empty=True, skip_broken=True, title_as_text=not query.with_abstract
                )
                request = replace(
                    self.request,
                    source=retrieval.file,
                    source_format="jsonl",
                    mapping=MAPPING,
                    repairs=repairs,
                    origin=str(query),
                )
                report = replace(self, request=request).index()
            elif query.since:
                report = replace(self._stopped(), cancelled=False)  # nothing is new
            else:
                delete(retrieval.file.parent)
                raise services.nothing_found(state, name, query)
            if not report.cancelled:
                self._note_source(query, name, state, report.added)
                delete(retrieval.file.parent)
        warnings = (*services.warnings_of(state, name, query), *report.warnings)
        return replace(report, warnings=warnings, encoding="")

    def _filled(self) -> ImportReport:
        """Import a file; missing abstracts are looked up by DOI first, at OpenAlex and Crossref."""
        request = self.request
        source = self._open(request.lens or RESEARCH)
        # These two signs part the DOIs of a request.
        dois = tuple(doi for doi in source.dois_without_text() if not {",", "|"} & set(doi))
        if not dois:
            return self.index()
        query = ServiceQuery(FIRST.info.key, ids=dois, limit=len(dois))
        also = replace(query, service=SECOND.info.key)
        with self._retrieved(NAMES, abstracts_page, query, also) as (retrieval, state):
            if state.stopped:
                return self._stopped(state.documents)
            repairs = replace(request.repairs, abstracts=str(retrieval.file))
            report = replace(self, request=replace(request, repairs=repairs)).index()
            found = len(found_abstracts(repairs.abstracts))
            if not report.cancelled:
                delete(retrieval.file.parent)
        met = f"{NAMES} have {found:,} of the {len(dois):,} abstracts that were missing."
        return replace(report, warnings=(met, *report.warnings))

    def _stopped(self, retrieved: int = 0) -> ImportReport:
        row = self._row()
        stored = row.documents if row else 0
        return ImportReport(self.request.name, retrieved, 0, 0, 0, stored, 0.0, cancelled=True)

    def _note_source(
        self, query: ServiceQuery, name: str, state: services.Retrieved, added: int
    ) -> None:
        row = self._row()
        if row is None:
            return
        store, whole = registry.store_of(self.home, row), replace(query, since="")
        with registry.adding(self.home, self.ledger, row.name):
            known = {one.query.digest: one for one in registry.sources_of(store)}
            before = known.get(whole.digest)
            documents = state.documents
            if query.since:
                documents = added + (before.documents if before else 0)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            # An update by changes alone would not bring what a limit cut off.
            version = state.version if state.done and not state.shrank else query.since
            known[whole.digest] = CorpusSource(whole, name, documents, now, version)
            registry.write_sources(store, known.values())

    # -- indexing ------------------------------------------------------------------------------

    def _open(self, lens: Lens) -> Source:
        request = self.request
        given = (request.source, request.source_format, request.mapping)
        return open_source(*given, lens=lens, repairs=request.repairs)

    def index(self) -> ImportReport:
        """Import a file, a folder or rows; all is read and checked before anything is written."""
        started = time.perf_counter()
        request, most = self.request, self.settings.max_document_chars
        self.tell(Progress("checking", 0, 0, 0.0))
        lens = self._lens()
        report = _checked_apart(request, lens, most)
        source = self._open(lens)
        with ExitStack() as held:
            workers = self._workers(held)
            report = report or check(source, most)
            held.enter_context(registry.writing(self.home, self.ledger, request.name))
            self._check_made_ids(source)
            row, encoder = self._register(source, report)
            lens = lens_from_json(row.lens)
            schema = table_schema(encoder.spec, lens)
            table = DocumentTable.open_or_create(registry.store_of(self.home, row), schema)
            if row.state == "ready" and self.home.mirror is None and DURING not in table.marks():
                table.mark(DURING, table.version)
            # Searches may be under way once it is ready.
            grace = registry.READERS_GRACE if row.state == "ready" else timedelta(0)
            how = (self.tell, self.cancelled, grace, workers, report.documents >= MANY)
            run = IndexRun(table, encoder, lens, self.settings.shard_documents, *how)
            documents = unique_documents(source, max_chars=most)
            done = run.run(documents, report.documents, request.name)
            if not done.cancelled and done.read < report.documents:
                raise BadInputError(
                    f"{source.name} changed while it was imported.", "Run the same command again."
                )
            self._finish(table, row, done, lens, grace)
        seconds = time.perf_counter() - started
        self.tell(Progress("done", done.read, report.documents, seconds))
        encoding = source.encoding.label if source.encoding else ""
        embedded = encoder.spec.source == EMBEDDED
        warnings = (one for one in report.warnings if embedded or READS_ENGLISH not in one)
        return replace(done, seconds=seconds, warnings=tuple(warnings), encoding=encoding)

    def _workers(self, held: ExitStack) -> Workers | None:
        """The workers of the cluster that is set; None where this process works alone."""
        if not self.settings.ray:
            return None
        preset = resolve(self._encoder_source()).preset
        whole = preset is not None and preset.kind == "decoder"
        workers = workers_at(self.settings.ray, self.settings.threads, whole_gpu=whole)
        return held.enter_context(workers)

    def _register(self, source: Source, checked: CheckReport) -> tuple[CorpusRow, Encoder]:
        """Check model and disk, then record in the ledger that indexing has begun."""
        request, known = self.request, self._row()
        if known is not None:
            registry.sweep(self.home, known)
        encoder = self.load_encoder(
            self._encoder_source(),
            bulk=checked.documents >= MANY,
            download=request.encoder is not None,
        )
        if known is not None and EncoderSpec.from_json(known.encoder) != encoder.spec:
            raise BadInputError(
                f"The model '{encoder.spec.source}' is not the one that corpus "
                f"'{request.name}' was indexed with (its weights differ).",
                "Import under a new name.",
            )
        deleted = self.ledger.corpus(request.name) if known is None else None
        if known is not None:
            store = registry.store_of(self.home, known)
        elif deleted is not None:
            store = registry.next_store(self.home, deleted)
        else:
            store = self.home.corpus(request.name)
            registry.check_unlisted(self.home, request.name)
        if known is None or known.documents < checked.documents:
            needed = max(0, checked.disk - folder_bytes(store))
            free, count = shutil.disk_usage(self.home.root).free, checked.documents
            if needed > free:
                raise StorageFullError(
                    f"Indexing {source.name} needs about {size(needed)}; "
                    f"{size(free)} are free in {self.home.root}.",
                    "Free some space, or set SEEDLENS_HOME to a larger disk.",
                )
            self.tell(Progress("checking", count, count, 0.0, disk=needed))
        if deleted is not None:  # only now: until here the import may be refused
            self.ledger.remove_corpus(deleted, replaced=True)
        now = datetime.now(UTC)
        row = CorpusRow(
            name=request.name,
            # A corpus that is searchable stays so while documents are added to it.
            state=known.state if known else "indexing",
            source=request.origin or self.home.relative(source.location),
            source_format=source.format,
            lens=known.lens if known else registry.registered(self._lens(), store),
            encoder=encoder.spec.to_json(),
            documents=known.documents if known else 0,
            expected=checked.documents,
            created_at=now,
            updated_at=now,
            generation=known.generation if known else "",
        )
        self.ledger.put_corpus(row)
        return row, encoder

    def _check_made_ids(self, source: Source) -> None:
        """Raise BadInputError where ids made of row numbers or file names are those of other
        documents: their texts and titles differ. A document may be corrected in its place."""
        row = self._row()
        store = None if row is None else registry.store_of(self.home, row)
        made_up = self.request.repairs.number_ids or source.source_format.files
        if not made_up or store is None or not DocumentTable.is_stored(store):
            return
        table, settings = DocumentTable.open(store), self.settings
        documents = unique_documents(source, max_chars=settings.max_document_chars)
        made = (one for one in documents if source.makes(one.doc_id))
        for group in cut(made, settings.shard_documents, lambda one: len(one.text)):
            rows = table.rows([one.doc_id for one in group], ["title", "text"]).to_pylist()
            stored = {row["doc_id"]: (row["title"], row["text"]) for row in rows}
            for one in group:
                title, text = stored.get(one.doc_id, (one.title, one.text))
                if one.text != text and (one.title != title or not title):
                    ids, remedy = MADE_IDS[source.format == "pdf"]
                    raise BadInputError(
                        f"{ids.format(source.name)}, such as '{one.doc_id}', are those of other "
                        f"documents in '{self.request.name}', which would be replaced.",
                        f"{remedy}, or import it into another corpus.",
                    )

    def _encoder_source(self) -> str:
        known, wanted = self._row(), self.request.encoder
        if known is None:
            return wanted or EMBEDDED
        own = EncoderSpec.from_json(known.encoder).source
        if wanted not in (None, own):
            raise BadInputError(
                f"The corpus '{known.name}' was indexed with '{own}', not '{wanted}'.",
                "Import under a new name to use another model.",
            )
        return own

    def _lens(self) -> Lens:
        """The lens to import with; BadInputError when the corpus has another one."""
        known, wanted = self._row(), self.request.lens
        own = RESEARCH if known is None else lens_from_json(known.lens)
        if known is None or wanted is None:
            return wanted or own
        differs = ""
        asked, stored = ([a.key for a in lens.aspects] for lens in (wanted, own))
        # The words of a shipped lens may change with SeedLens's version; that is no other lens.
        shipped = wanted.key in {lens.key for lens in SHIPPED}
        if asked != stored:
            differs = f"aspects ({', '.join(stored)}, not {', '.join(asked)})"
        elif not shipped and wanted.aspects != own.aspects:
            differs = "words for these aspects"
        if differs:
            raise BadInputError(
                f"The corpus '{known.name}' was indexed with other {differs}.",
                "Import under a new name to use another lens, or change the corpus's own: "
                f"seedlens lens set {shlex.quote(known.name)} LENS",
            )
        return own

    def _finish(
        self, table: DocumentTable, row: CorpusRow, done: ImportReport, lens: Lens, grace: timedelta
    ) -> None:
        """Build the indexes if anything is new, and registry.register the outcome."""
        new = bool(done.added or done.updated)
        if not done.cancelled and (new or row.state != "ready" or not table.is_finished()):
            build_indexes(table, row, lens, self.settings, grace)
        if not done.cancelled and (before := table.marks().get(DURING)) is not None:
            if new:
                table.mark(BEFORE, before)
            table.mark(DURING, None)
        state = row.state if done.cancelled else "ready"
        self.register(row, state=state, documents=done.documents)


def build_indexes(
    table: DocumentTable, row: CorpusRow, lens: Lens, settings: Settings, grace: timedelta
) -> None:
    """Compact a table and index what its size needs; ``grace`` is for present readers."""
    dimension = EncoderSpec.from_json(row.encoder).dimension
    columns = vector_columns([a.key for a in lens.aspects])
    documents = table.count()
    resident = documents * dimension * 4 * len(columns) <= settings.resident_megabytes * 2**20
    table.finish([] if resident or documents <= LARGE else columns, grace)


def _checked_apart(request: ImportRequest, lens: Lens, most: int) -> CheckReport | None:
    """The check of a Parquet file, of which a small one may fill the memory; None for others."""
    if not isinstance(request.source, Path | str):
        return None
    path = Path(request.source)
    is_one = path.suffix.lower() == ".parquet" and request.source_format == "auto"
    if not (is_one or request.source_format == "parquet"):
        return None
    return previews.check(replace(request, source=existing(path), lens=lens), most)


def _together(first: ImportReport, second: ImportReport) -> ImportReport:
    counts = ("read", "added", "updated", "unchanged", "seconds")
    return replace(
        second,
        **{name: getattr(first, name) + getattr(second, name) for name in counts},
        kept=Counter(first.kept) + Counter(second.kept),
        warnings=(*first.warnings, *second.warnings),
    )


def sweep_retrieved(home: Home) -> None:
    """Remove what was retrieved long ago and never imported."""
    for folder in home.retrieved.glob("*/"):
        since, lock = partial(changed_at, folder), alone(folder.with_suffix(".lock"), "", "")
        delete_unused(folder, since, KEPT, lock)
