"""Importing: check everything, then index resumably, by one process or many.

Of many, workers encode shards of the source and write their rows, and the importing process commits
them, some shards at a time, in the order of the source, under the corpus's lock. Each document is
there exactly once whatever is killed: rows count only once they are committed, and which are is
read from the table when an import begins, and when a commit ended in an error."""

from __future__ import annotations

import functools
import json
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from pydantic import TypeAdapter

from engine.config import DEMO, Settings
from engine.corpora.contracts import LARGE
from engine.corpora.indexing import (
    IndexRun,
    Shard,
    Written,
    cut,
    encode_batch,
    table_schema,
    text_length,
)
from engine.corpora.registry import (
    READERS_GRACE,
    has_manifest,
    next_store,
    register,
    registered,
    store_of,
    sweep,
    writing,
)
from engine.corpora.schema import vector_columns
from engine.encode.presets import resolve
from engine.errors import (
    BadInputError,
    CorpusMissingError,
    ModelMissingError,
    StorageError,
    StorageFullError,
)
from engine.ingest import Source, check, open_source, previews, unique_documents
from engine.ingest.formats import existing
from engine.ingest.rows import READS_ENGLISH
from engine.jobs.cluster import Workers, workers_at
from engine.lenses.definitions import RESEARCH, SHIPPED, lens_from_json
from engine.text import size
from engine.types.callbacks import Ask, Tell, never, tell_nobody
from engine.types.corpora import CheckReport, ImportReport, ImportRequest, Progress
from engine.types.documents import SourceDocument
from engine.types.encoders import EMBEDDED, Encoder, EncoderSpec
from engine.types.lenses import Lens
from storage.files import folder_bytes
from storage.home import Home, check_corpus_name
from storage.ledger import Ledger
from storage.records import CorpusRow
from storage.vectors import DocumentTable

GROUP = 16  # Shards of one commit: each makes a version of the table, and searches open the latest
GROUP_SECONDS = 30.0  # After so long a commit takes what there is: it is all that a kill can cost
TRIES = 4  # Of a commit that fails without having been done
WAIT_SECONDS = 1.0  # Before the second try, doubled with each


@dataclass(frozen=True, slots=True)
class Target:
    """The table that documents are written to, and how."""

    path: Path  # the corpus's folder, the same on all machines
    made: str  # which table it is
    spec: EncoderSpec
    lens: Lens
    bulk: bool  # as when the model is loaded here


def index_shard(shard: Shard, target: Target) -> Written:
    """On a worker: encode a shard, and write its new documents."""
    from engine.encode.loaders import load_encoder

    counts = shard.read, len(shard.new), len(shard.changed), shard.stale
    if not shard.new and not shard.changed:
        return Written(*counts)
    table = _table(target.path, target.made)
    encoder = load_encoder(target.spec.source, threads=1, bulk=target.bulk, download=False)
    if encoder.spec != target.spec:
        raise ModelMissingError(
            f"A worker's model '{target.spec.source}' is not the one here (its weights differ).",
            "Put the same model on all machines.",
        )

    def rows(documents: Sequence[SourceDocument]) -> pa.RecordBatch:
        return encode_batch(documents, encoder, target.lens, table.schema, shard.hashes)

    changed = (rows(shard.changed),) if shard.changed else ()
    if not shard.new:
        return Written(*counts, changed=changed)
    fragments = tuple(table.write_fragments(rows(shard.new)))
    return Written(*counts, shard.new[0].doc_id, fragments, changed)


@functools.lru_cache(maxsize=4)
def _table(path: Path, made: str) -> DocumentTable:
    remedy = "All machines of the cluster need the home at the same path: share its folder."
    try:
        table = DocumentTable.open(path)
    except CorpusMissingError as error:
        raise CorpusMissingError(f"A worker does not see the corpus in {path}.", remedy) from error
    if table.made != made:
        raise CorpusMissingError(f"A worker sees another corpus in {path}.", remedy)
    return table


