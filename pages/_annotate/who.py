"""The field for one's name, where no login says it, and the browser that keeps it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages._annotate.annotate_view import COOKIE, was_named
from pages._common.shared import attempt

_KEEPER = st.components.v2.component(
    "seedlens_name",
    html="<span></span>",
    js="""export default ({ data }) => {
      const year = 365 * 24 * 3600
      const kept = `${data.cookie}=${encodeURIComponent(data.name)}`
      document.cookie = `${kept}; path=/; max-age=${year}; SameSite=Strict`
    }""",
)


def name_field(label: str, who: str, key: str, change: Callable[[], None]) -> None:
    """A field for one's name. A name given on this visit is kept for the next one."""
    st.session_state[key] = who
    st.text_input(
        label, key=key, on_change=attempt, args=(change,), width=160,
        help="A name, not a secret. It goes with all that you judge or change, and this browser "
        "keeps it.",
    )  # fmt: skip
    if was_named():
        with st.container(key="who_keeper"):
            _KEEPER(key=f"{key}_keeper", data={"cookie": COOKIE, "name": who})
