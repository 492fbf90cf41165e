"""One panel for each task that a model does: what it takes, a button, progress and outcome."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import streamlit as st

from engine.text import counted
from engine.types.jobs import Job
from engine.types.models import Estimate, TaskProgress, TaskReport
from pages._common.job_card import JobCard
from pages._common.job_words import duration, end, is_finished, joined, run_outcome, run_progress
from pages._common.outside_text import escape
from pages._common.shared import as_drawn, attempt_at, engine, remembered
from pages._login import login
from pages._model.model_settings import chosen, endpoint, usable

Request = TypeVar("Request", contravariant=True)
R = TypeVar("R")


class Tasks(Protocol[Request]):
    """What runs the tasks of a part of the facade."""

    jobs: Any

    def estimate(self, request: Request, endpoint: Any = None) -> Estimate: ...
    def start(self, request: Request, endpoint: Any, most_calls: int | None, owner: str) -> str: ...


@dataclass(frozen=True)
class TaskPanel(Generic[Request, R]):
    """A task on a page, by the key of its job.

    Attributes:
        name, which: the keys of widgets are ``NAME_start``, ``NAME_cancel``, with ``_WHICH`` for
            several panels of a kind on a page.
        doing: what is done: "Grading", and what is counted: "candidate", "" for nothing.
        outcome: what a run made, a few plain words each.
        remarks: what else there is to say of a run that has ended.
        place: where what goes wrong in a click is shown; see ``show_problem``.
    """

    tasks: Tasks[Request]
    key: Hashable
    name: str
    _: KW_ONLY
    doing: Callable[[Job[TaskProgress, TaskReport[R]]], tuple[str, str]]
    outcome: Callable[[Job[TaskProgress, TaskReport[R]], R], Iterable[str]]
    remarks: Callable[[TaskReport[R]], Iterable[str]] = lambda report: report.notes
    which: str = ""
    place: str = ""

    def job(self) -> Job[TaskProgress, TaskReport[R]] | None:
        """The task that runs, or the last one that ran."""
        job: Job[TaskProgress, TaskReport[R]] | None = self.tasks.jobs.latest(self.key)
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
        line: str,
        *,
        disabled: bool,
        widgets: tuple[str, ...] = (),
        secondary: bool = False,
        help_: str | None = None,
    ) -> None:
        """The button that starts it, and beside it what it takes.

        Args:
            widgets: keys of what is chosen for it; see :func:`as_drawn`.
        """
        st.button(
            label,
            self._key("start"),
            help_,
            type="secondary" if secondary else "primary",
            disabled=disabled,
            on_click=attempt_at,
            args=(self.place, as_drawn(widgets, start)),
        )
        st.html(f'<div class="md-dim">{escape(line)}</div>')

    def card(
        self,
        *,
        resume: bool = True,
        more: Callable[[Job[TaskProgress, TaskReport[R]]], object] = lambda _: None,
    ) -> None:
        """How far the task is, or how it ended; nothing where none ran.

        Args:
            resume: with a button that goes on with what is left.
            more: draws further buttons.
        """
        job = self.job()
        goes_on = job is not None and resume and not is_finished(job.report)
        JobCard(
            self.job,
            key=self.name,
            which=self.which,
            label=self.doing(job)[0] if job else "",
            line=self._line,
            cancel=self.tasks.jobs.cancel,
            ended=self._ended,
            remarks=lambda job: (
                () if job.report is None else (job.report.problem, *self.remarks(job.report))
            ),
            resume=partial(self.start, job.request) if job and goes_on else None,
            dismiss=self.tasks.jobs.dismiss,
            more=more,
            attempt=partial(attempt_at, self.place),
        ).show(job)

    def _key(self, part: str) -> str:
        return f"{self.name}_{part}_{self.which}" if self.which else f"{self.name}_{part}"

    def _line(self, job: Job[TaskProgress, TaskReport[R]]) -> str:
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

    def _ended(self, job: Job[TaskProgress, TaskReport[R]]) -> str:
        report = job.report
        if report is None:
            return ""
        return run_outcome([end(report), *self.outcome(job, report.result)], report)
