"""The state of the Ask page, the box of the question, its settings, and earlier questions."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import streamlit as st
from pydantic import Field

from engine.errors import BadInputError, NotAllowedError, SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.limits import LONGEST_QUESTION
from engine.types.reading import MOST_PASSAGES, AskedQuestion, AskJob, AskRequest
from pages._common.document_view import shortened
from pages._common.kit import button, dim, el, line
from pages._common.shared import escape_label, show_error, system_label
from pages._common.state import PageView, Shared, control, one_of, pages
from pages._common.tasks import money, tokens
from pages._login import login
from pages._model.model_settings import chosen, endpoint, folded_panel

JOB = "ask_job"  # where the tab keeps the id of the last answer of the thread
LONGEST_IN_LINK = 300  # characters of a question
MOST_IN_THREAD = 50
WITHOUT_SCROLLING = 5  # earlier questions that are shown at full height
DEFAULT = AskRequest("", "")


@dataclass(frozen=True)
class AskView(PageView):
    """A question in the box, how it is to be answered, and the last answer of a thread."""

    script = "ask"
    corpus: Shared = ""
    question: str = ""
    system: Annotated[str, one_of(Explorer.systems)] = DEFAULT.system
    passages: Annotated[int, Field(alias="k", ge=1, le=MOST_PASSAGES)] = DEFAULT.k
    scenarios: bool = False
    answer: str = ""  # the id of an answer; those that it follows are shown above it

    def to_params(self) -> dict[str, str]:
        """URL parameters; a long question is only remembered."""
        short = len(self.question) <= LONGEST_IN_LINK
        return PageView.to_params(self if short else replace(self, question=""))

    def on_corpus(self, corpus: str) -> Self:
        """The same question to another corpus."""
        return replace(self, corpus=corpus)

    @classmethod
    def read(cls) -> Self:
        """The state of the URL; with a long question, where the page was left with one."""
        params, left = st.query_params.to_dict(), pages().last(cls)
        return left if left and params == left.to_params() else cls.opened_with(params)

    def request(self, *, has_scenarios: bool = True) -> AskRequest:
        """What is asked: a follow-up where there is an answer, with scenarios if there are some."""
        along = self.scenarios and has_scenarios
        question = self.question.strip()
        return AskRequest(question, self.corpus, self.system, self.passages, along, self.answer)


def view_of(job: AskJob, corpus: str = "") -> AskView:
    """The thread that ends with an answer, with its settings, on its corpus or another one."""
    asked = job.request
    return AskView(corpus or asked.corpus, "", asked.system, asked.k, asked.use_scenarios, job.id)


def open_view(explorer: Explorer, names: list[str]) -> tuple[AskView, list[AskJob]]:
    """The view of the address, and the answers of its thread, the first one first."""
    view, thread = AskView.opened_on(explorer, names), []
    try:
        thread = [explorer.reader.find(view.answer)] if view.answer else []
    except SeedLensError as error:
        show_error(error)
        view = replace(view, answer="")
    if thread and view.question == thread[0].request.question:  # as older links name it, too
        view = replace(view, question="")
    with suppress(SeedLensError):  # one that was deleted
        while len(thread) < MOST_IN_THREAD and thread and (former := thread[0].request.follows):
            thread.insert(0, explorer.reader.find(former))
    st.session_state[JOB] = view.answer
    view.write()
    return view, thread


def box(explorer: Explorer, view: AskView, job: AskJob | None) -> None:
    """The question after the last answer of a thread, its button, and what it costs."""
    info, has_scenarios = endpoint(explorer), explorer.reader.has_scenarios(view.corpus)
    words = "Ask a follow-up question." if job else "Answers use only this corpus."
    look: Any = {"placeholder": words, "max_chars": LONGEST_QUESTION, "height": 80}
    control(view, "question", st.text_area, "Question", **look)

    def asked() -> None:
        """What the widgets hold now: a click may come together with the last change."""
        now = AskView.read()
        ask(explorer, replace(now, question=st.session_state["ask_question"]).request())

    def find() -> None:
        if not str(st.session_state["ask_question"]).strip():
            raise BadInputError("The question is empty.", "Write what you want to know.")

    with line("ask_go"):
        if info.set_up:
            blocked = job is not None and job.running
            button("Ask", "ask_button", asked, type="primary", disabled=blocked)
        else:
            button("Find passages", "ask_find", find, type="primary")
        if job is not None:
            button("New thread", "ask_new", AskView.change, _new_thread, type="tertiary")
        request = view.request(has_scenarios=has_scenarios)
        dim(_price(explorer, request) if info.set_up else "Connect a model for an answer.")


def _new_thread(now: AskView) -> AskView:
    """The page before anything is asked."""
    return replace(now, question="", answer="")


def ask(explorer: Explorer, request: AskRequest) -> None:
    """Have a question answered at the end of the thread; what was under way ends."""
    if request.use_scenarios and not explorer.reader.has_scenarios(request.corpus):
        request = replace(request, use_scenarios=False)
    job_id = explorer.reader.start(request, chosen(explorer), owner=login.owner())
    if shown := st.session_state.get(JOB):
        with suppress(NotAllowedError):  # a link showed what somebody else asked
            explorer.reader.jobs.cancel(shown)
    AskView.change(lambda now: replace(now, question="", answer=job_id))


def _price(explorer: Explorer, request: AskRequest) -> str:
    """``6 passages, about 1.9 k tokens input, up to 900 tokens output``."""
    if not request.question:
        return "Write a question to see its cost."
    try:
        estimate = explorer.reader.estimate(request, chosen(explorer))
    except SeedLensError as error:
        return str(error)
    read, written = tokens(estimate.input_tokens or 0), tokens(estimate.output_tokens or 0)
    price = f"{counted(estimate.items, 'passage')}, about {read} input, up to {written} output"
    return price if estimate.cost is None else f"{price}, up to {money(estimate.cost)}"


def examples(explorer: Explorer, view: AskView) -> None:
    """Questions about the topics of the corpus, while none is written."""
    questions = []
    if not view.question.strip():
        with suppress(SeedLensError):  # the corpus says so itself, elsewhere on the page
            questions = explorer.reader.examples(view.corpus)

    def write(question: str) -> None:
        AskView.change(lambda now: replace(now, question=question))

    with st.container(gap="xsmall", key="ask_examples"):
        if questions:
            st.caption("Example questions")
        for number, question in enumerate(questions):
            key = f"ask_example_{number}"
            button(escape_label(question), key, write, question, type="tertiary")


# -- beside it -----------------------------------------------------------------------------------


def settings(explorer: Explorer, view: AskView, names: list[str]) -> None:
    """Where and how passages are found, the model, and what was asked before."""
    has_scenarios = explorer.reader.has_scenarios(view.corpus)
    left, right = st.columns(2)
    place = left.container(gap="xsmall")
    control(view, "corpus", place.selectbox, "Corpus", names)
    if explorer.library.is_synthetic(explorer.library.corpus(view.corpus)):
        place.html(el("span.sl-tag", "synthetic, written for this demo"))
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
    _history(explorer, view)
    folded_panel(explorer, "ask", needed=not view.question.strip())


def _history(explorer: Explorer, view: AskView) -> None:
    """Earlier questions, the newest first; a click opens the thread up to one."""
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
            button(_label(one, view), f"ask_reopen_{one.id}", _reopen, explorer, one.id, **look)


def _label(one: AskedQuestion, view: AskView) -> str:
    """Question, time, and what else tells it apart."""
    parts = [shortened(one.question), f"{one.time:%d %b %H:%M} UTC"]
    if one.corpus != view.corpus:
        parts.append(one.corpus)
    if one.state != "done":
        parts.append("incomplete")
    return escape_label(" · ".join(parts))


def _reopen(explorer: Explorer, job_id: str) -> None:
    job = explorer.reader.find(job_id)
    known = job.request.corpus in explorer.library.names()
    AskView.change(lambda now: view_of(job, "" if known else now.corpus))
