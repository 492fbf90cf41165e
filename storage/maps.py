"""The map of a corpus: a Parquet file in its folder with a row per document and cluster names in
its metadata."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from storage.errors import StorageError
from storage.files import file_errors, write_whole

FILE = "map.parquet"
FORMAT = 1
_ABOUT = b"seedlens"
Names = tuple[tuple[str, ...], tuple[str, ...]]  # Of the clusters of the coarse and the fine level


@dataclass(frozen=True, slots=True, eq=False)
class StoredLayout:
    """One layout."""

    positions: NDArray[np.float32]  # (n, 2) float32, NaN for a document without one
    # (2, n) int32, clusters of the coarse and the fine level, -1 for none
    labels: NDArray[np.int32]
    names: Names  # of the clusters of both levels
    worded: Names | None = None  # a model's names, which replace ``names``; None for none
    worded_by: str = ""  # that model


@dataclass(frozen=True, slots=True, eq=False)
class StoredMap:
    """A stored map."""

    doc_ids: Sequence[str]  # doc_ids, hashes: (n,) the documents and their content's hashes
    hashes: Sequence[str]
    layouts: Mapping[str, StoredLayout]  # by name, in order
    sampled: int | None  # as :class:`engine.types.maps.CorpusMap`


def write_map(folder: Path, kept: StoredMap) -> None:
    """Replace the map atomically."""
    columns: dict[str, pa.Array] = {
        "doc_id": pa.array(kept.doc_ids, pa.string()),
        "content_hash": pa.array(kept.hashes, pa.string()),
    }
    for at, layout in enumerate(kept.layouts.values()):
        columns |= {
            f"x{at}": pa.array(layout.positions[:, 0]),
            f"y{at}": pa.array(layout.positions[:, 1]),
            f"coarse{at}": pa.array(layout.labels[0]),
            f"fine{at}": pa.array(layout.labels[1]),
        }
    about = {
        "format": FORMAT,
        "sampled": kept.sampled,
        "layouts": [[name, *layout.names] for name, layout in kept.layouts.items()],
        "worded": {
            name: [layout.worded_by, *layout.worded]
            for name, layout in kept.layouts.items()
            if layout.worded
        },
    }
    table = pa.table(columns).replace_schema_metadata({_ABOUT: json.dumps(about)})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    with file_errors(folder / FILE):
        write_whole(folder / FILE, sink.getvalue().to_pybytes())


def map_stamp(folder: Path) -> Hashable:
    """Changes when the map of the corpus in a folder is replaced."""
    try:
        stored = (folder / FILE).stat()
    except OSError:
        return None
    return stored.st_ino, stored.st_mtime_ns


def read_map(folder: Path) -> StoredMap | None:
    """The map in a corpus's folder; None without one, or from another version."""
    try:
        table = pq.read_table(pa.BufferReader((folder / FILE).read_bytes()))
        about = json.loads((table.schema.metadata or {})[_ABOUT])
        if about["format"] != FORMAT:
            return None
        layouts = {}
        for at, (name, *names) in enumerate(about["layouts"]):
            model, *worded = about.get("worded", {}).get(name, [""])
            layouts[name] = StoredLayout(
                _columns(table, f"x{at}", f"y{at}").T.astype(np.float32),
                _columns(table, f"coarse{at}", f"fine{at}").astype(np.int32),
                _names(*names),
                _names(*worded) if worded else None,
                str(model),
            )
        doc_ids, hashes = table["doc_id"].to_pylist(), table["content_hash"].to_pylist()
        return StoredMap(doc_ids, hashes, layouts, about["sampled"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, pa.ArrowException) as error:
        raise StorageError(
            f"{folder / FILE} cannot be read: {str(error).splitlines()[0]}.",
            "Make the map again: seedlens map CORPUS --rebuild",
        ) from error


def _names(coarse: Sequence[object], fine: Sequence[object]) -> Names:
    return tuple(map(str, coarse)), tuple(map(str, fine))


def _columns(table: pa.Table, *names: str) -> NDArray[np.float64]:
    return np.stack([table[name].to_numpy() for name in names])
