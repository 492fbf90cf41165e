"""The sensitivity of systems to the wording over all judged seeds, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.comparisons import Sensitivity, SensitivityJob
from pages._common.job_card import JobCard
from pages._common.job_words import joined, time_left
from pages._common.outside_text import escape
from pages._common.shared import attempt, download, engine, error_boundary, note, show_error
from pages._compare.compare_tables import collection_tables, matrix_csv, paper_table, table_csv
from pages._compare.compare_url import CompareView
from pages._login import login

SYSTEMS = ("aspect", "instructed", "dense")
WORDINGS = tuple(name for name in Explorer.wording_sets if name != "reverse")
"""Compared unless somebody says otherwise. SICR and WISE need the reverse, shown or not."""


def whole_collection(explorer: Explorer, view: CompareView) -> None:
    """Choose what to compare, start the table, watch it grow, read it."""
    try:
        collection = explorer.comparing.collection(view.corpus)
    except SeedLensError as error:
        show_error(error)
        paper_table()
        return
    pairs = sum(bool(t.aspect and t.seed) for t in collection.topics)
    st.html(
        f'<h3>{escape(collection.name)}</h3><div class="cmp-dim">All {pairs} pairs of seed and '
        "aspect, every variant, every system. Systems get the instruction only, not the "
        "aspect.</div>"
    )
    systems, sets = _asked_of(explorer, view)
    job = explorer.comparing.find_sensitivity(view.corpus, systems, sets)
    _choices(explorer, systems, sets, disabled=job is not None and job.running)
    if job is not None and job.running:
        _progress(job)
    elif job is not None and job.report is not None:
        with error_boundary():
            _downloads(explorer, job.report)
            collection_tables(job.report)
    else:
        _start_button(explorer)
        if job is not None and job.state == "cancelled":
            note("Cancelled. No results saved.")
        elif job is not None:
            note(f"The table was not finished. {job.error}", job.remedy, kind="error")
    paper_table()


def _asked_of(explorer: Explorer, view: CompareView) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Systems and sets of wordings that the view asks for, in the order of the engine."""
    systems = view.systems or SYSTEMS
    sets = view.wordings or WORDINGS
    return (
        tuple(s for s in explorer.systems if s in systems),
        tuple(s for s in explorer.wording_sets if s in sets),
    )


def _choices(
    explorer: Explorer, systems: Sequence[str], sets: Sequence[str], *, disabled: bool
) -> None:
    def choose(field: str) -> None:
        chosen = tuple(st.session_state[f"compare_{field}"])
        change: dict[str, Any] = {field: chosen}
        # Without any there would be nothing to compute: the last one stays.
        CompareView.change(lambda now: replace(now, **change) if chosen else now)

    st.session_state.update(compare_systems=list(systems), compare_wordings=list(sets))
    st.pills(
        "Systems", explorer.systems, selection_mode="multi", key="compare_systems",
        on_change=attempt, args=(lambda: choose("systems"),), disabled=disabled,
    )  # fmt: skip
    st.pills(
        "Variants", explorer.wording_sets, selection_mode="multi", key="compare_wordings",
        on_change=attempt, args=(lambda: choose("wordings"),), disabled=disabled,
        help="RBO, tau and overlap: compared with base. SICR and WISE: with no instruction and "
             "reverse.",
    )  # fmt: skip


def _start_button(explorer: Explorer) -> None:
    def start() -> None:
        def asked(now: CompareView) -> CompareView:
            systems, wordings = _asked_of(explorer, now)
            explorer.comparing.start_sensitivity(now.corpus, systems, wordings, login.owner())
            return replace(now, systems=systems, wordings=wordings)

        CompareView.change(asked)

    st.button("Compute table", key="compare_start", type="primary", on_click=attempt, args=(start,))
    st.html('<div class="cmp-dim">Not computed yet.</div>')


def _progress(job: SensitivityJob) -> None:
    comparing, asked = engine().comparing, job.request
    corpus, _, systems, wordings = asked
    JobCard(
        lambda: comparing.find_sensitivity(corpus, systems, wordings), key="compare_table",
        label="Computing the table", line=progress_line, cancel=comparing.jobs.cancel,
        border=False,
        what_stays="Stops after the current query. No results saved.",
    ).show(job)  # fmt: skip


def progress_line(job: SensitivityJob) -> str:
    """Queries and time left, in one line of HTML."""
    now = job.progress
    return joined([
        f"{now.done:,} of {counted(now.total, 'query', 'queries')}",
        time_left(now.seconds_left) if now.done > 2 else "",
        "runs in the background",
    ])  # fmt: skip


def _downloads(explorer: Explorer, table: Sensitivity) -> None:
    with st.popover("Export"):
        download(
            "Table (CSV)", "sensitivity-table.csv", lambda: table_csv(table),
            key="compare_collection_table.csv", mime="text/csv",
        )  # fmt: skip
        download(
            "Rank similarity (CSV)", "sensitivity-matrix.csv",
            lambda: matrix_csv(table), key="compare_collection_matrix.csv", mime="text/csv",
        )  # fmt: skip
        download(
            "Everything (JSON)", "sensitivity-table.json",
            lambda: explorer.comparing.sensitivity_json(table),
            key="compare_collection_table.json", mime="application/json",
        )  # fmt: skip
        st.caption("Copy the address to share this page.")
