"""The controls of the Ask page: the question, where it is asked, what it costs, earlier ones."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import streamlit as st

from engine.errors import BadInputError, NotAllowedError, SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.limits import LONGEST_QUESTION
from engine.types.models import Estimate
from engine.types.reading import MOST_PASSAGES, AskedQuestion, AskJob, AskRequest
from engine.types.reranking import EndpointInfo
from pages._ask.ask_url import AskView
from pages._common.document_view import shortened
from pages._common.kit import button, dim, el, line
from pages._common.shared import escape_label, show_error, system_label
from pages._common.state import control
from pages._common.tasks import money, tokens
from pages._login import login
from pages._model.model_settings import chosen, endpoint, folded_panel

JOB = "ask_job"
"""Where the visit keeps the id of the answer that is shown."""
WITHOUT_SCROLLING = 5
"""Earlier questions that are shown at full height."""


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
    look: Any = {"placeholder": "Answers use only this corpus.", "max_chars": LONGEST_QUESTION}
    control(view, "question", st.text_area, "Question", height=120, **look)
    _examples(explorer, view)
    _settings(explorer, view, names, has_scenarios=has_scenarios)

    def asked() -> None:
        """What the widgets say now: a click may come together with the last change."""
        state = st.session_state
        fields = (state[f"ask_{one}"] for one in ("corpus", "system", "passages", "scenarios"))
        ask(explorer, AskRequest(state["ask_question"].strip(), *fields))

    def find() -> None:
        if not str(st.session_state["ask_question"]).strip():
            raise BadInputError("The question is empty.", "Write what you want to know.")
        AskView.change(lambda now: replace(now, answer=""))

    with line("ask_go"):
        if info.set_up:
            blocked = job is not None and job.running
            button("Ask", "ask_button", asked, type="primary", disabled=blocked)
        else:
            button("Find passages", "ask_find", find, type="primary")
        dim(price_of(explorer, view.request(has_scenarios=has_scenarios), info))
    _earlier(explorer, view)
    folded_panel(explorer, "ask", needed=not view.question.strip())


def _settings(explorer: Explorer, view: AskView, names: list[str], *, has_scenarios: bool) -> None:
    left, right = st.columns(2)
    box = left.container(gap="xsmall")
    control(view, "corpus", box.selectbox, "Corpus", names)
    if explorer.library.is_synthetic(explorer.library.corpus(view.corpus)):
        box.html(el("span.sl-tag", "synthetic, written for this demo"))
    look: Any = {"help": "System that retrieves the passages.", "format_func": system_label}
    control(view, "system", right.selectbox, "Retriever", explorer.systems, **look)
    words = "Passages given to the model. More cost more."
    control(view, "passages", st.slider, "Passages", 1, MOST_PASSAGES, help=words)
    with st.container(gap="xsmall"):
        on, words = view.scenarios and has_scenarios, "Adds scenarios to the context."
        look = {"shown": on, "help": words, "disabled": not has_scenarios}
        control(view, "scenarios", st.toggle, "Scenarios as context", **look)
        if not has_scenarios:
            dim("No scenarios yet. Write them on Library.")


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
        return "Connect a model below for an answer."
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


# -- questions to begin with, and those that were asked before -----------------------------------


def _examples(explorer: Explorer, view: AskView) -> None:
    """Questions about what the corpus speaks of, while none is written."""
    questions = []
    if not view.question.strip():
        with suppress(SeedLensError):  # the corpus says so itself, elsewhere on the page
            questions = explorer.reader.examples(view.corpus)

    def write(question: str) -> None:
        AskView.change(lambda now: replace(now, question=question))

    # The place is always there: what stands below it would otherwise be drawn as something new.
    with st.container(gap="xsmall", key="ask_examples"):
        if questions:
            st.caption("Example questions")
        for number, question in enumerate(questions):
            key = f"ask_example_{number}"
            button(escape_label(question), key, write, question, type="tertiary")


def _earlier(explorer: Explorer, view: AskView) -> None:
    """What was asked before, the newest first; a click brings question and answer back."""
    asked = explorer.reader.asked(login.owner())
    place = st.container(key="ask_history")
    if not asked:
        return
    height: Any = 300 if len(asked) > WITHOUT_SCROLLING else "content"
    label = f"Previous questions ({len(asked):,})"
    inside: Any = {"gap": "xsmall", "border": False}
    with place.expander(label), st.container(height=height, key="ask_earlier", **inside):
        for one in asked:
            look: Any = {"type": "tertiary", "disabled": one.id == view.answer}
            button(_label(one, view), f"ask_reopen_{one.id}", reopen, explorer, one.id, **look)


def _label(one: AskedQuestion, view: AskView) -> str:
    """Question, time, and what else tells it apart."""
    parts = [shortened(one.question), f"{one.time:%d %b %H:%M} UTC"]
    if one.corpus != view.corpus:
        parts.append(one.corpus)
    if one.state != "done":
        parts.append("incomplete")
    return escape_label(" · ".join(parts))


def reopen(explorer: Explorer, job_id: str) -> None:
    """Show an answer again, with its question and settings."""
    asked = explorer.reader.find(job_id).request
    known = asked.corpus in explorer.library.names()
    fields = (asked.question, asked.system, asked.k, asked.use_scenarios, job_id)
    AskView.change(lambda now: AskView(asked.corpus if known else now.corpus, *fields))
