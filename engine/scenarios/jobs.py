"""Runs in threads of their own, for pages that come back to look."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.callbacks import Ask
from engine.errors import SeedLensError
from engine.types.scenarios import (
    ScenarioJob,
    ScenarioJobState,
    ScenarioProgress,
    ScenarioReport,
    ScenarioRequest,
)

log = logging.getLogger("seedlens.scenarios")
UNEXPECTED = "Something went wrong in SeedLens itself; its log says what."
POLL_SECONDS = 0.1
Work = Callable[[Ask], ScenarioReport]
"""What is done; it asks many times whether it was cancelled, and returns what it has then."""


class Background:
    """Work under way in a thread. Safe to look at from any thread."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._flag, self._ended = threading.Event(), threading.Event()
        self._report: ScenarioReport | None = None
        self._error: BaseException | None = None
        # A daemon: closing the program ends it, and the next run goes on where it stopped.
        threading.Thread(target=self._main, name="seedlens-scenarios", daemon=True).start()

    def _main(self) -> None:
        try:
            self._report = self._work(self._flag.is_set)
        except BaseException as error:  # raised again by result()
            self._error = error
        finally:
            self._ended.set()

    def cancel(self) -> None:
        """End it soon; what is stored stays."""
        self._flag.set()

    @property
    def done(self) -> bool:
        """Whether :meth:`result` returns at once."""
        return self._ended.is_set()

    def result(self) -> ScenarioReport:
        """The outcome; waits for it, in short steps so that Ctrl-C is heard."""
        while not self._ended.wait(POLL_SECONDS):
            pass
        if self._error is not None:
            raise self._error
        if self._report is None:
            raise RuntimeError("a run ended with neither a report nor an error")
        return self._report


@dataclass(slots=True)
class ScenarioWork:
    """One run: what it was asked for, and how far it is."""

    request: ScenarioRequest
    progress: ScenarioProgress
    run: Background = field(init=False)

    def note(self, progress: ScenarioProgress) -> None:
        """Told after every batch."""
        self.progress = progress

    def job(self, job_id: str) -> ScenarioJob:
        """What a page shows of it; never raises."""
        if not self.run.done:
            return ScenarioJob(job_id, self.request, "running", self.progress)
        try:
            report = self.run.result()
        except SeedLensError as error:
            return ScenarioJob(
                job_id,
                self.request,
                "failed",
                self.progress,
                error=error.message,
                remedy=error.remedy,
            )
        except Exception:  # a page that polls must not die of it, and the person must learn of it
            log.exception("Writing scenarios failed.")
            return ScenarioJob(job_id, self.request, "failed", self.progress, error=UNEXPECTED)
        state: ScenarioJobState = "cancelled" if report.stopped == "cancelled" else "done"
        return ScenarioJob(job_id, self.request, state, self.progress, report)
