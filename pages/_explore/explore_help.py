"""Help on the Explore page: its keys, and the tour of the first visit."""

from __future__ import annotations

import streamlit as st

from engine.types.annotating import Scale
from pages._common.components import component, dark, listeners
from pages._common.visit_memory import memory
from pages._explore.explore_page import FINDER

_TOUR = "explore_tour"
_HELP = component("help", "keys", "tour")


def tour_is_due() -> bool:
    """Whether the tour begins by itself: on the first visit, until it is left.

    Who was led to the page by a link came for what that shows, and finds the tour in the help.
    To be asked before the page writes its address.
    """
    return bool(memory().setdefault(_TOUR, not st.query_params))


def help_button(scale: Scale, *, tour: bool, key: str = "explore_help") -> None:
    """The button for keys and tour; with it, the keys that need no result.

    Args:
        scale: whose grades are keys.
        tour: begin the tour.
    """

    def leave(_: object) -> None:
        memory()[_TOUR] = False

    _HELP(
        key=key,
        data={
            "finder": FINDER,
            "grades": [str(grade.value) for grade in scale.grades],
            "tour": tour,
            "dark": dark(),
        },
        width="content",
        **listeners(key, {"left": leave}, "left"),
    )
