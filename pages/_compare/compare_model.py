"""The model's switch on the Compare page: how to rerank, and which model is connected."""

from __future__ import annotations

import html
from dataclasses import replace

import streamlit as st

from engine.explorer import Explorer
from engine.types.plurals import counted
from pages._common.shared import attempt
from pages._compare import compare_run
from pages._compare.compare_run import ModelRun
from pages._compare.compare_view import RERANK_DEPTH, CompareView, change_view
from pages._explore.explore_view import DEEPEST
from pages._model.model_form import folded_panel

DEPTHS = (20, RERANK_DEPTH, 100, DEEPEST)


def model_controls(explorer: Explorer, view: CompareView, run: ModelRun) -> None:
    """The switch under the variants, how to rerank, and the panel to connect a model."""

    def switch() -> None:
        on = st.session_state["compare_rerank"]
        mode = next(iter(explorer.verifier.modes)) if on else ""
        change_view(explorer, lambda now: replace(now, rerank=mode))

    st.session_state["compare_rerank"] = bool(view.rerank)
    st.toggle(
        "Rerank with a model",
        key="compare_rerank",
        on_change=attempt,
        args=(switch,),
        help="A language model reads what each variant ranks first, and its wording, and puts "
        "it into its own order. It is asked when you press the button, not before.",
    )
    if view.rerank:
        _how(explorer, view)
        if not run.info.set_up:
            st.html(
                '<div class="md-dim">This asks a language model, and none is connected: connect '
                "one below. Until then, the rankings are those without it.</div>"
            )
    _others(explorer, run)
    folded_panel(explorer, "compare", needed=bool(view.rerank))


def _how(explorer: Explorer, view: CompareView) -> None:
    modes = explorer.verifier.modes

    def change() -> None:
        mode, depth = st.session_state["compare_mode"], st.session_state["compare_rerank_depth"]
        change_view(explorer, lambda now: replace(now, rerank=mode, rerank_depth=int(depth)))

    st.session_state.update(compare_mode=view.rerank, compare_rerank_depth=view.rerank_depth)
    left, right = st.columns([3, 2])
    left.selectbox("How", list(modes), key="compare_mode", on_change=attempt, args=(change,))
    right.selectbox(
        "Documents",
        sorted({*DEPTHS, view.rerank_depth}),
        key="compare_rerank_depth",
        on_change=attempt,
        args=(change,),
        format_func=lambda depth: f"the first {depth}",
        help="How many of each variant's first documents the model reranks; the others follow "
        "as they are.",
    )
    st.html(f'<div class="md-dim">{html.escape(modes[view.rerank])}</div>')


def _others(explorer: Explorer, run: ModelRun) -> None:
    """Say what still runs for another comparison, as it may cost."""
    running = compare_run.others_running(explorer, run.job)
    if not running:
        return

    def cancel() -> None:
        for job in running:
            explorer.comparing.by_model.cancel(job.id)

    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        what = counted(len(running), "other comparison")
        st.html(f'<div class="md-dim">The model still works for {what} of yours.</div>')
        st.button(
            "Cancel it" if len(running) == 1 else "Cancel them",
            key="compare_cancel_others",
            type="tertiary",
            on_click=cancel,
        )