@dataclass
class DistributedRun(IndexRun):
    """As :class:`IndexRun`, by workers."""

    workers: Workers = field(kw_only=True)
    bulk: bool = field(kw_only=True)  # as the model was loaded

    def _store(self, shards: Iterable[Shard]) -> Iterator[Written]:
        target = Target(self.table.path, self.table.made, self.encoder.spec, self.lens, self.bulk)
        group: list[Written] = []
        committed = time.monotonic()
        for written in self.workers.map(index_shard, shards, target, cancelled=self._is_to_stop):
            group.append(written)
            if len(group) >= GROUP or time.monotonic() - committed > GROUP_SECONDS:
                self._commit(group)
                group, committed = [], time.monotonic()
            yield written
        self._commit(group)

    def _commit(self, group: Sequence[Written]) -> None:
        """Store some shards; new rows in one commit."""
        firsts = [written.first for written in group if written.first]
        if firsts:
            self._append([one for written in group for one in written.fragments], firsts)
        for rows in (rows for written in group for rows in written.changed):
            self.table.write(rows, replace=True)

    def _append(self, fragments: Sequence[str], firsts: Sequence[str]) -> None:
        """Commit fragments once, although an error leaves open whether that was done."""
        for wait in (*(WAIT_SECONDS * 2**n for n in range(TRIES - 1)), None):
            try:
                self.table.append(fragments)
                return
            except StorageFullError:
                raise
            except StorageError:
                there = self.table.of(firsts, ["doc_id"]).num_rows
                if there == len(firsts):
                    return
                if wait is None or there:
                    raise
                time.sleep(wait)


BEFORE, DURING = "before-the-last-import", "before-this-import"
"""Versions of a corpus's table to which :func:`undo_import` goes back."""
MANY = 100  # Documents from which the preparation of a faster encoder costs less than it saves
MADE_IDS = (
    (
        "Rows of {} have no id, and the numbers that they would get",
        "Give the rows ids. Of another file, another name does",
    ),
    ("Papers of {} are called by the names of their files, which", "Give the files other names"),
)
"""Ids that are in no file (of rows, of PDFs), and the remedy."""


