"""Annotate: judgments, one key each, and what comes of them."""

from __future__ import annotations

import streamlit as st

from pages._annotate import annotate_page
from pages._common.shared import ASSETS, engine, error_boundary, show_problem
from pages._explore.first_visit import wait_for_demo

with error_boundary():
    st.html(ASSETS / "components" / "annotate_page.css")
    explorer = engine()
    names = explorer.library.names()
    wait_for_demo(explorer, names)
    show_problem()
    view = annotate_page.open_view(explorer, names)
    view, project = annotate_page.controls(explorer, view, names)
    with error_boundary():
        annotate_page.show_part(explorer, view, project)
