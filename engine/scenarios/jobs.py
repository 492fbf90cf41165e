"""Scenarios being written in the background, for pages that come back to look."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.background import Background
from engine.types.scenarios import ScenarioJob, ScenarioProgress, ScenarioReport, ScenarioRequest


@dataclass(slots=True)
class ScenarioWork:
    """One run: what it was asked for, and how far it is."""

    request: ScenarioRequest
    progress: ScenarioProgress
    run: Background[ScenarioReport] = field(init=False)

    def note(self, progress: ScenarioProgress) -> None:
        """Told after every batch."""
        self.progress = progress

    def job(self, job_id: str) -> ScenarioJob:
        """What a page shows of it; never raises."""
        now = self.run.standing()
        return ScenarioJob(
            job_id, self.request, now.state, self.progress, now.report, now.error, now.remedy
        )
