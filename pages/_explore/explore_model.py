"""The model's switch on the Explore page: how to rerank, what it costs, and the button.

Calls cost money: nothing is asked unless the button was pressed.
"""

from __future__ import annotations

import html

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.reranking import EndpointInfo, RerankJob, RerankRequest
from pages._common.shared import attempt
from pages._explore import explore_run
from pages._explore.explore_page import sets
from pages._explore.explore_run import ModelRun, wanted
from pages._explore.explore_view import DEEPEST, View
from pages._model.model_form import folded_panel
from pages._model.model_lines import estimate_line
from pages._model.model_settings import chosen
from pages._model.reranking_controls import (
    NOT_CONNECTED,
    is_whole,
    mode_and_depth,
    other_jobs,
    rerank_switch,
)

DEPTHS = (20, 50, 100, DEEPEST)
KEPT = "Its answers are kept: the same again costs nothing."


def model_controls(explorer: Explorer, view: View, run: ModelRun) -> None:
    """The switch under the system; with it on, how to rerank, what it costs, and the button."""
    by_itself = view.system in explorer.verifier.systems
    if not by_itself:
        rerank_switch(
            explorer, view.rerank, "explore_rerank", sets,
            "A language model reads the first documents of this ranking and puts them into its "
            "own order.",
        )  # fmt: skip
        if view.rerank:
            mode_and_depth(
                explorer, view.rerank, view.depth, DEPTHS, sets("rerank", "explore_mode"),
                sets("depth", "explore_depth", int), "the",
            )  # fmt: skip
    if by_itself or view.rerank:
        if run.info.set_up:
            _estimate_and_button(explorer, run)
        else:
            st.html(
                f'<div class="md-dim">{NOT_CONNECTED} Until then, the ranking is the one without '
                "it.</div>"
            )
    other_jobs(
        explore_run.jobs(explorer), run.job, "explore_cancel_others", "other search",
        "other searches",
    )  # fmt: skip
    folded_panel(explorer, "explore", needed=by_itself or bool(view.rerank))


def _estimate_and_button(explorer: Explorer, run: ModelRun) -> None:
    """What it costs, and the button that starts it."""
    asked, job = run.asked, run.job
    if asked is None:
        return
    try:
        estimate = explorer.verifier.estimate(asked, chosen(explorer))
    except SeedLensError:  # shown where the results would be
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            _label(asked, job), key="explore_ask", type="primary",
            disabled=job is not None and (job.state == "running" or is_whole(job)),
            on_click=attempt, args=(lambda: _start(explorer, asked, run.info),),
        )  # fmt: skip
        line = KEPT if job is not None and is_whole(job) else estimate_line(estimate)
        st.html(f'<div class="md-dim">{html.escape(line)}</div>')


def _label(asked: RerankRequest, job: RerankJob | None) -> str:
    verb = "Rerank" if asked.mode else "Search with the model"
    if job is None:
        return verb
    if job.state == "running":
        return "Under way"
    if is_whole(job):
        return "Reranked" if asked.mode else "Searched"
    return "Try again" if job.state == "failed" else "Go on"


def _start(explorer: Explorer, asked: RerankRequest, info: EndpointInfo) -> None:
    # A click may come before the page has caught up: another search is not what was agreed to.
    now = View.read()
    if wanted(explorer, now, now.to_query(explorer)) == asked:
        explore_run.start(explorer, asked, info)
