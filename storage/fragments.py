"""Rows that many processes write for one table, and one process commits; the only importer of
``lance``, which comes with the extra ``cluster``: LanceDB itself writes rows and commits them in
one step.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import lance
import pyarrow as pa
from lance.fragment import FragmentMetadata, write_fragments

from storage.errors import StorageError


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
    # Lance does not look, and a version whose files are elsewhere cannot be read.
    if not all((dataset / "data" / file.path).exists() for one in written for file in one.files):
        raise StorageError(
            f"Rows that were written for the table in {dataset} are not there.",
            "All machines of the cluster need the home at the same path: share its folder.",
        )
    added = lance.LanceOperation.Append(written)
    lance.LanceDataset.commit(str(dataset), added, read_version=version)
