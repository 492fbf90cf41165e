"""Compare: what a change of words changes in the ranking."""

from __future__ import annotations

import streamlit as st

from engine.errors import SeedLensError
from pages._common.shared import error_boundary, show_error, show_problem
from pages._compare import (
    compare_model,
    compare_page,
    compare_reading,
    compare_session,
    sections,
)
from pages._compare.collection import whole_collection
from pages._explore.first_visit import open_page

with error_boundary():
    explorer, names = open_page("compare_page.css")
    with st.container():
        show_problem()
    view = compare_page.open_view(explorer, names)
    lens = explorer.library.lens(view.corpus)
    view, by_model = compare_reading.open_reading(explorer, view, lens)
    comparison = problem = None
    run = compare_model.no_run(explorer)
    try:
        asked = compare_session.asked(explorer, view)
        stamp = compare_session.stamp(explorer, view, lens)
        comparison = compare_session.compared(explorer, asked, stamp)
        run = compare_model.open_run(explorer, view, asked, stamp)
    except SeedLensError as error:
        problem = error
    left, right = st.columns([4, 8], gap="medium")
    with left, st.container(key="compare_left"), error_boundary():
        models = [one.model if one.in_use else "" for one in by_model]
        compare_page.left_column(explorer, view, names, lens, comparison, models)
        compare_reading.reading_control(explorer, view, by_model)
        compare_model.model_controls(explorer, view, run)
    with right, error_boundary():
        shown = compare_model.shown(explorer, view, run, comparison)
        show = sections.heading(explorer, view, shown)
        if show == "collection":
            whole_collection(explorer, view)
        elif problem is not None:
            show_error(problem)
        elif comparison is not None and shown is not None:
            with st.container(key="compare_run", gap="small"), error_boundary():
                compare_model.run_area(explorer, run)
            changes = compare_model.changes(comparison, shown, run)
            sections.all_sections(explorer, view, shown, lens, asked, stamp, changes)
