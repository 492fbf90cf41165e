"""Ask: a question, answered from the documents of a corpus, with the passages it rests on."""

from __future__ import annotations

import streamlit as st

from pages._ask import answer, ask_page
from pages._common.shared import error_boundary
from pages._common.state import open_page

with open_page("ask_page.css") as (explorer, names):
    view = ask_page.open_view(explorer, names)
    job = ask_page.shown_job(explorer)
    left, right = st.columns([4, 8], gap="medium")
    with left, st.container(key="ask_left"), error_boundary():
        ask_page.controls(explorer, view, names, job)
    with right, st.container(key="ask_right"), error_boundary():
        answer.answer(explorer, view, job)
