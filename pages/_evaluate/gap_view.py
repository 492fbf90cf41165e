"""The retrieval-verification gap on the Evaluate page: its controls, the run, and the result."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.evaluations import CollectionInfo, EvaluationProgress
from engine.types.jobs import Job
from engine.types.reranking import CostEstimate, Gap, GapRecord, GapReport
from pages._common.components import chart, dark
from pages._common.job_card import job_card
from pages._common.shared import attempt, error_boundary, escape_label, note
from pages._evaluate.controls import choose_collection, common_change, seeds_box
from pages._evaluate.evaluate_charts import gap_chart
from pages._evaluate.evaluate_model import calls_box, connected, model_row, most_calls
from pages._evaluate.evaluate_page import DRAWN_BUSY, FORMER, POLL_SECONDS, progress_line
from pages._evaluate.evaluate_results import definitions, download
from pages._evaluate.evaluate_tables import (
    GAP_TERMS,
    gap_verdict,
    point_columns,
    point_rows,
    retriever_rows,
    table,
)
from pages._evaluate.evaluate_view import EvaluateView, of_gap, sizes_of
from pages._model.model_lines import report_line
from pages._model.model_settings import chosen

GapJob = Job[EvaluationProgress, GapReport]


def controls(
    explorer: Explorer,
    view: EvaluateView,
    info: CollectionInfo,
    collections: Sequence[CollectionInfo],
) -> None:
    """Which gap to measure, what that costs, and the button that does it."""
    change = partial(_change, view)
    choose_collection(view, collections, change)
    state, modes = st.session_state, explorer.rerank_modes
    state["evaluate_retrievers"] = list(view.retrievers)
    state["evaluate_verifier"] = view.verifier
    state["evaluate_sizes"] = ", ".join(map(str, view.sizes))
    retrievers = dict.fromkeys([*explorer.systems_of(info.corpus), *view.retrievers])
    left, middle, right = st.columns([6, 3, 3])
    left.multiselect(
        "Retrievers", retrievers, key="evaluate_retrievers", on_change=change,
        help="Candidates are drawn from all of them in turn; the best one alone is what the "
        "verifier is compared with.",
    )  # fmt: skip
    middle.selectbox(
        "Verifier", list(modes), key="evaluate_verifier", on_change=change,
        help="How the model ranks a pool. "
        + " ".join(f"**{name}**: {words}" for name, words in modes.items()),
    )  # fmt: skip
    right.text_input(
        "Pool sizes", key="evaluate_sizes", on_change=change,
        help="Candidates per query, separated by commas.",
    )  # fmt: skip
    estimate = _estimate(explorer, view, info)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        seeds_box(view, info, change)
        calls_box(explorer)
        _button(explorer, view, info, estimate)
    if estimate is not None:
        model_row(explorer, estimate)


def _change(view: EvaluateView) -> None:
    state = st.session_state
    new = replace(
        common_change(view),
        retrievers=tuple(state["evaluate_retrievers"]),
        verifier=state["evaluate_verifier"],
    )
    try:
        new = replace(new, sizes=sizes_of(state["evaluate_sizes"]))
    except ValueError as error:
        words = str(error)
        state["shared_problem"] = ("", SeedLensError(f"{words[0].upper()}{words[1:]}."))
    new.write()


def _estimate(explorer: Explorer, view: EvaluateView, info: CollectionInfo) -> CostEstimate | None:
    """What it will cost at most; None where there is nothing to measure."""
    if info.problem or not view.retrievers:
        return None
    with error_boundary():
        return explorer.gaps.estimate(view.gap_request(info), endpoint=chosen(explorer))
    return None


def _button(
    explorer: Explorer, view: EvaluateView, info: CollectionInfo, estimate: CostEstimate | None
) -> None:
    job = explorer.gaps.job(info.key)

    def run() -> None:
        replace(view, model="").write()
        request = view.gap_request(info)
        explorer.gaps.start(request, endpoint=chosen(explorer), most_calls=most_calls())

    lacking = not connected(explorer)
    busy = st.session_state[DRAWN_BUSY] = job is not None and job.running
    st.button(
        "Measure", key="evaluate_gap_run", type="primary", on_click=attempt, args=(run,),
        disabled=estimate is None or lacking or busy,
        help="Connect a language model first." if lacking else None,
    )  # fmt: skip


def results(explorer: Explorer, view: EvaluateView, info: CollectionInfo) -> None:
    """The gap, or how far it is, or what to do to get it; then those of previous runs."""
    if not view.retrievers:
        st.html('<div class="sl-empty">Choose at least one retriever.</div>')
        return
    gaps = explorer.gaps
    request = gaps.checked(view.gap_request(info))
    job, former = gaps.job(info.key), gaps.history(info.key)
    latest = next((record.model for record in former if record.request == request), "")
    found = gaps.find(request, view.model or connected(explorer) or latest)
    running = job is not None and job.running
    if job is not None and job.running:
        job_card(
            job, lambda: gaps.job(info.key), key="evaluate_gap", label="Gap", line=progress_line,
            cancel=gaps.jobs.cancel, border=False, poll=POLL_SECONDS,
            what_stays="Every answer of the model is kept: Measure goes on from there.",
        )  # fmt: skip
    elif st.session_state.get(DRAWN_BUSY):
        st.rerun()  # it ended while the page was drawn: the button above is out of date
    elif job is not None and job.request[0] == request:
        _ended(job)
    if job is not None and job.request[0] == request and job.report is not None:
        found = found or job.report.gap
    if found is not None:
        with error_boundary():
            _gap(explorer, found)
    elif not running:
        st.html(
            '<div class="sl-empty">This gap was not measured yet. A language model ranks what the '
            "retrievers bring up, at every pool size; press Measure. It goes on when you leave "
            "the page, and its result stays.</div>"
        )
    _former(former, view)


def _ended(job: GapJob) -> None:
    kept = "Every answer of the model is kept; Measure goes on from there."
    if job.state == "failed":
        note(job.error, f"{job.remedy} {kept}", kind="error")
    elif job.state == "cancelled":
        note("The measurement was cancelled.", kept)


def _gap(explorer: Explorer, found: Gap) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header("Retrieval–verification gap", anchor=False)
        definitions("What this means", GAP_TERMS)
        _export(explorer, found)
    for sentence in found.notes:
        note(sentence)
    if found.report.stopped:
        note("This is what there is so far.", found.report.problem)
    st.html(f'<p class="sl-gap-verdict">{html.escape(gap_verdict(found))}</p>')
    table(
        point_rows(found), "evaluate_gap_points", f"{found.measure} and gap at every pool size",
        point_columns(), most=20,
    )  # fmt: skip
    st.html(f'<div class="md-line md-quiet">{report_line(found.report)}</div>')
    with st.container(key="evaluate_pair_gap"):
        left, right = st.columns([8, 4], gap="medium")
        with left:
            chart(
                gap_chart(found, dark=dark()),
                name="gap",
                alt=f"{found.measure} of the verifier against pool size, as found and with what "
                "is missing put in, and of every retriever alone",
                key="evaluate_gap_chart",
            )
        with right:
            st.subheader("Retrievers alone", anchor=False)
            table(
                retriever_rows(found), "evaluate_gap_retrievers",
                f"{found.measure} of every retriever without the verifier",
                {"95 % interval": st.column_config.TextColumn(width=118)},
            )  # fmt: skip


def _export(explorer: Explorer, found: Gap) -> None:
    with st.popover("Export"):
        rows = point_rows(found, plain=True)
        download("Gap (CSV)", lambda: str(rows.to_csv(index=False)), "gap.csv")
        download("Everything (JSON)", lambda: explorer.gaps.to_json(found), "gap.json")
        st.caption("The chart has its own buttons for SVG and PNG; the address is the link.")


def _former(former: Sequence[GapRecord], view: EvaluateView) -> None:
    if not former:
        return
    with st.expander(f"Previous runs ({len(former)})", type="compact"), error_boundary():
        for number, record in enumerate(former[:FORMER]):
            st.button(
                escape_label(record_line(record)), key=f"evaluate_former_gap_{number}",
                type="tertiary", on_click=of_gap(view, record).write,
            )  # fmt: skip


def record_line(record: GapRecord) -> str:
    """When, how it was asked, and how wide it is."""
    asked_for = record.request
    when = datetime.fromisoformat(record.time).astimezone()
    low, high = record.bounds
    return " · ".join(
        [
            f"{when:%Y-%m-%d %H:%M}",
            f"{asked_for.verifier} by {record.model.partition(' at ')[0]}",
            ", ".join(asked_for.systems),
            "pools " + ", ".join(map(str, asked_for.sizes)),
            f"{asked_for.sample} seeds" if asked_for.sample else "all seeds",
            f"gap {low:+.3f} to {high:+.3f}".replace("-", "−"),
        ]
    )
