"""Build: a test collection of one's own from an attribute, read and corrected between its steps."""

from __future__ import annotations

import streamlit as st

from pages._build import build_page
from pages._common.shared import ASSETS, engine, error_boundary, show_problem
from pages._explore.first_visit import wait_for_demo
from pages._model.model_form import apply_model_style

with error_boundary():
    apply_model_style()
    st.html(ASSETS / "components" / "build_page.css")
    explorer = engine()
    names = explorer.library.names()
    wait_for_demo(explorer, names)
    show_problem()
    view, build = build_page.open_view(explorer, names)
    build_page.controls(explorer, view, names)
    elsewhere = st.container()
    with error_boundary():
        build_page.show_step(explorer, view, build)
    with elsewhere:
        show_problem(None)