@dataclass(frozen=True)
class Importer:
    """Runs imports into one home."""

    home: Home
    ledger: Ledger
    settings: Settings
    # loads a model by name; ``bulk`` where preparing it to be faster is worth some seconds,
    # ``download`` where a person named it
    load_encoder: Callable[..., Encoder]

    def run(
        self, request: ImportRequest, on_progress: Tell = tell_nobody, cancelled: Ask = never
    ) -> ImportReport:
        """Import, or go on with an import that was stopped; running it twice changes nothing. The
        whole source is read and checked before the first document is written."""
        started = time.perf_counter()
        check_corpus_name(request.name)
        on_progress(Progress("checking", 0, 0, 0.0))
        lens = self._lens(request)
        most = self.settings.max_document_chars
        report = _checked_apart(request, lens, most)
        source = open_source(
            *(request.source, request.source_format, request.mapping),
            lens=lens,
            repairs=request.repairs,
        )
        self.home.create()
        with ExitStack() as held:
            workers = self._workers(request, held)
            report = report or check(source, most)
            held.enter_context(writing(self.home, self.ledger, request.name))
            self._check_made_ids(request.name, source)
            row, encoder = self._register(request, source, report, on_progress)
            lens = lens_from_json(row.lens)
            table = DocumentTable.open_or_create(
                store_of(self.home, row), table_schema(encoder.spec, lens)
            )
            if row.state == "ready" and self.home.mirror is None and DURING not in table.marks():
                table.mark(DURING, table.version)
            # While it is first indexed nobody searches it; later, searches may be under way.
            grace = READERS_GRACE if row.state == "ready" else timedelta(0)
            shard = self.settings.shard_documents
            given = (table, encoder, lens, shard, on_progress, cancelled, grace)
            bulk = report.documents >= MANY
            run = (
                DistributedRun(*given, workers=workers, bulk=bulk) if workers else IndexRun(*given)
            )
            documents = unique_documents(source, max_chars=most)
            done = run.run(documents, report.documents, request.name)
            if not done.cancelled and done.read < report.documents:
                raise BadInputError(
                    f"{source.name} changed while it was imported.", "Run the same command again."
                )
            self._finish(table, row, done, lens, grace)
        seconds = time.perf_counter() - started
        on_progress(Progress("done", done.read, report.documents, seconds))
        encoding = source.encoding.label if source.encoding else ""
        embedded = encoder.spec.source == EMBEDDED
        warnings = (one for one in report.warnings if embedded or READS_ENGLISH not in one)
        return replace(done, seconds=seconds, warnings=tuple(warnings), encoding=encoding)

    def _workers(self, request: ImportRequest, held: ExitStack) -> Workers | None:
        """The workers of the cluster that is set; None where this process works alone."""
        if not self.settings.ray:
            return None
        model = self._encoder_source(request, self.ledger.listed_corpus(request.name))
        preset = resolve(model).preset
        whole = preset is not None and preset.kind == "decoder"
        return held.enter_context(
            workers_at(self.settings.ray, self.settings.threads, whole_gpu=whole)
        )

    def _register(
        self, request: ImportRequest, source: Source, checked: CheckReport, tell: Tell
    ) -> tuple[CorpusRow, Encoder]:
        """Check model and disk, then note in the ledger that indexing has begun."""
        lens = self._lens(request)
        known = self.ledger.listed_corpus(request.name)
        if known is not None:
            sweep(self.home, known)
        encoder = self.load_encoder(
            self._encoder_source(request, known),
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
            store = store_of(self.home, known)
        elif deleted is not None:
            store = next_store(self.home, deleted)
        else:
            store = self.home.corpus(request.name)
            self._check_unknown(request.name)
        if known is None or known.documents < checked.documents:
            needed = self._check_space(source.name, checked, store)
            tell(Progress("checking", checked.documents, checked.documents, 0.0, disk=needed))
        if deleted is not None:  # only now: until here the import may be refused
            self.ledger.remove_corpus(deleted)
        now = datetime.now(UTC)
        row = CorpusRow(
            name=request.name,
            # A corpus that is searchable stays so while documents are added to it.
            state=known.state if known else "indexing",
            source=request.origin or self.home.relative(source.location),
            source_format=source.format,
            lens=known.lens if known else registered(lens, store),
            encoder=encoder.spec.to_json(),
            documents=known.documents if known else 0,
            expected=checked.documents,
            created_at=now,
            updated_at=now,
            generation=known.generation if known else "",
        )
        self.ledger.put_corpus(row)
        return row, encoder

    def _check_unknown(self, name: str) -> None:
        """Raise BadInputError where a new name is that of a corpus that the ledger lost."""
        if has_manifest(self.home, name):
            raise BadInputError(
                f"The home has a corpus '{name}' already, which its ledger does not know.",
                "To have it listed again: seedlens doctor --rebuild. Or use another name.",
            )

    def _check_made_ids(self, name: str, source: Source) -> None:
        """Raise BadInputError where ids made of row numbers or file names are those of other
        documents: their texts and titles differ. A document may be corrected in its place."""
        known = self.ledger.listed_corpus(name)
        store = None if known is None else store_of(self.home, known)
        if not source.makes_ids or store is None or not DocumentTable.is_stored(store):
            return
        table, settings = DocumentTable.open(store), self.settings
        documents = unique_documents(source, max_chars=settings.max_document_chars)
        made = (one for one in documents if source.makes(one.doc_id))
        for group in cut(made, settings.shard_documents, text_length):
            rows = table.rows([one.doc_id for one in group], ["title", "text"]).to_pylist()
            stored = {row["doc_id"]: (row["title"], row["text"]) for row in rows}
            for one in group:
                title, text = stored.get(one.doc_id, (one.title, one.text))
                if one.text != text and (one.title != title or not title):
                    ids, remedy = MADE_IDS[source.format == "pdf"]
                    raise BadInputError(
                        f"{ids.format(source.name)}, such as '{one.doc_id}', are those of other "
                        f"documents in '{name}', which would be replaced.",
                        f"{remedy}, or import it into another corpus.",
                    )

    def _encoder_source(self, request: ImportRequest, known: CorpusRow | None) -> str:
        if known is None:
            return request.encoder or EMBEDDED
        own = EncoderSpec.from_json(known.encoder).source
        if request.encoder not in (None, own):
            raise BadInputError(
                f"The corpus '{request.name}' was indexed with '{own}', not '{request.encoder}'.",
                "Import under a new name to use another model.",
            )
        return own

    def _lens(self, request: ImportRequest) -> Lens:
        """The lens to import with; BadInputError when the corpus has another one."""
        known = self.ledger.listed_corpus(request.name)
        own = RESEARCH if known is None else lens_from_json(known.lens)
        if request.lens is None:
            return own
        if known is None:
            return request.lens
        asked, stored = ([a.key for a in lens.aspects] for lens in (request.lens, own))
        remedy = (
            "Import under a new name to use another lens, or change the corpus's own: "
            f"seedlens lens set {request.name} LENS"
        )
        if asked != stored:
            raise BadInputError(
                f"The corpus '{request.name}' was indexed with other aspects "
                f"({', '.join(stored)}, not {', '.join(asked)}).",
                remedy,
            )
        # The words of a shipped lens may change with SeedLens's version; that is no other lens.
        shipped = request.lens.key in {lens.key for lens in SHIPPED}
        if not shipped and _words(request.lens) != _words(own):
            raise BadInputError(
                f"The corpus '{request.name}' was indexed with other words for these aspects.",
                remedy,
            )
        return own

    def _check_space(self, source: str, checked: CheckReport, store: Path) -> int:
        """Bytes that indexing is going to take; StorageFullError where they are not free."""
        needed = max(0, checked.disk - folder_bytes(store))
        free = shutil.disk_usage(self.home.root).free
        if needed > free:
            raise StorageFullError(
                f"Indexing {source} needs about {size(needed)}; "
                f"{size(free)} are free in {self.home.root}.",
                "Free some space, or set SEEDLENS_HOME to a larger disk.",
            )
        return needed

    def _finish(
        self, table: DocumentTable, row: CorpusRow, done: ImportReport, lens: Lens, grace: timedelta
    ) -> None:
        """Build the indexes if anything is new, and note the outcome."""
        if not done.cancelled and (
            done.added or done.updated or row.state != "ready" or not table.is_finished()
        ):
            build_indexes(table, row, lens, self.settings, grace)
        if not done.cancelled and (before := table.marks().get(DURING)) is not None:
            if done.added or done.updated:
                table.mark(BEFORE, before)
            table.mark(DURING, None)
        now = datetime.now(UTC)
        state = row.state if done.cancelled else "ready"
        done_row = replace(row, state=state, documents=done.documents, updated_at=now)
        register(self.home, self.ledger, done_row)


def add_demo(home: Home, ledger: Ledger) -> None:
    """Copy the demo corpus, whose index comes with SeedLens, into a home."""
    index, now = DEMO / "index", datetime.now(UTC)
    row = TypeAdapter(CorpusRow).validate_json((index / "corpus.json").read_bytes())
    with writing(home, ledger, row.name):
        folder = home.corpus(row.name)
        if earlier := ledger.corpus(row.name):
            ledger.remove_corpus(earlier)
        if folder.exists():
            folder = next_store(home, row)
        shutil.copytree(index, folder)
        lens = registered(lens_from_json(row.lens), folder)
        row = replace(row, source=str(DEMO), lens=lens, created_at=now, updated_at=now)
        register(home, ledger, row)


def can_undo(home: Home, row: CorpusRow) -> bool:
    """Whether :func:`undo_import` finds the version of before."""
    names = (store_of(home, row) / f"{DocumentTable.name}.lance" / "_refs" / "tags").glob("*.json")
    return home.mirror is None and bool({BEFORE, DURING} & {file.stem for file in names})


def undo_import(home: Home, ledger: Ledger, row: CorpusRow) -> int:
    """Take the last import back, under :func:`writing`; returns the number of documents."""
    if not can_undo(home, row):
        raise BadInputError(
            f"There is no import into '{row.name}' to undo.",
            "The first one is undone by deleting the corpus.",
        )
    table = DocumentTable.open(store_of(home, row))
    marks = table.marks()
    table.go_back(marks.get(DURING, marks.get(BEFORE, table.version)))
    for name in marks:
        table.mark(name, None)
    documents = table.count()
    now = datetime.now(UTC)
    register(home, ledger, replace(row, documents=documents, expected=documents, updated_at=now))
    return documents


def _words(lens: Lens) -> str:
    """All that the roles of a corpus depend on."""
    return json.dumps([asdict(aspect) for aspect in lens.aspects])


def build_indexes(
    table: DocumentTable, row: CorpusRow, lens: Lens, settings: Settings, grace: timedelta
) -> None:
    """Compact a table and index what its size asks for; ``grace`` is for present readers."""
    dimension = EncoderSpec.from_json(row.encoder).dimension
    columns = vector_columns([a.key for a in lens.aspects])
    documents = table.count()
    resident = documents * dimension * 4 * len(columns) <= settings.resident_megabytes * 2**20
    table.finish([] if resident or documents <= LARGE else columns, grace)


def _checked_apart(request: ImportRequest, lens: Lens, most: int) -> CheckReport | None:
    """The check of a Parquet file, of which a little one may fill the memory; None for others."""
    if not isinstance(request.source, Path | str):
        return None
    path = Path(request.source)
    is_one = path.suffix.lower() == ".parquet" and request.source_format == "auto"
    if not (is_one or request.source_format == "parquet"):
        return None
    chosen = (request.source_format, request.mapping, lens, most, request.repairs)
    return previews.check(previews.Reading(existing(path), *chosen))
