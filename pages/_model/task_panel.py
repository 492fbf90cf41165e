"""One panel for each task that a model does: what it takes, a button, progress and outcome."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from engine.text import counted
from engine.types.jobs import Job
from engine.types.models import Estimate, TaskProgress, TaskReport
from pages._common.job_card import JobCard
from pages._common.job_words import duration, end, is_finished, joined, run_outcome, run_progress
from pages._common.kit import button, dim
from pages._common.shared import as_drawn, attempt_at, engine, remembered
from pages._login import login
from pages._model.model_settings import chosen, endpoint, usable

Request = TypeVar("Request", contravariant=True)
R = TypeVar("R")
TaskJob = Job[TaskProgress, TaskReport[R]]


class Tasks(Protocol[Request]):
    """What runs the tasks of a part of the facade."""

    jobs: Any

    def estimate(self, request: Request, endpoint: Any = None) -> Estimate: ...
    def start(self, request: Request, endpoint: Any, most_calls: int | None, owner: str) -> str: ...


@dataclass(frozen=True)
class TaskPanel(Generic[Request, R]):
    """A task on a page, by the key of its job."""

    tasks: Tasks[Request]
    key: Hashable
    name: str  # widgets are ``NAME_start``, ``NAME_cancel``, with ``_WHICH`` for several of a kind
    _: KW_ONLY
    doing: Callable[[TaskJob[R]], tuple[str, str]]  # ("Grading", "candidate"), "" for no unit
    outcome: Callable[[TaskJob[R], R], Iterable[str]]  # what a run made, a few plain words each
    remarks: Callable[[TaskReport[R]], Iterable[str]] = lambda report: report.notes
    which: str = ""
    place: str = ""  # where what goes wrong in a click is shown; see ``show_problem``

    def job(self) -> TaskJob[R] | None:
        """The task that runs, or the last one that ran."""
        job: TaskJob[R] | None = self.tasks.jobs.latest(self.key)
        return job

    def estimate(self, request: Request, *basis: object) -> Estimate:
        """What a request takes at most; estimated again where it, the model or ``basis`` has
        changed."""
        explorer = engine()
        return remembered(
            f"{self.name}_estimate_{self.which}",
            (request, *basis, endpoint(explorer)),
            lambda: self.tasks.estimate(request, usable(explorer)),
        )

    def label(self, estimate: Estimate, start: str, nothing: str, *, busy: bool) -> str:
        """What the button says: that it runs, that nothing is left, or what it does."""
        if busy:
            return "Running"
        if not estimate.items:
            return nothing
        return "Resume" if estimate.counts["done"] else start

    def start(
        self, request: Request, owner: str = "", most_calls: Callable[[], int | None] = lambda: None
    ) -> None:
        """Run it in the background, unless it runs already."""
        owner = owner or login.owner()
        self.tasks.start(request, chosen(engine()), most_calls(), owner)

    def button(
        self,
        label: str,
        start: Callable[[], object],
        words: str,
        *,
        widgets: tuple[str, ...] = (),
        **look: Any,
    ) -> None:
        """The button that starts it, and beside it what it takes. ``widgets``: keys of what is
        chosen for it; see :func:`as_drawn`."""
        key, look = self._key("start"), {"type": "primary", **look}
        button(label, key, as_drawn(widgets, start), place=self.place, **look)
        dim(words)

    def card(
        self, *, resume: bool = True, more: Callable[[TaskJob[R]], object] = lambda _: None
    ) -> None:
        """How far the task is, or how it ended; nothing where none ran. ``resume``: with a button
        that goes on with what is left. ``more``: draws further buttons."""
        job = self.job()
        goes_on = job is not None and resume and not is_finished(job.report)
        JobCard(
            self.job,
            key=self.name,
            which=self.which,
            label=self.doing(job)[0] if job else "",
            line=self._line,
            cancel=self.tasks.jobs.cancel,
            ended=lambda job: (
                run_outcome([end(job.report), *self.outcome(job, job.report.result)], job.report)
                if job.report
                else ""
            ),
            remarks=lambda job: (
                (job.report.problem, *self.remarks(job.report)) if job.report else ()
            ),
            resume=partial(self.start, job.request) if job and goes_on else None,
            dismiss=self.tasks.jobs.dismiss,
            more=more,
            attempt=partial(attempt_at, self.place),
        ).show(job)

    def _key(self, part: str) -> str:
        return f"{self.name}_{part}_{self.which}" if self.which else f"{self.name}_{part}"

    def _line(self, job: TaskJob[R]) -> str:
        """How far it is, in one line of HTML; nothing is counted before the first batch."""
        progress, (doing, unit) = job.progress, self.doing(job)
        if not progress.total:
            return joined([doing, "preparing", duration(job.seconds)])
        total = counted(progress.total, unit) if unit else f"{progress.total:,}"
        parts = [f"{doing}: {progress.done:,} of {total}"]
        if unit and progress.done and progress.seconds:
            rate = progress.done / progress.seconds
            parts.append(f"{rate:.0f} {unit}s/s" if rate >= 10 else f"{rate:.1f} {unit}s/s")
        return run_progress(parts, progress, job.seconds)
