"""Maps: how long all layouts of a corpus take, and how far neighbours stay neighbours in them.

Trustworthiness is that of 15 neighbours by cosine; where there are more than 5,000 documents, of
as many drawn ones among all.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa

from benchmarks.figures import Figure
from benchmarks.sources import abstracts, cache
from engine.config import Settings
from engine.corpora.contracts import without_context
from engine.corpora.map_making import MapMaker
from engine.corpora.opened import OpenCorpus
from engine.corpora.schema import aspect_column, matrix, vector_columns
from engine.explorer import Explorer
from engine.layout.positions import nearest
from engine.numeric import FloatArray, unit
from engine.types.callbacks import never, tell_nobody
from engine.types.corpora import ImportRequest
from engine.types.maps import WHOLE_DOCUMENT
from storage.maps import read_map
from storage.vectors import DocumentTable

PART, CORPUS = "maps", "abstracts"
MANY = 60_000
NEIGHBOURS = 15
MOST_COMPARED = 5_000
TRUSTED = 0.85
TEXTS = ("doc_id", "content_hash", "title", "text", "sentence_starts", "sentence_ends", "roles")


class Grown:
    """A table of ``count`` documents: those of another, drawn again and again; of each vector,
    three quarters are its own, and a quarter is that of another document."""

    remote = None

    def __init__(self, table: DocumentTable, aspects: Sequence[str], count: int, path: Path):
        self.path = path
        batches = table.columns([*TEXTS, *vector_columns(aspects)])
        self._rows = pa.Table.from_batches(batches).combine_chunks()
        draw = np.random.default_rng(11)
        self._own, self._other = draw.integers(0, len(self._rows), (2, count))

    def columns(self, names: Sequence[str], size: int = 4096) -> Iterator[pa.RecordBatch]:
        for begin in range(0, len(self._own), size):
            own, other = (rows[begin : begin + size] for rows in (self._own, self._other))
            found = self._rows.select([*names]).take(own)
            for name in names:
                if name in ("doc_id", "content_hash"):
                    ids = pa.array([f"{name}-{begin + at}" for at in range(len(own))])
                    found = found.set_column(names.index(name), name, ids)
                elif name not in TEXTS:
                    mixed = self._mixed(name, own, other)
                    found = found.set_column(names.index(name), name, mixed)
            yield from found.combine_chunks().to_batches()

    def _mixed(self, name: str, own: np.ndarray, other: np.ndarray) -> pa.Array:
        column = self._rows[name].combine_chunks()
        width = column.type.list_size
        first, second = (matrix(column.take(pa.array(rows)), width) for rows in (own, other))
        lacks = np.linalg.norm(first, axis=1, keepdims=True) < 1e-6
        values = np.where(lacks, 0.0, unit(0.75 * first + 0.25 * second)).astype(np.float32)
        return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), width)


def measure() -> list[Figure]:
    """All figures of this part."""
    source = abstracts()
    print(f"Maps: {source.words}", file=sys.stderr)
    explorer = Explorer(Settings(home=cache() / "home", maps=False))
    explorer.library.import_documents(ImportRequest(source.path, CORPUS))
    opened = explorer.library.open(CORPUS)
    figures = _figures(opened, opened.table, source.words, 20.0)
    with tempfile.TemporaryDirectory() as folder:
        grown = Grown(opened.table, opened.aspects, MANY, Path(folder))
        words = f"{MANY:,} documents made of them"
        return figures + _figures(opened, cast(DocumentTable, grown), words, 300.0)


def _figures(opened: OpenCorpus, table: DocumentTable, words: str, limit: float) -> list[Figure]:
    dimension = opened.spec.dimension
    maker = MapMaker(CORPUS, table, opened.lens, dimension, tell_nobody, never, rebuild=True)
    report = maker.make()
    kept = read_map(table.path)
    assert kept is not None
    figures = [
        Figure(PART, f"all {len(report.layouts)} layouts of {words}", report.seconds, "s",
               target=limit, at_least=False),
    ]  # fmt: skip
    whole = _vectors(table, "vector", dimension)
    for name, layout in kept.layouts.items():
        vectors = whole
        if name != WHOLE_DOCUMENT:
            vectors = without_context(_vectors(table, aspect_column(name), dimension), whole)
        value = _trusted(vectors, layout.positions)
        figures.append(
            Figure(PART, f"{words}: trustworthiness of {name}", value, "", target=TRUSTED)
        )
    return figures


def _vectors(table: DocumentTable, column: str, dimension: int) -> FloatArray:
    return np.concatenate([matrix(batch[column], dimension) for batch in table.columns([column])])


def _trusted(vectors: FloatArray, positions: FloatArray) -> float:
    """Trustworthiness (Venna and Kaski, 2001) as scikit-learn has it, over drawn documents: how far
    down, by the cosine of their vectors, those stand that are neighbours in the plane."""
    rows = np.flatnonzero(~np.isnan(positions[:, 0]))
    vectors, positions, count = vectors[rows], positions[rows], len(rows)
    drawn = np.arange(count)
    if count > MOST_COMPARED:
        drawn = np.random.default_rng(11).choice(count, MOST_COMPARED, replace=False)
    near, _ = nearest(positions[drawn], positions, NEIGHBOURS + 1)
    too_far = 0
    for row, neighbours in zip(drawn.tolist(), near, strict=True):
        cosines = vectors @ vectors[row]
        cosines[row] = np.inf  # stands first, before its twins
        others = neighbours[neighbours != row][:NEIGHBOURS]
        ranks = (cosines[None] > cosines[others, None]).sum(axis=1)
        too_far += int(np.maximum(ranks - NEIGHBOURS, 0).sum())
    worst = len(drawn) * NEIGHBOURS * (2 * count - 3 * NEIGHBOURS - 1)
    return 1.0 - 2.0 * too_far / worst
