"""Scenarios being written: kept for all visitors of this server, shown in place, cancelled.

They are written in the server, whether or not a page shows it; who opens the Library again
finds them. What is stored stays when the server ends: the next run goes on from there.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import streamlit as st

from engine.errors import UnknownNameError
from engine.explorer import Explorer
from engine.types.scenarios import ScenarioJob, ScenarioRequest
from pages._library import EXPLORE, act, problem
from pages._model_settings import settings
from pages._scenarios_lines import is_whole, outcome_line, progress_line, share
from pages._shared import engine, note

_POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Started:
    job_id: str
    at: float
    stopping: bool = False


@st.cache_resource(show_spinner=False)
def _started() -> dict[str, _Started]:
    """Corpus -> its last run; one for all sessions."""
    return {}


def place_of(corpus: str) -> str:
    """Where what goes wrong with a corpus's scenarios is shown."""
    return f"scenarios_{corpus}"


def start(explorer: Explorer, request: ScenarioRequest) -> None:
    """Write in the background; raises as ``Scenarios.start``."""
    job = find(explorer, request.corpus)
    if job is not None and job.state == "running":
        return  # two clicks, or another visitor's
    job_id = explorer.scenarios.start(request, **settings())
    _started()[request.corpus] = _Started(job_id, time.monotonic())


def find(explorer: Explorer, corpus: str) -> ScenarioJob | None:
    """The last run over a corpus, None where there is none, or it was dismissed."""
    started = _started().get(corpus)
    if started is None:
        return None
    try:
        return explorer.scenarios.state(started.job_id)
    except UnknownNameError:  # the server keeps the latest only; what was written stays
        _started().pop(corpus, None)
        return None


def cancel(explorer: Explorer, corpus: str) -> None:
    """End a run after the batch at hand."""
    started = _started().get(corpus)
    if started is not None:
        explorer.scenarios.cancel(started.job_id)
        _started()[corpus] = replace(started, stopping=True)


def dismiss(corpus: str) -> None:
    """Take the line about a run away. What was written stays."""
    _started().pop(corpus, None)


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
            st.fragment(_running, run_every=_POLL_SECONDS)(corpus)
        else:
            _ended(explorer, corpus, job, resume=resume)


def _running(corpus: str) -> None:
    """One line that changes in place; the page is renewed when there is more to show."""
    explorer, started = engine(), _started().get(corpus)
    job = find(explorer, corpus)
    if started is None or job is None or job.state != "running":
        st.rerun()
    percent = round(100 * share(job.progress))
    seconds = time.monotonic() - started.at
    line = progress_line(job.progress, seconds, stopping=started.stopping)
    left, right = st.columns([8, 3], vertical_alignment="center")
    left.html(
        f'<div class="md-bar" role="progressbar" aria-label="Writing scenarios for {corpus}" '
        f'aria-valuemin="0" aria-valuemax="100" aria-valuenow="{percent}">'
        f'<span style="width:{percent}%"></span></div><div class="md-line">{line}</div>'
    )
    right.button(
        "Cancel",
        key=f"library_scenarios_cancel_{corpus}",
        disabled=started.stopping,
        help="Ends after the batch at hand; what is written stays, and Resume goes on.",
        on_click=act,
        args=(place_of(corpus), cancel, explorer, corpus),
    )


def _ended(explorer: Explorer, corpus: str, job: ScenarioJob, *, resume: bool) -> None:
    left, right = st.columns([8, 3], vertical_alignment="center")
    with left:
        if job.state == "failed":
            note(job.error, job.remedy, kind="error")
        else:
            st.html(f'<div class="md-line">{outcome_line(job)}</div>')
        if job.report is not None:
            for text in filter(None, (job.report.problem, *job.report.notes)):
                note(text)
    with right, st.container(horizontal=True, gap="small"):
        if resume and not is_whole(job):
            st.button(
                "Try again" if job.state == "failed" else "Resume",
                key=f"library_scenarios_resume_{corpus}",
                help="Goes on with the documents that have none yet.",
                on_click=act,
                args=(place_of(corpus), start, explorer, job.request),
            )
        if is_whole(job) and st.button("Search by them", key=f"library_scenarios_search_{corpus}"):
            st.switch_page(EXPLORE, query_params={"corpus": corpus, "system": "scenario"})
        st.button(
            "Dismiss",
            key=f"library_scenarios_dismiss_{corpus}",
            help="Takes this line away. What was written stays.",
            on_click=act,
            args=(place_of(corpus), dismiss, corpus),
        )
