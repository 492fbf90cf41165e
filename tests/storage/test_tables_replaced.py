"""A table that is open says when another lies in its place, whatever the other's version is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from storage.vectors import DocumentTable

SCHEMA = pa.schema([pa.field("doc_id", pa.string())])


def make(folder: Path, *doc_ids: str) -> DocumentTable:
    """A table of as many versions as it has documents, and one."""
    table = DocumentTable.open_or_create(folder, SCHEMA)
    for doc_id in doc_ids:
        row = pa.RecordBatch.from_pydict({"doc_id": [doc_id]}, schema=SCHEMA)
        table.write(row, replace=False)
    return table


@pytest.mark.parametrize("other", ["x", "xyz", "wxyz"])
def test_another_table_in_its_place_is_noticed(tmp_path: Path, other: str) -> None:
    make(tmp_path / "corpus", *"abc")
    held = DocumentTable.open(tmp_path / "corpus")
    assert held.is_newest()
    make(tmp_path / "other", *other)
    shutil.move(tmp_path / "corpus", tmp_path / "before")
    shutil.move(tmp_path / "other", tmp_path / "corpus")
    assert not held.is_newest()
    assert DocumentTable.open(tmp_path / "corpus").is_newest()
