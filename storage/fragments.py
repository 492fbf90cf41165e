"""What LanceDB has no settings for, by Lance itself: rows and indexes that many processes write for
one table and one process commits, and compacting by parts. The only importer of ``lance``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
from lance.fragment import FragmentMetadata, write_fragments
from lance.indices import IndicesBuilder
from lance.lance import indices

from storage.digests import has_version
from storage.errors import StorageError
from storage.records import FRAGMENT_ROWS
from storage.removal import delete

HALF = ".tmp"
"""How names of files begin that Lance is writing."""
BATCH = 1024
"""Rows that are read at a time; 40 MB."""


def write(dataset: Path, rows: pa.RecordBatch) -> list[str]:
    """Write rows beside those of a data set, which has them once they are committed.

    Returns:
        what :func:`commit` takes, in their order.
    """
    written = write_fragments(pa.Table.from_batches([rows]), str(dataset), mode="append")
    return [json.dumps(fragment.to_json()) for fragment in written]


def commit(dataset: Path, fragments: Sequence[str]) -> None:
    """Add what was written to a data set, all of it or nothing.

    An error may come after the data set has it. Whoever wrote to the data set meanwhile is no
    hindrance: nothing keeps the same fragments from being committed twice.

    Raises:
        StorageError: a file of a fragment is not in the folder of the data set.
    """
    version = lance.dataset(str(dataset)).version
    written = [FragmentMetadata.from_json(one) for one in fragments]
    _check_there("Rows", dataset, [f"data/{file.path}" for one in written for file in one.files])
    added = lance.LanceOperation.Append(written)
    lance.LanceDataset.commit(str(dataset), added, read_version=version)


def cut(dataset: Path, count: int) -> list[tuple[int, ...]]:
    """The numbers of the fragments of a data set in up to ``count`` parts of about as many rows,
    each of neighbours."""
    found = lance.dataset(str(dataset)).get_fragments()
    rows = np.array([fragment.count_rows() for fragment in found], dtype=np.int64)
    part = ((2 * np.cumsum(rows) - rows) * count) // max(2 * rows.sum(), 1)  # of its middle row
    return [
        tuple(found[at].fragment_id for at in np.flatnonzero(part == one))
        for one in np.unique(part)
    ]


def train(
    dataset: Path, version: int, column: str, partitions: int, sample: int, rounds: int, bits: int
) -> dict[str, Any]:
    """What the segments of one IVF_RQ index have in common, as options of :func:`write_index`: the
    middles of the partitions, and how vectors are turned.

    Args:
        sample: rows that are read for each partition.
        rounds: of k-means, at most.
    """
    builder = IndicesBuilder(lance.dataset(str(dataset), version=version), column)
    found = builder.train_ivf(
        partitions, distance_type="cosine", sample_rate=sample, max_iters=rounds
    )
    return {
        "metric": "cosine",
        "num_bits": bits,
        "num_partitions": partitions,
        "ivf_centroids": found.centroids,
        "rabitq_model": indices.build_rq_model(builder.dimension, num_bits=bits),
    }


def write_index(
    dataset: Path, version: int, column: str, kind: str, fragments: Sequence[int], **options: Any
) -> Any:
    """Write a segment of an index beside those of a data set, which has it once it is committed.

    Args:
        version: of the data set, whose rows are indexed.
        kind: as Lance calls it.
        fragments: numbers of those whose rows are in the segment.

    Returns:
        what :func:`commit_index` takes.
    """
    read = lance.dataset(str(dataset), version=version)
    chosen = list(fragments)
    return read.create_index_uncommitted(
        column, kind, _named(column), replace=True, fragment_ids=chosen, **options
    )


def commit_index(dataset: Path, column: str, segments: Sequence[Any]) -> None:
    """Join segments, and make them the index of a column in place of the one that there was.

    Joining takes an eighth of the time of building; of three segments that are not joined, a
    search for words takes almost twice as long.

    Raises:
        StorageError: a file of a segment is not in the folder of the data set.
    """
    files = [f"_indices/{one.uuid}/{file.path}" for one in segments for file in one.files or ()]
    _check_there("Indexes", dataset, files)
    found = lance.dataset(str(dataset))
    joined = found.merge_existing_index_segments(list(segments))
    found.commit_existing_index_segments(_named(column), column, [joined])


def _named(column: str) -> str:
    """The name that LanceDB gives the index of a column: there is one, whoever builds it."""
    return f"{column}_idx"


def _check_there(what: str, dataset: Path, files: Sequence[str]) -> None:
    # Lance does not look, and a version whose files are elsewhere cannot be read.
    if not all((dataset / file).exists() for file in files):
        raise StorageError(
            f"{what} that were written for the table in {dataset} are not there.",
            "All machines of the cluster need the home at the same path: share its folder.",
        )


def compact(dataset: Path, rows: int, grace: timedelta) -> None:
    """Make fragments of ``rows`` rows of neighbouring smaller ones, some at a time, and
    :func:`clean` after each.

    LanceDB's own ``optimize`` makes fragments of a million rows, so that it writes all rows of a
    corpus again, and takes more memory the more there are.
    """
    for most in (2 * rows, None):  # None: for what is larger than a part and lost many rows
        removed = 1
        while removed:
            removed = (
                lance.dataset(str(dataset))
                .optimize.compact_files(
                    target_rows_per_fragment=rows,
                    max_source_rows=most,
                    num_threads=1,
                    batch_size=BATCH,
                )
                .fragments_removed
            )
            clean(dataset, grace)


def clean(dataset: Path, grace: timedelta) -> None:
    """Delete the files of versions older than ``grace``. The caller is the only writer: files that
    belong to no version are taken for left over."""
    lance.dataset(str(dataset)).cleanup_old_versions(
        grace, delete_unverified=True, error_if_tagged_old_versions=False
    )
    # Lance knows nothing of what whoever was killed had begun to write: a part is gigabytes.
    for half in dataset.rglob(f"{HALF}*"):
        delete(half)


def small(path: Path) -> list[str]:
    """The files, from ``path`` on, of fragments of tables there that :func:`compact` may write
    anew; none of a table that cannot be opened."""
    found = []
    for table in path.glob("*.lance"):
        with suppress(ValueError, OSError):
            fragments = lance.dataset(str(table)).get_fragments()
            some = [f for f in fragments if f.physical_rows < FRAGMENT_ROWS or f.num_deletions]
            found += [f"{table.name}/{name}" for fragment in some for name in _files_of(fragment)]
    return found


def missing(path: Path, known: Iterable[str]) -> list[str]:
    """The files that the newest versions of tables under ``path`` consist of, and that are not
    there; a table that cannot be opened is named itself, unless it was never finished. Others may
    write meanwhile.

    Args:
        known: paths of files that were there once.
    """
    lost = _missing(path, known)
    return [one for one in _missing(path, known) if one in lost] if lost else []


def _missing(path: Path, known: Iterable[str]) -> list[str]:
    lost = []
    for table in path.glob("*.lance"):
        try:
            dataset = lance.dataset(str(table))
            fragments, indexes = dataset.get_fragments(), dataset.describe_indices()
        except (ValueError, OSError):
            # One without a version was never there, unless files of it are known.
            if has_version(table) or any(part.startswith(f"{table.name}/") for part in known):
                lost.append(table.name)
            continue
        named = [f"{table.name}/{file}" for one in fragments for file in _files_of(one)]
        places = [segment.uuid for index in indexes for segment in index.segments]
        folders = tuple(f"{table.name}/_indices/{place}/" for place in places)
        parts = [part for part in known if part.startswith(folders)]
        whole = sorted({*named, *folders, *parts})
        lost += [Path(part).name for part in whole if not (path / part).exists()]
    return lost


def _files_of(fragment: lance.LanceFragment) -> list[str]:
    """Its rows and which of them are deleted, from the folder of the data set on."""
    rows, deleted = (
        (f"data/{file.path}" for file in fragment.data_files()),
        fragment.deletion_file(),
    )
    return [*rows, deleted] if deleted else [*rows]


def lies_elsewhere(path: Path) -> bool:
    """Whether a version of a table under ``path`` names another place for its files, which LanceDB
    would read whatever it is; SeedLens makes none that does.

    Raises:
        ValueError, OSError: a version of a table cannot be read.
    """
    tables = [lance.dataset(str(table)) for table in path.rglob("*.lance") if has_version(table)]
    return any(
        table.checkout_version(one["version"]).base_paths()
        for table in tables
        for one in table.versions()
    )
