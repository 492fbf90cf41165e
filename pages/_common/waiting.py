"""Waiting for work beside the page."""

from __future__ import annotations

import time
from collections.abc import Callable

import streamlit as st

_AGAIN_SECONDS = 5.0
"""Between two requests to run the page: asked for at every look, no run comes to its end."""
_SELDOM_SECONDS = 24 * 3600.0
"""Longer than a page is left alone: what is drawn so is there for the browser to know of it."""


def renew_when(
    news: Callable[[], object], draw: Callable[[], object] = lambda: None, *, every: float
) -> None:
    """Draw something in place again and again; the whole page runs when there is news.

    What has controls should not be drawn here: a look at ``draw`` closes dialogs and menus.

    Args:
        news: whether the rest of the page is out of date.
        every: seconds between two looks.
    """
    asked = -_AGAIN_SECONDS

    def look() -> None:
        nonlocal asked
        if news() and time.monotonic() - asked >= _AGAIN_SECONDS:
            asked = time.monotonic()
            st.rerun()
        draw()

    st.fragment(look, run_every=every)()


def renew_when_connected() -> None:
    """Have the browser run the page whenever it is connected again.

    Streamlit has it do so only where something on the page is drawn again by itself. Without that,
    a server that was restarted, or has forgotten a page that was away for two minutes, does not
    know the page's controls until the first click, and what that click asks for is lost.
    """
    st.fragment(lambda: None, run_every=_SELDOM_SECONDS)()
