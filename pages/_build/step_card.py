"""The last run of a build's step: found again by whoever opens the build, and how far it is.

Steps run in the server, whether or not a page shows them.
"""

from __future__ import annotations

import html
from functools import partial

import streamlit as st

from engine.types.builds import BuildStep, StepJob
from pages._build.build_lines import notes_of, outcome_line, progress_line
from pages._build.build_view import SHOWN_BY, STEPS, go
from pages._common.job_card import job_card
from pages._common.shared import attempt_at, engine, show_problem
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
    show_problem(_PLACE)
    if job is None or not (job.running or job.progress.step == step):
        return
    jobs = engine().builds.jobs
    job_card(
        job,
        lambda: jobs.latest(build),
        key="build",
        label="How far the step is",
        line=lambda now: progress_line(now.progress, now.seconds),
        cancel=jobs.cancel,
        ended=_ended,
        remarks=lambda now: [now.report.problem] if now.report else (),
        dismiss=jobs.dismiss,
        more=partial(_show_button, step),
        what_stays="What was made stays.",
        attempt=partial(attempt_at, _PLACE),
    )


def _show_button(shown: BuildStep | None, job: StepJob) -> None:
    step = SHOWN_BY[job.progress.step]
    if (
        job.running
        and job.progress.step != shown
        and st.button(f"Show {STEPS[step]}", key="build_show")
    ):
        go(step)
        st.rerun()


def _ended(job: StepJob) -> str:
    lines = [html.escape(line) for line in notes_of(job)]
    if job.state == "failed" or not is_finished(job.report):
        lines.append("What was made is kept; running goes on from there.")
    notes = f'<div class="md-dim">{"<br>".join(lines)}</div>' if lines else ""
    return outcome_line(job) + notes
