"""The sensitivity of systems to the wording over all judged seeds, beside the paper's figures."""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types import Sensitivity, SensitivityJob, SensitivityRow, SystemSensitivity
from pages import _charts
from pages._compare_components import chart
from pages._compare_measures import MEASURES, shown
from pages._compare_sections import dark
from pages._compare_view import CompareView, change_view
from pages._shared import attempt, engine, error_boundary, note, show_error

SYSTEMS = ("aspect", "instructed", "dense")
SETS = ("base", "generic", "definition", "paraphrases", "subset")
TABLE_3 = (
    ("base", 42.38, 2.02, (53.15, 28.82, 45.90), (2.99, 1.14, 1.92)),
    ("generic", 42.08, 0.18, (52.46, 28.94, 45.53), (0.26, 0.20, 0.09)),
    ("definition", 41.43, 2.01, (52.54, 28.18, 44.25), (2.38, 1.22, 2.44)),
    ("paraphrases", 42.03, 1.53, (52.24, 28.87, 45.38), (2.70, 0.95, 0.93)),
    ("subset", 38.21, 5.89, (47.70, 25.48, 42.07), (7.60, 5.96, 4.10)),
)
"""GritLM-7B: variant, nDCG@20, p-MRR, and both for Background, Method and Result, times 100.

Maheshwari, Mysore & Zamani, Can Instructed Retrieval Models Really Support Exploration?,
CHIIR 2026, Table 3.
"""


def whole_collection(explorer: Explorer, view: CompareView) -> None:
    """Start the table, watch it grow, read it."""
    try:
        collection = explorer.comparing.collection(view.corpus)
    except SeedLensError as error:
        show_error(error)
        _table_3()
        return
    job = explorer.comparing.sensitivity_state(view.job) if view.job else None
    job = job if job is not None and job.corpus == view.corpus else None
    pairs = sum(bool(t.aspect and t.seed) for t in collection.topics)
    st.html(
        f'<h3>{html.escape(collection.name)}</h3><div class="cmp-dim">All {pairs} pairs of seed '
        "and aspect, under every wording, on every system. Each wording is read from its words "
        "alone; nothing else tells a system which aspect is meant.</div>"
    )
    running = job is not None and job.result is None and not job.error
    _form(explorer, view, running)
    if view.job and job is None:
        note("The table of this link is no longer here.", "It was lost when SeedLens stopped: "
             "compute it again.")  # fmt: skip
    if running:
        _progress(view.job)
    elif job is not None and job.error:
        note(f"The table was not finished: {job.error}", "Start it again.", kind="error")
    elif job is not None and job.result is not None:
        with error_boundary():
            _result(job.result)
    _table_3()


def _form(explorer: Explorer, view: CompareView, running: bool) -> None:
    systems = st.pills(
        "Systems",
        explorer.systems,
        selection_mode="multi",
        default=[s for s in SYSTEMS if s in explorer.systems],
        key="compare_systems",
        disabled=running,
    )
    sets = st.pills(
        "Wordings",
        SETS,
        selection_mode="multi",
        default=list(SETS),
        key="compare_sets",
        disabled=running,
        help="RBO, tau and overlap are against base.",
    )

    def start() -> None:
        chosen = [s for s in explorer.systems if s in st.session_state["compare_systems"]]
        wanted = [s for s in SETS if s in st.session_state["compare_sets"]]
        job = explorer.comparing.start_sensitivity(view.corpus, chosen, wanted)
        change_view(explorer, lambda now: replace(now, job=job))

    if running:
        asked = f"compare_stopping_{view.job}"

        def stop() -> None:
            explorer.comparing.stop_sensitivity(view.job)
            st.session_state[asked] = True

        # It ends after the query at hand.
        label = "Stopping …" if asked in st.session_state else "Stop"
        st.button(label, key="compare_stop", on_click=stop, disabled=asked in st.session_state)
        return
    st.button(
        "Compute the table",
        key="compare_start",
        type="primary",
        on_click=attempt,
        args=(start,),
        disabled=not systems or not sets,
    )


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


