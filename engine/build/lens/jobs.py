"""Steps of builds in the background, for pages that come back to look."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.background import Background
from engine.types import StepJob, StepProgress, StepReport


@dataclass(slots=True)
class StepWork:
    """One run of a step, and how far it is."""

    corpus: str
    name: str
    progress: StepProgress
    run: Background[StepReport] = field(init=False)

    def note(self, progress: StepProgress) -> None:
        """Told as the step goes on."""
        self.progress = progress

    def job(self, job_id: str) -> StepJob:
        """What a page shows of it; never raises."""
        now = self.run.standing()
        return StepJob(job_id, now.state, self.progress, now.report, now.error, now.remedy)
