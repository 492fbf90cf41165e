"""What Explore and Compare have in common where a model reranks.

Calls cost money: nothing is asked unless a button was pressed.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from engine.explorer import Explorer
from engine.types.jobs import Job
from engine.types.plurals import counted
from pages._model.visit_jobs import VisitJobs

OWN, BEFORE = "by the model", "without it"
POLL_SECONDS = 0.5
NOT_CONNECTED = "This asks a language model, and none is connected: connect one below."


def rerank_switch(
    explorer: Explorer, mode: str, key: str, sets: Callable[..., dict[str, Any]], words: str
) -> None:
    """The switch that lets a model rerank, in the first of the modes.

    Args:
        mode: in which it reranks now, "" for not at all.
        sets: key and callback of a widget that changes a field of the page's view.
        words: what the model is to do.
    """
    first = next(iter(explorer.verifier.modes))
    st.session_state[key] = bool(mode)
    st.toggle(
        "Rerank with a model",
        **sets("rerank", key, lambda on: first if on else ""),
        help=f"{words} It is asked when you press the button, not before.",
    )


def mode_and_depth(
    explorer: Explorer,
    mode: str,
    depth: int,
    depths: Sequence[int],
    mode_widget: dict[str, Any],
    depth_widget: dict[str, Any],
    whose: str,
) -> None:
    """How a model reranks, and how many documents.

    Args:
        mode_widget, depth_widget: their keys and callbacks.
        whose: ``each variant's``: of what the first documents are reranked.
    """
    modes = explorer.verifier.modes
    st.session_state.update({mode_widget["key"]: mode, depth_widget["key"]: depth})
    left, right = st.columns([3, 2])
    left.selectbox("How", list(modes), **mode_widget)
    right.selectbox(
        "Documents", sorted({*depths, depth}), **depth_widget,
        format_func=lambda depth: f"the first {depth}",
        help=f"How many of {whose} first documents the model reranks; the others follow as they "
        "are.",
    )  # fmt: skip
    st.html(f'<div class="md-dim">{html.escape(modes[mode])}</div>')


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

    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        what = counted(len(running), one, many)
        st.html(f'<div class="md-dim">The model still works for {what} of yours.</div>')
        st.button("Cancel it" if len(running) == 1 else "Cancel them", key=key, type="tertiary",
                  on_click=cancel)  # fmt: skip


def order_switch(key: str, label: str) -> None:
    """Whether the model's order is shown, or the one without it."""
    st.session_state[key] = st.session_state.get(key, OWN)
    st.segmented_control(label, [OWN, BEFORE], key=key, required=True, label_visibility="collapsed")


def shows_model(key: str) -> bool:
    """Whether :func:`order_switch` says so; it does at first."""
    return bool(st.session_state.get(key, OWN) == OWN)


def is_whole(job: Job[Any, Any]) -> bool:
    """Every question has an answer: to ask again would bring the same."""
    report = job.report
    lacks = report is None or report.stopped or report.failed or report.unread
    return job.state == "done" and not lacks


def top_sentence(moved: int, came: int, top: int, *, whole: bool) -> str:
    """What a model changed in the first results.

    Args:
        moved: documents that stand elsewhere.  came: those that stood below.
        whole: the model has no more to say.

    >>> top_sentence(2, 0, 3, whole=True)
    'The model moved 2 of the top 3; none came in from below.'
    """
    who = "The model" if whole else "So far the model has"
    if not moved:
        return f"{who} left the top {top} as they were."
    within = "none came in from below" if not came else f"{came} came in from below"
    return f"{who} moved {moved} of the top {top}; {within}."
