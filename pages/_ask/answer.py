"""A thread: questions with their answers and the passages that these rest on, the newest last."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.documents import Span
from engine.types.reading import AnswerPart, AskJob, GivenPassage, remarks
from pages._ask.ask_page import JOB, AskView, ask, view_of
from pages._common import document_view
from pages._common.components import component, listen
from pages._common.kit import Html, button, el, empty, line
from pages._common.shared import download, engine, error_boundary, note, system_label
from pages._common.tasks import duration, report_line
from pages._common.waiting import renew_when
from pages._explore.explore_state import View
from pages._login import login
from pages._model.model_settings import endpoint

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
