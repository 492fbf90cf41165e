"""From documents to stored rows: a pure function per batch, and resumable runs over it.

With Ray, workers encode shards of the source and write their rows, and the importing process
commits them, some shards at a time, in the order of the source, under the corpus's lock. Each
document is there exactly once after any kill: rows count only once they are committed, and the
committed ones are read from the table when a run begins, and after a commit that failed."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.corpora.contracts import TokenArray
from engine.corpora.schema import (
    TEXT_COLUMNS,
    aspect_column,
    facet,
    rows_of,
    to_batch,
    to_document,
    values_of,
)
from engine.corpora.stored_facts import FACT_FIELDS, fact_columns, refresh_facts
from engine.errors import CorpusMissingError, ModelMissingError, StorageError, StorageFullError
from engine.facts import VERSION
from engine.ingest.documents import OTHERS, plain_name
from engine.ingest.source import content_hash
from engine.jobs.cluster import Workers
from engine.lenses.definitions import RESEARCH
from engine.lenses.roles import prototypes, role_classifier
from engine.numeric import FloatArray, narrowed, unit
from engine.sentences import split_sentences
from engine.types.callbacks import Ask, Tell, never, tell_nobody
from engine.types.corpora import ImportReport, Phase, Progress
from engine.types.documents import Document, SourceDocument, Span
from engine.types.encoders import EMBEDDED_SHA256, Encoder, EncoderSpec, Passage
from engine.types.lenses import Lens
from storage.records import FRAGMENT_ROWS
from storage.vectors import PRIMARY_KEY, DocumentTable

Item = TypeVar("Item")
EDITED = "."
"""Between the hash of a document as its source has it, that of the edited document, and the names
of the edited fields as JSON."""
_PLAIN = ("doc_id", "title", "text", "year", "url")
"""Fields of a document that are columns as they are."""
SHARD_CHARACTERS = 1_000_000
"""Text of one shard; its token states take some 400 MB while it is encoded."""


def table_schema(spec: EncoderSpec, lens: Lens, like: pa.Schema | None = None) -> pa.Schema:
    """Columns of the documents table; tokens keep the type that they have in ``like``."""
    vector = pa.list_(pa.float16(), spec.dimension)
    tokens = pa.list_(pa.list_(pa.int8(), spec.token_dimension))
    offsets = pa.list_(pa.int32())
    return pa.schema(
        [
            pa.field("doc_id", pa.string(), nullable=False, metadata=PRIMARY_KEY),
            pa.field("content_hash", pa.string()),
            pa.field("title", pa.string()),
            pa.field("text", pa.string()),
            pa.field("search_text", pa.string()),
            pa.field("year", pa.int32()),
            pa.field("authors", pa.list_(pa.string())),
            pa.field("url", pa.string()),
            pa.field("metadata", pa.string()),
            pa.field("facets", pa.string()),
            pa.field("sentence_starts", offsets),
            pa.field("sentence_ends", offsets),
            pa.field("roles", pa.list_(pa.float32())),
            pa.field("vector", vector),
            *(pa.field(aspect_column(a.key), vector) for a in lens.aspects),
            pa.field("sentence_vectors", pa.list_(vector)),
            pa.field("token_vectors", like.field("token_vectors").type if like else tokens),
            pa.field("token_starts", offsets),
            pa.field("token_ends", offsets),
            *FACT_FIELDS,
        ]
    )


def role_probabilities(
    document: SourceDocument,
    sentences: Sequence[Span],
    lens: Lens,
    vectors: FloatArray | None = None,
    encoder: Encoder | None = None,
) -> FloatArray:
    """Probabilities (sentences, aspects): the source's labels, else an estimate.

    A sentence with no aspect has zeros: by its label, or by its estimate where the lens allows
    that. Without labels of this lens the classifier decides if there is one for it, else the
    prototypes of its aspects; without ``vectors`` for them all aspects are equally likely.
    """
    keys = [aspect.key for aspect in lens.aspects]
    out = np.zeros((len(sentences), len(keys)), dtype=np.float32)
    given = document.roles
    if given is not None and (not any(given) or not set(keys).isdisjoint(given)):
        for i, role in enumerate(given):
            if role in keys:
                out[i, keys.index(role)] = 1.0
        return out
    if not len(sentences):
        return out
    if has_classifier(lens):
        classifier = role_classifier()
        known = encoder is not None and encoder.spec.fingerprint == EMBEDDED_SHA256
        predicted = classifier.predict(
            [document.text[a:b] for a, b in sentences], vectors if known else None
        )
        found = predicted[:, [classifier.roles.index(key) for key in keys]].astype(np.float32)
    elif vectors is None or encoder is None:
        return np.full_like(out, 1.0 / len(keys))
    else:
        found = prototypes(lens, encoder).probabilities(vectors)
    return without_doubtful(found) if lens.allows_none else found


def without_doubtful(roles: FloatArray) -> FloatArray:
    """Role probabilities (sentences, aspects) with zeros where none stands out: is at least twice
    as likely as one of all aspects and "none" by chance, unless the lens has one aspect only."""
    doubtful = roles.max(axis=1, initial=0.0) < 2 / (roles.shape[1] + 1)
    return np.where(doubtful[:, None], np.float32(0.0), roles)


def has_classifier(lens: Lens) -> bool:
    """True for the lens that the shipped classifier of roles was fitted for."""
    keys = {aspect.key for aspect in lens.aspects}
    return lens.key == RESEARCH.key and keys == set(role_classifier().roles)


def aspect_vectors(sentences: FloatArray, roles: FloatArray) -> FloatArray:
    """Unit vectors (a, d) of aspects: means of sentence vectors (s, d), weighed by roles (s, a);
    zeros for an aspect that no sentence serves."""
    sums = roles.T @ sentences
    # Opposite sentences could cancel out: no direction is better than a random one.
    sums[np.linalg.norm(sums, axis=1) < 1e-6] = 0.0
    return unit(sums)


@dataclass(frozen=True, slots=True)
class Merged:
    """A document that is stored already, with what a source has of it now."""

    document: SourceDocument  # with the fields that the source lacks
    kept: tuple[str, ...]  # names of these fields
    changed: bool  # it is another document than the stored one
    hash: str  # by which the next import knows it


def edited_hash(source: str, document: SourceDocument, fields: Iterable[str]) -> str:
    """The hash of an edited document; ``source`` begins with that of its source."""
    names = json.dumps(sorted({*fields}))
    return EDITED.join((source.partition(EDITED)[0], content_hash(document), names))


def edited_fields(hash_: str) -> list[str]:
    """Names of the fields of a document that were edited."""
    names = hash_.split(EDITED, 2)[2:]
    return list(json.loads(names[0])) if names else []


def merge_stored(
    table: DocumentTable, documents: Sequence[SourceDocument], lens: Lens
) -> list[Merged]:
    """Documents with the stored values of fields that they lack, also of a text that is their
    title: an export with fewer fields takes nothing away."""
    ids = [one.doc_id for one in documents]
    rows = table.rows(ids, [*TEXT_COLUMNS, "content_hash"]).to_pylist()
    stored = {row["doc_id"]: (to_document(row, lens), row["content_hash"]) for row in rows}
    return [_merged(one, *stored[one.doc_id], lens) for one in documents]


def _merged(read: SourceDocument, stored: Document, hash_: str, lens: Lens) -> Merged:
    edited = edited_fields(hash_)
    kept: dict[str, Any] = {
        name: getattr(stored, name)
        for name in ("title", "year", "authors", "url")
        if name in edited or (getattr(stored, name) and not getattr(read, name))
    }
    title_only = read.text == read.title and stored.text not in (read.title, stored.title)
    if title_only or "text" in edited:
        kept |= {"text": stored.text, "sentences": tuple(s.span for s in stored.sentences)}
        kept["roles"] = labels_of(stored, lens)
    known = {*read.metadata} - {*edited}
    more = {
        name: value
        for name, value in stored.metadata.items()
        if name not in known
        # The source now gives it under the field's name instead of its column's.
        and (name in read.metadata or read.metadata.get(OTHERS.get(plain_name(name), "")) != value)
    }
    own = {name: one for name, one in read.metadata.items() if name in known}
    document = replace(read, **kept, metadata={**more, **own})
    same = all(
        getattr(document, name) == getattr(stored, name)
        for name in ("title", "text", "year", "authors", "url")
    ) and dict(document.metadata) == dict(stored.metadata)
    # Sentences and roles that the source has may be others; those of the text that stays are not.
    same = same and ("text" in kept or (read.sentences is None and read.roles is None))
    names = (name for name in (*kept, *more) if name not in ("sentences", "roles"))
    changed = not (same and (kept or more or edited))
    source = content_hash(read)
    known_by = edited_hash(source, document, edited) if edited else source
    return Merged(document, tuple(names), changed, known_by)


def labels_of(document: Document, lens: Lens) -> tuple[str | None, ...] | None:
    """The labels of a stored document's sentences; None where roles are estimated: those are never
    exactly 0 and 1, unless the lens has one aspect."""
    roles = [sentence.roles for sentence in document.sentences]
    if len(lens.aspects) == 1 or not all(set(row) <= {0.0, 1.0} for row in roles):
        return None
    keys = [aspect.key for aspect in lens.aspects]
    labels = tuple(keys[row.index(1.0)] if 1.0 in row else None for row in roles)
    return labels if any(labels) else None


def encode_batch(
    documents: Sequence[SourceDocument],
    encoder: Encoder,
    lens: Lens,
    like: pa.Schema | None = None,
    hashes: Mapping[str, str] | None = None,
) -> pa.RecordBatch:
    """One row per document, with the columns of `table_schema` (see there for `like`).

    `hashes`: by id, of documents as a source has them, by which the next import knows them.
    """
    spans = [d.sentences if d.sentences is not None else split_sentences(d.text) for d in documents]
    encodings = encoder.encode(
        [Passage(d.title, d.text, s) for d, s in zip(documents, spans, strict=True)]
    )
    roles = [
        role_probabilities(d, s, lens, e.sentences, encoder)
        for d, s, e in zip(documents, spans, encodings, strict=True)
    ]
    aspects = [aspect_vectors(e.sentences, r) for e, r in zip(encodings, roles, strict=True)]
    tokens = [encoding.tokens for encoding in encodings]
    schema = table_schema(encoder.spec, lens, like)
    is_narrow = schema.field("token_vectors").type.value_type.value_type == pa.int8()
    columns = {
        **{name: [getattr(d, name) for d in documents] for name in _PLAIN},
        "search_text": [f"{d.title}\n{d.text}" for d in documents],
        "authors": [list(d.authors) for d in documents],
        "metadata": [json.dumps(dict(d.metadata), ensure_ascii=False) for d in documents],
        "facets": [
            "".join(facet(name, value) for name, value in d.metadata.items() if value is not None)
            + "".join(facet("author", author) for author in d.authors)
            for d in documents
        ],
        "content_hash": [(hashes or {}).get(d.doc_id) or content_hash(d) for d in documents],
        **fact_columns([d.text for d in documents], [d.metadata for d in documents]),
        "sentence_starts": [[a for a, _ in s] for s in spans],
        "sentence_ends": [[b for _, b in s] for s in spans],
        "roles": [r.ravel().tolist() for r in roles],
        "vector": fixed_vectors(np.stack([e.vector for e in encodings])),
        **_aspect_columns(np.stack(aspects), lens),
        "sentence_vectors": _ragged([e.sentences for e in encodings]),
        "token_vectors": _ragged(list(map(narrowed, tokens)) if is_narrow else tokens),
        "token_starts": [e.token_spans[:, 0].tolist() for e in encodings],
        "token_ends": [e.token_spans[:, 1].tolist() for e in encodings],
    }
    return to_batch(columns, schema)


def _aspect_columns(vectors: FloatArray, lens: Lens) -> dict[str, pa.Array]:
    """The columns of vectors (n, a, d) of aspects."""
    return {
        aspect_column(aspect.key): fixed_vectors(vectors[:, i])
        for i, aspect in enumerate(lens.aspects)
    }


def fixed_vectors(rows: TokenArray) -> pa.FixedSizeListArray:
    """Rows (n, d) as a column of vectors in half precision, or as bytes where they are narrowed."""
    kind = np.int8 if rows.dtype == np.int8 else np.float16
    values = pa.array(np.ascontiguousarray(rows, dtype=kind).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(values, rows.shape[1])


def _ragged(groups: Sequence[NDArray[Any]]) -> pa.ListArray:
    offsets = np.cumsum([0, *(len(g) for g in groups)], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), fixed_vectors(np.concatenate(groups)))


@dataclass(frozen=True, slots=True)
class Shard:
    """Documents of a source that follow each other, as far as they are to be stored."""

    read: int  # documents of the source up to its end
    new: list[SourceDocument]  # new, changed: not stored yet, or with other content
    changed: list[SourceDocument]
    stale: list[str]  # ids of unchanged documents whose facts another version found
    hashes: dict[str, str]  # by id, of changed documents as the source has them


@dataclass(frozen=True, slots=True)
class Written:
    """A shard that was encoded."""

    read: int
    added: int  # added, updated: how many documents were new or changed
    updated: int
    stale: list[str]
    first: str = ""  # id of the first new document; "" for none
    fragments: tuple[str, ...] = ()  # of new documents, for `append`
    changed: tuple[pa.RecordBatch, ...] = ()  # rows that replace stored ones


# -- on workers -----------------------------------------------------------------------------------

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


@lru_cache(maxsize=4)
def _table(path: Path, made: str) -> DocumentTable:
    remedy = "All machines of the cluster need the home at the same path: share its folder."
    try:
        table = DocumentTable.open(path)
    except CorpusMissingError as error:
        raise CorpusMissingError(f"A worker does not see the corpus in {path}.", remedy) from error
    if table.made != made:
        raise CorpusMissingError(f"A worker sees another corpus in {path}.", remedy)
    return table


# -- a run over a source ------------------------------------------------------------------------


@dataclass
class IndexRun:
    """One resumable run over a source: skips what is stored, commits shard by shard."""

    table: DocumentTable
    encoder: Encoder
    lens: Lens
    shard_documents: int
    on_progress: Tell = tell_nobody  # called after every shard
    cancelled: Ask = never  # called after every shard; True stops the run, to be resumed later
    grace: timedelta = timedelta(0)  # how long files of former versions stay for present readers
    workers: Workers | None = None  # that encode and write; None: this process does
    bulk: bool = False  # as the model was loaded
    _started: float = field(default_factory=time.perf_counter)
    _stopped: bool = False
    _kept: Counter[str] = field(default_factory=Counter)

    def run(self, documents: Iterable[SourceDocument], total: int, name: str) -> ImportReport:
        """Index ``documents``, which were checked before and come each once."""
        read = added = updated = 0
        store = self._store if self.workers is None else partial(self._store_by, self.workers)
        for shard in store(self._shards(documents)):
            refresh_facts(self.table, shard.stale)
            read, added, updated = shard.read, added + shard.added, updated + shard.updated
            self._tell("indexing", read, total, added + updated)
        if not self._stopped:
            self._tell("finishing", read, total, added + updated)
        return ImportReport(
            corpus=name,
            read=read,
            added=added,
            updated=updated,
            unchanged=read - added - updated,
            documents=self.table.count(),
            seconds=time.perf_counter() - self._started,
            cancelled=self._stopped,
            kept=dict(self._kept),
        )

    def _shards(self, documents: Iterable[SourceDocument]) -> Iterator[Shard]:
        """Shards of the source, stored documents included: after a kill the rest is encoded in the
        same batches, to the same vectors."""
        ids, hashes, versions = values_of(self.table, "doc_id", "content_hash", "facts_version")
        stale = {id_ for id_, version in zip(ids, versions, strict=True) if version != VERSION}
        stored = dict(zip(ids, (hash_.partition(EDITED)[0] for hash_ in hashes), strict=True))
        read = 0
        for shard in cut(documents, self.shard_documents, lambda one: len(one.text)):
            if self._is_to_stop():
                return
            known = [one for one in shard if one.doc_id in stored]
            changed = [one for one in known if stored[one.doc_id] != content_hash(one)]
            again = [one.doc_id for one in known if one.doc_id in stale and one not in changed]
            read += len(shard)
            merged = merge_stored(self.table, changed, self.lens) if changed else []
            self._kept.update(name for one in merged for name in one.kept)
            new = [one for one in shard if one.doc_id not in stored]
            updated = [one.document for one in merged if one.changed]
            known_by = {one.document.doc_id: one.hash for one in merged}
            yield Shard(read, new, updated, again, known_by)

    def _is_to_stop(self) -> bool:
        self._stopped = self._stopped or self.cancelled()
        return self._stopped

    def _store(self, shards: Iterable[Shard]) -> Iterator[Written]:
        """Encode and write shards, one after another."""
        scattered = 0
        for shard in shards:
            for group, is_changed in ((shard.new, False), (shard.changed, True)):
                if group:
                    given = (self.encoder, self.lens, self.table.schema, shard.hashes)
                    self.table.write(encode_batch(group, *given), replace=is_changed)
            scattered += len(shard.new) + len(shard.changed)
            if scattered >= FRAGMENT_ROWS:
                self.table.compact(self.grace)
                scattered = 0
            yield Written(shard.read, len(shard.new), len(shard.changed), shard.stale)

    def _store_by(self, workers: Workers, shards: Iterable[Shard]) -> Iterator[Written]:
        """The same by workers; what they wrote is committed in groups of shards."""
        target = Target(self.table.path, self.table.made, self.encoder.spec, self.lens, self.bulk)
        group: list[Written] = []
        committed = time.monotonic()
        for written in workers.map(index_shard, shards, target, cancelled=self._is_to_stop):
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

    def _tell(self, phase: Phase, done: int, total: int, encoded: int) -> None:
        seconds = time.perf_counter() - self._started
        rate = encoded / seconds if seconds > 0 else 0.0
        self.on_progress(Progress(phase, done, total, seconds, rate))


def cut(
    items: Iterable[Item], count: int, size: Callable[[Item], int], most: int = SHARD_CHARACTERS
) -> Iterator[list[Item]]:
    """Groups of at most ``count`` items and, but for a single larger one, size ``most``."""
    shard: list[Item] = []
    total = 0
    for item in items:
        total += (own := size(item))
        if shard and (len(shard) >= count or total > most):
            yield shard
            shard, total = [], own
        shard.append(item)
    if shard:
        yield shard


# -- another lens ---------------------------------------------------------------------------------

READ_ROWS = 32  # Documents read at once: a long one has tens of megabytes of token vectors
WRITE_BYTES = 64 * 2**20  # Rows are gathered up to this size, or one shard, for each commit


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
        batches = source.columns(source.schema.names, READ_ROWS)
        for group in cut(batches, self.shard // READ_ROWS, lambda one: one.nbytes, WRITE_BYTES):
            rows = pa.Table.from_batches([self.rows(batch) for batch in group])
            target.write(rows.combine_chunks().to_batches()[0], replace=False)
            done += rows.num_rows
            seconds = time.perf_counter() - started
            tell(Progress("indexing", done, total, seconds, done / max(seconds, 1e-9)))
        return target

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The same documents under the new lens: a pure function of them."""
        roles, aspects = [], []
        stored = batch.select(TEXT_COLUMNS).to_pylist()
        sentences = rows_of(pa.chunked_array([batch["sentence_vectors"]]), self.spec.dimension)
        for row, vectors in zip(stored, sentences, strict=True):
            wide = vectors.astype(np.float32)
            found = self._roles(to_document(row, self.old), wide)
            roles.append(found.ravel().tolist())
            aspects.append(aspect_vectors(wide, found))
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        columns |= {"roles": roles, **_aspect_columns(np.stack(aspects), self.new)}
        return to_batch(columns, table_schema(self.spec, self.new, batch.schema))

    def _roles(self, stored: Document, vectors: FloatArray) -> FloatArray:
        """Labels of the source that the new lens has, too, stay."""
        new = {aspect.key for aspect in self.new.aspects}
        labels = [key if key in new else None for key in labels_of(stored, self.old) or ()]
        spans = tuple(sentence.span for sentence in stored.sentences)
        roles = tuple(labels) if any(labels) else None
        document = SourceDocument(stored.doc_id, stored.title, stored.text, "", spans, roles)
        return role_probabilities(document, spans, self.new, vectors, self.encoder)
