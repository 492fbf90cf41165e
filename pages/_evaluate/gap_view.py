"""The retrieval-verification gap on the Evaluate page: its controls, the run, and the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from engine.explorer import Explorer
from engine.types.evaluations import CollectionInfo
from engine.types.models import Estimate
from engine.types.reranking import Gap, GapRecord
from pages._common.components import chart
from pages._common.figure_file import FigureFile
from pages._common.job_words import report_line
from pages._common.outside_text import escape
from pages._common.shared import error_boundary, note, system_label
from pages._evaluate.controls import (
    MOST,
    choose_collection,
    model_row,
    run_button,
    seeds_box,
)
from pages._evaluate.evaluate_charts import gap_chart, gap_rows
from pages._evaluate.evaluate_page import (
    DRAWN_BUSY,
    connected,
    measuring,
    moment,
    previous_runs,
    seeds_of,
)
from pages._evaluate.evaluate_results import definitions, download, to_csv
from pages._evaluate.evaluate_tables import (
    GAP_TERMS,
    gap_verdict,
    point_columns,
    point_rows,
    retriever_rows,
    table,
)
from pages._evaluate.evaluate_url import EvaluateView, of_gap, sizes_of
from pages._login import login
from pages._model.model_form import calls_box, most_calls
from pages._model.model_settings import chosen, usable


def controls(
    explorer: Explorer,
    view: EvaluateView,
    info: CollectionInfo,
    collections: Sequence[CollectionInfo],
) -> None:
    """Which gap to measure, what that costs, and the button that does it."""
    choose_collection(view, collections)
    modes = explorer.rerank_modes
    retrievers = dict.fromkeys([*explorer.systems_of(info.corpus), *view.retrievers])
    left, middle, right = st.columns([6, 3, 3])
    left.multiselect(
        "Retrievers",
        retrievers,
        **view.bound("retrievers", "evaluate_retrievers", read=tuple, model=""),
        format_func=system_label,
        help="Candidates come from all of them; the verifier is compared with the best one alone.",
    )
    middle.selectbox(
        "Verifier",
        list(modes),
        **view.bound("verifier", "evaluate_verifier", model=""),
        help="How the model ranks a pool. "
        + " ".join(f"**{name}**: {words}" for name, words in modes.items()),
    )
    right.text_input(
        "Pool sizes",
        **view.bound(
            "sizes", "evaluate_sizes", ", ".join(map(str, view.sizes)), sizes_of, model=""
        ),
        help="Candidates per query, separated by commas.",
    )
    estimate = _estimate(explorer, view, info)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        seeds_box(view, info)
        calls_box(explorer, MOST)
        _measure_button(explorer, view, info, estimate)
    if estimate is not None:
        model_row(explorer, estimate)


def _estimate(explorer: Explorer, view: EvaluateView, info: CollectionInfo) -> Estimate | None:
    """What it will cost at most; None where there is nothing to measure."""
    if info.problem or not view.retrievers:
        return None
    with error_boundary():
        return explorer.gaps.estimate(view.gap_request(info), endpoint=usable(explorer))
    return None


def _measure_button(
    explorer: Explorer, view: EvaluateView, info: CollectionInfo, estimate: Estimate | None
) -> None:
    def run() -> None:
        replace(view, model="").write()
        request, model = view.gap_request(info), chosen(explorer)
        explorer.gaps.start(request, model, most_calls(MOST), login.owner())

    run_button(
        "Measure",
        "evaluate_gap_run",
        run,
        explorer.gaps.job(info.key),
        ready=estimate is not None,
        lacks_model=not connected(explorer),
    )


def results(explorer: Explorer, view: EvaluateView, info: CollectionInfo) -> None:
    """The gap, or how far it is, or what to do to get it; then those of previous runs."""
    if not view.retrievers:
        st.html('<div class="sl-empty">Choose at least one retriever.</div>')
        return
    gaps = explorer.gaps
    request = gaps.checked(view.gap_request(info))
    job, records = gaps.job(info.key), gaps.history(info.key)
    latest = next((record.model for record in records if record.request == request), "")
    gap = gaps.find(request, view.model or connected(explorer) or latest)
    running = job is not None and job.running
    panel = measuring(gaps, info.key, "evaluate_gap")
    if job is not None and job.running:
        panel.card(resume=False)
    elif st.session_state.get(DRAWN_BUSY):
        st.rerun()  # it ended while the page was drawn: the button above is out of date
    elif job is not None and job.request == request and job.state != "done":
        panel.card(resume=False)
    if job is not None and job.request == request and job.report is not None:
        gap = gap or job.report.result
    if gap is not None:
        with error_boundary():
            _gap(explorer, gap)
    elif not running:
        st.html(
            '<div class="sl-empty">Not measured yet. A language model ranks the retrieved pool at '
            "every size. Press Measure; it runs in the background.</div>"
        )
    previous_runs("evaluate_previous_gap", [(record_line(r), of_gap(view, r)) for r in records])


def _gap(explorer: Explorer, gap: Gap) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header("Retrieval–verification gap", anchor=False)
        definitions("Definitions", GAP_TERMS)
        _export(explorer, gap)
    for sentence in gap.notes:
        note(sentence)
    if gap.report.stopped:
        note("Partial result.", gap.report.problem)
    st.html(f'<p class="sl-gap-verdict">{escape(gap_verdict(gap))}</p>')
    table(
        point_rows(gap),
        "evaluate_gap_points",
        f"{gap.measure} and gap at every pool size",
        point_columns(),
        most=20,
    )
    st.html(f'<div class="md-line md-quiet">{report_line(gap.report)}</div>')
    with st.container(key="evaluate_pair_gap"):
        left, right = st.columns([8, 4], gap="medium")
        with left:
            chart(
                lambda dark: gap_chart(gap, dark=dark),
                FigureFile(
                    "gap",
                    f"Retrieval–verification gap: {gap.collection}",
                    gap_verdict(gap),
                    ["line", "pool", gap.measure, "95 % low", "95 % high"],
                    gap_rows(gap),
                ),
                alt=f"{gap.measure} of the verifier against pool size, lower and upper bound, and "
                "of every retriever alone",
                key="evaluate_gap_chart",
            )
        with right:
            st.subheader("Retrievers alone", anchor=False)
            table(
                retriever_rows(gap),
                "evaluate_gap_retrievers",
                f"{gap.measure} of every retriever without the verifier",
            )


@st.fragment
def _export(explorer: Explorer, gap: Gap) -> None:
    popover = st.popover("Export", key="evaluate_gap_export", on_change="rerun")
    if not popover.open:
        return
    with popover:
        rows = point_rows(gap, plain=True)
        download("Gap (CSV)", lambda: to_csv(rows), "gap.csv")
        download("Everything (JSON)", lambda: explorer.gaps.to_json(gap), "gap.json")
        st.caption("The chart menu exports SVG, PNG and CSV. Copy the address to share this page.")


def record_line(record: GapRecord) -> str:
    """When, how it was asked, and how wide it is."""
    request = record.request
    low, high = record.bounds
    return " · ".join(
        [
            moment(record.time),
            f"{request.verifier} by {record.model.partition(' at ')[0]}",
            ", ".join(request.systems),
            "pools " + ", ".join(map(str, request.sizes)),
            seeds_of(request.sample),
            f"gap {low:+.3f} to {high:+.3f}".replace("-", "−"),
        ]
    )
