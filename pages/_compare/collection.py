"""The sensitivity of systems to the wording over all judged seeds, beside the paper's figures."""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.comparisons import Sensitivity, SensitivityJob
from pages._common.shared import attempt, engine, error_boundary, note, show_error
from pages._compare.compare_tables import collection_tables, matrix_csv, paper_table, table_csv
from pages._compare.compare_view import CompareView, change_view

SYSTEMS = ("aspect", "instructed", "dense")
"""Compared unless somebody says otherwise."""


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
        f'<h3>{html.escape(collection.name)}</h3><div class="cmp-dim">All {pairs} pairs of seed '
        "and aspect, under every wording, on every system. Each wording is read from its words "
        "alone; nothing else tells a system which aspect is meant.</div>"
    )
    systems, sets = asked_of(explorer, view)
    job = explorer.comparing.find_sensitivity(view.corpus, systems, sets)
    running = job is not None and job.result is None and not job.error
    _choices(explorer, systems, sets, disabled=running)
    if job is not None and running:
        _stop_button(explorer, job.id)
        _progress(job.id)
    elif job is not None and job.result is not None:
        with error_boundary():
            _downloads(explorer, job.result)
            collection_tables(job.result)
    else:
        _start_button(explorer)
        if job is not None:
            note(f"The table was not finished: {job.error}", "Start it again.", kind="error")
    paper_table()


def asked_of(explorer: Explorer, view: CompareView) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Systems and sets of wordings that the view asks for, in the order of the engine."""
    systems = view.systems or SYSTEMS
    sets = view.wordings or explorer.comparing.sets
    return (
        tuple(s for s in explorer.systems if s in systems),
        tuple(s for s in explorer.comparing.sets if s in sets),
    )


def _choices(
    explorer: Explorer, systems: Sequence[str], sets: Sequence[str], *, disabled: bool
) -> None:
    def choose(field: str) -> None:
        chosen = tuple(st.session_state[f"compare_{field}"])
        # Without any there would be nothing to compute: the last one stays.
        change_view(explorer, lambda now: replace(now, **{field: chosen}) if chosen else now)

    st.session_state.update(compare_systems=list(systems), compare_wordings=list(sets))
    st.pills(
        "Systems",
        explorer.systems,
        selection_mode="multi",
        key="compare_systems",
        on_change=attempt,
        args=(lambda: choose("systems"),),
        disabled=disabled,
    )
    st.pills(
        "Wordings",
        explorer.comparing.sets,
        selection_mode="multi",
        key="compare_wordings",
        on_change=attempt,
        args=(lambda: choose("wordings"),),
        disabled=disabled,
        help="RBO, tau and overlap are against base.",
    )


def _start_button(explorer: Explorer) -> None:
    def start() -> None:
        def asked(now: CompareView) -> CompareView:
            systems, wordings = asked_of(explorer, now)
            explorer.comparing.start_sensitivity(now.corpus, systems, wordings)
            return replace(now, systems=systems, wordings=wordings)

        change_view(explorer, asked)

    st.button(
        "Compute the table", key="compare_start", type="primary", on_click=attempt, args=(start,)
    )
    st.html('<div class="cmp-dim">Not computed since SeedLens was started.</div>')


def _stop_button(explorer: Explorer, job_id: str) -> None:
    asked = f"compare_stopping_{job_id}"

    def stop() -> None:
        explorer.comparing.stop_sensitivity(job_id)
        st.session_state[asked] = True

    # It ends after the query at hand.
    label = "Stopping …" if asked in st.session_state else "Stop"
    st.button(label, key="compare_stop", on_click=stop, disabled=asked in st.session_state)


@st.fragment(run_every=0.7)
def _progress(job_id: str) -> None:
    job: SensitivityJob | None = engine().comparing.sensitivity_state(job_id)
    if job is None or job.result is not None or job.error:
        st.rerun(scope="app")
        return
    share = job.done / job.total if job.total else 0.0
    words = f"{job.done:,} of {job.total:,} queries{_left(job)}; it goes on when you leave."
    st.progress(min(1.0, share), words)


def _left(job: SensitivityJob) -> str:
    """How long it will take, as far as this visitor's watching tells."""
    key = f"compare_watch_{job.id}"
    began, done = st.session_state.setdefault(key, (time.monotonic(), job.done))
    if job.done - done < 3:
        return ""
    seconds = (time.monotonic() - began) / (job.done - done) * (job.total - job.done)
    return f", {seconds / 60:.0f} min left" if seconds > 90 else f", {seconds:.0f} s left"


def _downloads(explorer: Explorer, found: Sensitivity) -> None:
    files: tuple[tuple[str, str, str, Callable[[], str]], ...] = (
        ("Table (CSV)", "table.csv", "text/csv", lambda: table_csv(found)),
        ("Distances between wordings (CSV)", "matrix.csv", "text/csv", lambda: matrix_csv(found)),
        ("Everything (JSON)", "table.json", "application/json",
         lambda: explorer.comparing.sensitivity_json(found)),
    )  # fmt: skip
    with st.popover("Take home"):
        for label, file, mime, make in files:
            st.download_button(
                label,
                data=lambda make=make: make().encode(),
                file_name=f"seedlens-sensitivity-{file}",
                mime=mime,
                key=f"compare_collection_{file}",
                on_click="ignore",
                width="stretch",
            )
        st.caption(
            "This page as a link: copy it from the address bar. It holds what is compared; the "
            "figures are computed again where they are not in memory."
        )
