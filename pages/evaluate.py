"""Evaluate: how systems do on a test collection, and how sure that is."""

from __future__ import annotations

import streamlit as st

from pages import (
    _evaluate,
    _evaluate_controls,
    _evaluate_files,
    _evaluate_gap,
    _evaluate_results,
)
from pages._common.shared import ASSETS, engine, error_boundary, show_problem
from pages._explore.first_visit import wait_for_demo

with error_boundary():
    st.html(ASSETS / "components" / "evaluate_page.css")
    explorer = engine()
    wait_for_demo(explorer, explorer.library.names())
    show_problem()
    collections = explorer.laboratory.collections()
    if not collections:
        _evaluate.nothing_to_evaluate()
    else:
        view, info = _evaluate.open_view(explorer, collections)
        gap = view.part == "gap"
        with st.container(key="evaluate_controls"):
            if gap:
                _evaluate_gap.controls(explorer, view, info, collections)
            else:
                _evaluate_controls.controls(explorer, view, info, collections)
        _evaluate.about(info)
        if info.problem:
            _evaluate.broken(info)
        elif gap:
            with error_boundary():
                _evaluate_gap.results(explorer, view, info)
        else:
            with error_boundary():
                found = _evaluate.answered(explorer, view, info)
                if found is not None:
                    _evaluate_results.results(explorer, view, info, found)
            _evaluate.history(explorer, view, info)
    if not collections or view.part == "systems":
        _evaluate_files.own_files(explorer, collections)
