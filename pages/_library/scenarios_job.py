"""Scenarios being written: kept for all visitors of this server, shown in place, cancelled.

They are written in the server, whether or not a page shows it; who opens the Library again
finds them. What is stored stays when the server ends: the next run goes on from there.
"""

from __future__ import annotations

import streamlit as st

from engine.explorer import Explorer
from engine.types.scenarios import ScenarioJob, ScenarioRequest
from pages._common.job_card import POLL_SECONDS, outcome, progress
from pages._common.shared import engine, note
from pages._library.library_page import EXPLORE, act, problem
from pages._library.scenarios_lines import outcome_line, progress_line
from pages._login import login
from pages._model.model_lines import is_finished
from pages._model.model_settings import chosen


def place_of(corpus: str) -> str:
    """Where what goes wrong with a corpus's scenarios is shown."""
    return f"scenarios_{corpus}"


def start(explorer: Explorer, request: ScenarioRequest) -> None:
    """Write in the background; raises as ``Scenarios.start``."""
    explorer.scenarios.start(request, endpoint=chosen(explorer), owner=login.name() or "")


def job_card(
    explorer: Explorer, corpus: str, job: ScenarioJob | None, *, resume: bool = True
) -> None:
    """How far a run is, or how it ended; nothing where there is none.

    Args:
        resume: with a button to go on; without it where another button does so.
    """
    if job is None:
        problem(place_of(corpus))
        return
    with st.container(border=True, key=f"library_scenarios_job_{corpus}"):
        problem(place_of(corpus))
        if job.state == "running":
            st.fragment(_running, run_every=POLL_SECONDS)(corpus)
        else:
            _ended(explorer, corpus, job, resume=resume)


def _running(corpus: str) -> None:
    """One line that changes in place; the page is renewed when there is more to show."""
    explorer = engine()
    job = explorer.scenarios.jobs.latest(corpus)
    if job is None or not job.running:
        st.rerun()
    line = progress_line(job.progress, job.seconds, stopping=job.stopping)
    left, right = st.columns([8, 3], vertical_alignment="center")
    with left:
        progress(line, job.progress.share, f"Writing scenarios for {corpus}")
    right.button(
        "Cancel",
        key=f"library_scenarios_cancel_{corpus}",
        disabled=job.stopping,
        help="Ends after the batch at hand; what is written stays, and Resume goes on.",
        on_click=act,
        args=(place_of(corpus), explorer.scenarios.jobs.cancel, job.id),
    )


def _ended(explorer: Explorer, corpus: str, job: ScenarioJob, *, resume: bool) -> None:
    left, right = st.columns([8, 3], vertical_alignment="center")
    with left:
        outcome(job, outcome_line(job))
        if job.report is not None:
            for text in filter(None, (job.report.problem, *job.report.notes)):
                note(text)
    with right, st.container(horizontal=True, gap="small"):
        if resume and not is_finished(job.report):
            st.button(
                "Try again" if job.state == "failed" else "Resume",
                key=f"library_scenarios_resume_{corpus}",
                help="Goes on with the documents that have none yet.",
                on_click=act,
                args=(place_of(corpus), start, explorer, job.request),
            )
        if is_finished(job.report) and st.button(
            "Search by them", key=f"library_scenarios_search_{corpus}"
        ):
            st.switch_page(EXPLORE, query_params={"corpus": corpus, "system": "scenario"})
        st.button(
            "Dismiss",
            key=f"library_scenarios_dismiss_{corpus}",
            help="Takes this line away. What was written stays.",
            on_click=act,
            args=(place_of(corpus), explorer.scenarios.jobs.dismiss, job.id),
        )
