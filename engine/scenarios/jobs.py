"""Scenarios being written in the background, for pages that come back to look."""

from __future__ import annotations

from dataclasses import dataclass

from engine.background import Work
from engine.types.scenarios import ScenarioJob, ScenarioProgress, ScenarioReport, ScenarioRequest


@dataclass(slots=True)
class ScenarioWork(Work[ScenarioProgress, ScenarioReport]):
    """One run: what it was asked for, and how far it is after every batch."""

    request: ScenarioRequest

    def job(self, job_id: str) -> ScenarioJob:
        """What a page shows of it; never raises."""
        now = self.run.standing()
        return ScenarioJob(
            job_id, self.request, now.state, self.progress, now.report, now.error, now.remedy
        )
