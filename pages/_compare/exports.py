"""What can be taken home from a comparison: ranks, runs, and the link."""

from __future__ import annotations

import csv
import io

import streamlit as st

from engine.explorer import Explorer
from engine.types.comparisons import Comparison
from pages._compare.compare_view import CompareView


def exports(explorer: Explorer, view: CompareView, comparison: Comparison) -> None:
    """The ranks, the runs, and the link."""
    with st.popover("Export", width="stretch"):
        st.download_button(
            "Ranks (CSV)",
            data=lambda: ranks_csv(explorer, comparison).encode(),
            file_name="seedlens-ranks.csv",
            mime="text/csv",
            key="compare_csv",
            on_click="ignore",
            width="stretch",
        )
        st.download_button(
            "Rankings (TREC runs)",
            data=lambda: explorer.comparing.runs(comparison).encode(),
            file_name="seedlens-variants.run",
            mime="text/plain",
            key="compare_runs",
            on_click="ignore",
            width="stretch",
        )
        st.caption("This page as a link: copy it from the address bar; it restores everything.")
        if view.text_id or "stored" in st.query_params:
            st.caption("It names texts that are stored here, so it opens only with this home.")


def ranks_csv(explorer: Explorer, comparison: Comparison) -> str:
    """doc_id, title, and the rank under each variant; empty where a ranking does not reach."""
    opened = explorer.library.open(comparison.corpus)
    places = [{d: i for i, d in enumerate(v.ranking.doc_ids, start=1)} for v in comparison.variants]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["doc_id", "title", *(v.variant.name for v in comparison.variants)])
    for doc_id in dict.fromkeys(d for place in places for d in place):
        title = opened.titles[opened.row_of[doc_id]]
        writer.writerow([doc_id, title, *(place.get(doc_id, "") for place in places)])
    return out.getvalue()
