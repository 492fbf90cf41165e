"""What Explore and Compare have in common where a model reranks.

Calls cost money: nothing is asked unless a button was pressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.jobs import Job
from engine.types.models import ModelUsage
from pages._common.kit import dim, line
from pages._common.state import PageView
from pages._model.visit_jobs import VisitJobs

OWN, BEFORE = "With the model", "Original"
POLL_SECONDS = 0.5
NOT_CONNECTED = "Requires a language model. Connect one below."


def rerank_controls(
    explorer: Explorer,
    key: str,
    view: PageView,
    depths: Sequence[int],
    *,
    depth_field: str,
    words: str,
    **also: Any,
) -> None:
    """The switch that lets a model rerank; with it on, how, and how many documents.

    Args:
        key: begins those of the widgets.
        view: of the page; its field ``rerank`` is the mode, "" for not at all.
        depth_field: the field of the view with the number of documents.
        words: what the model is to do.
        also: fields of the view that a change sets along.
    """
    modes = explorer.rerank_modes
    first, mode = next(iter(modes)), getattr(view, "rerank", "")
    words = f"{words} No request is sent until you click."
    bound = view.bound("rerank", f"{key}_rerank", bool(mode), lambda on: first * on, **also)
    st.toggle("Rerank with a model", help=words, **bound)
    if not mode:
        return
    left, right = st.columns([3, 2])
    left.selectbox("Mode", list(modes), **view.bound("rerank", f"{key}_mode", **also))
    right.selectbox(
        "Documents",
        sorted({*depths, getattr(view, depth_field)}),
        **view.bound(depth_field, f"{key}_{depth_field}", **also),
        format_func=lambda depth: f"top {depth}",
        help="Number of top documents to rerank.",
    )
    dim(modes[mode])


def ask_label(verb: str, job: Job[Any, Any] | None) -> str:
    """What the button says that has a model asked, or asked for what is missing."""
    if job is None:
        return verb
    return "Try again" if job.state == "failed" else "Resume"


def other_jobs(
    jobs: VisitJobs[Any], shown: Job[Any, Any] | None, key: str, one: str, many: str
) -> None:
    """Say what still runs for something else that this visit asked for, as it may cost."""
    running = jobs.others_running(shown)
    if not running:
        return

    def cancel() -> None:
        for job in running:
            jobs.cancel(job.id)

    with line():
        dim(f"You have {counted(len(running), one, many)} running.")
        label = "Cancel" if len(running) == 1 else "Cancel all"
        st.button(label, key=key, type="tertiary", on_click=cancel)


def order_switch(key: str, label: str) -> None:
    """Whether the model's order is shown, or the one without it."""
    st.session_state[key] = st.session_state.get(key, OWN)
    st.segmented_control(label, [OWN, BEFORE], key=key, required=True, label_visibility="collapsed")


def shows_model(key: str) -> bool:
    """Whether :func:`order_switch` says so; it does at first."""
    return bool(st.session_state.get(key, OWN) == OWN)


def is_whole(job: Job[Any, Any], report: ModelUsage | None) -> bool:
    """Every question has an answer: to ask again would bring the same."""
    lacks = report is None or report.stopped or report.failed or report.unread
    return job.state == "done" and not lacks
