"""Scenarios of documents and their vectors: table ``scenarios`` in the corpus's folder, one row per
scenario."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from storage.removal import delete
from storage.vectors import StoredTable


class ScenarioTable(StoredTable):
    """The scenarios of one corpus."""

    name = "scenarios"
    key = "scenario_id"

    def put(self, doc_ids: Sequence[str], batch: pa.RecordBatch, *, new: bool) -> None:
        """Replace all rows of ``doc_ids`` by ``batch``, in one commit; ``new``: none are stored
        yet."""
        if new:
            self.write(batch, replace=False)
        else:
            self.replace_all_of(doc_ids, batch)

    @classmethod
    def remove(cls, path: Path) -> None:
        """Remove the table under ``path``, if there is one."""
        delete(path / f"{cls.name}.lance")

    @classmethod
    def copy(cls, source: Path, target: Path) -> None:
        """Copy the table under ``source``, if there is one, to another folder."""
        if cls.is_stored(source):
            shutil.copytree(source / f"{cls.name}.lance", target / f"{cls.name}.lance")
