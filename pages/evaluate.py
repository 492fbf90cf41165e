"""Evaluate: how systems do on a test collection, and how sure that is."""

from __future__ import annotations

import streamlit as st

from pages._common.shared import error_boundary, show_problem
from pages._evaluate import controls, evaluate_page, evaluate_results, files, gap_view, sql_panel
from pages._explore.first_visit import open_page

with error_boundary():
    explorer, _ = open_page("evaluate_page.css")
    show_problem()
    collections = explorer.collections.all()
    if not collections:
        evaluate_page.nothing_to_evaluate()
    else:
        view, info = evaluate_page.open_view(explorer, collections)
        gap = view.part == "gap"
        with st.container(key="evaluate_controls"):
            if gap:
                gap_view.controls(explorer, view, info, collections)
            else:
                controls.controls(explorer, view, info, collections)
        evaluate_page.about(info)
        if info.problem:
            evaluate_page.broken(info)
        elif gap:
            with error_boundary():
                gap_view.results(explorer, view, info)
        else:
            with error_boundary():
                evaluation = evaluate_page.answered(explorer, view, info)
                if evaluation is not None:
                    evaluate_results.results(explorer, view, info, evaluation)
            evaluate_page.history(explorer, view, info)
    if not collections or view.part == "systems":
        files.own_files(explorer, collections)
    if collections:
        sql_panel.sql_panel(explorer, info.corpus)
