"""A job in the background, as pages show it: which one was the last, how far it is, its end.

Jobs go on in the server, whether or not a page shows them. What they stored stays when the
server ends: the next one goes on from there.
"""

from __future__ import annotations

import html
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import streamlit as st

from engine.errors import UnknownNameError
from engine.types.reranking import ModelReport
from pages._common.shared import note
from pages._model.model_lines import report_line

POLL_SECONDS = 1.0
"""Seconds between two looks at a job that takes minutes."""
Place = TypeVar("Place", bound=Hashable)
Job = TypeVar("Job")


class HasEnded(Protocol):
    """A job of the engine that is under way no more."""

    @property
    def state(self) -> str: ...
    @property
    def error(self) -> str: ...
    @property
    def remedy(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Started:
    """A job that was started, or was found under way, at a moment of the monotonic clock."""

    job_id: str
    at: float
    stopping: bool = False

    @classmethod
    def now(cls, job_id: str) -> Started:
        """One that was started, or found, at this moment."""
        return cls(job_id, time.monotonic())

    @property
    def seconds(self) -> float:
        """Since then."""
        return time.monotonic() - self.at


class LastJobs(Generic[Place]):
    """The last job of each place (a corpus, a build ...), for all visitors of this server."""

    def __init__(self) -> None:
        self._jobs: dict[Place, Started] = {}
        self._lock = threading.Lock()

    def get(self, place: Place) -> Started | None:
        """The last job; None where there is none, or once it was dismissed."""
        return self._jobs.get(place)

    def remember(self, place: Place, job_id: str) -> None:
        """Keep it that a job was started just now."""
        self._jobs[place] = Started.now(job_id)

    def find(self, place: Place, job_of: Callable[[str], Job], running: str = "") -> Job | None:
        """The last job as it is now; None where there is none, or once it was dismissed.

        Args:
            job_of: the engine's answer for an id; UnknownNameError once it has forgotten it.
            running: the id of the job under way, whoever started it.
        """
        known = self.get(place)
        if running and (known is None or known.job_id != running):
            self.remember(place, running)
            known = self.get(place)
        if known is None:
            return None
        try:
            return job_of(known.job_id)
        except UnknownNameError:  # the server keeps the latest only; what was made stays
            self.dismiss(place, known.job_id)
            return None

    def stop(self, place: Place, job_id: str, cancel: Callable[[str], object]) -> None:
        """End a job after the batch at hand."""
        cancel(job_id)
        with self._lock:
            known = self._jobs.get(place)
            if known is not None and known.job_id == job_id:
                self._jobs[place] = replace(known, stopping=True)

    def dismiss(self, place: Place, job_id: str) -> None:
        """Show nothing of a job any more; of one that was started since, everything."""
        with self._lock:
            known = self._jobs.get(place)
            if known is not None and known.job_id == job_id:
                del self._jobs[place]


def progress(line: str, share: float, label: str) -> None:
    """A bar with a line under it, in the container at hand.

    Args:
        line: HTML.
        share: of the work that is done, 0 to 1.
        label: what it is that is done, for who cannot see the bar.
    """
    percent = round(100 * share)
    st.html(
        f'<div class="md-bar" role="progressbar" aria-label="{html.escape(label)}" '
        f'aria-valuemin="0" aria-valuemax="100" aria-valuenow="{percent}">'
        f'<span style="width:{percent}%"></span></div><div class="md-line">{line}</div>'
    )


def outcome(job: HasEnded, line: str) -> None:
    """Why a job failed, or else ``line``: what it did, in HTML; nothing for an empty one."""
    if job.state == "failed":
        note(job.error, job.remedy, kind="error")
    elif line:
        st.html(f'<div class="md-line" role="status">{line}</div>')


def what_was_asked(report: ModelReport) -> None:
    """What a model was asked, and what went wrong or is odd about it."""
    st.html(f'<div class="md-line md-quiet">{report_line(report)}</div>')
    if report.problem and (report.stopped or report.failed):
        note(report.problem)
    for text in report.notes:
        note(text)
