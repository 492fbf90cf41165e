"""Indexing by many processes: workers encode shards of the source and write their rows, and the
process that imports commits what they wrote, some shards at a time, in the order of the source.

Each document is there exactly once whatever is killed: rows of a worker count only once they are
committed, and which documents are committed is read from the table when an import begins, and when
a commit ended in an error. Nobody else commits meanwhile, under the corpus's lock.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from engine.corpora.indexing import IndexRun, Shard, Written, encode_batch
from engine.encode.presets import resolve
from engine.errors import CorpusMissingError, ModelMissingError, StorageError, StorageFullError
from engine.jobs.cluster import Workers
from engine.types.documents import SourceDocument
from engine.types.encoders import EncoderSpec
from engine.types.lenses import Lens
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
    from engine.encode.loaders import load_encoder  # late: it loads torch

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

    def rows(documents: Sequence[SourceDocument]) -> tuple[pa.RecordBatch, ...]:
        some = bool(documents)
        given = (documents, encoder, target.lens, table.schema, shard.hashes)
        return (encode_batch(*given),) if some else ()

    fragments = (one for batch in rows(shard.new) for one in table.write_fragments(batch))
    first = shard.new[0].doc_id if shard.new else ""
    return Written(*counts, first, tuple(fragments), rows(shard.changed))


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
        table, before, added = self.table, self.table.count(), 0
        target = Target(table.path, table.made, self.encoder.spec, self.lens, self.bulk)
        group: list[Written] = []
        committed = time.monotonic()
        for written in self.workers.map(index_shard, shards, target, cancelled=self._is_to_stop):
            group.append(written)
            added += written.added
            if len(group) >= GROUP or time.monotonic() - committed > GROUP_SECONDS:
                self._commit(group)
                group, committed = [], time.monotonic()
            yield written
        self._commit(group)
        if not self._stopped:
            self._verify(before + added)

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

    def _verify(self, documents: int) -> None:
        """Make sure that each document is stored once."""
        ids = [
            one for batch in self.table.columns(["doc_id"]) for one in batch["doc_id"].to_pylist()
        ]
        repeated = len(ids) - len(set(ids))
        if repeated or len(ids) != documents:
            raise StorageError(
                f"The corpus in {self.table.path} has {len(ids):,} documents instead of "
                f"{documents:,}, and {repeated:,} of them more than once.",
                "Delete it, and import it again." if repeated else "Import it again.",
            )


def takes_whole_gpu(model: str) -> bool:
    """Whether a GPU holds one such model."""
    preset = resolve(model).preset
    return preset is not None and preset.kind == "decoder"
