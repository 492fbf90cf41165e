"""What a search is interpreted as: chips that correct it, and a model's interpretation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from engine.explorer import Explorer
from engine.types.lenses import Lens
from engine.types.searches import WHOLE, SearchResults, Term
from pages._common.components import component, listen
from pages._common.kit import dim
from pages._common.state import join
from pages._explore.explore_state import ExplorePage, View
from pages._model.wording_reading import (
    ModelReading,
    is_on,
    question,
    read_wordings,
    reading_switch,
    taken_over,
    use_again,
)

_CHIPS = component("reading")
_KEY = "explore_read_as"
WAITS = "explore_read_as_waits"
"""Key of the session: a correction that was clicked before a new wording was read, and of what."""
ASKED = ("corpus", "seed", "text_id", "aspect", "focus", "instruction", "reading")


def open_reading(explorer: Explorer, view: View) -> tuple[View, ModelReading]:
    """The view with the model's reading of its wording, once that is there."""
    lens = explorer.library.lens(view.corpus)
    [found] = read_wordings(explorer, lens, [question(view.corpus, view)])
    [reading] = taken_over("explore", [found])
    if reading != view.reading:
        view = replace(view, reading=reading, page=1)
        view.write()
    return view, replace(found, query=question(view.corpus, view))


def reading_control(page: ExplorePage, found: ModelReading) -> None:
    """The switch under the chips, and what the model says beyond them."""

    def switched(on: bool) -> None:
        def change(now: View) -> View:
            ends = on or replace(found, query=question(now.corpus, now)).in_use
            return replace(now, reading=(), page=1) if ends else now

        View.change(change)

    if not (is_on() or page.view.instruction.strip()):
        return
    with st.container(gap="xsmall"):
        label, corpus = "Interpret with a model", page.corpus
        reading_switch(page.explorer, "explore", label, [found], corpus, switched)
        content = found.said.content if found.said else ""
        words = ""
        if content and found.in_use:
            words = f"Interpreted as content: “{content}”."
        elif content and not found.terms:
            words = f"{found.model} found no aspect. Using the built-in interpretation."
        if words:
            dim(words)


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


def reading_chips(page: ExplorePage, results: SearchResults, by_model: ModelReading) -> None:
    """The reading of what is shown; a click changes the view's.

    Args:
        by_model: what a model reads the wording as.
    """
    view, lens = page.view, page.lens

    def change(event: Mapping[str, Any]) -> None:
        if event.get("by_words"):
            use_again("explore")

        def changed(now: View) -> View:
            if _asked(now) != _asked(view):  # what was read is another reading by now
                st.session_state[WAITS] = (_asked(now), event)
                return now
            return correct(now, results.reading, results.sentences, event)

        View.change(changed)

    asked, waiting = st.session_state.pop(WAITS, (None, {}))
    if asked == _asked(view) and fits(results.reading, results.sentences, waiting):
        change(waiting)
        st.rerun()

    corrected = view.reading and not by_model.in_use
    counts = {str(u.term): f"{'' if u.exact else 'over '}{u.documents:,}" for u in results.terms}
    terms = [(part, term) for part in results.reading if (term := Term.parse(part))]
    _CHIPS(
        key=_KEY,
        data={
            "reading": list(results.reading),
            "terms": [
                {"part": p, "text": t.text, "aspect": t.aspect, "documents": counts.get(p)}
                for p, t in terms
            ],
            "sentences": list(results.sentences),
            "aspects": [
                {"key": a.key, "name": a.name, "letter": a.letter, "role": role}
                for role, a in enumerate(lens.aspects)
            ],
            "texts": [sentence.text for sentence in results.seed.sentences],
            "by_words": bool(view.instruction and (view.aspect or corrected or view.focus)),
            "model": by_model.model if by_model.in_use else "",
            "other": other_reading(lens, by_model),
        },
        on_change_change=listen(_KEY, "change", change),
    )


def _asked(view: View) -> tuple[object, ...]:
    return tuple(getattr(view, name) for name in ASKED)


def fits(reading: tuple[str, ...], sentences: tuple[int, ...], event: Mapping[str, Any]) -> bool:
    """Whether a correction of a former reading applies to this one too."""
    if event.get("by_words"):
        return True
    if "sentence" in event:
        return int(event["sentence"]) not in sentences
    old, new = str(event.get("old", "")), str(event.get("term", ""))
    if old:
        return old in reading
    signed = {f"{sign}{part[1:]}" for part in reading for sign in "+-"}
    return bool(new) and new not in (reading if Term.parse(new) else signed)


def correct(
    now: View, reading: tuple[str, ...], sentences: tuple[int, ...], event: Mapping[str, Any]
) -> View:
    """The view after one correction.

    Args:
        reading, sentences: what was shown.
        event: ``term`` to have instead of ``old`` (either may be empty) and of the same term with
            another sign, a ``sentence`` to add or to remove, ``by_words`` to take back everything,
            or a ``reading`` to have instead.
    """
    if "reading" in event:
        return replace(now, reading=Explorer.parse_reading(str(event["reading"])), page=1)
    if event.get("by_words"):
        return replace(now, aspect="", reading=(), focus=(), page=1)
    if "sentence" in event:
        focus = tuple(sorted({*sentences} ^ {int(event["sentence"])}))
        if not focus:  # sentences that the wording quotes are ruled out; picked ones let go
            return _settled(now, now.reading if now.focus else WHOLE, ())
        return _settled(now, now.reading or reading, focus)
    old, new = str(event.get("old", "")), str(event.get("term", ""))
    terms = [new if term == old else term for term in reading]
    terms += [] if old else [new]
    once = {term[1:].casefold(): term for term in filter(None, terms)}
    return _settled(now, tuple(once.values()) or WHOLE, sentences)


def _settled(now: View, reading: tuple[str, ...], focus: tuple[int, ...]) -> View:
    """The simplest view with this reading: where an aspect says the same, it does."""
    wanted = [part[1:] for part in reading if part[0] == "+" and Term.parse(part) is None]
    aspect = now.aspect if not reading else wanted[0] if len(wanted) == 1 else ""
    plain = reading == WHOLE or (reading == (f"+{aspect}",) and not focus)
    if plain and not now.instruction:
        reading = ()
    return replace(now, aspect=aspect, reading=reading, focus=focus, page=1)
