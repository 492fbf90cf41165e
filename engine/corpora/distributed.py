"""Indexing by many processes: the source is cut into pieces, workers check, encode and write them,
and the process that imports commits what they wrote, in the order of the source.

Each document is there exactly once whatever is killed. What a worker wrote counts only once it is
committed; which documents are committed is read from the table, by digests of ids and contents,
when an import begins, when a commit ended in an error, and before the corpus counts as complete.
Whoever imports holds the corpus's lock, so nobody else commits meanwhile.
"""

from __future__ import annotations

import functools
import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.corpora.indexing import cut, encode_batch, merge_stored, report_of, text_length
from engine.corpora.stored_facts import find_anew
from engine.encode.presets import resolve
from engine.errors import (
    BadInputError,
    CorpusMissingError,
    ModelMissingError,
    StorageError,
    StorageFullError,
)
from engine.facts import VERSION
from engine.ingest import Notes, Source, check, content_hash, unique_documents
from engine.ingest.repairs import id_digest, pass_over
from engine.ingest.rows import Row
from engine.ingest.source import RowReader
from engine.jobs.cluster import Workers
from engine.types.callbacks import Ask, Tell, never, tell_nobody
from engine.types.corpora import ImportReport, Phase, Progress
from engine.types.documents import SourceDocument
from engine.types.encoders import EncoderSpec
from engine.types.lenses import Lens
from engine.types.repairs import CheckReport
from storage.vectors import Builders, DocumentTable, Step

GROUP = 16
"""Pieces of one commit: each makes a version of the table, and searches open the latest."""
GROUP_SECONDS = 30.0
"""After so long a commit takes what there is: it is all that a kill can cost."""
TRIES = 4
"""Of a commit that fails without having been done."""
WAIT_SECONDS = 1.0
"""Before the second try, doubled with each."""
DIGEST = "S16"
Digests = NDArray[np.bytes_]


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of a source that follow each other, or the documents that were made of them.

    Attributes:
        first: number of the first row, from 1.
    """

    first: int
    rows: Sequence[Row] = ()
    documents: Sequence[SourceDocument] = ()

    def read(self, reader: RowReader, notes: Notes) -> list[SourceDocument]:
        """Its documents; rows that cannot be used are left out, and noted."""
        return list(self.documents or reader.read(self.rows, self.first, notes, pass_over))


@dataclass(frozen=True, slots=True)
class Checked:
    """What a worker found in a piece.

    Attributes:
        ids, contents: 16 bytes a document.
        characters: of all texts.
    """

    ids: bytes
    contents: bytes
    characters: int
    notes: Notes

    @property
    def documents(self) -> int:
        return len(self.ids) // 16


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be done with a piece.

    Attributes:
        number: of the piece, from 0.
        new, changed: which of its documents are not stored, and which are with other content.
        digest: of the contents of all its documents, as they were checked.
    """

    number: int
    piece: Piece
    new: list[int]
    changed: list[int]
    digest: bytes


@dataclass(frozen=True, slots=True)
class Target:
    """What the documents are made into, and where it goes.

    Attributes:
        path: the corpus's folder, the same on all machines.
        made: which table it is.
        bulk: as when the model is loaded here.
        shard_documents: documents that are encoded together.
    """

    path: Path
    made: str
    source: str
    spec: EncoderSpec
    lens: Lens
    bulk: bool
    shard_documents: int


@dataclass(frozen=True, slots=True)
class Written:
    """What a worker made of a piece.

    Attributes:
        added, updated: documents that were new, and that were changed.
        first: id of its first new document; "" where none is new.
        fragments: of the new ones, see :meth:`storage.vectors.StoredTable.append`.
        changed: rows that take the place of stored ones.
        same: documents that the source has with fewer fields, and that stay as they are stored.
        kept: see :class:`ImportReport`.
    """

    number: int
    added: int
    updated: int
    first: str
    fragments: tuple[str, ...]
    changed: tuple[pa.RecordBatch, ...]
    same: int
    kept: Mapping[str, int]


