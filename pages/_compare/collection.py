"""The sensitivity of systems to the wording over all judged seeds, beside the paper's figures."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.comparisons import Sensitivity, SensitivityJob
from engine.types.evaluations import CSFCUBE_NDCG, NDCG
from pages._common.charts import frame_csv
from pages._common.kit import button, dim
from pages._common.kit import table as html_table
from pages._common.shared import download, error_boundary, note, show_error
from pages._common.state import control
from pages._common.tables import SENSITIVITY, SIMILARITY, floats, is_signed, table
from pages._common.tasks import JobCard, joined, time_left
from pages._compare.compare_state import ComparePage, CompareView
from pages._compare.sections import similarity_chart, titled
from pages._evaluate.published import COLUMNS, published
from pages._login import login

SYSTEMS = ("aspect", "instructed", "dense")
_SIMILAR = {"rbo": "rbo", "tau": "tau", "overlap@20": "overlap"}
_HEADS = {"system": "System", "variant": "Variant", "rbo": "RBO", "overlap@20": "overlap"}
_BOUNDED = [f"{m}{end}" for m in (CSFCUBE_NDCG, "p-MRR") for end in ("", " low", " high")]
_OVERVIEW = ("system", "variant", *_BOUNDED, *SENSITIVITY, *_SIMILAR)
"""Columns of the table on the page; the file has all."""
WORDINGS = tuple(name for name in Explorer.wording_sets if name != "reverse")
"""Compared by default. SICR and WISE need the reverse, shown or not."""


def whole_collection(page: ComparePage) -> None:
    """Choose what to compare, start the table, watch it grow, read it."""
    comparing, corpus = page.explorer.comparing, page.corpus
    try:
        collection = comparing.collection(corpus)
    except SeedLensError as error:
        show_error(error)
        _paper_table()
        return
    pairs = sum(bool(t.aspect and t.seed) for t in collection.topics)
    titled(
        collection.name,
        f"All {pairs} pairs of seed and aspect, every variant, every system. Systems get the "
        "instruction only, not the aspect.",
    )
    chosen = _chosen(page.view)
    job = comparing.find_sensitivity(corpus, *chosen)
    running = job is not None and job.running
    choices = (
        ("systems", "Systems", Explorer.systems),
        ("wordings", "Variants", Explorer.wording_sets),
    )
    for (field, label, options), values in zip(choices, chosen, strict=True):
        control(
            *(page.view, field, st.pills, label, options),
            shown=list(values),
            read=partial(_or_before, values),
            selection_mode="multi",
            disabled=running,
            help=None
            if field == "systems"
            else "RBO, tau and overlap: compared with base. SICR and WISE: with no instruction "
            "and reverse.",
        )
    if job is not None and running:
        JobCard(
            lambda: comparing.find_sensitivity(corpus, *chosen),
            key="compare_table",
            label="Computing the table",
            line=_progress_line,
            cancel=comparing.jobs.cancel,
            border=False,
            what_stays="Stops after the current query. No results saved.",
        ).show(job)
    elif job is not None and job.report is not None:
        with error_boundary():
            _table(page.explorer, job.report)
    else:
        button("Compute table", "compare_start", _start, page.explorer, type="primary")
        dim("Not computed yet.")
        if job is not None and job.state == "cancelled":
            note("Cancelled. No results saved.")
        elif job is not None:
            note(f"The table was not finished. {job.error}", job.remedy, kind="error")
    _paper_table()


def _or_before(before: tuple[str, ...], now: list[str]) -> tuple[str, ...]:
    """What was chosen; without any there would be nothing to compute, and the last one stays."""
    return tuple(now) or before


def _chosen(view: CompareView) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Systems and sets of wordings that the view asks for, in the order of the engine."""
    systems, wordings = view.systems or SYSTEMS, view.wordings or WORDINGS
    return (
        tuple(s for s in Explorer.systems if s in systems),
        tuple(s for s in Explorer.wording_sets if s in wordings),
    )


def _start(explorer: Explorer) -> None:
    def started(now: CompareView) -> CompareView:
        systems, wordings = _chosen(now)
        explorer.comparing.start_sensitivity(now.corpus, systems, wordings, login.owner())
        return replace(now, systems=systems, wordings=wordings)

    CompareView.change(started)


def _progress_line(job: SensitivityJob) -> str:
    """Queries and time left, in one line of HTML."""
    now = job.progress
    done = f"{now.done:,} of {counted(now.total, 'query', 'queries')}"
    left = time_left(now.seconds_left) if now.done > 2 else ""
    return joined([done, left, "runs in the background"])


# -- the table -----------------------------------------------------------------------------


def sensitivity_frame(found: Sensitivity) -> pd.DataFrame:
    """A row per system and variant, with intervals and the figures by aspect.

    Behind the paraphrases of a system is their mean, which is what the paper reports.
    """
    rows: list[dict[str, Any]] = []
    for system in found.systems:
        own: list[dict[str, Any]] = []
        for row in system.rows:
            cells: dict[str, Any] = {"system": system.system, "variant": row.variant}
            cells |= row.metrics
            for name, bounds in row.intervals.items():
                cells[f"{name} low"], cells[f"{name} high"] = bounds or (None, None)
            cells["correct aspect"] = row.read_as_asked
            for aspect, measures in row.by_aspect.items():
                cells |= {f"{measure} {aspect}": v for measure, v in measures.items()}
            own.append(cells | {"system's Robustness@10": system.robustness})
        places = [i for i, row in enumerate(own) if row["variant"].startswith("paraphrase-")]
        if len(places) > 1:
            mean = pd.DataFrame([own[i] for i in places]).mean(numeric_only=True)
            ends = [n for n in mean.index if n.endswith((" low", " high"))]
            named = {"system": system.system, "variant": "paraphrases, mean"}
            own.insert(places[-1] + 1, named | mean.drop(ends).to_dict())
        rows += own
    every = [row for system in found.systems for row in system.rows]
    names = list(dict.fromkeys(name for row in every for name in row.metrics))
    limits = [f"{name} {end}" for name in names for end in ("low", "high")]
    measured = sorted({(a, m) for row in every for a, of in row.by_aspect.items() for m in of})
    by_aspect = [f"{measure} {aspect}" for aspect, measure in measured]
    order = [*names, *limits, "correct aspect", *by_aspect, "system's Robustness@10"]
    frame = floats(rows, *order).reindex(columns=["system", "variant", *order])
    return frame.drop(columns=[name for name in limits if frame[name].isna().all()])


