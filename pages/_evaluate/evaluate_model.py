"""The language model on the Evaluate page: which one, what it will cost, what it was asked."""

from __future__ import annotations

import html
from collections.abc import Mapping

import pandas as pd
import streamlit as st

from engine.explorer import Explorer
from engine.types.evaluations import CollectionInfo, EvaluationRequest
from engine.types.reranking import CostEstimate, ModelReport
from pages._common.shared import escape_label
from pages._evaluate.evaluate_view import EvaluateView
from pages._model.model_form import (
    apply_model_style,
    endpoint,
    endpoint_panel,
    estimate_line,
)
from pages._model.model_settings import chosen

MOST = "evaluate_most_calls"


def needs_model(explorer: Explorer, view: EvaluateView) -> bool:
    """Whether what the view asks for needs a language model."""
    if view.part == "gap" or view.rerank:
        return True
    return any(name in explorer.verifier.systems for name in view.systems)


def connected(explorer: Explorer) -> str:
    """Which model would be asked, as evaluations are told apart by it; "" where none is."""
    if not endpoint(explorer).set_up:
        return ""
    return explorer.trials.model(chosen(explorer))


def request_of(explorer: Explorer, view: EvaluateView, info: CollectionInfo) -> EvaluationRequest:
    """What the view asks for; without a model, as whichever one answered it last."""
    request = view.request(info, connected(explorer))
    if needs_model(explorer, view) and not request.model and view.systems:
        return explorer.laboratory.answered_by(request)
    return explorer.laboratory.checked(request) if view.systems else request


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


def evaluation_estimate(explorer: Explorer, request: EvaluationRequest) -> CostEstimate | None:
    """What the model will be asked for a request; None when there is nothing to ask."""
    missing = explorer.laboratory.missing(request, with_failed=True)
    found = explorer.trials.estimate_evaluation(request, missing, endpoint=chosen(explorer))
    return found if found.calls else None


REPORT_HELP: Mapping[str, str] = {
    "Calls": "Requests sent, repeats and trying the endpoint out included.",
    "Questions": "Put by the algorithm; answered by the model or from the ledger.",
    "Rounds": "How often an answer had to be waited for, summed over the queries.",
    "Tokens in": "Read by the model, as the endpoint reported.",
    "Tokens out": "Written by the model, as the endpoint reported.",
    "From ledger": "Answered before, at no cost.",
    "Failed": "No answer in spite of repeated requests. Run asks these again.",
    "Unanswered": "Questions without a usable answer, failed ones among them; they count for "
    "nobody.",
    "First preferred": "Position bias: how often the first of two equally good documents is "
    "preferred; 0.5 is none. It is taken out of the order.",
    "Cost": "By the prices that were set.",
    "Seconds": "From the first question to the last answer.",
}


def report_rows(reports: Mapping[str, ModelReport]) -> pd.DataFrame:
    """One row per system that a model took part in."""
    rows = [
        {
            "System": name,
            "Model": report.model,
            "Calls": report.calls,
            "Questions": report.questions,
            "Rounds": report.rounds,
            "Tokens in": report.input_tokens,
            "Tokens out": report.output_tokens,
            "From ledger": report.cached,
            "Failed": report.failed,
            "Unanswered": report.unanswered,
            "First preferred": report.position_bias,
            "Cost": report.cost,
            "Seconds": report.seconds,
        }
        for name, report in reports.items()
    ]
    frame = pd.DataFrame(rows).astype(
        {"First preferred": "float64", "Cost": "float64", "Seconds": "float64"}
    )
    optional = [c for c in ("First preferred", "Cost") if frame[c].isna().all()]
    return frame.drop(columns=optional)
