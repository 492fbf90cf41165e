"""Writing by many processes with one commit, and compacting by parts, through Lance itself as
LanceDB lacks both; the only importer of ``lance``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import lance
import pyarrow as pa
from lance.fragment import FragmentMetadata, write_fragments

from storage.errors import StorageError
from storage.removal import delete

HALF = ".tmp"
"""How names of files begin that Lance is writing."""
BATCH = 1024
"""Rows that are read at a time; 40 MB."""


def write(dataset: Path, rows: pa.RecordBatch) -> list[str]:
    """Write uncommitted rows beside a data set; returns arguments for :func:`commit`, in order."""
    written = write_fragments(pa.Table.from_batches([rows]), str(dataset), mode="append")
    return [json.dumps(fragment.to_json()) for fragment in written]


def commit(dataset: Path, fragments: Sequence[str]) -> None:
    """Add written fragments to a data set, all or none.

    After an error the data set may have them; committing the same fragments twice is safe.
    """
    version = lance.dataset(str(dataset)).version
    written = [FragmentMetadata.from_json(one) for one in fragments]
    files = [dataset / "data" / file.path for one in written for file in one.files]
    if not all(file.exists() for file in files):  # Lance does not look
        raise StorageError(
            f"Rows that were written for the table in {dataset} are not there.",
            "All machines of the cluster need the home at the same path: share its folder.",
        )
    added = lance.LanceOperation.Append(written)
    lance.LanceDataset.commit(str(dataset), added, read_version=version)


def compact(dataset: Path, rows: int, grace: timedelta) -> None:
    """Join small neighbouring fragments up to ``rows`` rows, some at a time, and :func:`clean`
    after each.

    LanceDB's ``optimize`` makes fragments of a million rows: it rewrites the whole corpus, with
    memory that grows with it.
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
    """Delete the files of versions older than ``grace``, and files of no version: the caller must
    be the only writer."""
    lance.dataset(str(dataset)).cleanup_old_versions(
        grace, delete_unverified=True, error_if_tagged_old_versions=False
    )
    # Lance does not know files that a killed process was writing; one may have gigabytes.
    for half in dataset.rglob(f"{HALF}*"):
        delete(half)
