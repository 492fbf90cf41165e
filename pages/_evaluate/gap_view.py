"""The retrieval-verification gap on the Evaluate page: its controls, the run, and the result."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.evaluations import CollectionInfo
from engine.types.reranking import CostEstimate, Gap, GapJob, GapRecord
from pages._common.components import chart, dark
from pages._common.shared import attempt, engine, error_boundary, escape_label, note
from pages._evaluate.controls import choose_collection, common_change, seeds_box
from pages._evaluate.evaluate_model import calls_box, connected, model_row, most_calls
from pages._evaluate.evaluate_page import DRAWN_BUSY, FORMER
from pages._evaluate.evaluate_tables import table
from pages._evaluate.evaluate_view import EvaluateView, of_gap, sizes_of, write_view
from pages._evaluate.gap_charts import gap_chart
from pages._evaluate.gap_tables import (
    DEFINITIONS,
    point_columns,
    point_rows,
    retriever_rows,
    verdict,
)
from pages._library.import_jobs import time_left
from pages._model.model_form import report_line
from pages._model.model_settings import chosen


def controls(
    explorer: Explorer,
    view: EvaluateView,
    info: CollectionInfo,
    collections: Sequence[CollectionInfo],
) -> None:
    """Which gap to measure, what that costs, and the button that does it."""
    change = partial(_change, view)
    choose_collection(view, collections, change)
    state, modes = st.session_state, explorer.verifier.modes
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
    write_view(new)


def _estimate(explorer: Explorer, view: EvaluateView, info: CollectionInfo) -> CostEstimate | None:
    """What it will cost at most; None where there is nothing to measure."""
    if info.problem or not view.retrievers:
        return None
    with error_boundary():
        return explorer.trials.estimate_gap(view.gap_request(info), endpoint=chosen(explorer))
    return None


def _button(
    explorer: Explorer, view: EvaluateView, info: CollectionInfo, estimate: CostEstimate | None
) -> None:
    trials = explorer.trials
    job = trials.gap_job(info.key)

    def run() -> None:
        write_view(replace(view, model=""))
        trials.start_gap(view.gap_request(info), endpoint=chosen(explorer), most_calls=most_calls())

    lacking = not connected(explorer)
    busy = st.session_state[DRAWN_BUSY] = job is not None and job.state == "running"
    st.button(
        "Measure", key="evaluate_gap_run", type="primary", on_click=attempt, args=(run,),
        disabled=estimate is None or lacking or busy,
        help="Connect a language model first." if lacking else None,
    )  # fmt: skip


def results(explorer: Explorer, view: EvaluateView, info: CollectionInfo) -> None:
    """The gap, or how far it is, or what to do to get it; then those of former times."""
    if not view.retrievers:
        st.html('<div class="sl-empty">Choose at least one retriever.</div>')
        return
    trials = explorer.trials
    request = trials.checked_gap(view.gap_request(info))
    job = trials.gap_job(info.key)
    former = trials.gaps(info.key)
    found = trials.gap(request, view.model or connected(explorer) or _latest(former, view, info))
    if job is not None and job.state == "running":
        st.fragment(_progress, run_every=0.5)(info.key)
    elif st.session_state.get(DRAWN_BUSY):
        st.rerun()  # it ended while the page was drawn: the button above is out of date
    elif job is not None and job.request == request and (job.error or job.state == "cancelled"):
        _ended(job)
    if job is not None and job.request == request and found is None:
        found = job.gap
    if found is not None:
        with error_boundary():
            _gap(explorer, found)
    elif job is None or job.state != "running":
        st.html(
            '<div class="sl-empty">This gap was not measured yet. A language model ranks what the '
            "retrievers bring up, at every pool size; press Measure. It goes on when you leave "
            "the page, and its result stays.</div>"
        )
    _former(former, view)


def _latest(former: Sequence[GapRecord], view: EvaluateView, info: CollectionInfo) -> str:
    """Whose gap to show while no model is connected: the latest of these settings."""
    asked_for = engine().trials.checked_gap(view.gap_request(info))
    return next((record.model for record in former if record.request == asked_for), "")


def _progress(collection: str) -> None:
    trials = engine().trials
    job = trials.gap_job(collection)
    if job is None or job.state != "running":
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(job.share, text=escape_label(progress_line(job)))
        st.button(
            "Cancel", key="evaluate_gap_cancel", on_click=trials.cancel_gap, args=(job.id,),
            help="Every answer of the model is kept: Measure goes on from there.",
        )  # fmt: skip
    if job.report is not None:
        st.html(f'<div class="md-line md-quiet">{report_line(job.report)}</div>')


def progress_line(job: GapJob) -> str:
    """What, how far, how long, in one line."""
    parts = [job.step]
    if job.at_most:
        parts.append(f"{job.done:,} of {job.total:,} pools")
        parts.append(f"{job.settled:,} of {job.at_most:,} questions at most")
    else:
        parts.append(f"{job.done:,} of {job.total:,} rankings")
    left = time_left(job.seconds_left) if job.seconds > 1 else ""
    return " · ".join([*parts, *([left] if left else []), job.request.collection])


def _ended(job: GapJob) -> None:
    kept = "Every answer of the model is kept; Measure goes on from there."
    if job.state == "failed":
        note(job.error, f"{job.remedy} {kept}", kind="error")
    else:
        note("The measurement was cancelled.", kept)


def _gap(explorer: Explorer, found: Gap) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header("Retrieval–verification gap", anchor=False)
        _definitions()
        _take_home(explorer, found)
    for sentence in found.notes:
        note(sentence)
    if found.report.stopped:
        note("This is what there is so far.", found.report.problem)
    st.html(f'<p class="sl-gap-verdict">{html.escape(verdict(found))}</p>')
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


def _definitions() -> None:
    with st.popover("What this means", type="tertiary"):
        lines = "".join(
            f"<dt><strong>{html.escape(name)}</strong></dt>"
            f'<dd style="margin:0 0 .5rem">{html.escape(words)}</dd>'
            for name, words in DEFINITIONS.items()
        )
        st.html(f'<dl style="max-width:60ch">{lines}</dl>')


def _take_home(explorer: Explorer, found: Gap) -> None:
    with st.popover("Take home"):
        _download("Gap (CSV)", lambda: str(point_rows(found, plain=True).to_csv(index=False)),
                  "gap.csv")  # fmt: skip
        _download("Everything (JSON)", lambda: explorer.trials.report(found), "gap.json")
        st.caption("The chart has its own buttons for SVG and PNG; the address is the link.")


def _download(name: str, data: Callable[[], str], file: str) -> None:
    st.download_button(
        name, data=lambda: data().encode(), file_name=f"seedlens-{file}", key=f"evaluate_dl_{file}",
        mime="text/plain", on_click="ignore", width="stretch", type="tertiary",
    )  # fmt: skip


def _former(former: Sequence[GapRecord], view: EvaluateView) -> None:
    if not former:
        return
    with st.expander(f"Former gaps ({len(former)})", type="compact"), error_boundary():
        for number, record in enumerate(former[:FORMER]):
            st.button(
                escape_label(record_line(record)), key=f"evaluate_former_gap_{number}",
                type="tertiary", on_click=write_view, args=(of_gap(view, record),),
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
