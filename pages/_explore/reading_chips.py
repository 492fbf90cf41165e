"""What a search was read as, in chips that correct it: aspects for and against, sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.types.lenses import Lens
from engine.types.searches import WHOLE, SearchResults
from pages._common.components import component, dark, listen
from pages._explore.explore_url import View

_CHIPS = component("reading")
_KEY = "explore_read_as"
_ASKED = ("corpus", "seed", "text_id", "aspect", "focus", "instruction", "reading")


def reading_chips(view: View, page: SearchResults, lens: Lens) -> None:
    """The reading of what is shown; a click changes the view's."""

    def change(event: Mapping[str, Any]) -> None:
        def corrected(now: View) -> View:
            if any(getattr(now, name) != getattr(view, name) for name in _ASKED):
                return now  # asked for something else by now: what was read is another reading
            return correct(now, page.reading, page.sentences, event)

        View.change(corrected)

    _CHIPS(
        key=_KEY,
        data={
            "reading": list(page.reading),
            "sentences": list(page.sentences),
            "aspects": [
                {"key": a.key, "name": a.name, "letter": a.letter, "role": role}
                for role, a in enumerate(lens.aspects)
            ],
            "texts": [sentence.text for sentence in page.seed.sentences],
            "by_words": bool(view.instruction and (view.aspect or view.reading or view.focus)),
            "dark": dark(),
        },
        on_change_change=listen(_KEY, "change", change),
    )


def correct(
    now: View, reading: tuple[str, ...], sentences: tuple[int, ...], event: Mapping[str, Any]
) -> View:
    """The view after one correction.

    Args:
        reading, sentences: what was shown.
        event: ``term`` to have instead of ``old`` (either may be empty), a ``sentence`` to add
            or to remove, or ``by_words`` to take back everything.
    """
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
    return _settled(now, tuple(filter(None, terms)) or WHOLE, sentences)


def _settled(now: View, reading: tuple[str, ...], focus: tuple[int, ...]) -> View:
    """The simplest view with this reading: where an aspect says the same, it does."""
    wanted = [term[1:] for term in reading if term[0] == "+"]
    aspect = now.aspect if not reading else wanted[0] if len(wanted) == 1 else ""
    plain = reading == WHOLE or (reading == (f"+{aspect}",) and not focus)
    if plain and not now.instruction:
        reading = ()
    return replace(now, aspect=aspect, reading=reading, focus=focus, page=1)
