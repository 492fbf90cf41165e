"""A language model as one annotator among others: what it shall grade, how far it is, its check."""

from __future__ import annotations

from functools import partial

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import (
    MOST_ANCHORS,
    GradingEstimate,
    GradingJob,
    GradingRequest,
    Project,
)
from engine.types.reranking import EndpointInfo
from pages._annotate.assessor_check import (
    check,
    differences,
    end_sample,
    estimate_line,
    outcome_line,
    progress_line,
    sample_of,
    unconnected_line,
)
from pages._annotate.judging_view import judging_view
from pages._common.job_card import JobCard
from pages._common.job_words import is_finished
from pages._common.outside_text import escape, with_marks
from pages._common.shared import as_drawn, attempt, error_boundary, remembered
from pages._login import login
from pages._model.model_form import apply_model_style, folded_panel
from pages._model.model_settings import chosen, endpoint, usable

ABOUT = "Model grades are stored as a separate annotator, with a rationale."
ALL = 0
LIMITS = (10, 100, 1000)
"""Candidates that one may begin with, to see what comes of it."""
_CHOSEN = tuple(
    f"annotate_model_{one}_" for one in ("queries", "limit", "anchors", "judged", "again")
)
"""Keys of what is chosen of it; see :func:`as_drawn`."""


def model(explorer: Explorer, project: Project, who: str) -> None:
    """The part of the page; while somebody checks a sample, the queue of its items with it."""
    items = sample_of(explorer, project, who)
    if items:
        _checking(explorer, project, who, items)
        return
    apply_model_style()
    with st.container(key="annotate_model"):
        left, right = st.columns(2, gap="large")
    comparison = None
    with left, error_boundary():
        _grading(explorer, project)
    with right, error_boundary():
        busy = explorer.annotation.grading.jobs.running(project.key) is not None
        comparison = check(explorer, project, who, busy=busy)
    if comparison is not None and comparison.items:
        with error_boundary():
            differences(explorer, project, comparison)


def _checking(
    explorer: Explorer, project: Project, who: str, items: frozenset[tuple[str, str]]
) -> None:
    with st.container(key="annotate_sample_head", horizontal=True, vertical_alignment="center"):
        st.html(
            f'<div class="sl-facts">A sample of {counted(len(items), "item")} that a model graded. '
            "Its grades are hidden until you finish. Yours only check it: exports "
            "and agreement leave them out.</div>"
        )
        st.button("Show differences", key="annotate_sample_end", on_click=end_sample)
    judging_view(explorer, project, who, None, items)


def _grading(explorer: Explorer, project: Project) -> None:
    st.header("Model grading", anchor=False)
    counts = (
        "Model grades count where no person graded (set under Project)."
        if project.model_grades
        else "Model grades are not used in qrels unless enabled under Project."
    )
    st.html(f'<div class="md-dim">{escape(f"{ABOUT} {counts}")}</div>')
    job = explorer.annotation.grading.jobs.latest(project.key)
    busy = job is not None and job.running
    request = _choices(explorer, project, busy=busy)
    info = endpoint(explorer)
    estimate = _estimate(explorer, project, request, info)
    line = estimate_line(estimate) if info.set_up else unconnected_line(estimate)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            _label(estimate, busy=busy),
            key="annotate_model_start",
            type="primary",
            disabled=busy or not estimate.candidates or not info.set_up,
            on_click=attempt,
            args=(as_drawn(_CHOSEN, partial(_start, explorer, project, request)),),
        )
        st.html(f'<div class="md-dim">{escape(line)}</div>')
    _job_card(explorer, project, job)
    folded_panel(explorer, "annotate_model")


def _label(estimate: GradingEstimate, *, busy: bool) -> str:
    if busy:
        return "Running"
    if not estimate.candidates:
        return "All graded" if estimate.done else "Start grading"
    return "Resume" if estimate.done else "Start grading"


def _choices(explorer: Explorer, project: Project, *, busy: bool) -> GradingRequest:
    """What is to be graded, and with how many examples."""
    queries = explorer.annotation.queries(project)
    place = f"{project.corpus}_{project.name}"
    chosen = st.multiselect(
        "Queries", list(queries), key=f"annotate_model_queries_{place}", placeholder="All",
        disabled=busy, format_func=with_marks,
    )  # fmt: skip
    many, examples = st.columns(2)
    limit = many.selectbox(
        "Candidates", [ALL, *LIMITS], key=f"annotate_model_limit_{place}", disabled=busy,
        format_func=lambda n: f"next {n:,}" if n else "all remaining",
    )  # fmt: skip
    anchors = examples.number_input(
        "Examples per query", 0, MOST_ANCHORS, GradingRequest().anchors, disabled=busy,
        key=f"annotate_model_anchors_{place}",
        help="Documents known to be relevant to the query: adjudicated ones first, never the "
        "candidate.",
    )  # fmt: skip
    judged = st.toggle(
        "Include human-graded items", key=f"annotate_model_judged_{place}", disabled=busy,
        help="For comparing the model with people. It does not see their grades.",
    )  # fmt: skip
    again = st.toggle(
        "Regrade", key=f"annotate_model_again_{place}", disabled=busy,
        help="For example after changing the guidelines. Unchanged questions are free.",
    )  # fmt: skip
    return GradingRequest(
        tuple(chosen), int(anchors), again=again, limit=limit or None, judged=judged
    )


def _estimate(
    explorer: Explorer, project: Project, request: GradingRequest, info: EndpointInfo
) -> GradingEstimate:
    """What it will take; estimated again only when something that it depends on has changed."""
    annotation = explorer.annotation
    last = annotation.judgments(project)[-1:]
    return remembered(
        "annotate_model_estimate",
        (project, request, info, len(annotation.pool(project)), last and last[0].event),
        lambda: annotation.grading.estimate(project, request, endpoint=usable(explorer)),
    )


# -- the run under way, or the last one until it is dismissed --------------------------------------


def _start(explorer: Explorer, project: Project, request: GradingRequest) -> None:
    explorer.annotation.grading.start(
        project, request, endpoint=chosen(explorer), owner=login.owner()
    )


def _job_card(explorer: Explorer, project: Project, job: GradingJob | None) -> None:
    grading = explorer.annotation.grading

    def go_on() -> None:
        if job is not None:
            _start(explorer, project, job.request)

    JobCard(
        lambda: grading.jobs.latest(project.key),
        key="annotate_model",
        label="Grading",
        line=progress_line,
        cancel=grading.jobs.cancel,
        ended=lambda job: "" if job.report is None else outcome_line(job.report),
        remarks=lambda job: () if job.report is None else (job.report.problem, *job.report.notes),
        resume=None if job is None or is_finished(job.report) else go_on,
        dismiss=grading.jobs.dismiss,
        what_stays="Completed grades are kept; the next run continues.",
    ).show(job)
