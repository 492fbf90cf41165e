"""Running and past imports on the Library page."""

from __future__ import annotations

import html

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.corpora import ImportJob, ImportReport, Progress
from pages._common.shared import error_boundary
from pages._library.corpus_list import source_name
from pages._library.library_page import act, problem, time_left

_PHASES = {
    "checking": "Reading and checking every document",
    "indexing": "Indexing",
    "finishing": "Building the search indexes",
    "done": "Done",
}
_ENDS = {
    "done": "done",
    "cancelled": "cancelled",
    "failed": "failed",
    "interrupted": "interrupted",
}


def progress_line(progress: Progress) -> str:
    """Phase, documents done of total, rate and time left, in one line."""
    parts = [_PHASES[progress.phase]]
    if progress.phase == "indexing":
        parts.append(f"{progress.done:,} of {progress.total:,} documents")
        if progress.rate > 0:
            rate = f"{progress.rate:.0f}" if progress.rate >= 10 else f"{progress.rate:.1f}"
            parts += [f"{rate} documents/s", time_left(progress.seconds_left)]
    return " · ".join(parts)


def report_line(report: ImportReport) -> str:
    """``360 documents: 360 added, 0 updated, 0 unchanged, in 7.1 s``."""
    done = (
        f"{report.added:,} added, {report.updated:,} updated, "
        f"{report.unchanged:,} unchanged, in {report.seconds:.1f} s"
    )
    if report.cancelled:
        return f"Stopped after {report.read:,} documents: {done}. Resume goes on from there."
    return f"{report.read:,} documents: {done}. The corpus holds {report.documents:,}."


def jobs_section(explorer: Explorer) -> None:
    """All imports, newest first; looked at every second while one runs."""
    runs = any(job.state == "running" for job in explorer.library.jobs.list())
    st.fragment(_jobs, run_every=1.0 if runs else None)(explorer)


def _jobs(explorer: Explorer) -> None:
    with error_boundary():
        problem("jobs")
        jobs = explorer.library.jobs.list()
        # (job, is it registered as a corpus by now)
        running = {(j.id, j.progress.phase != "checking") for j in jobs if j.state == "running"}
        before = st.session_state.get("library_running", running)
        st.session_state["library_running"] = running
        if running != before:
            st.rerun()  # the list of corpora above, and the clock, are out of date
        if jobs:
            st.subheader("Imports", anchor=False)
        for job in jobs:
            with st.container(border=True, key=f"library_job_{job.id}"):
                _job(explorer, job)


def _job(explorer: Explorer, job: ImportJob) -> None:
    left, right = st.columns([8, 3], vertical_alignment="center")
    state = _ENDS.get(job.state, "stopping after the batch at hand" if job.stopping else "")
    source = html.escape(source_name(explorer, str(job.request.source)))
    with left:
        st.html(
            f'<div class="sl-head"><strong>{html.escape(job.request.name)}</strong>'
            f'<span class="sl-dim" style="overflow-wrap:anywhere">{source}</span>'
            f"<span>{state}</span></div>"
        )
        if job.state == "running":
            share = job.progress.done / job.progress.total if job.progress.total else 0.0
            st.progress(min(1.0, share), text=progress_line(job.progress))
        else:
            _outcome(job)
    with right, st.container(horizontal=True, gap="small"):
        _buttons(explorer, job)


def _outcome(job: ImportJob) -> None:
    if job.error:
        with error_boundary():
            raise SeedLensError(job.error, job.remedy)
    if job.report is not None:
        lines = (report_line(job.report), *job.report.warnings)
        st.html("".join(f'<div style="max-width:75ch">{html.escape(x)}</div>' for x in lines))


def _buttons(explorer: Explorer, job: ImportJob) -> None:
    jobs = explorer.library.jobs
    if job.state == "running":
        st.button(
            "Cancel",
            key=f"library_cancel_{job.id}",
            disabled=job.stopping,
            help="Ends after the batch at hand; what is indexed stays, and Resume goes on.",
            on_click=act,
            args=("jobs", jobs.cancel, job.id),
        )
        return
    if job.state != "done":
        st.button(
            "Resume",
            key=f"library_resume_{job.id}",
            on_click=act,
            args=("jobs", jobs.resume, job.id),
        )
    st.button(
        "Dismiss",
        key=f"library_dismiss_{job.id}",
        help="Takes this line away. What was indexed stays.",
        on_click=act,
        args=("jobs", jobs.dismiss, job.id),
    )