def matrix_frame(found: Sensitivity) -> pd.DataFrame:
    """A row per system, measure and ordered pair of variants: the mean over queries."""
    return pd.DataFrame(
        [
            {"system": s.system, "measure": measure, "first": a, "second": b, "mean": value}
            for s in found.systems
            for measure, matrix in s.matrix.items()
            for a, row in matrix.items()
            for b, value in row.items()
        ]
    )


def _table(explorer: Explorer, found: Sensitivity) -> None:
    frame = sensitivity_frame(found)
    files = {
        "Table (CSV)": ("sensitivity-table.csv", lambda: frame_csv(frame)),
        "Rank similarity (CSV)": ("sensitivity-matrix.csv", lambda: frame_csv(matrix_frame(found))),
        "Everything (JSON)": (
            "sensitivity-table.json",
            lambda: explorer.comparing.sensitivity_json(found),
        ),
    }
    with st.popover("Export"):
        for label, (file, make) in files.items():
            mime = "text/csv" if file.endswith("csv") else "application/json"
            download(label, file, make, key=f"compare_collection_{file}", mime=mime)
        st.caption("Copy the address to share this page.")
    dim(f"{found.queries} queries. Queries with a judged pool rank only its documents.")
    meanings = {
        _HEADS.get(name, name): f"{SIMILARITY[key][1]} Compared with base."
        for name, key in _SIMILAR.items()
    }
    meanings["Seconds"] = "Of the system, over all variants."
    own = frame[[name for name in _OVERVIEW if name in frame]].rename(columns=_HEADS)
    own["Seconds"] = own["System"].map({s.system: s.seconds for s in found.systems})
    table(own, "compare_sensitivity", "Sensitivity to the instruction", meanings, most=24)
    if found.single_aspect:
        words = "No seed is judged for two aspects, so p-MRR is undefined."
        note(words, "RBO, tau and overlap need no judgments.")
    aspects = sorted({name for s in found.systems for r in s.rows for name in r.by_aspect})
    if aspects:
        figures = [f"{measure} {a}" for measure in (CSFCUBE_NDCG, "p-MRR") for a in aspects]
        own = frame[["system", "variant", *(name for name in figures if name in frame)]]
        own = own.rename(columns=_HEADS)
        with st.expander("By aspect"):
            table(own, "compare_by_aspect", "Measures of every variant by aspect", most=24)
    _similarity(found)


def _similarity(found: Sensitivity) -> None:
    st.html("<h3>Rank similarity</h3>")
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    systems = {s.system: s for s in found.systems}
    chosen = left.selectbox("System", list(systems), key="compare_matrix_system")
    system = systems[chosen]
    keys = {name.split("@")[0].lower().replace("-", "_"): name for name in system.matrix}
    known = [key for key in SIMILARITY if key in keys]
    if not known:
        return
    measure = right.segmented_control(
        *("Measure", known),
        format_func=lambda key: SIMILARITY[key][0],
        default=known[0],
        required=True,
        key="compare_matrix_measure",
    )
    measure = measure or known[0]
    matrix = system.matrix[keys[measure]]
    values = {(a, b): value for a, row in matrix.items() for b, value in row.items()}
    names = [row.variant for row in system.rows]
    mean = f"Mean over {counted(found.queries, 'query', 'queries')}."
    similarity_chart(
        *(names, values, measure, f"between variants, system {system.system}"),
        words=f"{SIMILARITY[measure][1]} {mean}",
        source=f"Corpus {found.corpus}.",
        file=f"rank similarity {system.system} {measure}",
        key="compare_collection_matrix",
    )


def _paper_table() -> None:
    """The published figures for the same wordings."""
    tables = {measure: published("wordings", measure) for measure in (NDCG, "p-MRR")}
    shown = {"Variant": tables[NDCG]["Ranker"].str.removeprefix("GritLM-7B, ")}
    order = [(m, c) for columns in (COLUMNS[:1], COLUMNS[1:]) for m in tables for c in columns]
    for measure, column in order:
        name = measure if column == COLUMNS[0] else f"{measure} {column.capitalize()}"
        form = "{:+.2f}" if is_signed(measure) else "{:.2f}"
        shown[name] = (100 * tables[measure][column]).map(form.format)
    titled(
        "Published figures",
        "GritLM-7B as published, times 100: Maheshwari, Mysore and Zamani, “Can Instructed "
        "Retrieval Models Really Support Exploration?”, CHIIR 2026, Table 3. Not directly "
        "comparable: it re-ranks 200 candidates out of 800,000 papers. Compare how the rows "
        "differ.",
    )
    rows = zip(*shown.values(), strict=True)
    st.html(html_table("Published figures of GritLM-7B", list(shown), rows, "cmp-table"))
