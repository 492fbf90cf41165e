"""What can be done with an answer: ask on, take it along, forget it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.limits import LONGEST_QUESTION
from engine.types.reading import AskJob, AskRequest
from pages._ask.ask_page import ask, price_of
from pages._ask.ask_url import AskView
from pages._ask.earlier import reopen
from pages._common.document_view import shortened
from pages._common.outside_text import escape
from pages._common.shared import attempt, download, escape_label
from pages._model.model_settings import endpoint

LONGEST_LABEL = 110


def before(explorer: Explorer, job: AskJob) -> None:
    """For a follow-up, a way back to what it follows."""
    place = st.container(key="ask_before")
    if not job.request.follows:
        return
    try:
        former = explorer.reader.find(job.request.follows)
    except SeedLensError:  # forgotten meanwhile
        return
    question = escape_label(shortened(former.request.question, LONGEST_LABEL))
    place.button(
        f"Follow-up to: {question}", key="ask_former", type="tertiary", on_click=attempt,
        args=(partial(reopen, explorer, former.id),),
    )  # fmt: skip


def after(explorer: Explorer, job: AskJob) -> None:
    """A question about the answer, the answer as a file, and a button that forgets it."""
    if job.running or not job.progress.parts:
        return
    with st.container(horizontal=True, gap="small", key="ask_export"):
        with st.container(width="content"):
            download(
                "Export as Markdown", "answer.md", lambda: explorer.reader.export(job, "md"),
                key="ask_export_md", mime="text/markdown",
            )  # fmt: skip
        with st.container(width="content"):
            download(
                "Export as JSON", "answer.json", lambda: explorer.reader.export(job, "json"),
                key="ask_export_json", mime="application/json",
            )  # fmt: skip
        st.button(
            "Remove from the history", key="ask_forget", type="tertiary", on_click=attempt,
            args=(partial(_forget, explorer, job.id),),
            help="Question and answer are deleted.",
        )  # fmt: skip
    _follow_up(explorer, job)


def _follow_up(explorer: Explorer, job: AskJob) -> None:
    key = f"ask_follow_{job.id}"
    st.text_area(
        "Follow-up question", key=key, height=72, max_chars=LONGEST_QUESTION,
        placeholder="Ask a follow-up: it includes the previous answer.",
    )  # fmt: skip

    def request() -> AskRequest:
        words = str(st.session_state.get(key) or "").strip()
        asked: AskRequest = job.request
        return replace(asked, question=words, follows=job.id)

    info = endpoint(explorer)
    left, right = st.columns([2, 7], gap="small", vertical_alignment="center")
    left.button(
        "Ask the follow-up", key="ask_follow_button", disabled=not info.set_up, on_click=attempt,
        args=(lambda: ask(explorer, request()),),
    )  # fmt: skip
    words = price_of(explorer, request(), info)
    right.html(f'<div class="md-dim ask-price">{escape(words)}</div>')


def _forget(explorer: Explorer, job_id: str) -> None:
    explorer.reader.forget(job_id)
    AskView.change(lambda now: replace(now, answer=""))