# -- on the workers -----------------------------------------------------------------------


def check_piece(piece: Piece, reader: RowReader) -> Checked:
    """Read and check the documents of a piece."""
    notes = Notes()
    documents = piece.read(reader, notes)
    return Checked(
        b"".join(id_digest(document.doc_id) for document in documents),
        b"".join(bytes.fromhex(content_hash(document)) for document in documents),
        sum(map(text_length, documents)),
        notes,
    )


def index_piece(work: Work, reader: RowReader, target: Target) -> Written:
    """Encode the documents of a piece, and write those that are new.

    Raises:
        BadInputError: they are not those that were checked.
        CorpusMissingError: this machine does not see the corpus.
        ModelMissingError: it has no such model.
    """
    from engine.encode.loaders import load_encoder  # late: it loads torch

    documents = work.piece.read(reader, Notes())
    if _digest(b"".join(bytes.fromhex(content_hash(one)) for one in documents)) != work.digest:
        raise source_changed(target.source)
    table = _table(target.path, target.made)
    encoder = load_encoder(target.spec.source, threads=1, bulk=target.bulk, download=False)
    if encoder.spec != target.spec:
        raise ModelMissingError(
            f"A worker's model '{target.spec.source}' is not the one here (its weights differ).",
            "Put the same model on all machines.",
        )

    def rows(chosen: Iterable[SourceDocument]) -> Iterator[pa.RecordBatch]:
        for shard in cut(chosen, target.shard_documents, text_length):
            read = [as_read.get(one.doc_id, one) for one in shard]
            yield encode_batch(shard, encoder, target.lens, table.schema, read)

    changed = [documents[at] for at in work.changed]
    merged = merge_stored(DocumentTable.open(target.path), changed, target.lens) if changed else []
    as_read = {one.read.doc_id: one.read for one in merged}
    updated = [one.document for one in merged if one.changed]
    new = [documents[at] for at in work.new]
    return Written(
        number=work.number,
        added=len(work.new),
        updated=len(updated),
        first=new[0].doc_id if new else "",
        fragments=tuple(one for batch in rows(new) for one in table.write_fragments(batch)),
        changed=tuple(rows(updated)),
        same=len(merged) - len(updated),
        kept=Counter(name for one in merged for name in one.kept),
    )


def build_index(what: Any, step: Step, path: Path, made: str) -> Any:
    """Do a step of building the indexes of a table.

    Raises:
        CorpusMissingError: this machine does not see the corpus.
    """
    return step(_table(path, made), what)


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


# -- where the import runs ----------------------------------------------------------------


