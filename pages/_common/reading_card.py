"""The last run of a build's step: found again by whoever opens the build, and how far it is.

Steps run in the server, whether or not a page shows them.
"""

from __future__ import annotations

import html

import streamlit as st

from engine.types.builds import BuildStep, StepJob
from pages._build.build_lines import notes_of, outcome_line, progress_line
from pages._build.build_view import SHOWN_BY, STEPS, go
from pages._common.job_card import POLL_SECONDS, outcome, progress
from pages._common.problem import attempt_at, problem_at
from pages._common.shared import engine, note
from pages._model.model_lines import is_finished

_PLACE = "card"
_Build = tuple[str, str]


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
            st.fragment(_running, run_every=POLL_SECONDS)(build, step)
        else:
            _ended(job)


def _running(build: _Build, shown: BuildStep | None) -> None:
    """One line that changes in place; the page is renewed when there is more to show."""
    job = engine().builds.jobs.latest(build)
    if job is None or not job.running:
        st.rerun()
    line = progress_line(job.progress, job.seconds, stopping=job.stopping)
    left, right = st.columns([8, 3], vertical_alignment="center")
    with left:
        progress(line, job.progress.share, "How far the step is")
    with right, st.container(horizontal=True, horizontal_alignment="right", gap="small"):
        st.button(
            "Cancel", key="build_cancel", disabled=job.stopping, on_click=attempt_at,
            args=(_PLACE, lambda: engine().builds.jobs.cancel(job.id)),
            help="Ends after the batch at hand; what is made stays, and the step goes on from "
            "there.",
        )  # fmt: skip
        step = SHOWN_BY[job.progress.step]
        if job.progress.step != shown and st.button(f"Show {STEPS[step]}", key="build_show"):
            go(step)
            st.rerun()


def _ended(job: StepJob) -> None:
    left, right = st.columns([10, 2], vertical_alignment="center")
    with left:
        outcome(job, outcome_line(job))
        if job.report is not None and job.report.problem:
            note(job.report.problem)
        lines = notes_of(job)
        if job.state == "failed" or not is_finished(job.report):
            lines.append("What was made is kept; running goes on from there.")
        if lines:
            st.html(f'<div class="md-dim">{"<br>".join(map(html.escape, lines))}</div>')
    with right, st.container(horizontal=True, horizontal_alignment="right"):
        st.button(
            "Dismiss", key="build_dismiss", on_click=engine().builds.jobs.dismiss, args=(job.id,),
            help="Takes this line away. What was made stays.",
        )  # fmt: skip
