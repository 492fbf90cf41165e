"""Scenarios being written: kept for all visitors of this server, shown in place, cancelled.

They are written in the server, whether or not a page shows it; who opens the Library again
finds them. What is stored stays when the server ends: the next run goes on from there.
"""

from __future__ import annotations

from functools import partial

import streamlit as st

from engine.explorer import Explorer
from engine.types.scenarios import ScenarioJob, ScenarioRequest
from pages._common.job_card import job_card
from pages._common.shared import attempt_at, show_problem
from pages._library.library_page import EXPLORE
from pages._library.scenarios_lines import outcome_line, progress_line
from pages._login import login
from pages._model.model_lines import is_finished
from pages._model.model_settings import chosen


def place_of(corpus: str) -> str:
    """Where what goes wrong with a corpus's scenarios is shown."""
    return f"scenarios_{corpus}"


def start(explorer: Explorer, request: ScenarioRequest) -> None:
    """Write in the background; raises as ``Scenarios.start``."""
    explorer.scenarios.start(request, endpoint=chosen(explorer), owner=login.owner())


def scenarios_card(
    explorer: Explorer, corpus: str, job: ScenarioJob | None, *, resume: bool = True
) -> None:
    """How far a run is, or how it ended; nothing where there is none.

    Args:
        resume: with a button to go on; without it where another button does so.
    """
    show_problem(place_of(corpus), keep=True)
    jobs = explorer.scenarios.jobs
    goes_on = resume and job is not None and not is_finished(job.report)
    job_card(
        job,
        lambda: jobs.latest(corpus),
        key="library_scenarios",
        which=corpus,
        label=f"Writing scenarios for {corpus}",
        line=lambda now: progress_line(now.progress, now.seconds),
        cancel=jobs.cancel,
        ended=outcome_line,
        remarks=lambda now: (now.report.problem, *now.report.notes) if now.report else (),
        resume=(lambda: start(explorer, job.request)) if goes_on else None,
        dismiss=jobs.dismiss,
        more=partial(_search_button, corpus),
        what_stays="What is written stays.",
        attempt=partial(attempt_at, place_of(corpus)),
    )


def _search_button(corpus: str, job: ScenarioJob) -> None:
    if (
        not job.running
        and is_finished(job.report)
        and st.button("Search by them", key=f"library_scenarios_search_{corpus}")
    ):
        st.switch_page(EXPLORE, query_params={"corpus": corpus, "system": "scenario"})
