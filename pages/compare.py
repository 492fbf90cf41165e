"""Compare: what a change of words changes in the ranking."""

from __future__ import annotations

import streamlit as st

from engine.errors import SeedLensError
from pages import _compare, _compare_engine, _compare_sections
from pages._compare_collection import whole_collection
from pages._first_visit import wait_for_demo
from pages._shared import ASSETS, engine, error_boundary, show_error, show_problem

with error_boundary():
    st.html(ASSETS / "components" / "compare_page.css")
    explorer = engine()
    names = explorer.library.names()
    wait_for_demo(explorer, names)
    show_problem()
    view = _compare.open_view(explorer, names)
    lens = explorer.library.lens(view.corpus)
    comparison = problem = None
    try:
        asked = _compare_engine.asked(explorer, view)
        stamp = _compare_engine.stamp(explorer, view, lens)
        comparison = _compare_engine.compared(explorer, asked, view.variants, stamp)
    except SeedLensError as error:
        problem = error
    left, right = st.columns([4, 8], gap="medium")
    with left, st.container(key="compare_left"), error_boundary():
        _compare.left_column(explorer, view, names, lens, comparison)
    with right, error_boundary():
        show = _compare_sections.heading(explorer, view, comparison)
        if show == "collection":
            whole_collection(explorer, view)
        elif problem is not None:
            show_error(problem)
        elif comparison is not None:
            _compare_sections.all_sections(explorer, view, comparison, lens, asked, stamp)
