"""Waiting for work beside the page."""

from __future__ import annotations

import time
from collections.abc import Callable

import streamlit as st

_AGAIN_SECONDS = 5.0
"""Between two requests to run the page: asked for at every look, no run comes to its end."""


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
