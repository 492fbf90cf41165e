"""Compare: what a change of words changes in the ranking."""

from __future__ import annotations

import streamlit as st

from engine.errors import SeedLensError
from pages import (
    _compare,
    _compare_engine,
    _compare_model,
    _compare_progress,
    _compare_run,
    _compare_sections,
)
from pages._common.shared import ASSETS, engine, error_boundary, show_error, show_problem
from pages._compare.collection import whole_collection
from pages._explore.first_visit import wait_for_demo
from pages._model.model_form import apply_model_style

with error_boundary():
    st.html(ASSETS / "components" / "compare_page.css")
    apply_model_style()
    explorer = engine()
    names = explorer.library.names()
    wait_for_demo(explorer, names)
    with st.container():
        show_problem()
    view = _compare.open_view(explorer, names)
    lens = explorer.library.lens(view.corpus)
    comparison = problem = None
    run = _compare_run.no_run(explorer)
    try:
        asked = _compare_engine.asked(explorer, view)
        stamp = _compare_engine.stamp(explorer, view, lens)
        comparison = _compare_engine.compared(explorer, asked, view.variants, stamp)
        run = _compare_run.open_run(explorer, view, asked, stamp)
    except SeedLensError as error:
        problem = error
    left, right = st.columns([4, 8], gap="medium")
    with left, st.container(key="compare_left"), error_boundary():
        _compare.left_column(explorer, view, names, lens, comparison)
        _compare_model.model_controls(explorer, view, run)
    with right, error_boundary():
        shown = _compare_run.shown(explorer, view, run, comparison)
        show = _compare_sections.heading(explorer, view, shown)
        if show == "collection":
            whole_collection(explorer, view)
        elif problem is not None:
            show_error(problem)
        elif comparison is not None:
            with st.container(key="compare_run", gap="small"), error_boundary():
                _compare_progress.run_area(explorer, run)
            changes = _compare_run.changes(comparison, shown, run)
            _compare_sections.all_sections(explorer, view, shown, lens, asked, stamp, changes)
