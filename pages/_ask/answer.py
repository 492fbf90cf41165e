"""The answer while it is written and afterwards, with the passages that it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.documents import Span
from engine.types.limits import LONGEST_QUESTION
from engine.types.reading import AnswerPart, AskJob, AskRequest, GivenPassage, remarks
from pages._ask.ask_page import ask, price_of, reopen, shown_job
from pages._ask.ask_url import AskView
from pages._common import document_view
from pages._common.components import component, listen
from pages._common.job_words import duration, report_line
from pages._common.kit import Html, button, dim, el, empty, line
from pages._common.shared import download, engine, error_boundary, escape_label, note
from pages._common.waiting import renew_when
from pages._explore.explore_state import View
from pages._login import login
from pages._model.model_settings import endpoint

AROUND = 3_000
"""Characters of a long document that are shown before and after a passage."""
LONGEST_HEADING = 240
"""Characters of a question that stand above its answer; the rest is in the tooltip."""
_SEED = "ask_seed"
_ANSWER = component("ask")


def answer(explorer: Explorer, view: AskView, job: AskJob | None) -> None:
    """The last answer of this visit, or what there will be; without a model, the passages."""
    if job is None and view.question.strip() and not endpoint(explorer).set_up:
        request = view.request(has_scenarios=explorer.reader.has_scenarios(view.corpus))
        _show(explorer, explorer.reader.passages(request))
    elif job is None:
        empty("The answer and its sources appear here. Click a number to check its passage.")
    elif job.running:
        renew_when(lambda: _running() is None, _live, every=0.3)  # controls change too
    else:
        _show(explorer, job)


def _running() -> AskJob | None:
    job = shown_job(engine())
    return job if job is not None and job.running else None


def _live() -> None:
    with error_boundary():
        if job := _running():
            _show(engine(), job)


def _show(explorer: Explorer, job: AskJob) -> None:
    # A page can be left from a run only, and not from the click on a document.
    if (doc_id := st.session_state.pop(_SEED, None)) is not None:
        View.elsewhere(corpus=job.request.corpus, seed=doc_id, text_id="").go()

    def clicked(event: Mapping[str, Any]) -> None:
        st.session_state[_SEED] = event["doc_id"]

    _before(explorer, job)
    _head(explorer, job)
    with st.container(key="ask_failure"):  # so that the answer keeps its place
        if job.state == "failed":
            note(job.error, job.remedy, kind="error")
    if not job.id and not job.progress.passages:
        empty("No passage found. Use other words or another retriever.")
    data, heard = answer_data(job), listen("ask_answer", "seed", clicked)
    _ANSWER(key="ask_answer", data=data, on_seed_change=heard)
    if not job.running and job.progress.parts:
        _after(explorer, job)


def _head(explorer: Explorer, job: AskJob) -> None:
    """What was asked, where, what it costs so far; the button that ends it."""
    asked = job.request
    scenarios = ", with scenarios" if asked.use_scenarios else ""
    passages = counted(len(job.progress.passages), "passage")
    took = el("span", f"running, {duration(job.seconds)}")
    if not job.id:
        took = el("span", "Passages only: no model is connected.")
    elif not job.running:
        # The words for runs that end early are about rankings.
        took = Html(report_line(replace(job.progress.report, stopped="")))
    question = document_view.shortened(asked.question, LONGEST_HEADING)
    left, right = st.columns([7, 1], vertical_alignment="top")
    left.html(
        el("h2.ask-question", question, title=asked.question)
        + el("div.sl-dim", f"{asked.corpus} · {passages} by {asked.system}{scenarios}")
        + el("div.md-line.md-quiet", took)  # one line, so that nothing jumps
    )
    if job.running:
        mine = login.acting().may_end(job.owner)
        words = "Stop; the partial answer is kept."
        look: Any = {"help": words if mine else "Only its owner or a lead can cancel this."}
        with right.container(horizontal_alignment="right"):
            cancel = partial(explorer.reader.jobs.cancel, job.id)
            button("Cancel", "ask_cancel", cancel, disabled=not mine, **look)


def _before(explorer: Explorer, job: AskJob) -> None:
    """For a follow-up, a way back to what it follows."""
    with st.container(key="ask_before"):
        if not job.request.follows:
            return
        try:
            former = explorer.reader.find(job.request.follows)
        except SeedLensError:  # forgotten meanwhile
            return
        question = escape_label(document_view.shortened(former.request.question))
        button(
            f"Follow-up to: {question}", "ask_former", reopen, explorer, former.id, type="tertiary"
        )


def _after(explorer: Explorer, job: AskJob) -> None:
    """The answer as a file, a button that forgets it, and a question about it."""

    def forget() -> None:
        explorer.reader.forget(job.id)
        AskView.change(lambda now: replace(now, answer=""))

    with line("ask_export", "top"):
        kinds: Any = {"Markdown": ("md", "text/markdown"), "JSON": ("json", "application/json")}
        for name, (kind, mime) in kinds.items():
            made, key = partial(explorer.reader.export, job, kind), f"ask_export_{kind}"
            with st.container(width="content"):
                download(f"Export as {name}", f"answer.{kind}", made, key=key, mime=mime)
        words = "Deletes question and answer."
        button("Delete", "ask_forget", forget, type="tertiary", help=words)
    key, info = f"ask_follow_{job.id}", endpoint(explorer)
    words = "Ask a follow-up (includes the previous answer)"
    look: Any = {"placeholder": words, "max_chars": LONGEST_QUESTION}
    st.text_area("Follow-up question", key=key, height=72, **look)

    def request() -> AskRequest:
        words = str(st.session_state.get(key) or "").strip()
        asked: AskRequest = job.request
        return replace(asked, question=words, follows=job.id)

    def follow() -> None:
        ask(explorer, request())

    with line("ask_follow"):
        button("Ask follow-up", "ask_follow_button", follow, disabled=not info.set_up)
        dim(price_of(explorer, request(), info))


# -- as plain data ---------------------------------------------------------------------------


def answer_data(job: AskJob) -> dict[str, Any]:
    """What the component shows; all texts go in as text."""
    progress = job.progress
    by_number = {passage.number: passage for passage in progress.passages}
    cited = set(progress.cited)
    return {
        "id": job.id or repr(job.request),
        "bare": not job.id,
        "state": job.state,
        "model": progress.report.model,
        "parts": [_part(part, by_number) for part in progress.parts],
        "remarks": remarks(job),
        "passages": [_passage(p, cited=p.number in cited) for p in progress.passages],
    }


def _part(part: AnswerPart, by_number: Mapping[int, GivenPassage]) -> dict[str, Any]:
    citations = []
    for cited in part.citations:
        if passage := by_number.get(cited.number):
            title = document_view.title_of(passage.document)
            marks = [] if cited.span is None else _shifted([cited.span], passage)
            citations.append({"number": cited.number, "title": title, "marks": marks})
    return {"text": part.text, "unfounded": part.unfounded, "citations": citations}


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
