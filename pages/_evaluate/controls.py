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
from engine.types.reranking import CostEstimate
from pages._common.job_words import estimate_line
from pages._common.outside_text import escape, with_marks
from pages._common.shared import as_drawn, attempt, error_boundary, escape_label
from pages._evaluate.evaluate_page import DRAWN_BUSY, collection_label, connected, request_of
from pages._evaluate.evaluate_url import (
    DEEPEST,
    PARTS,
    SAMPLES,
    EvaluateView,
    seeds_asked,
    with_collection,
)
from pages._login import login
from pages._model.model_form import apply_model_style, endpoint_panel
from pages._model.model_settings import chosen, endpoint, usable

MOST = "evaluate_most_calls"
_CHOSEN = tuple(
    f"evaluate_{one}"
    for one in (
        "collection", "part", "systems", "steer", "seeds", "rerank", "depth", "human", "ignore",
        "retrievers", "verifier", "sizes",
    )
)  # fmt: skip
"""Keys of what is measured, and how; see :func:`as_drawn`."""


def controls(
    explorer: Explorer,
    view: EvaluateView,
    info: CollectionInfo,
    collections: Sequence[CollectionInfo],
) -> None:
    """What to evaluate, and the button that does it."""
    change = partial(_change, view)
    choose_collection(view, collections, change)
    state = st.session_state
    state["evaluate_systems"] = list(view.systems)
    state["evaluate_steer"] = round(view.steer * 100)
    state["evaluate_human"] = view.human and bool(info.annotators)
    state["evaluate_ignore"] = view.ignore_labels
    by_model = explorer.model_systems
    systems = dict.fromkeys([*explorer.systems_of(info.corpus), *by_model, *view.systems])
    left, right = st.columns([9, 3])
    left.multiselect(
        "Systems", systems, key="evaluate_systems", on_change=change,
        format_func=lambda name: f"{name} (asks a model)" if name in by_model else name,
        help="Ways to rank; each is measured on the same queries. Runs that you upload below "
        "stand beside them.",
    )  # fmt: skip
    right.slider(
        "Aspect weight", 0, 100, step=5, format="%d %%", key="evaluate_steer", on_change=change,
        help="How far the aspect outweighs the whole document, for systems that take it.",
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        seeds_box(view, info, change)
        _rerank(explorer, view, change)
        _switches(info, change)
        if view.needs_model:
            calls_box(explorer)
        _run_button(explorer, view, info)
    if view.needs_model and view.systems and not info.problem:
        with error_boundary():
            request = request_of(explorer, view, info)
            model_row(explorer, explorer.evaluations.estimate(request, usable(explorer)))


def choose_collection(
    view: EvaluateView, collections: Sequence[CollectionInfo], change: Callable[[], None]
) -> None:
    """The collection, and which of the page's two measurements."""
    labels = {c.key: with_marks(collection_label(c)) for c in collections}
    st.session_state["evaluate_collection"] = view.collection
    st.session_state["evaluate_part"] = view.part
    left, right = st.columns([4, 8])
    left.selectbox(
        "Test collection", list(labels), format_func=labels.__getitem__,
        key="evaluate_collection", on_change=change,
    )  # fmt: skip
    right.segmented_control(
        "What to measure", list(PARTS), format_func=PARTS.__getitem__, key="evaluate_part",
        required=True, on_change=change,
    )  # fmt: skip


def _change(view: EvaluateView) -> None:
    state = st.session_state
    new = replace(
        common_change(view),
        systems=tuple(state["evaluate_systems"]),
        steer=state["evaluate_steer"] / 100,
        human=bool(state["evaluate_human"]),
        ignore_labels=bool(state["evaluate_ignore"]),
        rerank=state["evaluate_rerank"],
        depth=int(state.get("evaluate_depth") or view.depth),
    )
    new.write()


def common_change(view: EvaluateView) -> EvaluateView:
    """The view with what both measurements share, as the controls have it now."""
    state = st.session_state
    asked_seeds = state.get("evaluate_seeds")
    part = state["evaluate_part"] or view.part
    if part != view.part:
        asked_seeds = None  # each has a size of its own that is quick enough
    elif asked_seeds is None:
        asked_seeds = view.sample
    new = replace(view, part=part, sample=asked_seeds, model="")
    if state["evaluate_collection"] != view.collection:
        new = with_collection(new, state["evaluate_collection"])
    return new


def seeds_box(view: EvaluateView, info: CollectionInfo, change: Callable[[], None]) -> None:
    """How many seeds to ask for, where there is a choice."""
    asked_for = seeds_asked(view, info) or 0
    choices = sorted({n for n in (*SAMPLES, asked_for) if 0 < n < info.seeds})
    if not choices:
        st.session_state.pop("evaluate_seeds", None)
        return
    st.session_state["evaluate_seeds"] = asked_for if asked_for in choices else 0
    st.selectbox(
        "Seeds", [*choices, 0], key="evaluate_seeds", on_change=change, width=150,
        format_func=lambda n: f"{n} of {info.seeds:,}" if n else f"all {info.seeds:,}",
        help="A sample is quicker. It is the same every time, and a larger one holds the smaller.",
    )  # fmt: skip


def _rerank(explorer: Explorer, view: EvaluateView, change: Callable[[], None]) -> None:
    modes = explorer.rerank_modes
    st.session_state["evaluate_rerank"] = view.rerank
    st.selectbox(
        "Rerank with a model", ["", *modes], key="evaluate_rerank", on_change=change, width=190,
        format_func=lambda mode: mode or "no",
        help="Every system's ranking, reranked by a language model, stands beside it. "
        + " ".join(f"**{name}**: {words}" for name, words in modes.items()),
    )  # fmt: skip
    if view.rerank:
        st.session_state["evaluate_depth"] = view.depth
        st.number_input(
            "Depth", key="evaluate_depth", min_value=1, max_value=DEEPEST, step=10, width=130,
            on_change=change, help="Documents of each ranking that are reranked; the others "
            "follow.",
        )  # fmt: skip


def _switches(info: CollectionInfo, change: Callable[[], None]) -> None:
    with st.container(horizontal=True, width="content", gap="medium"):
        st.toggle(
            "People", key="evaluate_human", on_change=change, disabled=not info.annotators,
            help="The annotators themselves as a row: each one's own grades rank the pool, dense "
            "breaks ties, measured against the adjudicated grades."
            if info.annotators
            else "This collection does not keep single annotators' grades.",
        )  # fmt: skip
        st.toggle(
            "Estimate roles", key="evaluate_ignore", on_change=change,
            help="Leave the sentence labels of the data aside and estimate all roles, as for "
            "documents that come without labels. A copy of the corpus is derived once.",
        )  # fmt: skip


def _run_button(explorer: Explorer, view: EvaluateView, info: CollectionInfo) -> None:
    def run() -> None:
        connection = None
        if view.needs_model:
            connection = explorer.verifier.connection(chosen(explorer), most_calls())
        new = replace(view, model="")
        new.write()
        explorer.evaluations.start(new.request(info), connection, login.owner())

    run_button(
        "Run", "evaluate_run", run, explorer.evaluations.job(),
        ready=bool(view.systems) and not info.problem,
        lacks_model=view.needs_model and not connected(explorer),
    )  # fmt: skip


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
        label, key=key, type="primary", on_click=attempt, args=(as_drawn(_CHOSEN, run),),
        disabled=busy or lacks_model or not ready,
        help="Connect a language model first." if lacks_model else None,
    )  # fmt: skip


