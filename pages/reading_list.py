"""Reading list: kept documents of all corpora in lists, each with its evidence and a note."""

from __future__ import annotations

import streamlit as st

from pages import _reading_list
from pages._common.kit import el
from pages._common.page import open_page
from pages._common.shared import error_boundary, show_problem

with error_boundary():
    explorer, _ = open_page("reading_list_page.css")
    if target := st.session_state.pop(_reading_list.GO, None):
        target.go()
    with st.container():
        show_problem()
    st.html(el("p.sl-facts", "Documents that you kept: sort, tag, annotate and export them."))
    page = _reading_list.open_list(explorer)
    left, right = st.columns([1, 3], gap="large")
    with left, st.container(key="reading_lists"):
        _reading_list.choose_list(page)
    with right, error_boundary():
        _reading_list.show_list(page)
