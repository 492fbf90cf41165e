"""The progress of a measurement, and its end when it is cancelled."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from engine.jobs.runner import CancelledWorkError
from engine.types.callbacks import Ask
from engine.types.evaluations import EvaluationProgress
from engine.types.models import ModelReport

Tell = Callable[[EvaluationProgress], None]


class Watch:
    """The progress of one measurement, step by step.

    Attributes:
        cancelled: whether somebody cancelled it.
        later: of the next step; see :class:`EvaluationProgress`.
    """

    later: int | None = 0

    def __init__(self, tell: Tell, cancelled: Ask) -> None:
        self._tell, self.cancelled = tell, cancelled
        self._now, self._began = EvaluationProgress(), time.monotonic()

    def begin(
        self, step: str, total: int, unit: str = "queries", report: ModelReport | None = None
    ) -> None:
        """Begin another count, and start the clock again."""
        self._began = time.monotonic()
        self._now = EvaluationProgress(
            0, total, step=step, unit=unit, report=report, later=self.later
        )
        self._tell(self._now)

    def count(self, step: str = "") -> None:
        """One more is done; ``step`` says what it was.

        Raises:
            CancelledWorkError: somebody cancelled.
        """
        self.update(self._now.done + 1, step=step)
        if self.cancelled():
            raise CancelledWorkError

    def update(self, done: int, *, step: str = "", report: ModelReport | None = None) -> None:
        """So many are done; what is not given stays as it was."""
        now = self._now
        self._now = replace(
            now,
            step=step or now.step,
            done=done,
            seconds=time.monotonic() - self._began,
            report=report or now.report,
        )
        self._tell(self._now)
