"""Ask: a question, answered from the documents of a corpus, with the passages it rests on."""

from __future__ import annotations

import streamlit as st

from pages._ask import ask_page
from pages._common.kit import purpose
from pages._common.shared import error_boundary
from pages._common.state import open_page

with open_page("ask_page.css") as (explorer, names):
    purpose("Get an answer from the documents of a corpus, with the passages that support it.")
    view, thread = ask_page.open_view(explorer, names)
    left, right = st.columns([8, 4], gap="large")
    with left, st.container(key="ask_thread"), error_boundary():
        ask_page.show_thread(explorer, view, thread)
    with left, st.container(key="ask_box"), error_boundary():
        ask_page.box(explorer, view, thread[-1] if thread else None)
    with left, error_boundary():
        if not thread:
            ask_page.examples(explorer, view)
    with right, st.container(key="ask_settings"), error_boundary():
        ask_page.settings(explorer, view, names)
