"""Build: a test collection of one's own from an attribute, read and corrected between its steps."""

from __future__ import annotations

import streamlit as st

from pages._build import build_page
from pages._common.shared import error_boundary, show_problem
from pages._common.state import open_page

with open_page("build_page.css") as (explorer, names):
    view, build = build_page.open_view(explorer, names)
    build_page.controls(explorer, view, names)
    elsewhere = st.container()
    with error_boundary():
        build_page.show_step(explorer, view, build)
    with elsewhere:
        show_problem(None)