# -- the tables ----------------------------------------------------------------------------

Cell = Callable[[SensitivityRow], str]


def _result(found: Sensitivity) -> None:
    aspects = sorted({name for s in found.systems for r in s.rows for name in r.by_aspect})
    st.html(_overview(found))
    if found.single_aspect:
        note("No seed is judged for two aspects, so there is no p-MRR.",
             "RBO, tau and overlap need no judgments.")  # fmt: skip
    if aspects:
        with st.expander("By aspect"):
            st.html(_by_aspect(found, aspects))
    _matrices(found)


def _overview(found: Sensitivity) -> str:
    columns: list[tuple[str, str, Cell]] = [
        ("nDCG@20", "Mean over queries, 0 to 1, with its 95 % confidence interval.",
         lambda r: _with_interval(r, "nDCG@20", signed=False)),
        ("p-MRR", "Mean over pairs of aspects of a seed, -1 to 1, with its 95 % confidence "
         "interval: how far documents alike only in the aspect asked for stand higher.",
         lambda r: _with_interval(r, "p-MRR", signed=True)),
        ("RBO", MEASURES["rbo"][1] + " Against base.", lambda r: shown(r.metrics.get("rbo"))),
        ("tau", MEASURES["tau"][1] + " Against base.",
         lambda r: shown(r.metrics.get("tau"), signed=True)),
        ("overlap", MEASURES["overlap"][1] + " Against base.",
         lambda r: shown(r.metrics.get("overlap@20"))),
        ("read as asked", "Share of queries whose aspect was read off the wording; empty for "
         "wordings that ask for none, and systems that do not read them.",
         lambda r: "–" if r.read_as_asked is None else f"{r.read_as_asked:.0%}"),
    ]  # fmt: skip
    heads = "".join(
        f'<th scope="col" title="{html.escape(meaning, quote=True)}">{name}</th>'
        for name, meaning, _ in columns
    )
    body = "".join(_group(system, columns) for system in found.systems)
    return (
        f'<div class="cmp-dim">{found.queries} queries. Documents that were judged are ranked '
        "among themselves where a query has a judged pool.</div>"
        '<div class="cmp-scroll"><table class="cmp-table cmp-wide"><thead><tr>'
        f'<th scope="col">Variant</th>{heads}</tr></thead>{body}</table></div>'
    )


def _group(system: SystemSensitivity, columns: Sequence[tuple[str, str, Cell]]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{html.escape(row.variant)}</th>'
        + "".join(f"<td>{cell(row)}</td>" for _, _, cell in columns)
        + "</tr>"
        for row in with_mean(system.rows)
    )
    return (
        f'<tbody><tr><th class="cmp-group" scope="rowgroup" colspan="{len(columns) + 1}">'
        f'{html.escape(system.system)} <span class="cmp-dim">{system.seconds:.1f} s</span></th>'
        f"</tr>{rows}</tbody>"
    )


def with_mean(rows: Sequence[SensitivityRow]) -> list[SensitivityRow]:
    """The rows, and behind the paraphrases their mean, which is what the paper reports."""
    places = [i for i, row in enumerate(rows) if row.variant.startswith("paraphrase-")]
    if len(places) < 2:
        return list(rows)
    several = [rows[i] for i in places]

    def mean(values: Sequence[float | None]) -> float | None:
        known = [v for v in values if v is not None]
        return sum(known) / len(known) if known else None

    both = SensitivityRow(
        variant="paraphrases, mean",
        metrics={m: mean([r.metrics.get(m) for r in several]) for m in several[0].metrics},
        by_aspect={
            aspect: {m: mean([r.by_aspect[aspect].get(m) for r in several]) for m in found}
            for aspect, found in several[0].by_aspect.items()
        },
        intervals={},
        read_as_asked=mean([r.read_as_asked for r in several]),
    )
    return [*rows[: places[-1] + 1], both, *rows[places[-1] + 1 :]]


