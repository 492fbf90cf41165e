"""The model's switch on the Explore page: how to rerank, what it costs, and the button.

Calls cost money: nothing is asked unless the button was pressed.
"""

from __future__ import annotations

import html

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.plurals import counted
from engine.types.reranking import EndpointInfo, RerankJob
from pages._common.shared import attempt
from pages._explore.explore_page import sets
from pages._explore.explore_run import ORDER, OWN, ModelRun, wanted
from pages._explore.explore_view import DEEPEST, View
from pages._model import model_jobs
from pages._model.model_form import folded_panel
from pages._model.model_jobs import Asked
from pages._model.model_lines import estimate_line

DEPTHS = (20, 50, 100, DEEPEST)
KEPT = "Its answers are kept: the same again costs nothing."


def model_controls(explorer: Explorer, view: View, run: ModelRun) -> None:
    """The switch under the system; with it on, how to rerank, what it costs, and the button."""
    by_itself = view.system in explorer.verifier.systems
    modes = explorer.verifier.modes
    if not by_itself:
        st.session_state["explore_rerank"] = bool(view.rerank)
        st.toggle(
            "Rerank with a model",
            **sets("rerank", "explore_rerank", lambda on: next(iter(modes)) if on else ""),
            help="A language model reads the first documents of this ranking and puts them into "
            "its own order. It is asked when you press the button, not before.",
        )
        if view.rerank:
            _how(explorer, view)
    if by_itself or view.rerank:
        if run.info.set_up:
            _estimate_and_button(explorer, run)
        else:
            st.html(
                '<div class="md-dim">This asks a language model, and none is connected: connect '
                "one below. Until then, the ranking is the one without it.</div>"
            )
    _others(explorer, run)
    folded_panel(explorer, "explore", needed=by_itself or bool(view.rerank))


def _how(explorer: Explorer, view: View) -> None:
    modes = explorer.verifier.modes
    st.session_state.update(explore_mode=view.rerank, explore_depth=view.depth)
    left, right = st.columns([3, 2])
    left.selectbox("How", list(modes), **sets("rerank", "explore_mode"))
    right.selectbox(
        "Documents", sorted({*DEPTHS, view.depth}), **sets("depth", "explore_depth", int),
        format_func=lambda depth: f"the first {depth}",
        help="How many of the first documents the model reranks; the others follow as they are.",
    )  # fmt: skip
    st.html(f'<div class="md-dim">{html.escape(modes[view.rerank])}</div>')


def _estimate_and_button(explorer: Explorer, run: ModelRun) -> None:
    """What it costs, and the button that starts it."""
    asked, job = run.asked, run.job
    if asked is None:
        return
    try:
        estimate = model_jobs.estimate(explorer, asked)
    except SeedLensError:  # shown where the results would be
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            _label(asked, job), key="explore_ask", type="primary",
            disabled=job is not None and (job.state == "running" or _is_whole(job)),
            on_click=attempt, args=(lambda: _start(explorer, asked, run.info),),
        )  # fmt: skip
        line = KEPT if job is not None and _is_whole(job) else estimate_line(estimate)
        st.html(f'<div class="md-dim">{html.escape(line)}</div>')


def _label(asked: Asked, job: RerankJob | None) -> str:
    verb = "Rerank" if asked.mode else "Search with the model"
    if job is None:
        return verb
    if job.state == "running":
        return "Under way"
    if _is_whole(job):
        return "Reranked" if asked.mode else "Searched"
    return "Try again" if job.state == "failed" else "Go on"


def _is_whole(job: RerankJob) -> bool:
    """Every question has an answer: to ask again would bring the same."""
    report = job.report
    lacks = report is not None and (report.stopped or report.failed or report.unread)
    return job.state == "done" and not lacks


def _start(explorer: Explorer, asked: Asked, info: EndpointInfo) -> None:
    # A click may come before the page has caught up: another search is not what was agreed to.
    now = View.read()
    if wanted(explorer, now, now.to_query(explorer)) == asked:
        model_jobs.start(explorer, asked, info)
        st.session_state[ORDER] = OWN


def _others(explorer: Explorer, run: ModelRun) -> None:
    """Say what still runs for another search, as it may cost."""
    running = model_jobs.others_running(explorer, run.job)
    if not running:
        return

    def cancel() -> None:
        for job in running:
            explorer.verifier.cancel(job.id)

    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        what = counted(len(running), "other search", "other searches")
        st.html(f'<div class="md-dim">The model still works for {what} of yours.</div>')
        st.button("Cancel it" if len(running) == 1 else "Cancel them",
                  key="explore_cancel_others", type="tertiary", on_click=cancel)  # fmt: skip
