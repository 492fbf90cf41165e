"""The wording on Explore as a model reads it: applied to the view, and the switch for it."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from engine.explorer import Explorer
from engine.types.lenses import Lens
from engine.types.searches import WHOLE, Query
from pages._common.outside_text import escape
from pages._common.shared import attempt
from pages._explore.explore_url import View
from pages._model.wording_reading import (
    ModelReading,
    is_on,
    read_wordings,
    reading_switch,
    taken_over,
)

PAGE = "explore"


def open_reading(explorer: Explorer, view: View, lens: Lens) -> tuple[View, ModelReading]:
    """The view with the model's reading of its wording, once that is there."""
    [found] = read_wordings(explorer, lens, [_question(view)])
    [reading] = taken_over(PAGE, [found])
    if reading != view.reading:
        view = replace(view, reading=reading, page=1)
        view.write()
    return view, replace(found, query=_question(view))


def _question(view: View) -> Query:
    """What of a view decides how its wording is read."""
    return Query(
        view.corpus, aspect=view.aspect or None, instruction=view.instruction or None,
        focus=view.focus, reading=view.reading, system=view.system,
    )  # fmt: skip


def reading_control(explorer: Explorer, view: View, lens: Lens, found: ModelReading) -> None:
    """The switch under the chips, and what the model says beyond them."""

    def switched(on: bool) -> None:
        def change(now: View) -> View:
            ends = on or replace(found, query=_question(now)).in_use
            return replace(now, reading=(), page=1) if ends else now

        View.change(change)

    if not (is_on() or view.instruction.strip()):
        return
    with st.container(key="explore_reads_area", gap="small"):
        reading_switch(
            explorer, PAGE, "Read the wording with a model", [found], view.corpus, switched
        )
        if found.said is not None:
            _answer(lens, found, found.said.content)


def _answer(lens: Lens, found: ModelReading, content: str) -> None:
    """What it says, and the button that takes it back or takes it over."""

    def use(terms: tuple[str, ...]) -> None:
        View.change(lambda now: replace(now, reading=terms, page=1))

    content = f"Content: “{content}”." if content else ""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if found.in_use:
            words, label, terms = content, "Built-in reading", ()
        elif found.terms:
            words = f"{found.model} reads it as {in_words(lens, found.terms)}. {content}"
            label, terms = "Use this", found.terms
        else:
            words = (
                f"{found.model} finds no aspect in it; the built-in reading is in use. {content}"
            )
            label = ""
        if words.strip():
            st.html(f'<div class="md-dim">{escape(words)}</div>')
        if label:
            st.button(label, key="explore_read_use", type="tertiary", on_click=attempt,
                      args=(lambda: use(terms),))  # fmt: skip


def in_words(lens: Lens, terms: tuple[str, ...]) -> str:
    """``+ Method, − Result``; a reading that asks for nothing is that of the whole text."""
    if terms == WHOLE:
        return "asking for no aspect"
    names = {aspect.key: aspect.name for aspect in lens.aspects}
    return ", ".join(f"{'+' if t[0] == '+' else '−'} {names.get(t[1:], t[1:])}" for t in terms)
