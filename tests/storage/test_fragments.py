"""Fragments of a table are joined by parts; no row is lost, and few files are written again."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from storage.vectors import compact


def written(path: Path, sizes: list[int]) -> lance.LanceDataset:
    start = 0
    for size in sizes:
        rows = pa.table({"n": range(start, start + size)})
        lance.write_dataset(rows, str(path), mode="append" if start else "create")
        start += size
    return lance.dataset(str(path))


def sizes_of(path: Path) -> list[int]:
    return [fragment.count_rows() for fragment in lance.dataset(str(path)).get_fragments()]


@pytest.mark.parametrize("sizes", [[4] * 10, [5] * 30, [1] * 5, [20, 3, 3, 3, 40, 1, 1, 50]])
def test_small_fragments_are_joined_and_every_row_stays(tmp_path: Path, sizes: list[int]) -> None:
    path = tmp_path / "rows.lance"
    written(path, sizes)
    compact(path, 16, timedelta(0))
    after = sizes_of(path)
    assert sum(size < 16 for size in after) <= 1
    assert len(list((path / "data").iterdir())) == len(after)  # what was joined is gone
    rows = lance.dataset(str(path)).to_table()["n"].to_pylist()
    assert sorted(rows) == list(range(sum(sizes)))
    if len(set(sizes)) == 1:
        assert rows == sorted(rows)


def test_large_fragments_are_left_as_they_are_until_many_of_their_rows_are_deleted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rows.lance"
    written(path, [100, 4, 4])
    large = min((path / "data").iterdir(), key=lambda file: file.stat().st_mtime_ns)
    compact(path, 16, timedelta(0))
    assert large.is_file()
    lance.dataset(str(path)).delete("n >= 20 and n < 60")
    compact(path, 16, timedelta(0))
    assert not large.exists()
    assert (
        sum(fragment.physical_rows for fragment in lance.dataset(str(path)).get_fragments()) == 68
    )
