"""What a search was read as, in chips that correct it: aspects and terms, sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from engine.explorer import Explorer
from engine.types.lenses import Lens
from engine.types.searches import WHOLE, SearchResults, Term
from pages._common.components import component, dark, listen
from pages._explore.explore_reading import other_reading
from pages._explore.explore_url import View
from pages._model.wording_reading import ModelReading, use_again

_CHIPS = component("reading")
_KEY = "explore_read_as"
WAITS = "explore_read_as_waits"
"""Key of the session: a correction that was clicked before a new wording was read, and of what."""
ASKED = ("corpus", "seed", "text_id", "aspect", "focus", "instruction", "reading")


def reading_chips(view: View, page: SearchResults, lens: Lens, by_model: ModelReading) -> None:
    """The reading of what is shown; a click changes the view's.

    Args:
        by_model: what a model reads the wording as.
    """

    def change(event: Mapping[str, Any]) -> None:
        if event.get("by_words"):
            use_again("explore")

        def changed(now: View) -> View:
            if _asked(now) != _asked(view):  # what was read is another reading by now
                st.session_state[WAITS] = (_asked(now), event)
                return now
            return correct(now, page.reading, page.sentences, event)

        View.change(changed)

    asked, waiting = st.session_state.pop(WAITS, (None, {}))
    if asked == _asked(view) and fits(page.reading, page.sentences, waiting):
        change(waiting)
        st.rerun()

    corrected = view.reading and not by_model.in_use
    counts = {str(u.term): f"{'' if u.exact else 'over '}{u.documents:,}" for u in page.terms}
    parts = [(part, term) for part in page.reading if (term := Term.parse(part))]
    _CHIPS(
        key=_KEY,
        data={
            "reading": list(page.reading),
            "terms": [
                {"part": p, "text": t.text, "aspect": t.aspect, "documents": counts.get(p)}
                for p, t in parts
            ],
            "sentences": list(page.sentences),
            "aspects": [
                {"key": a.key, "name": a.name, "letter": a.letter, "role": role}
                for role, a in enumerate(lens.aspects)
            ],
            "texts": [sentence.text for sentence in page.seed.sentences],
            "by_words": bool(view.instruction and (view.aspect or corrected or view.focus)),
            "model": by_model.model if by_model.in_use else "",
            "other": other_reading(lens, by_model),
            "dark": dark(),
        },
        on_change_change=listen(_KEY, "change", change),
    )


def _asked(view: View) -> tuple[object, ...]:
    return tuple(getattr(view, name) for name in ASKED)


def fits(reading: tuple[str, ...], sentences: tuple[int, ...], event: Mapping[str, Any]) -> bool:
    """Whether a correction of a former reading says something about this one too."""
    if "sentence" in event or event.get("by_words"):
        return bool(event.get("by_words")) or int(event["sentence"]) not in sentences
    old, new = str(event.get("old", "")), str(event.get("term", ""))
    if old:
        return old in reading
    known = (
        reading if Term.parse(new) else {f"{sign}{part[1:]}" for part in reading for sign in "+-"}
    )
    return bool(new) and new not in known


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