def most_calls() -> int | None:
    """The limit that was entered; None for that of the settings."""
    value = st.session_state.get(MOST)
    return None if value is None else int(value)


def model_row(explorer: Explorer, estimate: CostEstimate | None) -> None:
    """What it will cost, and the endpoint: open where none is connected.

    Args:
        estimate: None when nothing has to be asked any more.
    """
    apply_model_style()
    words = "Everything was answered before: nothing has to be asked."
    if estimate is not None:
        words = f"Cost: {estimate_line(estimate)}; answers in the ledger cost nothing."
    info = endpoint(explorer)
    with st.container(key="evaluate_model", gap="xsmall"):
        st.html(f'<div class="md-line"><span>{escape(words)}</span></div>')
        name = info.model if info.set_up else "none is connected"
        label = escape_label(f"Language model: {name}")
        with (
            st.expander(label, expanded=not info.set_up, type="compact"),
            st.container(width=680),
        ):
            endpoint_panel(explorer)


def calls_box(explorer: Explorer) -> None:
    """A limit of requests, for this visit; that of the settings holds all the same."""
    limit = explorer.settings.llm_max_calls
    st.number_input(
        "Calls at most", key=MOST, min_value=1, max_value=limit or None, value=None, step=100,
        placeholder="no limit" if limit is None else f"{limit:,}", width=170,
        help="The run ends when so many requests were sent, repeats included. What was answered "
        "until then is kept.",
    )  # fmt: skip
