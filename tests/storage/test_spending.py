"""What persons spent in a day, in a file of the home."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage.errors import StorageError
from storage.spending import Spending, Spent


@pytest.mark.parametrize("room", [1, 12, 19])
def test_what_a_full_disk_cut_off_counts_for_nobody_and_all_else_stays(
    tmp_path: Path, room: int
) -> None:
    resource = pytest.importorskip("resource")
    spending = Spending(tmp_path)
    spending.add("ada", 1, 20, 300)
    assert spending.of("ada") == Spent(1, 20, 300)
    (file,) = tmp_path.glob("*.jsonl")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size + room, before[1]))
    try:
        with pytest.raises(StorageError, match=r"cannot be counted.*the room on that disk"):
            spending.add("ada", 1, 40, 500)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert spending.of("ada") == Spending(tmp_path).of("ada") == Spent(1, 20, 300)
    spending.add("ada", 1, 1, 1)
    spending.add("eve", 1, 1, 1)
    for reader in (spending, Spending(tmp_path)):
        assert reader.of("ada") == Spent(2, 21, 301)
        assert reader.of("eve") == Spent(1, 1, 1)


def test_a_file_whose_lines_were_damaged_is_no_reason_to_think_that_nothing_was_spent(
    tmp_path: Path,
) -> None:
    spending = Spending(tmp_path)
    spending.add("ada", 1, 20, 300)
    (file,) = tmp_path.glob("*.jsonl")
    file.write_bytes(file.read_bytes().replace(b"300", b"3?0"))
    with pytest.raises(StorageError, match=r"cannot be read.*Remove the file"):
        spending.of("ada")
