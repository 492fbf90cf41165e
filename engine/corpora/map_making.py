"""Making the map of a stored corpus: a layout of whole documents, and one for each aspect."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.corpora.contracts import without_context
from engine.corpora.registry import adding, store_of
from engine.corpora.schema import aspect_column, column_of, matrix, values_of
from engine.errors import SeedLensError
from engine.layout.clusters import find_clusters, name_clusters
from engine.layout.positions import CancelledLayoutError, find_positions, place
from engine.lenses.definitions import lens_from_json
from engine.numeric import FloatArray
from engine.types.callbacks import Ask, Tell
from engine.types.corpora import Progress
from engine.types.encoders import EncoderSpec
from engine.types.lenses import Lens
from engine.types.maps import WHOLE_DOCUMENT, MapReport
from storage.errors import StorageError
from storage.home import Home
from storage.ledger import Ledger
from storage.maps import StoredLayout, StoredMap, read_map, write_map
from storage.records import CorpusRow
from storage.vectors import DocumentTable

log = logging.getLogger("seedlens")
MOST_READ = 10_000  # Documents, spread over the corpus, whose words name clusters
READ_ROWS = 1024  # Of these at once


@dataclass(frozen=True, slots=True, eq=False)
class MapMaker:
    """Makes the map of one version of a corpus."""

    corpus: str
    table: DocumentTable
    lens: Lens
    dimension: int  # of its vectors
    tell: Tell
    cancelled: Ask
    # lay everything out again; False: documents that have a position keep it, unless most have
    # none, and layouts that are not there are made
    rebuild: bool = False
    # entered while the map is written
    adding: AbstractContextManager[None] = field(default_factory=nullcontext)

    def make(self) -> MapReport:
        """Make the map and keep it, unless the kept one is of these documents already."""
        started = time.perf_counter()
        doc_ids, hashes = values_of(self.table, "doc_id", "content_hash")
        names = (WHOLE_DOCUMENT, *(aspect.key for aspect in self.lens.aspects))
        old = None if self.rebuild else self._old(names)
        kept = self._rows_kept(old, doc_ids, hashes)
        new = int((kept < 0).sum())
        if new > len(doc_ids) / 2:  # too few to place the others among
            old, kept = None, self._rows_kept(None, doc_ids, hashes)
        is_current = old is not None and not new and len(old.doc_ids) == len(doc_ids)
        current = old.layouts if old is not None and is_current else {}
        wanted = tuple(name for name in names if name not in current)
        made: tuple[str, ...] = ()
        stopped, sampled = "", old.sampled if old else None
        if wanted:
            try:
                layouts, sampled = self._layouts(names, old, kept, started)
                with self.adding:
                    layouts |= self._renamed(old, layouts)
                    write_map(self.table.path, StoredMap(doc_ids, hashes, layouts, sampled))
                made = wanted
            except CancelledLayoutError:
                stopped = "cancelled"
        seconds = time.perf_counter() - started
        placed = new if old and made else 0
        return MapReport(self.corpus, len(doc_ids), made, placed, sampled, seconds, stopped)

    def _old(self, names: Sequence[str]) -> StoredMap | None:
        """The kept map, where documents and layouts can be added to it."""
        try:
            old = read_map(self.table.path)
        except StorageError:
            return None  # a damaged one is made again
        if old is None or not len(old.doc_ids) or WHOLE_DOCUMENT not in old.layouts:
            return None
        return old if {*old.layouts} <= {*names} else None

    def _renamed(
        self, old: StoredMap | None, layouts: Mapping[str, StoredLayout]
    ) -> dict[str, StoredLayout]:
        """Layouts with the names that a model gave, or that were taken back, meanwhile."""
        now = None if old is None else self._old([*layouts])
        known = {} if now is None else now.layouts
        return {
            name: replace(laid, worded=known[name].worded, worded_by=known[name].worded_by)
            for name, laid in layouts.items()
            if name in known and known[name].names == laid.names
        }

    @staticmethod
    def _rows_kept(
        old: StoredMap | None, doc_ids: Sequence[str], hashes: Sequence[str]
    ) -> NDArray[np.intp]:
        """The row (n,) in the kept map of each document that is in it unchanged; -1 for others."""
        pairs = () if old is None else zip(old.doc_ids, old.hashes, strict=True)
        known = {pair: row for row, pair in enumerate(pairs)}
        rows = [known.get(pair, -1) for pair in zip(doc_ids, hashes, strict=True)]
        return np.array(rows, dtype=np.intp)

    def _layouts(
        self, names: Sequence[str], old: StoredMap | None, kept: NDArray[np.intp], started: float
    ) -> tuple[dict[str, StoredLayout], int | None]:
        whole = self._vectors("vector")
        known = {} if old is None else old.layouts
        texts = {} if {*names} <= {*known} else self._texts(len(kept))
        layouts: dict[str, StoredLayout] = {}
        sampled = None if old is None else old.sampled
        start: FloatArray | None = None
        for at, name in enumerate(names):
            self.tell(Progress("mapping", at, len(names), time.perf_counter() - started))
            vectors = whole
            if name != WHOLE_DOCUMENT:
                vectors = without_context(self._vectors(aspect_column(name)), whole)
            if name in known:
                layouts[name] = self._extended(known[name], vectors, kept)
            else:
                positions, computed = find_positions(vectors, start, self.cancelled)
                labels = np.stack(find_clusters(positions))
                coarse, fine = (name_clusters(level, texts[name]) for level in labels)
                layouts[name] = StoredLayout(positions, labels, (coarse, fine))
                sampled = computed if name == WHOLE_DOCUMENT else sampled
            start = layouts[WHOLE_DOCUMENT].positions
        return layouts, sampled

    def _extended(
        self, old: StoredLayout, vectors: FloatArray, kept: NDArray[np.intp]
    ) -> StoredLayout:
        """A layout with new documents among their nearest neighbours, where nothing moves."""
        count = len(kept)
        positions = np.full((count, 2), np.nan, dtype=np.float32)
        labels = np.full((2, count), -1, dtype=np.int32)
        known = np.flatnonzero(kept >= 0)
        positions[known], labels[:, known] = old.positions[kept[known]], old.labels[:, kept[known]]
        laid = np.flatnonzero(~np.isnan(positions[:, 0]))
        has_vector = np.linalg.norm(vectors, axis=1) > 1e-6
        new = np.flatnonzero((kept < 0) & has_vector)
        if len(new) and len(laid):
            positions[new] = place(vectors[new], vectors[laid], positions[laid], self.cancelled)
            # Far away where nothing is left of a cluster.
            centres, _ = cluster_centres(old.positions, old.labels[1], len(old.names[1]), 1e9)
            near = ((positions[new][:, None] - centres[None]) ** 2).sum(axis=2)
            labels[1, new] = near.argmin(axis=1)
            labels[0, new] = coarse_of(old)[labels[1, new]]
        return replace(old, positions=positions, labels=labels)

    def _vectors(self, column: str) -> FloatArray:
        return matrix(column_of(self.table, column).combine_chunks(), self.dimension)

    def _texts(self, count: int) -> dict[str, list[str]]:
        """Of each layout a text per document, to name clusters by; "" beyond :data:`MOST_READ`."""
        keys = [aspect.key for aspect in self.lens.aspects]
        names = (WHOLE_DOCUMENT, *keys)
        texts = {name: [""] * count for name in names}
        columns = ["title", "text", "sentence_starts", "sentence_ends", "roles"]
        rows = range(0, count, -(-count // MOST_READ))
        for start in range(0, len(rows), READ_ROWS):
            some = rows[start : start + READ_ROWS]
            for row, stored in zip(some, self.table.take(some, columns).to_pylist(), strict=True):
                found = (f"{stored['title']} {stored['text']}", *_by_role(stored, len(keys)))
                for name, text in zip(names, found, strict=True):
                    texts[name][row] = text
        return texts


def map_imported(home: Home, ledger: Ledger, row: CorpusRow, tell: Tell, cancelled: Ask) -> str:
    """Make the map of an imported corpus; returns the problem, "" for none."""
    try:
        table, lens = DocumentTable.open(store_of(home, row)), lens_from_json(row.lens)
        dimension = EncoderSpec.from_json(row.encoder).dimension
        shared = adding(home, ledger, row.name)
        MapMaker(row.name, table, lens, dimension, tell, cancelled, adding=shared).make()
    except Exception as error:
        log.warning("The map of '%s' could not be made.", row.name, exc_info=True)
        reason = error.message if isinstance(error, SeedLensError) else type(error).__name__
        return f"The map could not be made ({reason}). The documents can be searched all the same."
    return ""


def carry_whole(before: Path, after: Path) -> None:
    """Copy the layout of whole documents to a corpus's new folder, under another lens."""
    with suppress(StorageError):  # the map can be made again
        old = read_map(before)
        if old is not None and WHOLE_DOCUMENT in old.layouts:
            whole = {WHOLE_DOCUMENT: old.layouts[WHOLE_DOCUMENT]}
            write_map(after, replace(old, layouts=whole))


