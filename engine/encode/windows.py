"""Cutting token sequences into overlapping windows, and windows into batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens ``[start, stop)`` of document ``document``, of which ``[keep_from, keep_to)`` count.

    The kept parts of a document's windows tile it: every token is kept exactly once, in the
    window where it has the most context.
    """

    document: int
    start: int
    stop: int
    keep_from: int
    keep_to: int

    def __len__(self) -> int:
        return self.stop - self.start


def plan_windows(lengths: Sequence[int], size: int, overlap: int) -> list[Window]:
    """Cover each document of ``lengths[i]`` tokens with windows of at most ``size`` tokens.

    Args:
        size: tokens per window, > overlap.
        overlap: tokens that neighbouring windows share.

    Raises:
        ValueError: ``overlap`` is not smaller than ``size``.

    >>> [(w.start, w.stop, w.keep_from, w.keep_to) for w in plan_windows([10], 6, 2)]
    [(0, 6, 0, 5), (4, 10, 5, 10)]
    """
    if not 0 <= overlap < size:
        raise ValueError(f"overlap {overlap} must be at least 0 and less than the window {size}")
    windows = []
    for document, length in enumerate(lengths):
        start = keep_from = 0
        while True:
            stop = min(start + size, length)
            last = stop == length
            keep_to = length if last else stop - overlap // 2
            windows.append(Window(document, start, stop, keep_from, keep_to))
            if last:
                break
            start, keep_from = stop - overlap, keep_to
    return windows


def batch_windows(windows: Sequence[Window], budget: int) -> list[list[Window]]:
    """Group windows of like length into batches of at most ``budget`` tokens, padding included.

    The longest come first, so that memory peaks at once rather than late. A window longer
    than the budget is a batch of its own.
    """
    batches: list[list[Window]] = []
    for window in sorted(windows, key=len, reverse=True):
        if batches and (len(batches[-1]) + 1) * len(batches[-1][0]) <= budget:
            batches[-1].append(window)
        else:
            batches.append([window])
    return batches
