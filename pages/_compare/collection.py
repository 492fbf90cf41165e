"""The sensitivity of systems to the wording over all judged seeds, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.comparisons import Sensitivity, SensitivityJob, SensitivityRequest
from engine.types.evaluations import CSFCUBE_NDCG, NDCG, Topic
from pages._common.charts import frame_csv
from pages._common.kit import button, dim
from pages._common.shared import download, error_boundary, note, show_error, system_label
from pages._common.state import control
from pages._common.tables import SENSITIVITY, SIMILARITY, floats, is_signed, table
from pages._common.tasks import JobCard, joined, time_left
from pages._compare.compare_state import ComparePage, CompareView
from pages._compare.sections import similarity_chart, titled
from pages._evaluate.evaluate_tables import published
from pages._login import login

SYSTEMS = ("aspect", "instructed", "dense")
_SIMILAR = {"rbo": "rbo", "tau": "tau", "overlap@20": "overlap"}
_HEADS = {"system": "System", "variant": "Instruction", "rbo": "RBO", "overlap@20": "overlap"}
SAMPLES = (5, 10, 20, 40, 100)
WORDINGS = tuple(name for name in Explorer.wording_sets if name != "reverse")
"""Compared by default. SICR and WISE need the reverse, shown or not."""


def whole_collection(page: ComparePage) -> None:
    """Choose what to compare, start the table, watch it grow, read it."""
    comparing = page.explorer.comparing
    try:
        collection = comparing.collection(page.corpus)
    except SeedLensError as error:
        show_error(error)
        return
    pairs = [t for t in collection.topics if t.aspect and t.seed]
    titled(
        collection.name,
        f"{counted(len(pairs), 'pair')} of seed and aspect, every instruction, every system. "
        "Systems get the instruction only, not the aspect.",
    )
    request = request_of(page.explorer, page.view)
    job = comparing.find_sensitivity(request)
    _choices(page, request, pairs, job)
    if job is None:
        dim("Not computed yet.")
    elif job.report is None:
        JobCard(
            lambda: comparing.find_sensitivity(request),
            key="compare_table",
            label="Computing the table",
            line=_progress_line,
            cancel=comparing.jobs.cancel,
            ended=lambda _: "Cancelled before the first query was ranked.",
            border=False,
            what_stays="Finished queries are kept.",
        ).show(job)
    else:
        if job.report.stopped:
            done = f"{job.report.queries:,} of {counted(job.report.asked, 'query', 'queries')}"
            note("Cancelled.", f"The table has {done}.")
        with error_boundary():
            _table(page.explorer, job.report, csfcube=collection.source_format == "csfcube")
    if collection.source_format == "csfcube":
        _paper_tables()


def _choices(
    page: ComparePage,
    request: SensitivityRequest,
    pairs: Sequence[Topic],
    job: SensitivityJob | None,
) -> None:
    """Systems, instructions and queries of the table, and the button that computes it."""
    view, running = page.view, job is not None and job.running
    control(
        *(view, "systems", st.multiselect, "Systems", list(Explorer.systems)),
        shown=list(request.systems),
        read=partial(_or_before, request.systems),
        format_func=system_label,
        disabled=running,
    )
    control(
        *(view, "wordings", st.pills, "Instructions", Explorer.wording_sets),
        shown=list(request.variants),
        read=partial(_or_before, request.variants),
        selection_mode="multi",
        disabled=running,
        help="RBO, tau and overlap: compared with base. SICR and WISE: with no instruction and "
        "reverse.",
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        seeds = len({topic.seed for topic in pairs})
        sizes = sorted({n for n in (*SAMPLES, view.seeds) if 0 < n < seeds})
        control(
            *(view, "seeds", st.selectbox, "Seeds"),
            {0: f"all {seeds:,}", **{n: f"{n} of {seeds:,}" for n in sizes}},
            shown=view.seeds if view.seeds in sizes else 0,
            width=150,
            disabled=running,
            help="Fixed sample; larger samples contain smaller ones.",
        )
        if own := own_wordings(page.explorer, view):
            control(
                *(view, "own", st.toggle, f"Own instructions ({len(own)})"),
                disabled=running,
                help="Adds yours, and measures all on the queries of the chosen aspect.",
            )
        whole = job is not None and job.report is not None and not job.report.stopped
        if not running and not whole:
            label = "Compute table" if job is None or job.report is None else "Compute all"
            button(label, "compare_start", _start, page.explorer, type="primary")


def _or_before(before: tuple[str, ...], now: list[str]) -> tuple[str, ...]:
    """What was chosen; without any there would be nothing to compute, and the last one stays."""
    return tuple(now) or before


def own_wordings(explorer: Explorer, view: CompareView) -> tuple[tuple[str, str], ...]:
    """The wordings of the variants that are not built in, each by itself."""
    built_in = {v.instruction for v in explorer.comparing.presets(view.corpus, view.aspect)}
    own = (v.instruction.strip() for v in view.variants if v.instruction not in built_in)
    return tuple((words, words) for words in dict.fromkeys(filter(None, own)))


def request_of(explorer: Explorer, view: CompareView) -> SensitivityRequest:
    """The table that the view asks for, its systems and wordings in the order of the engine."""
    systems, wordings = view.systems or SYSTEMS, view.wordings or WORDINGS
    own = own_wordings(explorer, view) if view.own else ()
    return SensitivityRequest(
        view.corpus,
        tuple(s for s in Explorer.systems if s in systems),
        tuple(s for s in Explorer.wording_sets if s in wordings),
        view.seeds or None,
        own,
        view.aspect if own else "",
    )


def _start(explorer: Explorer) -> None:
    def started(now: CompareView) -> CompareView:
        request = request_of(explorer, now)
        explorer.comparing.start_sensitivity(request, login.owner())
        return replace(now, systems=request.systems, wordings=request.variants)

    CompareView.change(started)


def _progress_line(job: SensitivityJob) -> str:
    """Rankings and time left, in one line of HTML."""
    now = job.progress
    done = f"{now.done:,} of {counted(now.total, 'ranking')}" if now.total else "Preparing"
    left = time_left(now.seconds_left) if now.done > 2 else ""
    return joined([done, left, "runs in the background"])


# -- the table -----------------------------------------------------------------------------


def sensitivity_frame(found: Sensitivity) -> pd.DataFrame:
    """A row per system and variant, with intervals and the figures by aspect.

    Behind the paraphrases of a system is their mean, which is what the paper reports.
    """
    rows: list[dict[str, Any]] = []
    for system in found.systems:
        for row in system.rows:
            cells: dict[str, Any] = {"system": system.system, "variant": row.variant, **row.metrics}
            for name, bounds in row.intervals.items():
                cells[f"{name} low"], cells[f"{name} high"] = bounds or (None, None)
            cells["correct aspect"] = row.read_as_asked
            for aspect, measures in sorted(row.by_aspect.items()):
                cells |= {f"{name} {aspect}": value for name, value in sorted(measures.items())}
            rows.append(cells | {"system's Robustness@10": system.robustness})
    frame = floats(rows, *dict.fromkeys(name for row in rows for name in list(row)[2:]))
    limits = [name for name in frame if name.endswith((" low", " high"))]
    paraphrased = frame[frame["variant"].str.startswith("paraphrase-")]
    for system, own in paraphrased.groupby("system"):
        if len(own) > 1:
            mean = own.drop(columns=limits).mean(numeric_only=True)
            named = {"system": system, "variant": "paraphrases, mean", **mean}
            frame.loc[own.index[-1] + 0.5] = pd.Series(named)
    frame = frame.sort_index(ignore_index=True)
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


def _table(explorer: Explorer, found: Sensitivity, *, csfcube: bool) -> None:
    """The table; of other collections than CSFCube with the usual nDCG."""
    frame, ndcg = sensitivity_frame(found), CSFCUBE_NDCG if csfcube else NDCG
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
    count = counted(found.queries, "query", "queries")
    dim(f"{count}. Queries with a judged pool rank only its documents.")
    meanings: dict[str, Any] = {
        _HEADS.get(name, name): f"{SIMILARITY[key][1]} Compared with base."
        for name, key in _SIMILAR.items()
    }
    meanings["Instruction"] = st.column_config.TextColumn(width="medium")
    meanings["Seconds"] = "Of the system, over all variants."
    bounded = [f"{m}{end}" for m in (ndcg, "p-MRR") for end in ("", " low", " high")]
    overview = ("system", "variant", *bounded, *SENSITIVITY, *_SIMILAR)
    own = frame[[name for name in overview if name in frame]].rename(columns=_HEADS)
    own["Seconds"] = own["System"].map({s.system: s.seconds for s in found.systems})
    own["System"] = own["System"].map(system_label)
    table(own, "compare_sensitivity", "Sensitivity to the instruction", meanings, most=24)
    if found.single_aspect:
        words = "No seed is judged for two aspects, so p-MRR is undefined."
        note(words, "RBO, tau and overlap need no judgments.")
    aspects = sorted({name for s in found.systems for r in s.rows for name in r.by_aspect})
    if aspects:
        figures = [f"{measure} {a}" for measure in (ndcg, "p-MRR") for a in aspects]
        own = frame[["system", "variant", *(name for name in figures if name in frame)]]
        own = own.rename(columns=_HEADS)
        own["System"] = own["System"].map(system_label)
        with st.expander("By aspect"):
            table(own, "compare_by_aspect", "Measures of every variant by aspect", most=24)
    _similarity(found)


def _similarity(found: Sensitivity) -> None:
    st.html("<h3>Rank similarity</h3>")
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    systems = {s.system: s for s in found.systems}
    box: Any = {"format_func": system_label, "key": "compare_matrix_system"}
    chosen = left.selectbox("System", list(systems), **box)
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
        *(names, values, measure, f"between instructions, {system_label(system.system)}"),
        words=f"{SIMILARITY[measure][1]} {mean}",
        source=f"Corpus {found.corpus}.",
        file=f"rank similarity {system.system} {measure}",
        key="compare_collection_matrix",
    )


def _paper_tables() -> None:
    """The published figures for the same wordings."""
    titled(
        "Published figures",
        "GritLM-7B: Maheshwari, Mysore and Zamani, “Can Instructed Retrieval Models Really Support "
        "Exploration?”, CHIIR 2026, Table 3. Not directly comparable: it re-ranks 200 candidates "
        "out of 800,000 papers. Compare how the rows differ.",
    )
    for column, measure in zip(st.columns(2), (NDCG, "p-MRR"), strict=True):
        with column:
            dim(measure)
            frame = published("wordings", measure).drop(columns="From")
            frame["Ranker"] = frame["Ranker"].str.removeprefix("GritLM-7B, ")
            frame = frame.rename(columns={"Ranker": "Instruction"})
            alt = f"Published {measure} of GritLM-7B"
            table(frame, f"compare_paper_{measure}", alt, signed=is_signed(measure))
