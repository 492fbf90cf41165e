"""The controls of the Ask page: the question, where it is asked, and what that costs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import streamlit as st

from engine.errors import NotAllowedError, SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.limits import LONGEST_QUESTION
from engine.types.models import Estimate
from engine.types.reading import MOST_PASSAGES, AskJob, AskRequest
from engine.types.reranking import EndpointInfo
from pages._ask.ask_url import AskView
from pages._ask.earlier import earlier, examples
from pages._common.job_words import money, tokens
from pages._common.outside_text import escape
from pages._common.shared import attempt, show_error, system_label
from pages._login import login
from pages._model.model_form import folded_panel
from pages._model.model_settings import chosen, endpoint

JOB = "ask_job"
"""Where the visit keeps the id of the answer that is shown."""


def open_view(explorer: Explorer, names: list[str]) -> AskView:
    """The view of the address, with an answer that is there."""
    view = AskView.opened_on(explorer, names)
    try:
        if view.answer:
            explorer.reader.find(view.answer)
    except SeedLensError as error:
        show_error(error)
        view = replace(view, answer="")
    st.session_state[JOB] = view.answer
    view.write()
    return view


def shown_job(explorer: Explorer) -> AskJob | None:
    """The answer that is shown; None where there is none."""
    job_id = st.session_state.get(JOB)
    return explorer.reader.find(job_id) if job_id else None


def controls(explorer: Explorer, view: AskView, names: list[str], job: AskJob | None) -> None:
    """The question and its settings, the estimate, the button, and the model."""
    info = endpoint(explorer)
    has_scenarios = explorer.reader.has_scenarios(view.corpus)
    _question(view)
    examples(explorer, view)
    _settings(explorer, view, names, has_scenarios=has_scenarios)
    busy = job is not None and job.running
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            "Ask",
            key="ask_button",
            type="primary",
            on_click=attempt,
            args=(lambda: ask(explorer, _asked()),),
            disabled=not info.set_up or busy,
        )
        words = price_of(explorer, view.request(has_scenarios=has_scenarios), info)
        st.html(f'<div class="md-dim ask-price">{escape(words)}</div>')
    earlier(explorer, view)
    folded_panel(explorer, "ask")


def _question(view: AskView) -> None:
    st.text_area(
        "Question",
        **view.bound("question", "ask_question"),
        height=120,
        max_chars=LONGEST_QUESTION,
        placeholder="Answers use only this corpus.",
    )


def _settings(explorer: Explorer, view: AskView, names: list[str], *, has_scenarios: bool) -> None:
    left, right = st.columns(2)
    box = left.container(gap="xsmall")
    box.selectbox("Corpus", names, **view.bound("corpus", "ask_corpus"))
    if explorer.library.is_synthetic(explorer.library.corpus(view.corpus)):
        box.html('<span class="sl-tag">synthetic, written for this demo</span>')
    right.selectbox(
        "Retriever",
        explorer.systems,
        **view.bound("system", "ask_system"),
        format_func=system_label,
        help="System that retrieves the passages.",
    )
    st.slider(
        "Passages",
        1,
        MOST_PASSAGES,
        **view.bound("passages", "ask_passages"),
        help="Passages given to the model. More cost more.",
    )
    place = st.container(gap="xsmall")
    place.toggle(
        "Scenarios as context",
        **view.bound("scenarios", "ask_scenarios", view.scenarios and has_scenarios),
        disabled=not has_scenarios,
        help="Adds scenarios to the context.",
    )
    if not has_scenarios:
        place.html('<div class="md-dim">No scenarios yet. Write them on Library.</div>')


def _asked() -> AskRequest:
    """What the widgets say now: a click may come together with the last change."""
    state = st.session_state
    return AskRequest(
        question=state["ask_question"].strip(),
        corpus=state["ask_corpus"],
        system=state["ask_system"],
        k=state["ask_passages"],
        use_scenarios=state["ask_scenarios"],
    )


def ask(explorer: Explorer, request: AskRequest) -> None:
    """Have a question answered, and show that from now on; what was under way ends."""
    job_id = explorer.reader.start(request, chosen(explorer), owner=login.owner())
    if shown := st.session_state.get(JOB):
        with suppress(NotAllowedError):  # a link showed what somebody else asked
            explorer.reader.jobs.cancel(shown)
    AskView.change(lambda now: replace(now, question=request.question, answer=job_id))


def price_of(explorer: Explorer, request: AskRequest, info: EndpointInfo) -> str:
    """What pressing the button takes, in words."""
    if not info.set_up:
        return "Connect a model below to ask."
    if not request.question:
        return "Write a question to see its cost."
    try:
        return price_line(explorer.reader.estimate(request, chosen(explorer)))
    except SeedLensError as error:
        return str(error)


def price_line(estimate: Estimate) -> str:
    """``6 passages, about 1.9 k tokens to read, 900 tokens to write at most``."""
    parts = [
        counted(estimate.items, "passage"),
        f"about {tokens(estimate.input_tokens or 0)} input",
        f"up to {tokens(estimate.output_tokens or 0)} output",
    ]
    if estimate.cost is not None:
        parts.append(f"up to {money(estimate.cost)}")
    return ", ".join(parts)