class CheckedSource:
    """A source that workers read and checked.

    Args:
        most: characters that a text may have at most.

    Attributes:
        report: as :func:`engine.ingest.check` gives it.

    Raises:
        BadInputError: as there.
        ClusterError: see :class:`Workers`.
    """

    def __init__(
        self,
        source: Source,
        most: int,
        shard_documents: int,
        workers: Workers,
        on_progress: Tell = tell_nobody,
    ) -> None:
        self.source, self.workers = source, workers
        self._most, self._shard = most, shard_documents
        self.reader = source.reader(most)
        self.pieces: Callable[[], Iterator[Piece]] = self._of_rows
        notes = self._check(on_progress)
        faults = notes.faults()
        if any(fault.refused for fault in faults) or not self.documents or self._repeats():
            # What refuses an import, and what becomes of rows with one id, is decided in the order
            # of the rows: here, as without workers.
            self.report = check(source, most)
            self.pieces = self._of_documents
            self._check(on_progress)
            return
        warnings = (*source.encoding_remarks(), *notes.sentences(self.documents))
        characters = sum(one.characters for one in self.checked)
        filled = notes.counts["fillable"]
        self.report = CheckReport(self.documents, characters, warnings, faults, filled)

    @property
    def documents(self) -> int:
        return sum(one.documents for one in self.checked)

    def _check(self, tell: Tell) -> Notes:
        """Have all pieces checked; what was noted of them together."""
        started, notes, done = time.perf_counter(), Notes(), 0
        self.checked: list[Checked] = []
        for one in self.workers.map(check_piece, self.pieces(), self.reader):
            notes.join(one.notes)
            self.checked.append(Checked(one.ids, one.contents, one.characters, Notes()))
            done += one.documents
            tell(Progress("checking", done, 0, time.perf_counter() - started))
        return notes

    def _repeats(self) -> bool:
        ids = _digests(one.ids for one in self.checked)
        ids.sort()
        return bool((ids[1:] == ids[:-1]).any())

    def _of_rows(self) -> Iterator[Piece]:
        first = 1
        for rows in cut(self.source.rows(), self._shard, _characters):
            yield Piece(first, rows=rows)
            first += len(rows)

    def _of_documents(self) -> Iterator[Piece]:
        documents = unique_documents(self.source, max_chars=self._most)
        for shard in cut(documents, self._shard, text_length):
            yield Piece(1, documents=shard)


@dataclass
class DistributedRun:
    """One resumable run over a source: as :class:`engine.corpora.indexing.IndexRun`, by workers.

    Attributes:
        bulk: as the model was loaded.
        cancelled: asked while waiting for workers; True stops the run, to be resumed later.
        on_progress: told after every piece.
    """

    table: DocumentTable
    spec: EncoderSpec
    lens: Lens
    checked: CheckedSource
    bulk: bool
    shard_documents: int
    on_progress: Tell = tell_nobody
    cancelled: Ask = never
    _started: float = field(default_factory=time.perf_counter)

    def run(self, name: str) -> ImportReport:
        """Index the documents of the source.

        Raises:
            ClusterError: see :class:`Workers`; what is committed stays.
            StorageError: rows could not be committed.
        """
        stored, stopped = Stored(self.table), False
        ends = np.cumsum([one.documents for one in self.checked.checked], dtype=np.int64)
        target = Target(
            self.table.path,
            self.table.made,
            self.checked.source.name,
            self.spec,
            self.lens,
            self.bulk,
            self.shard_documents,
        )

        def is_to_stop() -> bool:
            nonlocal stopped
            stopped = stopped or self.cancelled()
            return stopped

        group: list[Written] = []
        committed = time.monotonic()
        read = added = updated = same = 0
        kept: Counter[str] = Counter()
        for written in self.checked.workers.map(
            index_piece, self._works(stored), self.checked.reader, target, cancelled=is_to_stop
        ):
            group.append(written)
            if len(group) >= GROUP or time.monotonic() - committed > GROUP_SECONDS:
                self._commit(group)
                group, committed = [], time.monotonic()
            added, updated = added + written.added, updated + written.updated
            same += written.same
            kept.update(written.kept)
            read = int(ends[written.number])
            self._tell("indexing", read, added + updated)
        self._commit(group)
        if not stopped:
            read = self.checked.documents
            self._tell("finishing", read, added + updated)
            self._verify(same)
        return report_of(self.table, name, (read, added, updated), self._started, stopped, kept)

    def _works(self, stored: Stored) -> Iterator[Work]:
        both = zip_longest(self.checked.checked, self.checked.pieces())
        for number, (checked, piece) in enumerate(both):
            if checked is None or piece is None:
                raise source_changed(self.checked.source.name)
            new, changed = stored.compared(checked)
            if new or changed:
                yield Work(number, piece, new, changed, _digest(checked.contents))

    def _commit(self, group: Sequence[Written]) -> None:
        """Store what workers made of some pieces; new rows in one commit."""
        firsts = [written.first for written in group if written.first]
        if firsts:
            self._append([one for written in group for one in written.fragments], firsts)
        for written in group:
            for rows in written.changed:
                self.table.write(rows, replace=True)

    def _append(self, fragments: Sequence[str], firsts: Sequence[str]) -> None:
        """Commit fragments once, although an error does not say whether that was done."""
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

    def _verify(self, same: int) -> None:
        """Make sure that each document is stored once, as it was read but for ``same`` ones."""
        stored = Stored(self.table)
        missing = sum(len(part) for one in self.checked.checked for part in stored.compared(one))
        missing -= same
        if missing or stored.repeated:
            raise StorageError(
                f"The corpus in {self.table.path} lacks {missing:,} documents and holds "
                f"{stored.repeated:,} more than once.",
                "Delete it, and import it again." if stored.repeated else "Import it again.",
            )
        for shard in cut(stored.stale, self.shard_documents, len):
            find_anew(self.table, shard)

    def _tell(self, phase: Phase, done: int, encoded: int) -> None:
        seconds = time.perf_counter() - self._started
        rate = encoded / seconds if seconds > 0 else 0.0
        self.on_progress(Progress(phase, done, self.checked.documents, seconds, rate))


