"""The answer while it is written and afterwards, with the passages that it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.documents import Span
from engine.types.reading import AnswerPart, AskJob, GivenPassage, remarks
from pages._ask.after import after, before
from pages._ask.ask_page import shown_job
from pages._common import document_view
from pages._common.components import component, dark, listen
from pages._common.job_words import duration, report_line
from pages._common.outside_text import escape
from pages._common.shared import attempt, engine, error_boundary, note
from pages._common.waiting import renew_when
from pages._explore.explore_url import View
from pages._login import login

POLL_SECONDS = 0.3
AROUND = 3_000
"""Characters of a long document that are shown before and after a passage."""
LONGEST_HEADING = 240
"""Characters of a question that stand above its answer; the rest is in the tooltip."""
_SEED = "ask_seed"
_ANSWER = component("ask")


def answer(explorer: Explorer, job: AskJob | None) -> None:
    """The last answer of this visit, or what there will be."""
    if job is None:
        st.html(
            '<div class="sl-empty">The answer and its sources appear here. Click a number to '
            "check its passage.</div>"
        )
    elif job.running:
        renew_when(lambda: _running() is None, _live, every=POLL_SECONDS)  # controls change too
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
    _open_seed(job)
    before(explorer, job)
    _head(explorer, job)
    with st.container(key="ask_failure"):  # so that the answer keeps its place
        if job.state == "failed":
            note(job.error, job.remedy, kind="error")
    _ANSWER(key="ask_answer", data=answer_data(job), on_seed_change=_on_seed())
    after(explorer, job)


def _on_seed() -> Any:
    def go(event: Mapping[str, Any]) -> None:
        st.session_state[_SEED] = event["doc_id"]

    return listen("ask_answer", "seed", go)


def _open_seed(job: AskJob) -> None:
    """Go to Explore with the document that was clicked: a page can be left from a run only."""
    doc_id = st.session_state.pop(_SEED, None)
    if doc_id is not None:
        View.elsewhere(corpus=job.request.corpus, seed=doc_id, text_id="").go()


def _head(explorer: Explorer, job: AskJob) -> None:
    """What was asked, where, what it costs so far; the button that ends it."""
    asked = job.request
    scenarios = ", with scenarios" if asked.use_scenarios else ""
    passages = counted(len(job.progress.passages), "passage")
    where = f"{asked.corpus} · {passages} by {asked.system}{scenarios}"
    left, right = st.columns([7, 1], vertical_alignment="top")
    left.html(
        f'<h2 class="ask-question" title="{escape(asked.question)}">'
        f"{escape(document_view.shortened(asked.question, LONGEST_HEADING))}</h2>"
        f'<div class="md-dim">{escape(where)}</div>'
        f'<div class="md-line md-quiet">{_time_line(job)}</div>'
    )
    if job.running:
        cancel = partial(explorer.reader.jobs.cancel, job.id)
        mine = login.acting().may_end(job.owner)
        right.container(horizontal_alignment="right").button(
            "Cancel", key="ask_cancel", on_click=attempt, args=(cancel,), disabled=not mine,
            help="Stop; the partial answer is kept."
            if mine else "Only its owner or a lead can cancel this.",
        )  # fmt: skip


def _time_line(job: AskJob) -> str:
    """How long it takes, or what it took: one line of HTML, so that nothing jumps."""
    if job.running:
        return f"<span>running, {duration(job.seconds)}</span>"
    # The words for runs that end early are about rankings.
    return report_line(replace(job.progress.report, stopped=""))


# -- as plain data ---------------------------------------------------------------------------


def answer_data(job: AskJob) -> dict[str, Any]:
    """What the component shows; all texts go in as text."""
    cited = set(job.progress.cited)
    return {
        "id": job.id,
        "state": job.state,
        "model": job.progress.report.model,
        "parts": [_part(part, job) for part in job.progress.parts],
        "remarks": remarks(job),
        "passages": [_passage(p, cited) for p in job.progress.passages],
        "dark": dark(),
    }


def _part(part: AnswerPart, job: AskJob) -> dict[str, Any]:
    by_number = {p.number: p for p in job.progress.passages}
    return {
        "text": part.text,
        "unfounded": part.unfounded,
        "citations": [
            {
                "number": c.number,
                "title": document_view.title_of(by_number[c.number].document),
                "marks": [] if c.span is None else _shifted([c.span], by_number[c.number]),
            }
            for c in part.citations
            if c.number in by_number
        ],
    }


def _passage(passage: GivenPassage, cited: set[int]) -> dict[str, Any]:
    text = passage.document.text
    first, last = _shown(passage)
    start, end = passage.span
    return {
        "number": passage.number,
        "doc_id": passage.doc_id,
        "title": document_view.title_of(passage.document),
        "meta": document_view.meta(passage.document),
        "cited": passage.number in cited,
        "text": text[first:last],
        "before": first > 0,
        "after": last < len(text),
        "passage": [start - first, end - first],
        "marks": _shifted(passage.matched, passage),
        "scenarios": list(passage.scenarios),
    }


def _shown(passage: GivenPassage) -> Span:
    """The part of the document that is shown around a passage."""
    start, end = passage.span
    return max(0, start - AROUND), min(len(passage.document.text), end + AROUND)


def _shifted(spans: tuple[Span, ...] | list[Span], passage: GivenPassage) -> list[list[int]]:
    """Spans of the document as spans of what is shown of it."""
    first, _ = _shown(passage)
    return [[start - first, end - first] for start, end in sorted(spans)]
