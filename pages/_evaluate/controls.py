"""The controls of the Evaluate page: what to measure, how, and the button that does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from engine.explorer import Explorer
from engine.types.evaluations import CollectionInfo
from engine.types.jobs import Job
from engine.types.models import Estimate
from pages._common.job_words import estimate_line
from pages._common.outside_text import escape, with_marks
from pages._common.shared import as_drawn, attempt, error_boundary, system_label
from pages._evaluate.evaluate_page import DRAWN_BUSY, collection_label, connected, request_of
from pages._evaluate.evaluate_url import (
    DEEPEST,
    PARTS,
    SAMPLES,
    EvaluateView,
    seeds_asked,
)
from pages._login import login
from pages._model.model_form import apply_model_style, calls_box, folded_panel, most_calls
from pages._model.model_settings import chosen, usable

MOST = "evaluate_most_calls"
_CHOSEN = tuple(
    f"evaluate_{one}"
    for one in (
        "collection",
        "part",
        "systems",
        "steer",
        "seeds",
        "rerank",
        "depth",
        "human",
        "ignore",
        "retrievers",
        "verifier",
        "sizes",
    )
)
"""Keys of what is measured, and how; see :func:`as_drawn`."""


def controls(
    explorer: Explorer,
    view: EvaluateView,
    info: CollectionInfo,
    collections: Sequence[CollectionInfo],
) -> None:
    """What to evaluate, and the button that does it."""
    choose_collection(view, collections)
    by_model = explorer.model_systems
    systems = dict.fromkeys([*explorer.systems_of(info.corpus), *by_model, *view.systems])
    left, right = st.columns([9, 3])
    left.multiselect(
        "Systems",
        systems,
        **view.bound("systems", "evaluate_systems", read=tuple, model=""),
        format_func=partial(system_label, model=by_model),
        help="Systems to evaluate. Uploaded runs are included.",
    )
    right.slider(
        "Aspect weight",
        0,
        100,
        step=5,
        format="%d %%",
        **view.bound(
            "steer",
            "evaluate_steer",
            round(view.steer * 100),
            lambda percent: percent / 100,
            model="",
        ),
        help="0 %: whole document. 100 %: aspect only.",
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        seeds_box(view, info)
        _rerank(explorer, view)
        _switches(view, info)
        if view.needs_model:
            calls_box(explorer, MOST)
        _run_button(explorer, view, info)
    if view.needs_model and view.systems and not info.problem:
        with error_boundary():
            request = request_of(explorer, view, info)
            model_row(explorer, explorer.evaluations.estimate(request, usable(explorer)))


def choose_collection(view: EvaluateView, collections: Sequence[CollectionInfo]) -> None:
    """The collection, and which of the page's two measurements."""
    labels = {c.key: with_marks(collection_label(c)) for c in collections}
    left, right = st.columns([4, 8])
    left.selectbox(
        "Test collection",
        list(labels),
        format_func=labels.__getitem__,
        **view.bound("collection", "evaluate_collection", sample=None, model=""),
    )
    right.segmented_control(
        "Measurement",
        list(PARTS),
        format_func=PARTS.__getitem__,
        required=True,
        # Each has a number of seeds that is quick enough.
        **view.bound("part", "evaluate_part", sample=None, model=""),
    )


def seeds_box(view: EvaluateView, info: CollectionInfo) -> None:
    """How many seeds to ask for, where there is a choice."""
    asked_for = seeds_asked(view, info) or 0
    choices = sorted({n for n in (*SAMPLES, asked_for) if 0 < n < info.seeds})
    if not choices:
        return
    shown = asked_for if asked_for in choices else 0
    st.selectbox(
        "Seeds",
        [*choices, 0],
        width=150,
        **view.bound("sample", "evaluate_seeds", shown, model=""),
        format_func=lambda n: f"{n} of {info.seeds:,}" if n else f"all {info.seeds:,}",
        help="Fixed sample; larger samples contain smaller ones.",
    )


def _rerank(explorer: Explorer, view: EvaluateView) -> None:
    modes = explorer.rerank_modes
    st.selectbox(
        "Rerank with a model",
        ["", *modes],
        width=190,
        **view.bound("rerank", "evaluate_rerank", model=""),
        format_func=lambda mode: mode or "no",
        help="Adds a reranked row for each system. "
        + " ".join(f"**{name}**: {words}" for name, words in modes.items()),
    )
    if view.rerank:
        st.number_input(
            "Depth",
            min_value=1,
            max_value=DEEPEST,
            step=10,
            width=130,
            **view.bound("depth", "evaluate_depth", model=""),
            help="Number of top documents to rerank.",
        )


def _switches(view: EvaluateView, info: CollectionInfo) -> None:
    with st.container(horizontal=True, width="content", gap="medium"):
        st.toggle(
            "People",
            disabled=not info.annotators,
            **view.bound("human", "evaluate_human", view.human and bool(info.annotators), model=""),
            help="Adds a human upper bound: each annotator's grades evaluated against the "
            "adjudicated grades."
            if info.annotators
            else "This collection has no grades of single annotators.",
        )


def _run_button(explorer: Explorer, view: EvaluateView, info: CollectionInfo) -> None:
    def run() -> None:
        new = replace(view, model="")
        new.write()
        request, model = request_of(explorer, new, info), chosen(explorer)
        explorer.evaluations.start(request, model, most_calls(MOST), login.owner())

    run_button(
        "Run",
        "evaluate_run",
        run,
        explorer.evaluations.job(),
        ready=bool(view.systems) and not info.problem,
        lacks_model=view.needs_model and not connected(explorer),
    )


def run_button(
    label: str,
    key: str,
    run: Callable[[], object],
    job: Job[Any, Any] | None,
    *,
    ready: bool,
    lacks_model: bool,
) -> None:
    """The button that starts a measurement.

    Args:
        job: the last one; while it runs, no other can be started.
        ready: there is something to be measured.
        lacks_model: a model is needed, and none is connected.
    """
    busy = st.session_state[DRAWN_BUSY] = job is not None and job.running
    st.button(
        label,
        key=key,
        type="primary",
        on_click=attempt,
        args=(as_drawn(_CHOSEN, run),),
        disabled=busy or lacks_model or not ready,
        help="Connect a language model first." if lacks_model else None,
    )


def model_row(explorer: Explorer, estimate: Estimate) -> None:
    """What it will cost, and the endpoint: open where none is connected."""
    apply_model_style()
    words = "All answers are cached: no requests."
    if estimate.calls:
        words = f"Cost: {estimate_line(estimate)}; cached answers are free."
    with st.container(key="evaluate_model", gap="xsmall"):
        st.html(f'<div class="md-line"><span>{escape(words)}</span></div>')
        folded_panel(explorer, "evaluate")
