"""Steps of builds in the background, for pages that come back to look."""

from __future__ import annotations

from dataclasses import dataclass

from engine.jobs.threads import Work
from engine.types.builds import StepJob, StepProgress, StepReport


@dataclass(slots=True)
class StepWork(Work[StepProgress, StepReport]):
    """One run of a step, and how far it is."""

    corpus: str
    name: str

    def job(self, job_id: str) -> StepJob:
        """What a page shows of it; never raises."""
        now = self.run.standing()
        return StepJob(job_id, now.state, self.progress, now.report, now.error, now.remedy)
