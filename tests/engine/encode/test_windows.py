"""However long a text is, every token of it is read, once, within the memory we promised."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from engine.encode.one_pass import Window, batch_windows, plan_windows

SIZES = [(1, 0), (2, 1), (6, 2), (7, 3), (62, 31), (254, 64)]


@pytest.mark.parametrize(("size", "overlap"), SIZES)
def test_the_kept_parts_of_a_documents_windows_tile_it(size: int, overlap: int) -> None:
    for length in (*range(5 * size + 2), 3000):
        windows = plan_windows([length], size, overlap)
        kept = [t for w in windows for t in range(w.keep_from, w.keep_to)]
        assert kept == list(range(length))


@pytest.mark.parametrize(("size", "overlap"), SIZES)
def test_a_window_holds_what_it_keeps_and_never_more_than_its_size(size: int, overlap: int) -> None:
    for length in (*range(5 * size + 2), 3000):
        windows = plan_windows([length], size, overlap)
        for window in windows:
            assert 0 <= window.start <= window.keep_from <= window.keep_to <= window.stop <= length
            assert len(window) <= size
        for left, right in pairwise(windows):
            assert left.stop - right.start == overlap


def test_each_document_is_windowed_for_itself() -> None:
    together = plan_windows([10, 0, 3], 6, 2)
    alone = [
        Window(number, w.start, w.stop, w.keep_from, w.keep_to)
        for number, length in enumerate([10, 0, 3])
        for w in plan_windows([length], 6, 2)
    ]
    assert together == alone
    assert [w.document for w in together] == [0, 0, 1, 2]


@pytest.mark.parametrize("budget", [1, 64, 500, 4096])
def test_a_batch_stays_within_its_budget_padding_included_and_no_window_is_lost(
    budget: int,
) -> None:
    chance = random.Random(5)  # noqa: S311 - not for secrets
    for _ in range(50):
        lengths = [chance.randrange(700) for _ in range(chance.randrange(1, 40))]
        windows = plan_windows(lengths, 254, 64)
        batches = batch_windows(windows, budget)
        for batch in batches:
            assert len(batch) == 1 or len(batch) * max(map(len, batch)) <= budget
        found = sorted((w for b in batches for w in b), key=lambda w: (w.document, w.start))
        assert found == windows
