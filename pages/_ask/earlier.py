"""Questions to begin with: examples from the corpus, and those that were asked before."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.reading import AskedQuestion
from pages._ask.ask_url import AskView
from pages._common.document_view import shortened
from pages._common.shared import attempt, escape_label
from pages._login import login

LONGEST_LABEL = 110
"""Characters of a question on a button."""
WITHOUT_SCROLLING = 5
"""Questions that are shown at full height."""


def examples(explorer: Explorer, view: AskView) -> None:
    """Questions about what the corpus speaks of, while none is written."""
    questions = []
    if not view.question.strip():
        with suppress(SeedLensError):  # the corpus says so itself, elsewhere on the page
            questions = explorer.reader.examples(view.corpus)
    # The place is always there: what stands below it would otherwise be drawn as something new.
    with st.container(gap="xsmall", key="ask_examples"):
        if not questions:
            return
        st.caption("Example questions")
        for number, question in enumerate(questions):
            st.button(
                escape_label(question), key=f"ask_example_{number}", type="tertiary",
                on_click=attempt, args=(partial(_write, question),),
            )  # fmt: skip


def _write(question: str) -> None:
    AskView.change(lambda now: replace(now, question=question))


def earlier(explorer: Explorer, view: AskView) -> None:
    """What was asked before, the newest first; a click brings question and answer back."""
    asked = explorer.reader.asked(login.owner())
    place = st.container(key="ask_history")
    if not asked:
        return
    with place.expander(f"Previous questions ({len(asked):,})"), st.container(
        gap="xsmall", height=300 if len(asked) > WITHOUT_SCROLLING else "content",
        border=False, key="ask_earlier",
    ):  # fmt: skip
        for one in asked:
            st.button(
                _label(one, view), key=f"ask_reopen_{one.id}", type="tertiary",
                on_click=attempt, args=(partial(reopen, explorer, one.id),),
                disabled=one.id == view.answer,
            )  # fmt: skip


def _label(one: AskedQuestion, view: AskView) -> str:
    """Question, time, and what else tells it apart."""
    parts = [shortened(one.question, LONGEST_LABEL), f"{one.time:%d %b %H:%M} UTC"]
    if one.corpus != view.corpus:
        parts.append(one.corpus)
    if one.state != "done":
        parts.append("incomplete")
    return escape_label(" · ".join(parts))


def reopen(explorer: Explorer, job_id: str) -> None:
    """Show an answer again, with its question and settings.

    Raises:
        UnknownNameError: it is not stored any more.
    """
    asked = explorer.reader.find(job_id).request
    known = asked.corpus in explorer.library.names()

    def change(now: AskView) -> AskView:
        return AskView(
            corpus=asked.corpus if known else now.corpus,
            question=asked.question,
            system=asked.system,
            passages=asked.k,
            scenarios=asked.use_scenarios,
            answer=job_id,
        )

    AskView.change(change)
