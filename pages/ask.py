"""Ask: a question, answered from the documents of a corpus, with the passages it rests on."""

from __future__ import annotations

import streamlit as st

from pages._ask import answer, ask_page
from pages._common.shared import ASSETS, engine, error_boundary, show_problem
from pages._explore.first_visit import wait_for_demo
from pages._model.model_form import apply_model_style

with error_boundary():
    apply_model_style()
    st.html(ASSETS / "components" / "ask_page.css")
    explorer = engine()
    names = explorer.library.names()
    wait_for_demo(explorer, names)
    show_problem()
    view = ask_page.open_view(explorer, names)
    job = ask_page.last_job(explorer)
    left, right = st.columns([4, 8], gap="medium")
    with left, st.container(key="ask_left"), error_boundary():
        ask_page.controls(explorer, view, names, job)
    with right, st.container(key="ask_right"), error_boundary():
        answer.answer(explorer, job)
