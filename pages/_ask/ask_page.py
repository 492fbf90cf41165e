"""The Ask page: a question and its settings, earlier questions, and a thread of answers with the
passages that these rest on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Self

import streamlit as st
from pydantic import Field

from engine.errors import BadInputError, NotAllowedError, SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.documents import Span
from engine.types.limits import LONGEST_QUESTION
from engine.types.reading import (
    MOST_PASSAGES,
    AnswerPart,
    AskedQuestion,
    AskJob,
    AskRequest,
    GivenPassage,
    remarks,
)
from pages._common import document_view
from pages._common.components import component, listen
from pages._common.kit import Html, button, dim, el, empty, line
from pages._common.shared import (
    download,
    engine,
    error_boundary,
    escape_label,
    note,
    show_error,
    system_label,
)
from pages._common.state import PageView, Shared, control, one_of, pages
from pages._common.tasks import duration, money, report_line, tokens
from pages._common.waiting import renew_when
from pages._explore.explore_state import View
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
    parts = [document_view.shortened(one.question), f"{one.time:%d %b %H:%M} UTC"]
    if one.corpus != view.corpus:
        parts.append(one.corpus)
    if one.state != "done":
        parts.append("incomplete")
    return escape_label(" · ".join(parts))


def _reopen(explorer: Explorer, job_id: str) -> None:
    job = explorer.reader.find(job_id)
    known = job.request.corpus in explorer.library.names()
    AskView.change(lambda now: view_of(job, "" if known else now.corpus))


# -- a thread ------------------------------------------------------------------------------------

AROUND = 3_000  # characters of a long document before and after a passage
LONGEST_HEADING = 240  # characters of a question; the rest is in the tooltip
FEWEST_WORDS = 3  # of a sentence that needs a source
UNSUPPORTED = {
    "none": ("no source", "No passage is cited for this sentence."),
    "unknown": ("no such passage", "Cites a passage that does not exist."),
    "far": ("check", "No sentence of the cited passages is close to this one."),
}
"""Sentences that nothing supports, or perhaps nothing: what is written behind them, and why."""
_SEED = "ask_seed"
_ANSWER = component("ask")
_OPENING = re.compile(r"[\s.,;:!?)\]”\"]*")
"""What may stand between a citation and the next sentence."""


def show_thread(explorer: Explorer, view: AskView, thread: Sequence[AskJob]) -> None:
    """The answers of a thread; for a question without a model, the passages."""
    for job in thread[:-1]:
        _show(explorer, job, is_last=False)
    for job in thread[-1:]:
        if job.running:
            renew_when(lambda: _running() is None, _live, every=0.3)
        else:
            _show(explorer, job)
    if view.question.strip() and not endpoint(explorer).set_up:
        request = view.request(has_scenarios=explorer.reader.has_scenarios(view.corpus))
        _show(explorer, explorer.reader.passages(request))


def _running() -> AskJob | None:
    job_id = st.session_state.get(JOB)
    job = engine().reader.find(job_id) if job_id else None
    return job if job is not None and job.running else None


def _live() -> None:
    with error_boundary():
        if job := _running():
            _show(engine(), job)


def _show(explorer: Explorer, job: AskJob, *, is_last: bool = True) -> None:
    # A page can be left from a run only, and not from the click on a document.
    if (clicked_on := st.session_state.pop(_SEED, None)) is not None:
        corpus, doc_id = clicked_on
        View.elsewhere(corpus=corpus, seed=doc_id, text_id="").go()

    def clicked(event: Mapping[str, Any]) -> None:
        st.session_state[_SEED] = job.request.corpus, event["doc_id"]

    _head(explorer, job)
    with st.container(key=f"ask_failure_{job.id}"):  # so that the answer keeps its place
        if job.state == "failed":
            note(job.error, job.remedy, kind="error")
    if not job.id and not job.progress.passages:
        empty("No passage found. Use other words or another retriever.")
    key, data = f"ask_answer_{job.id}", answer_data(job, is_last=is_last)
    _ANSWER(key=key, data=data, on_seed_change=listen(key, "seed", clicked))
    if is_last and job.id and not job.running:
        _after(explorer, job)


def _head(explorer: Explorer, job: AskJob) -> None:
    """What was asked, where, what it costs so far; its link, and the button that ends it."""
    asked, link = job.request, None
    scenarios = ", with scenarios" if asked.use_scenarios else ""
    passages = counted(len(job.progress.passages), "passage")
    took = el("span", f"running, {duration(job.seconds)}")
    if not job.id:
        took = el("span", "Passages only: no model is connected.")
    elif not job.running:
        # The words for runs that end early are about rankings.
        took = Html(report_line(replace(job.progress.report, stopped="")))
        if job.progress.parts:
            link = el("a.ask-link", "Link", href=f"./ask{view_of(job).link()}", target="_self")
    question = document_view.shortened(asked.question, LONGEST_HEADING)
    left, right = st.columns([7, 1], vertical_alignment="top")
    about = f"{asked.corpus} · {passages} by {system_label(asked.system)}{scenarios}"
    left.html(
        el("h2.ask-question", question, title=asked.question)
        + el("div.sl-dim", about, link and " · ", link)
        + el("div.md-line.sl-dim", took)  # one line, so that nothing jumps
    )
    if job.running:
        mine = login.acting().may_end(job.owner)
        words = "Stop; the partial answer is kept."
        look: Any = {"help": words if mine else "Only its owner or a lead can cancel this."}
        with right.container(horizontal_alignment="right"):
            cancel = partial(explorer.reader.jobs.cancel, job.id)
            button("Cancel", "ask_cancel", cancel, disabled=not mine, **look)


def _after(explorer: Explorer, job: AskJob) -> None:
    """The last answer as a file, and buttons that ask again or take it out of the thread."""

    def back() -> None:
        AskView.change(lambda now: replace(now, answer=job.request.follows))

    def forget() -> None:
        explorer.reader.forget(job.id)
        back()

    def again() -> None:
        back()
        ask(explorer, job.request)

    with line("ask_export", "top"):
        if not job.progress.parts:
            button("Try again", "ask_again", again, disabled=not endpoint(explorer).set_up)
            button("Dismiss", "ask_forget", back, type="tertiary")
            return
        kinds: Any = {"Markdown": ("md", "text/markdown"), "JSON": ("json", "application/json")}
        for name, (kind, mime) in kinds.items():
            made, key = partial(explorer.reader.export, job, kind), f"ask_export_{kind}"
            with st.container(width="content"):
                download(f"Export as {name}", f"answer.{kind}", made, key=key, mime=mime)
        words = "Deletes question and answer."
        button("Delete", "ask_forget", forget, type="tertiary", help=words)


# -- as plain data ---------------------------------------------------------------------------


def answer_data(job: AskJob, *, is_last: bool = True) -> dict[str, Any]:
    """What the component shows, for the last one of a thread also the passages not cited."""
    progress = job.progress
    by_number = {passage.number: passage for passage in progress.passages}
    cited = set(progress.cited)
    parts = [piece for part in progress.parts for piece in _pieces(part, by_number)]
    if job.running and parts and not parts[-1]["citations"]:
        parts[-1] |= {"unfounded": "", "why": ""}  # its citation may be yet to come
    marked = sum(bool(part["unfounded"]) for part in parts)
    note = f"{counted(marked, 'sentence')} to check (underlined)."
    return {
        "id": job.id or repr(job.request),
        "bare": not job.id,
        "state": job.state,
        "model": progress.report.model,
        "parts": parts,
        "remarks": [*([note] if marked and not job.running else []), *remarks(job)],
        "passages": [
            _passage(p, cited=p.number in cited)
            for p in progress.passages
            if is_last or p.number in cited
        ],
    }


def _pieces(part: AnswerPart, by_number: Mapping[int, GivenPassage]) -> Iterator[dict[str, Any]]:
    """The sentences of a part; the last one has its citations."""
    citations = []
    for cited in part.citations:
        if passage := by_number.get(cited.number):
            title = document_view.title_of(passage.document)
            marks = [] if cited.span is None else _shifted([cited.span], passage)
            citations.append({"number": cited.number, "title": title, "marks": marks})
    begun = _OPENING.match(part.text).end()  # type: ignore[union-attr] # it always matches
    spans = [(begun + a, begun + b) for a, b in Explorer.split_sentences(part.text[begun:])]
    at = 0
    for number, (start, end) in enumerate(spans or [(0, len(part.text))]):
        is_last = number >= len(spans) - 1
        # A source at the end of a part may be that of its other sentences too.
        kind = "far" if citations and not is_last else "none"
        if is_last and (part.unfounded or citations):
            found = any(one["marks"] for one in citations)
            kind = "unknown" if part.unfounded else "" if found else "far"
        if len(part.text[start:end].split()) < FEWEST_WORDS and kind != "unknown":
            kind = ""
        end = len(part.text) if is_last else end
        label, why = UNSUPPORTED.get(kind, ("", ""))
        yield {
            "text": part.text[at:end],
            "unfounded": part.text[start:end] if kind else "",
            "mark": kind,
            "label": label,
            "why": why,
            "citations": citations if is_last else [],
        }
        at = end


def _passage(passage: GivenPassage, *, cited: bool) -> dict[str, Any]:
    text = passage.document.text
    first, last = _shown(passage)
    return {
        "number": passage.number,
        "doc_id": passage.doc_id,
        "title": document_view.title_of(passage.document),
        "meta": document_view.meta(passage.document),
        "cited": cited,
        "text": text[first:last],
        "before": first > 0,
        "after": last < len(text),
        "passage": _shifted([passage.span], passage)[0],
        "marks": _shifted(passage.matched, passage),
        "scenarios": list(passage.scenarios),
    }


def _shown(passage: GivenPassage) -> Span:
    """The part of the document that is shown around a passage."""
    start, end = passage.span
    return max(0, start - AROUND), min(len(passage.document.text), end + AROUND)


def _shifted(spans: Sequence[Span], passage: GivenPassage) -> list[list[int]]:
    """Spans of the document as spans of what is shown of it."""
    first, _ = _shown(passage)
    return [[start - first, end - first] for start, end in sorted(spans)]
