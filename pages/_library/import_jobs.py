"""Running and past imports on the Library page."""

from __future__ import annotations

from functools import partial

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.corpora import ImportJob, ImportReport, Progress
from pages._common.kit import el
from pages._common.shared import attempt_at, escape, show_problem
from pages._common.tasks import JobCard, time_left

_PHASES = {
    "retrieving": "Downloading",
    "checking": "Checking documents and loading the model",
    "indexing": "Indexing",
    "finishing": "Building the search indexes",
    "mapping": "Computing the map (search is available)",
    "done": "Done",
}


def progress_line(progress: Progress) -> str:
    """Phase, documents done of total, rate and time left, in one line."""
    parts = [_PHASES[progress.phase]]
    if progress.phase in ("retrieving", "indexing"):
        parts.append(f"{progress.done:,} of {progress.total:,} documents")
        if progress.rate > 0:
            rate = f"{progress.rate:.0f}" if progress.rate >= 10 else f"{progress.rate:.1f}"
            parts += [f"{rate} documents/s", time_left(progress.seconds_left)]
    return " · ".join(parts)


def report_line(report: ImportReport) -> str:
    """``480 documents: 480 added, 0 updated, 0 unchanged, in 7.1 s``."""
    done = (
        f"{report.added:,} added, {report.updated:,} updated, "
        f"{report.unchanged:,} unchanged, in {report.seconds:.1f} s"
    )
    read = counted(report.read, "document")
    if report.cancelled:
        return f"Stopped after {read}: {done}. Resume to continue."
    read_as = f" Read as {report.encoding}." if report.encoding else ""
    return f"{read}: {done}.{report.kept_line} The corpus holds {report.documents:,}.{read_as}"


def jobs_section(explorer: Explorer) -> None:
    """All imports, newest first."""
    show_problem("jobs", keep=True)
    jobs = explorer.library.jobs.list()
    if jobs:
        st.subheader("Imports", anchor=False)
    for job in jobs:
        source = explorer.library.source_name(str(job.request.source))
        name = el("strong", job.request.name)
        where = el("span.sl-dim", source, style="overflow-wrap:anywhere")
        st.html(el("div.sl-head", name, where, el("span", "" if job.running else job.state)))
        _card(explorer, job)


def _card(explorer: Explorer, job: ImportJob) -> None:
    jobs = explorer.library.jobs
    JobCard(
        lambda: jobs.job(job.id),
        key="library",
        which=job.id,
        label=f"Importing {job.request.name}",
        line=lambda now: escape(progress_line(now.progress)),
        cancel=jobs.cancel,
        ended=_report,
        resume=None if job.state == "done" else lambda: jobs.resume(job.id),
        dismiss=jobs.dismiss,
        is_news=lambda now: _registered(now) != _registered(job),
        what_stays="Indexed documents are kept.",
        attempt=partial(attempt_at, "jobs"),
    ).show(job)


def _registered(job: ImportJob) -> bool:
    """Whether the corpus stands in the list of corpora by now."""
    return job.progress.phase not in ("retrieving", "checking")


def _report(job: ImportJob) -> str:
    """One line below the other, also in a row of the card."""
    if job.report is None:
        return ""
    lines = (report_line(job.report), *job.report.warnings)
    return el("div", (el("div", line, style="max-width:75ch") for line in lines))
