"""The retrieval-verification gap on the Evaluate page: its controls, the run, and the result."""

from __future__ import annotations

from functools import partial

import streamlit as st

from engine.explorer import Explorer
from engine.types.models import Estimate
from engine.types.reranking import Gap, GapRecord
from pages._common.charts import frame_csv
from pages._common.job_words import report_line
from pages._common.outside_text import escape
from pages._common.shared import error_boundary, note, system_label
from pages._common.state import control
from pages._common.tables import frame_chart, table
from pages._evaluate.evaluate_charts import gap_chart, gap_frame
from pages._evaluate.evaluate_page import (
    DRAWN_BUSY,
    MOST,
    choose_collection,
    empty,
    measuring,
    model_row,
    previous_runs,
    run_button,
    seeds_box,
)
from pages._evaluate.evaluate_results import definitions, download
from pages._evaluate.evaluate_state import EvaluatePage, moment, of_gap, seeds_of, sizes_of
from pages._evaluate.evaluate_tables import (
    GAP_TERMS,
    gap_verdict,
    point_columns,
    point_rows,
    retriever_rows,
)
from pages._login import login
from pages._model.model_form import calls_box, most_calls
from pages._model.model_settings import chosen, usable


def controls(page: EvaluatePage) -> None:
    """Which gap to measure, what that costs, and the button that does it."""
    explorer, view, info = page.explorer, page.view, page.info
    choose_collection(page)
    modes = explorer.rerank_modes
    left, middle, right = st.columns([6, 3, 3])
    retrievers = dict.fromkeys([*explorer.systems_of(info.corpus), *view.retrievers])
    control(
        *(view, "retrievers", left.multiselect, "Retrievers", retrievers),
        format_func=system_label,
        help="Candidates come from all of them; the verifier is compared with the best one alone.",
    )
    control(
        *(view, "verifier", middle.selectbox, "Verifier", list(modes)),
        help="How the model ranks a pool. "
        + " ".join(f"**{name}**: {words}" for name, words in modes.items()),
    )
    control(
        *(view, "sizes", right.text_input, "Pool sizes"),
        shown=", ".join(map(str, view.sizes)),
        read=sizes_of,
        help="Candidates per query, separated by commas.",
    )
    estimate = _estimate(page)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        seeds_box(page)
        calls_box(explorer, MOST)

        def run() -> None:
            request = page.renewed().gap_request
            explorer.gaps.start(request, chosen(explorer), most_calls(MOST), login.owner())

        ready, lacks_model = estimate is not None, not page.connected
        job, key = explorer.gaps.job(info.key), "evaluate_gap_run"
        run_button(page, "Measure", key, run, job, ready=ready, lacks_model=lacks_model)
    if estimate is not None:
        model_row(page, estimate)


def _estimate(page: EvaluatePage) -> Estimate | None:
    """What it will cost at most; None where there is nothing to measure."""
    if page.info.problem or not page.view.retrievers:
        return None
    with error_boundary():
        return page.explorer.gaps.estimate(page.gap_request, endpoint=usable(page.explorer))
    return None


def results(page: EvaluatePage) -> None:
    """The gap, or how far it is, or what to do to get it; then those of previous runs."""
    view, info, gaps = page.view, page.info, page.explorer.gaps
    if not view.retrievers:
        empty("Choose at least one retriever.")
        return
    request = gaps.checked(page.gap_request)
    job, records = gaps.job(info.key), gaps.history(info.key)
    latest = next((record.model for record in records if record.request == request), "")
    gap = gaps.find(request, view.model or page.connected or latest)
    running, own = job is not None and job.running, job is not None and job.request == request
    if not running and st.session_state.get(DRAWN_BUSY):
        st.rerun()  # it ended while the page was drawn: the button above is out of date
    if job is not None and (running or (own and job.state != "done")):
        measuring(gaps, info.key, "evaluate_gap").card(resume=False)
    if job is not None and own and job.report is not None:
        gap = gap or job.report.result
    if gap is not None:
        with error_boundary():
            _gap(page.explorer, gap)
    elif not running:
        empty(
            "Not measured yet. A language model ranks the retrieved pool at every size. Press "
            "Measure; it runs in the background."
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
    words, frame = gap_verdict(gap), gap_frame(gap)
    st.html(f'<p class="sl-gap-verdict">{escape(words)}</p>')
    alt = f"{gap.measure} and gap at every pool size"
    table(point_rows(gap), "evaluate_gap_points", alt, point_columns(), most=20)
    st.html(f'<div class="md-line md-quiet">{report_line(gap.report)}</div>')
    with st.container(key="evaluate_pair_gap"):
        left, right = st.columns([8, 4], gap="medium")
        with left:
            title = f"Retrieval–verification gap: {gap.collection}"
            frame_chart(
                *(frame, partial(gap_chart, gap=gap), "gap", title, words),
                alt=f"{gap.measure} of the verifier against pool size, lower and upper bound, and "
                "of every retriever alone",
                key="evaluate_gap_chart",
            )
        with right:
            st.subheader("Retrievers alone", anchor=False)
            alt = f"{gap.measure} of every retriever without the verifier"
            table(retriever_rows(gap), "evaluate_gap_retrievers", alt)


@st.fragment
def _export(explorer: Explorer, gap: Gap) -> None:
    popover = st.popover("Export", key="evaluate_gap_export", on_change="rerun")
    if popover.open:
        with popover:
            download("Gap (CSV)", lambda: frame_csv(point_rows(gap, plain=True)), "gap.csv")
            download("Everything (JSON)", lambda: explorer.gaps.to_json(gap), "gap.json")
            st.caption(
                "The chart menu exports SVG, PNG and CSV. Copy the address to share this page."
            )


def record_line(record: GapRecord) -> str:
    """When, how it was asked, and how wide it is."""
    request, (low, high) = record.request, record.bounds
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
