"""The controls of the Ask page: the question, where it is asked, and what that costs."""

from __future__ import annotations

import html
from dataclasses import replace
from typing import Any

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.plurals import counted
from engine.types.reading import AskJob, AskRequest
from engine.types.reranking import CostEstimate, EndpointInfo
from pages._ask import ask_view
from pages._ask.ask_view import AskView, change_view, write_view
from pages._common.shared import attempt, show_error
from pages._login import login
from pages._model.model_form import folded_panel
from pages._model.model_lines import money, tokens
from pages._model.model_settings import chosen, endpoint

JOB = "ask_job"
"""Where the visit keeps the id of its last answer."""


def open_view(explorer: Explorer, names: list[str]) -> AskView:
    """The view of the address; one that cannot be opened is explained and replaced."""
    try:
        return ask_view.open_view(explorer, names)
    except SeedLensError as error:
        show_error(error)
        write_view(AskView(question=st.query_params.get("question", "")))
        return ask_view.open_view(explorer, names)


def last_job(explorer: Explorer) -> AskJob | None:
    """The last answer of this visit; None where there is none, or not any more."""
    job_id = st.session_state.get(JOB)
    if job_id is None:
        return None
    try:
        return explorer.reader.jobs.job(job_id)
    except SeedLensError:  # the server keeps the latest only, and forgets them when it ends
        del st.session_state[JOB]
        return None


def controls(explorer: Explorer, view: AskView, names: list[str], job: AskJob | None) -> None:
    """The question and its settings, the estimate, the button, and the model."""
    info = endpoint(explorer)
    _question(explorer, view)
    _settings(explorer, view, names)
    busy = job is not None and job.running
    left, right = st.columns([1, 5], gap="small", vertical_alignment="center")
    left.button(
        "Ask", key="ask_button", type="primary", on_click=attempt, args=(lambda: _ask(explorer),),
        disabled=not info.set_up or busy,
    )  # fmt: skip
    words = _price(explorer, view, info)
    right.html(f'<div class="md-dim ask-price">{html.escape(words)}</div>')
    folded_panel(explorer, "ask")


def _question(explorer: Explorer, view: AskView) -> None:
    state = st.session_state
    # Not set when it is the same already: what is being typed meanwhile would be lost.
    if state.get("ask_question") != view.question:
        state["ask_question"] = view.question
    st.text_area(
        "Question", **_sets(explorer, "question", "ask_question"), height=120,
        max_chars=explorer.reader.longest_question,
        placeholder="What do you want to know? The answer comes from the corpus alone.",
    )  # fmt: skip


def _settings(explorer: Explorer, view: AskView, names: list[str]) -> None:
    has_scenarios = explorer.reader.has_scenarios(view.corpus)
    st.session_state.update(
        ask_corpus=view.corpus,
        ask_system=view.system,
        ask_passages=view.passages,
        ask_scenarios=view.scenarios and has_scenarios,
    )
    left, right = st.columns(2)
    box = left.container(gap="xsmall")
    box.selectbox("Corpus", names, **_sets(explorer, "corpus", "ask_corpus"))
    if explorer.library.is_synthetic(explorer.library.corpus(view.corpus)):
        box.html('<span class="sl-tag">synthetic, written for this demo</span>')
    right.selectbox(
        "Found by", explorer.reader.systems, **_sets(explorer, "system", "ask_system"),
        help="The system that finds the passages. hybrid joins words and meaning.",
    )  # fmt: skip
    st.slider(
        "Passages", 1, explorer.reader.most_passages, **_sets(explorer, "passages", "ask_passages"),
        help="How many passages the model reads, the best ones first. More may hold the answer "
        "more often; they cost more, and distract.",
    )  # fmt: skip
    place = st.container(gap="xsmall")
    place.toggle(
        "Scenarios as context", **_sets(explorer, "scenarios", "ask_scenarios"),
        disabled=not has_scenarios,
        help="What the documents are of use for, written beforehand, goes along with the passages.",
    )  # fmt: skip
    if not has_scenarios:
        place.html('<div class="md-dim">This corpus has no scenarios yet.</div>')


def _sets(explorer: Explorer, field: str, key: str) -> dict[str, Any]:
    """Key and callback of a widget that changes one field of the view."""

    def change() -> None:
        value = st.session_state[key]
        change_view(explorer, lambda now: replace(now, **{field: value}))

    return {"key": key, "on_change": attempt, "args": (change,)}


def _ask(explorer: Explorer) -> None:
    """Send what the widgets say now: a click may come together with the last change."""
    state = st.session_state
    request = AskRequest(
        question=state["ask_question"].strip(),
        corpus=state["ask_corpus"],
        system=state["ask_system"],
        k=state["ask_passages"],
        use_scenarios=state["ask_scenarios"],
    )
    job_id = explorer.reader.ask(request, chosen(explorer), owner=login.owner())
    if JOB in state:
        explorer.reader.jobs.cancel(state[JOB])
    state[JOB] = job_id


def _price(explorer: Explorer, view: AskView, info: EndpointInfo) -> str:
    """What pressing the button takes, in words."""
    if not info.set_up:
        return "Connect a model below to ask."
    if not view.question.strip():
        return "Write a question; what it costs is shown before it is sent."
    try:
        found = explorer.reader.estimate(_usable(explorer, view), chosen(explorer))
    except SeedLensError as error:
        return str(error)
    return price_line(found)


def _usable(explorer: Explorer, view: AskView) -> AskRequest:
    scenarios = view.scenarios and explorer.reader.has_scenarios(view.corpus)
    return replace(view, scenarios=scenarios).request()


def price_line(found: CostEstimate) -> str:
    """``6 passages, about 1.9 k tokens to read, 900 tokens to write at most``."""
    parts = [
        counted(found.depth, "passage"),
        f"about {tokens(found.input_tokens or 0)} to read",
        f"{tokens(found.output_tokens or 0)} to write at most",
    ]
    if found.cost is not None:
        parts.append(f"{money(found.cost)} at most")
    return ", ".join(parts)