def _by_role(row: dict[str, Any], aspects: int) -> list[str]:
    """The sentences of a stored document that serve each aspect best, joined."""
    roles = np.array(row["roles"] or [], dtype=np.float32).reshape(-1, aspects)
    joined: list[list[str]] = [[] for _ in range(aspects)]
    for start, end, of_one in zip(row["sentence_starts"], row["sentence_ends"], roles, strict=True):
        if of_one.max() > 0:
            joined[int(of_one.argmax())].append(row["text"][start:end])
    return [" ".join(sentences) for sentences in joined]


def cluster_centres(
    positions: FloatArray, labels: NDArray[np.int32], count: int, empty: float = np.nan
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Mean position (c, 2) and size (c,) of clusters; ``empty`` for one without documents."""
    there = labels >= 0
    sizes = np.bincount(labels[there], minlength=count)
    sums = [np.bincount(labels[there], positions[there, axis], count) for axis in (0, 1)]
    centres = np.full((count, 2), empty)
    centres[sizes > 0] = (np.stack(sums, axis=1)[sizes > 0]) / sizes[sizes > 0, None]
    return centres, sizes


def coarse_of(layout: StoredLayout) -> NDArray[np.int32]:
    """The coarse cluster (c,) that each fine one is part of."""
    coarse = np.zeros(len(layout.names[1]), dtype=np.int32)
    there = layout.labels[1] >= 0
    coarse[layout.labels[1][there]] = layout.labels[0][there]
    return coarse
