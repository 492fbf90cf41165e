"""Having scenarios written: by whom, of which part, for how many documents, at what cost."""

from __future__ import annotations

import html

import streamlit as st

from engine.explorer import Explorer
from engine.types.corpora import CorpusInfo
from engine.types.reranking import EndpointInfo
from engine.types.scenarios import (
    Component,
    ScenarioEstimate,
    ScenarioJob,
    ScenarioRequest,
    ScenarioSource,
    ScenarioState,
)
from pages._common.shared import attempt_at, engine
from pages._library import scenarios_job
from pages._library.scenarios_lines import COMPONENTS, estimate_line
from pages._model.model_settings import chosen, endpoint

WRITERS: dict[ScenarioSource, str] = {
    "generated": "A language model",
    "extractive": "Extracts, without a model",
}
_WORDS: dict[ScenarioSource, str] = {
    "generated": "The model reads every document, long ones in parts, and writes which needs it "
    "meets and why. It may be wrong about a document: what it wrote is marked as generated "
    "wherever it is shown.",
    "extractive": "Title and key sentences of each document, put into the form by rule and marked "
    "as extracts. They say nothing that the document does not say; on CSFCube, whose results "
    "researchers graded, searching by them was no clear gain over dense.",
}
ALL = 0
LIMITS = (10, 100, 1000)
"""Documents that one may begin with, to see what comes of it."""


def remove(corpus: str) -> None:
    """Remove all scenarios of a corpus, and the line about the last run with them."""
    attempt_at(scenarios_job.place_of(corpus), _remove, engine(), corpus)


def _remove(explorer: Explorer, corpus: str) -> None:
    last = explorer.scenarios.jobs.latest(corpus)
    explorer.scenarios.remove(corpus)
    if last is not None:
        explorer.scenarios.jobs.dismiss(last.id)


def controls(
    explorer: Explorer,
    info: CorpusInfo,
    state: ScenarioState,
    job: ScenarioJob | None,
    *,
    busy: bool,
    indexing: bool,
) -> bool:
    """The choices, the estimate and the button; returns whether a model is wanted.

    Args:
        job: the last run over the corpus.
        busy: scenarios are being written, or documents added.
        indexing: documents are being added.
    """
    request = _choices(state, job, busy=busy)
    st.html(f'<div class="md-dim sc-words">{_WORDS[request.source]}</div>')
    by_model = request.source == "generated"
    connected = endpoint(explorer)
    estimate = _estimate(explorer, info, state, request, connected)
    nothing = not estimate.documents and not estimate.embedded
    lacks_model = by_model and not connected.set_up and bool(estimate.documents)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            _label(estimate, busy=busy and not indexing),
            key=f"library_scenarios_start_{info.name}",
            type="primary",
            disabled=busy or nothing or lacks_model,
            on_click=attempt_at,
            args=(scenarios_job.place_of(info.name), scenarios_job.start, explorer, request),
        )
        line = estimate_line(estimate, state.covered)
        if indexing:
            line = "Documents are being added: wait until that is done, or cancel it below."
        elif lacks_model:
            line = f"{line} Connect a model, and tokens are estimated too."
        st.html(f'<div class="md-dim">{html.escape(line)}</div>')
    return by_model


def _choices(state: ScenarioState, job: ScenarioJob | None, *, busy: bool) -> ScenarioRequest:
    """Who writes, what is embedded, and how far; kept for the visit."""
    key = f"library_scenarios_{{}}_{state.corpus}"
    source = st.segmented_control(
        "Written by",
        list(WRITERS),
        format_func=WRITERS.__getitem__,
        default="generated" if job is None else job.request.source,
        required=True,
        key=key.format("source"),
        persist_state="session",
        disabled=busy,
    )
    left, right, _ = st.columns([4, 3, 4])
    component: Component = left.selectbox(
        "Compared with the query",
        list(COMPONENTS),
        index=list(COMPONENTS).index(state.component),
        format_func=COMPONENTS.__getitem__,
        # Another one after the corpus was set to it: the choice is what the corpus has.
        key=key.format(f"component_{state.component}"),
        disabled=busy,
        help="The part of a scenario that is embedded. Another part is embedded anew for the "
        "scenarios that there are; nothing is written twice.",
    )
    limit = right.selectbox(
        "Documents now",
        [ALL, *(n for n in LIMITS if n < state.documents)],
        format_func=lambda n: f"the next {n:,}" if n else "all that need them",
        key=key.format("limit"),
        persist_state="session",
        disabled=busy,
        help="Documents that have scenarios by the same writer are skipped.",
    )
    return ScenarioRequest(state.corpus, source or "generated", component, limit=limit or None)


def _estimate(
    explorer: Explorer,
    info: CorpusInfo,
    state: ScenarioState,
    request: ScenarioRequest,
    connected: EndpointInfo,
) -> ScenarioEstimate:
    """What it will take; reckoned again only when something that it depends on has changed."""
    asked = (request, state, info.updated_at, connected if request.source == "generated" else None)
    key = f"library_scenarios_estimate_{info.name}"
    known = st.session_state.get(key)
    if known is None or known[0] != asked:
        known = (asked, explorer.scenarios.estimate(request, endpoint=chosen(explorer)))
        st.session_state[key] = known
    found: ScenarioEstimate = known[1]
    return found


def _label(estimate: ScenarioEstimate, *, busy: bool) -> str:
    if busy:
        return "Under way"
    if estimate.documents:
        return "Go on writing" if estimate.done else "Write scenarios"
    return "Embed anew" if estimate.embedded else "All written"
