"""How long work reports progress and asks whether to go on."""

from __future__ import annotations

from collections.abc import Callable

from engine.types.corpora import Progress

Tell = Callable[[Progress], None]  # Called after each step of a long job
Ask = Callable[[], bool]  # Asked between steps: True means stop here, to be resumed later


def tell_nobody(*_: object) -> None:
    """For callers who do not watch."""


def never() -> bool:
    """For callers who do not cancel."""
    return False