def _with_interval(row: SensitivityRow, measure: str, *, signed: bool) -> str:
    value = shown(row.metrics.get(measure), signed=signed)
    interval = row.intervals.get(measure)
    if interval is None:
        return value
    low, high = (shown(bound, signed=signed) for bound in interval)
    return f'{value} <span class="cmp-dim">[{low}, {high}]</span>'


def _by_aspect(found: Sensitivity, aspects: Sequence[str]) -> str:
    heads = "".join(
        f'<th scope="col">{measure} {html.escape(aspect)}</th>'
        for measure in ("nDCG@20", "p-MRR")
        for aspect in aspects
    )

    def cells(row: SensitivityRow) -> str:
        return "".join(
            f"<td>{shown(row.by_aspect.get(a, {}).get(m), signed=m == 'p-MRR')}</td>"
            for m in ("nDCG@20", "p-MRR")
            for a in aspects
        )

    rows = "".join(
        f'<tr><th scope="row">{html.escape(s.system)} · {html.escape(row.variant)}</th>'
        f"{cells(row)}</tr>"
        for s in found.systems
        for row in with_mean(s.rows)
    )
    return (
        '<div class="cmp-scroll"><table class="cmp-table"><thead><tr><th scope="col">Variant</th>'
        f"{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _matrices(found: Sensitivity) -> None:
    st.html("<h3>How far the wordings rank apart</h3>")
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    with left:
        names = [s.system for s in found.systems]
        chosen = st.selectbox("System", names, key="compare_matrix_system")
    system = next((s for s in found.systems if s.system == chosen), found.systems[0])
    keys = {_plain(key): key for key in system.matrix}
    known = [key for key in MEASURES if key in keys]
    if not known:
        return
    with right:
        measure = st.segmented_control(
            "Measure",
            known,
            format_func=lambda key: MEASURES[key][0],
            default=known[0],
            required=True,
            key="compare_matrix_measure",
        )
    measure = measure or known[0]
    chart(
        _charts.matrix(
            [row.variant for row in system.rows],
            _pairs(system.matrix[keys[measure]]),
            measure,
            dark=dark(),
        ),
        heading="",
        words=f"{MEASURES[measure][1]} The mean over queries.",
        name=f"matrix-{system.system}-{measure}",
        alt=f"Mean {MEASURES[measure][0]} between the variants on {system.system}",
        key="compare_collection_matrix",
    )


def _plain(measure: str) -> str:
    """The key of MEASURES for a measure's name: ``overlap@20`` is ``overlap``."""
    return measure.split("@")[0].lower().replace("-", "_")


def _pairs(
    matrix: Mapping[str, Mapping[str, float | None]],
) -> dict[tuple[str, str], float | None]:
    return {(a, b): value for a, row in matrix.items() for b, value in row.items()}


def _table_3() -> None:
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td>{ndcg:.2f}</td><td>{p_mrr:+.2f}</td>'
        + "".join(f"<td>{value:.2f}</td>" for value in ndcgs)
        + "".join(f"<td>{value:+.2f}</td>" for value in p_mrrs)
        + "</tr>"
        for name, ndcg, p_mrr, ndcgs, p_mrrs in TABLE_3
    )
    heads = "".join(
        f'<th scope="col">{measure} {aspect}</th>'
        for measure in ("nDCG@20", "p-MRR")
        for aspect in ("Background", "Method", "Result")
    )
    st.html(
        "<h3>The paper's figures</h3>"
        '<div class="cmp-dim">GritLM-7B, an instructed retriever, as published, times 100: '
        "Maheshwari, Mysore and Zamani, “Can Instructed Retrieval Models Really Support "
        "Exploration?”, CHIIR 2026, Table 3. It re-ranks 200 candidates out of 800,000 papers "
        "with wordings of its own; compare how the rows differ rather than the figures "
        "themselves.</div>"
        '<div class="cmp-scroll"><table class="cmp-table"><thead><tr><th scope="col">Variant</th>'
        f'<th scope="col">nDCG@20</th><th scope="col">p-MRR</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
