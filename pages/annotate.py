"""Annotate: judgments, one key each, and what comes of them."""

from __future__ import annotations

import streamlit as st

from pages import _annotate
from pages._common.shared import ASSETS, engine, error_boundary, show_problem
from pages._explore.first_visit import wait_for_demo

with error_boundary():
    st.html(ASSETS / "components" / "annotate_page.css")
    explorer = engine()
    names = explorer.library.names()
    wait_for_demo(explorer, names)
    show_problem()
    view = _annotate.open_view(explorer, names)
    view, project = _annotate.controls(explorer, view, names)
    with error_boundary():
        _annotate.show_part(explorer, view, project)
