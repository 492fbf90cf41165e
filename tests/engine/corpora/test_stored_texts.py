"""Texts of documents in Arrow are found, sorted and cut as Python's own would be."""

from __future__ import annotations

import pytest

from engine.corpora.schema import RowOf, StoredTexts

IDS = ["b", "", "zürich", "z", "𝔸", "\uffff", "a", "aa", "B", "ä"]


@pytest.mark.parametrize("ids", [IDS, sorted(IDS), IDS[:1], []], ids=len)
def test_rows_and_ranks_are_those_of_python_lists(ids: list[str]) -> None:
    row_of = RowOf(StoredTexts(ids))
    assert dict(row_of) == {text: row for row, text in enumerate(ids)}
    assert row_of.rank.tolist() == [sorted(ids).index(text) for text in ids]
    assert len(row_of) == len(ids)
    for unknown in ("c", "zz", "aaa", None, 3):
        assert unknown not in row_of
        assert row_of.get(unknown, -1) == -1  # type: ignore[call-overload]
