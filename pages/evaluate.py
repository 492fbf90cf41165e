"""Evaluate: how systems do on a test collection, and how sure that is."""

from __future__ import annotations

import streamlit as st

from pages._common.kit import dim, empty
from pages._common.shared import error_boundary
from pages._common.state import open_page
from pages._evaluate import evaluate_page, evaluate_results
from pages._evaluate.evaluate_state import open_view

with open_page("evaluate_page.css") as (explorer, _):
    dim("Measure systems, and runs of your own, on judged queries.")
    collections = explorer.collections.all()
    if not collections:
        empty(
            "No collection with judgments. Import one on the Library page (CSFCube, BEIR, "
            "ImpliRet, or a folder with topics.jsonl and qrels.txt), or upload judgments below."
        )
        evaluate_results.own_files(explorer, collections)
    else:
        page = open_view(explorer, collections)
        with st.container(key="evaluate_controls"):
            evaluate_page.controls(page)
        evaluate_page.about(page.info)
        if not page.info.problem:
            with error_boundary():
                show = (
                    evaluate_results.gap_results
                    if page.gap
                    else evaluate_results.evaluation_results
                )
                show(page)
        if not page.gap:
            if not page.info.problem:
                evaluate_page.history(page)
            evaluate_results.own_files(explorer, collections)
        evaluate_results.sql_panel(explorer, page.info.corpus)
