"""The browser's history: one entry for each page that was opened."""

from __future__ import annotations

import streamlit as st

_TIDY = st.components.v2.component(
    "seedlens_history",
    html="<span></span>",
    js="""export default () => {
      if (history.tidied) return
      history.tidied = true
      const push = history.pushState.bind(history)
      history.pushState = (state, title, url) => {
        const now = location, next = new URL(url, now.href)
        const filled = next.pathname === now.pathname && next.search && !now.search
        filled ? history.replaceState(state, title, url) : push(state, title, url)
      }
    }""",
)


def tidy_history() -> None:
    """Let Back leave a page that the menu opened at the first click.

    The menu opens a page without parameters. The page then says in its address what it shows,
    which would be an entry of its own, and going back would only open the same page again.
    """
    with st.container(key="history_keeper"):
        _TIDY(key="tidy_history")
