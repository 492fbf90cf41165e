"""Another lens for an indexed corpus, from its stored vectors: nothing is encoded again."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa

from engine.config import Settings
from engine.corpora.import_sources import carry_sources
from engine.corpora.importing import build_indexes
from engine.corpora.indexing import (
    aspect_vectors,
    fixed_vectors,
    has_classifier,
    labels_of,
    role_probabilities,
    table_schema,
)
from engine.corpora.map_making import carry_whole
from engine.corpora.registry import next_store, register, registered, store_of, sweep
from engine.corpora.scenario_store import carry_scenarios
from engine.corpora.schema import TEXT_COLUMNS, aspect_column, to_document
from engine.errors import StorageFullError
from engine.lenses.definitions import lens_from_json
from engine.numeric import FloatArray
from engine.types.callbacks import Tell, tell_nobody
from engine.types.corpora import Progress
from engine.types.documents import Document, SourceDocument
from engine.types.encoders import Encoder, EncoderSpec
from engine.types.lenses import Lens
from storage.files import folder_bytes
from storage.home import Home
from storage.ledger import Ledger
from storage.records import CorpusRow
from storage.removal import delete
from storage.selections import carry_selections
from storage.vectors import DocumentTable

READ_ROWS = 32  # Documents read at once: a long one has tens of megabytes of token vectors
WRITE_BYTES = 64 * 2**20  # Rows are gathered up to this size, or one shard, for each commit


@dataclass(frozen=True)
class LensChange:
    """Gives corpora of one home another lens."""

    home: Home
    ledger: Ledger
    settings: Settings
    encoder: Callable[[str, EncoderSpec], Encoder]  # loads the model that a corpus was indexed with

    def run(self, row: CorpusRow, lens: Lens, tell: Tell = tell_nobody) -> None:
        """Write the corpus to another folder, then update its row; the caller holds its lock."""
        sweep(self.home, row)
        before, after = store_of(self.home, row), next_store(self.home, row)
        self._check_space(before)
        spec, old = EncoderSpec.from_json(row.encoder), lens_from_json(row.lens)
        encoder = None if has_classifier(lens) else self.encoder(row.name, spec)
        copy = ChangedLens(old, lens, spec, encoder, self.settings.shard_documents)
        try:
            source = DocumentTable.open(before)
            table = copy.copy(source, after, tell)
            documents = table.count()
            tell(Progress("finishing", documents, documents, 0.0))
            build_indexes(table, row, lens, self.settings, timedelta(0))
            carry_scenarios(before, after)
            carry_sources(before, after)
            carry_selections(before, after)
            carry_whole(before, after)
        except BaseException:
            delete(after)  # after a kill, the next sweep does it
            raise
        new = replace(row, lens=registered(lens, after), updated_at=datetime.now(UTC))
        register(self.home, self.ledger, new)
        os.utime(before)  # its readers have some time from now

    def _check_space(self, store: Path) -> None:
        needed, free = folder_bytes(store), shutil.disk_usage(self.home.root).free
        if needed > free:
            raise StorageFullError(
                f"Changing the lens needs about {needed / 1e9:.1f} GB; {free / 1e9:.1f} GB are "
                f"free in {self.home.root}.",
                "Free some space; the corpus is as it was.",
            )


@dataclass(frozen=True)
class ChangedLens:
    """Copies a corpus into another folder, with the roles and aspect vectors of another lens."""

    old: Lens
    new: Lens
    spec: EncoderSpec
    # the corpus's own, for the prototypes of the new lens; None where the new lens has a classifier
    encoder: Encoder | None
    shard: int  # documents per commit

    def copy(self, source: DocumentTable, folder: Path, tell: Tell) -> DocumentTable:
        """Write all documents of ``source`` to a new table, a few dozen in memory at a time."""
        started = time.perf_counter()
        schema = table_schema(self.spec, self.new, source.schema)
        target = DocumentTable.open_or_create(folder, schema)
        total, done = source.count(), 0
        for group in _groups(source.columns(source.schema.names, READ_ROWS), self.shard):
            rows = pa.Table.from_batches([self.rows(batch) for batch in group])
            target.write(rows.combine_chunks().to_batches()[0], replace=False)
            done += rows.num_rows
            seconds = time.perf_counter() - started
            tell(Progress("indexing", done, total, seconds, done / max(seconds, 1e-9)))
        return target

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The same documents under the new lens: a pure function of them."""
        roles, aspects = [], []
        for i in range(batch.num_rows):
            vectors = self._sentence_vectors(batch, i)
            found = self._roles(batch, i, vectors)
            roles.append(found.ravel().tolist())
            aspects.append(aspect_vectors(vectors, found))
        schema = table_schema(self.spec, self.new, batch.schema)
        stacked = np.stack(aspects)
        derived: dict[str, pa.Array] = {
            "roles": pa.array(roles, schema.field("roles").type),
            **{
                aspect_column(a.key): fixed_vectors(stacked[:, i])
                for i, a in enumerate(self.new.aspects)
            },
        }
        columns = [derived[name] if name in derived else batch[name] for name in schema.names]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _sentence_vectors(self, batch: pa.RecordBatch, row: int) -> FloatArray:
        values = batch["sentence_vectors"][row].values.flatten().to_numpy(zero_copy_only=False)
        return np.asarray(values, dtype=np.float32).reshape(-1, self.spec.dimension)

    def _roles(self, batch: pa.RecordBatch, row: int, vectors: FloatArray) -> FloatArray:
        """Of labels that the source gave under the old lens, those that the new lens has stay."""
        stored = to_document(batch.slice(row, 1).select(TEXT_COLUMNS).to_pylist()[0], self.old)
        new = {aspect.key for aspect in self.new.aspects}
        labels = [key if key in new else None for key in labels_of(stored, self.old) or ()]
        spans = tuple(sentence.span for sentence in stored.sentences)
        roles = tuple(labels) if any(labels) else None
        document = SourceDocument(stored.doc_id, stored.title, stored.text, "", spans, roles)
        return role_probabilities(document, spans, self.new, vectors, self.encoder)


def preview(
    source: DocumentTable, doc_ids: Sequence[str], change: ChangedLens
) -> tuple[Document, ...]:
    """Some documents as they would be under another lens; nothing is written."""
    rows = source.rows(doc_ids, source.schema.names).select(source.schema.names)
    changed = [change.rows(batch) for batch in rows.combine_chunks().to_batches()]
    return tuple(
        to_document(row, change.new)
        for batch in changed
        for row in pa.Table.from_batches([batch]).select(list(TEXT_COLUMNS)).to_pylist()
    )


def _groups(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[list[pa.RecordBatch]]:
    """Batches that are written together: at most ``rows`` and, but for the last, WRITE_BYTES."""
    group: list[pa.RecordBatch] = []
    for batch in batches:
        together = sum(b.num_rows for b in group) + batch.num_rows
        if group and (together > rows or sum(b.nbytes for b in group) > WRITE_BYTES):
            yield group
            group = []
        group.append(batch)
    if group:
        yield group
