"""The last run of a build's step: found again by whoever opens the build, and how far it is.

Steps run in the server, whether or not a page shows them.
"""

from __future__ import annotations

import html
import time
from dataclasses import dataclass, replace

import streamlit as st

from engine.errors import UnknownNameError
from engine.explorer import Explorer
from engine.types.builds import BuildStep, StepJob
from pages._build_lines import is_whole, notes_of, outcome_line, progress_line, share
from pages._build_problem import attempt_at, problem_at
from pages._build_view import SHOWN_BY, STEPS, go
from pages._shared import engine, note

_POLL_SECONDS = 1.0
_PLACE = "card"
_Build = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Started:
    job_id: str
    at: float
    stopping: bool = False


@st.cache_resource(show_spinner=False)
def _started() -> dict[_Build, _Started]:
    """Build -> its last run; one for all sessions."""
    return {}


def remember(build: _Build, job_id: str) -> None:
    """Keep it that a run of this build was started just now."""
    _started()[build] = _Started(job_id, time.monotonic())


def find(explorer: Explorer, build: _Build) -> StepJob | None:
    """The run under way for a build, or the last one; None for neither, or once dismissed."""
    known = _started().get(build)
    running = explorer.builds.running(*build)
    if running is not None and (known is None or known.job_id != running):
        remember(build, running)
        known = _started()[build]
    if known is None:
        return None
    try:
        return explorer.builds.job(known.job_id)
    except UnknownNameError:  # the server keeps the latest only; what was made stays
        _started().pop(build, None)
        return None


def under_way(job: StepJob | None) -> str:
    """The step of the page that is being run; "" for none."""
    return SHOWN_BY[job.progress.step] if job is not None and job.state == "running" else ""


def card(build: _Build, step: BuildStep | None, job: StepJob | None) -> None:
    """How far the run is, whichever step it is of; how it ended, on the page of its own step.

    Args:
        step: that the page shows; None for the lens, which does not run.
    """
    problem_at(_PLACE)
    if job is None or (job.state != "running" and job.progress.step != step):
        return
    with st.container(border=True, key="build_job"):
        if job.state == "running":
            st.fragment(_running, run_every=_POLL_SECONDS)(build, step)
        else:
            _ended(build, job)


def _running(build: _Build, shown: BuildStep | None) -> None:
    """One line that changes in place; the page is renewed when there is more to show."""
    known, job = _started().get(build), find(engine(), build)
    if known is None or job is None or job.state != "running":
        st.rerun()
    percent = round(100 * share(job.progress))
    line = progress_line(job.progress, time.monotonic() - known.at, stopping=known.stopping)
    left, right = st.columns([8, 3], vertical_alignment="center")
    left.html(
        f'<div class="md-bar" role="progressbar" aria-label="How far the step is" '
        f'aria-valuemin="0" aria-valuemax="100" aria-valuenow="{percent}">'
        f'<span style="width:{percent}%"></span></div><div class="md-line">{line}</div>'
    )
    with right, st.container(horizontal=True, horizontal_alignment="right", gap="small"):
        st.button(
            "Cancel", key="build_cancel", disabled=known.stopping, on_click=attempt_at,
            args=(_PLACE, lambda: _cancel(build)),
            help="Ends after the batch at hand; what is made stays, and the step goes on from "
            "there.",
        )  # fmt: skip
        step = SHOWN_BY[job.progress.step]
        if job.progress.step != shown and st.button(f"Show {STEPS[step]}", key="build_show"):
            go(step)
            st.rerun()


def _ended(build: _Build, job: StepJob) -> None:
    left, right = st.columns([10, 2], vertical_alignment="center")
    with left:
        if job.state == "failed":
            note(job.error, job.remedy, kind="error")
        else:
            st.html(f'<div class="md-line" role="status">{outcome_line(job)}</div>')
        if job.report is not None and job.report.problem:
            note(job.report.problem)
        lines = notes_of(job)
        if job.state == "failed" or not is_whole(job):
            lines.append("What was made is kept; running goes on from there.")
        if lines:
            st.html(f'<div class="md-dim">{"<br>".join(map(html.escape, lines))}</div>')
    with right, st.container(horizontal=True, horizontal_alignment="right"):
        st.button(
            "Dismiss", key="build_dismiss", on_click=_dismiss, args=(build,),
            help="Takes this line away. What was made stays.",
        )  # fmt: skip


def _cancel(build: _Build) -> None:
    known = _started().get(build)
    if known is not None:
        engine().builds.cancel(known.job_id)
        _started()[build] = replace(known, stopping=True)


def _dismiss(build: _Build) -> None:
    _started().pop(build, None)
