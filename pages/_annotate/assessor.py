"""A language model as one annotator among others: what it shall grade, how far it is, its check."""

from __future__ import annotations

from functools import partial

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import ANCHORS, MOST_ANCHORS, GradeCounts, GradingRequest, Project
from engine.types.models import Estimate
from pages._annotate.assessor_check import (
    check,
    differences,
    end_sample,
    estimate_line,
    outcome,
    sample_of,
    unconnected_line,
)
from pages._annotate.judging_view import judging_view
from pages._common.outside_text import escape, with_marks
from pages._common.shared import error_boundary, show_problem
from pages._model.model_form import apply_model_style, folded_panel
from pages._model.model_settings import endpoint
from pages._model.task_panel import TaskPanel

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
    panel = _panel(explorer, project)
    job = panel.job()
    busy = job is not None and job.running
    request = _choices(explorer, project, busy=busy)
    last = explorer.annotation.judgments(project)[-1:]
    estimate = panel.estimate(
        request, len(explorer.annotation.pool(project)), last and last[0].event
    )
    connected = endpoint(explorer).set_up
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        panel.button(
            _label(estimate, busy=busy),
            partial(panel.start, request),
            estimate_line(request, estimate) if connected else unconnected_line(estimate),
            disabled=busy or not estimate.items or not connected,
            widgets=_CHOSEN,
        )
    show_problem(panel.name)
    panel.card()
    folded_panel(explorer, "annotate_model")


def _panel(explorer: Explorer, project: Project) -> TaskPanel[GradingRequest, GradeCounts]:
    return TaskPanel(
        explorer.annotation.grading,
        project.key,
        "annotate_model",
        doing=lambda _: ("Grading", "candidate"),
        outcome=lambda _, made: outcome(made),
        place="annotate_model",
    )


def _label(estimate: Estimate, *, busy: bool) -> str:
    if busy:
        return "Running"
    if not estimate.items:
        return "All graded" if estimate.counts["done"] else "Start grading"
    return "Resume" if estimate.counts["done"] else "Start grading"


def _choices(explorer: Explorer, project: Project, *, busy: bool) -> GradingRequest:
    """What is to be graded, and with how many examples."""
    queries = explorer.annotation.queries(project)
    place = f"{project.corpus}_{project.name}"
    queries_chosen = st.multiselect(
        "Queries",
        list(queries),
        key=f"annotate_model_queries_{place}",
        placeholder="All",
        disabled=busy,
        format_func=with_marks,
    )
    many, examples = st.columns(2)
    limit = many.selectbox(
        "Candidates",
        [ALL, *LIMITS],
        key=f"annotate_model_limit_{place}",
        disabled=busy,
        format_func=lambda n: f"next {n:,}" if n else "all remaining",
    )
    anchors = examples.number_input(
        *("Examples per query", 0, MOST_ANCHORS, ANCHORS),
        disabled=busy,
        key=f"annotate_model_anchors_{place}",
        help="Documents known to be relevant to the query: adjudicated ones first, never the "
        "candidate.",
    )
    judged = st.toggle(
        "Include human-graded items",
        key=f"annotate_model_judged_{place}",
        disabled=busy,
        help="For comparing the model with people. It does not see their grades.",
    )
    again = st.toggle(
        "Regrade",
        key=f"annotate_model_again_{place}",
        disabled=busy,
        help="For example after changing the guidelines. Unchanged questions are free.",
    )
    return GradingRequest(
        *(project, tuple(queries_chosen), int(anchors)),
        again=again,
        limit=limit or None,
        judged=judged,
    )
