"""Compare: what a change of words changes in the ranking."""

from __future__ import annotations

import streamlit as st

from engine.errors import SeedLensError
from pages._common.kit import dim
from pages._common.shared import error_boundary, show_error
from pages._common.state import open_page
from pages._compare import compare_page, sections
from pages._compare.collection import whole_collection
from pages._compare.compare_state import ComparePage, open_view

with open_page("compare_page.css") as (explorer, names):
    view, by_model = compare_page.open_reading(explorer, open_view(explorer, names))
    page = ComparePage(explorer, view, names)
    comparison = problem = None
    run = compare_page.ModelRun(page)
    try:
        comparison = page.compared()
        run = compare_page.open_run(page)
    except SeedLensError as error:
        problem = error
    if view.present and comparison is not None:
        with error_boundary():
            sections.presented(page, compare_page.in_order(run, comparison))
    else:  # without st.stop: Streamlit would keep the values of widgets that are not shown
        dim("See how instructions and systems change rankings for one seed, or a collection.")
        left, right = st.columns([4, 8], gap="medium")
        with left, st.container(key="compare_left"), error_boundary():
            compare_page.left_column(page, comparison, by_model)
            compare_page.model_controls(run)
        with right, error_boundary():
            shown = comparison and compare_page.in_order(run, comparison)
            sections.heading(page, shown)
            if view.show == "collection":
                whole_collection(page)
            elif problem is not None:
                show_error(problem)
            elif comparison is not None and shown is not None:
                with st.container(key="compare_run", gap="small"), error_boundary():
                    compare_page.run_area(run)
                changes = compare_page.changes(comparison, shown, run)
                sections.all_sections(page, shown, changes)