class Stored:
    """Which documents a table holds, in 32 bytes each.

    Attributes:
        repeated: rows beyond the first of an id.
        stale: ids of those whose facts another version found.
    """

    def __init__(self, table: DocumentTable) -> None:
        ids: list[bytes] = []
        contents: list[bytes] = []
        self.stale: list[str] = []
        for batch in table.columns(["doc_id", "content_hash", "facts_version"]):
            names = batch["doc_id"].to_pylist()
            ids.append(b"".join(map(id_digest, names)))
            hashes = (stored or "0" * 32 for stored in batch["content_hash"].to_pylist())
            contents.append(bytes.fromhex("".join(hashes)))
            versions = batch["facts_version"].to_pylist()
            self.stale += [i for i, v in zip(names, versions, strict=True) if v != VERSION]
        unsorted = _digests(ids)
        order = np.argsort(unsorted)
        self._ids, self._contents = unsorted[order], _digests(contents)[order]
        self.repeated = int((self._ids[1:] == self._ids[:-1]).sum())

    def compared(self, checked: Checked) -> tuple[list[int], list[int]]:
        """Positions of the documents of a piece that are not stored, and of those that are with
        other content."""
        ids, contents = _digests([checked.ids]), _digests([checked.contents])
        if not len(self._ids):
            return list(range(len(ids))), []
        at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        there = self._ids[at] == ids
        changed = there & (self._contents[at] != contents)
        return np.flatnonzero(~there).tolist(), np.flatnonzero(changed).tolist()


def builders_of(table: DocumentTable, workers: Workers) -> Builders:
    """Workers as what builds the indexes of a table."""

    def steps(step: Step, things: Sequence[Any]) -> Iterator[Any]:
        return workers.map(build_index, things, step, table.path, table.made)

    return Builders(workers.count, steps)


def takes_whole_gpu(model: str) -> bool:
    """True for a model of which a GPU holds one."""
    preset = resolve(model).preset
    return preset is not None and preset.kind == "decoder"


def _digests(parts: Iterable[bytes]) -> Digests:
    return np.frombuffer(bytearray(b"".join(parts)), dtype=DIGEST)


def _digest(contents: bytes) -> bytes:
    return hashlib.blake2b(contents, digest_size=16).digest()


def _characters(row: Row) -> int:
    """Of all that a row says; values that are no texts and no lists of texts take no room."""
    total = 0
    for value in row.values.values():
        for text in value if isinstance(value, list | tuple) else (value,):
            total += len(text) if isinstance(text, str) else 0
    return total


def source_changed(source: str) -> BadInputError:
    """The error where a source has not the documents any more that it was checked with."""
    return BadInputError(f"{source} changed while it was imported.", "Run the same command again.")
