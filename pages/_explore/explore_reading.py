"""The wording on Explore as a model reads it: applied to the view, and the switch for it."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from engine.explorer import Explorer
from engine.types.lenses import Lens
from engine.types.searches import Term
from pages._common.outside_text import escape
from pages._common.url_state import join
from pages._explore.explore_url import View
from pages._model.wording_reading import (
    ModelReading,
    is_on,
    question,
    read_wordings,
    reading_switch,
    taken_over,
)

PAGE = "explore"


def open_reading(explorer: Explorer, view: View, lens: Lens) -> tuple[View, ModelReading]:
    """The view with the model's reading of its wording, once that is there."""
    [found] = read_wordings(explorer, lens, [question(view.corpus, view)])
    [reading] = taken_over(PAGE, [found])
    if reading != view.reading:
        view = replace(view, reading=reading, page=1)
        view.write()
    return view, replace(found, query=question(view.corpus, view))


def reading_control(explorer: Explorer, view: View, found: ModelReading) -> None:
    """The switch under the chips, and what the model says beyond them."""

    def switched(on: bool) -> None:
        def change(now: View) -> View:
            ends = on or replace(found, query=question(now.corpus, now)).in_use
            return replace(now, reading=(), page=1) if ends else now

        View.change(change)

    if not (is_on() or view.instruction.strip()):
        return
    with st.container(gap="xsmall"):
        label = "Interpret with a model"
        reading_switch(explorer, PAGE, label, [found], view.corpus, switched)
        content = found.said.content if found.said else ""
        if content and found.in_use:
            st.html(f'<div class="md-dim">Interpreted as content: “{escape(content)}”.</div>')
        elif content and not found.terms:
            st.html(
                f'<div class="md-dim">{escape(found.model)} found no aspect. Using the built-in '
                "interpretation.</div>"
            )


def other_reading(lens: Lens, found: ModelReading) -> dict[str, str] | None:
    """The model's reading where another is in use, and the other way round, for a button.

    Returns:
        ``label``, ``tip``, and ``reading`` as a link has it; None where the model has none.
    """
    if found.in_use:
        tip = "Discard the model's interpretation"
        return {"label": "Built-in interpretation", "tip": tip, "reading": ""}
    if not found.terms:
        return None
    names = {aspect.key: aspect.name for aspect in lens.aspects}
    words = [
        f"{'+' if part[0] == '+' else '−'} {f'“{term.text}”' if term else names.get(part[1:], '')}"
        for part, term in ((part, Term.parse(part)) for part in found.terms)
    ]
    return {
        "label": "Model's interpretation",
        "tip": f"{found.model} interprets it as {', '.join(words)}",
        "reading": join(found.terms),
    }
