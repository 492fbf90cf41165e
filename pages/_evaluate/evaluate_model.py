"""The language model on the Evaluate page: which one, what it will cost, what it was asked."""

from __future__ import annotations

import html

import streamlit as st

from engine.explorer import Explorer
from engine.types.evaluations import CollectionInfo, EvaluationRequest
from engine.types.reranking import CostEstimate
from pages._common.shared import escape_label
from pages._evaluate.evaluate_view import EvaluateView
from pages._model.model_form import apply_model_style, endpoint_panel
from pages._model.model_lines import estimate_line
from pages._model.model_settings import chosen, endpoint

MOST = "evaluate_most_calls"


def connected(explorer: Explorer) -> str:
    """Which model would be asked, as evaluations are told apart by it; "" where none is."""
    return explorer.evaluations.model(chosen(explorer)) if endpoint(explorer).set_up else ""


def request_of(explorer: Explorer, view: EvaluateView, info: CollectionInfo) -> EvaluationRequest:
    """What the view asks for; without a model, as whichever one answered it last."""
    request = view.request(info, connected(explorer))
    if view.needs_model and not request.model and view.systems:
        return explorer.evaluations.answered_by(request)
    return explorer.evaluations.checked(request) if view.systems else request


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
    info = endpoint(explorer)
    with st.container(key="evaluate_model", gap="xsmall"):
        st.html(_estimate(estimate))
        name = info.model if info.set_up else "none is connected"
        label = escape_label(f"Language model: {name}")
        with (
            st.expander(label, expanded=not info.set_up, type="compact"),
            st.container(width=680),
        ):
            endpoint_panel(explorer)


def calls_box(explorer: Explorer) -> None:
    """A limit of requests, for this visit; that of the settings holds all the same."""
    limit = explorer.verifier.most_calls
    st.number_input(
        "Calls at most", key=MOST, min_value=1, max_value=limit or None, value=None, step=100,
        placeholder="no limit" if limit is None else f"{limit:,}", width=170,
        help="The run ends when so many requests were sent, repeats included. What was answered "
        "until then is kept.",
    )  # fmt: skip


def _estimate(estimate: CostEstimate | None) -> str:
    if estimate is None:
        words = "Everything was answered before: nothing has to be asked."
    else:
        words = f"Cost: {estimate_line(estimate)}; answers in the ledger cost nothing."
    return f'<div class="md-line"><span>{html.escape(words)}</span></div>'
