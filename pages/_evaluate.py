"""The Evaluate page: its state, the controls, and the evaluation that runs."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types import CollectionInfo, Evaluation, EvaluationJob, EvaluationRecord
from pages._evaluate_view import (
    SAMPLES,
    EvaluateView,
    of_request,
    read_view,
    seeds_asked,
    with_collection,
    write_view,
)
from pages._jobs import time_left
from pages._shared import attempt, engine, error_boundary, escape_label, note, show_error

FORMER = 8
"""Former evaluations listed."""


def open_view(
    explorer: Explorer, collections: Sequence[CollectionInfo]
) -> tuple[EvaluateView, CollectionInfo]:
    """The view of the address; one that cannot be opened is explained and replaced."""
    known = {info.key: info for info in collections}
    try:
        view = read_view(explorer)
        if view.collection and view.collection not in known:
            explorer.laboratory.collection(view.collection)  # says why not
    except SeedLensError as error:
        show_error(error)
        view = EvaluateView()
    if view.collection not in known:
        first = explorer.demo_corpus if explorer.demo_corpus in known else collections[0].key
        view = with_collection(view, first)
    write_view(view)
    return view, known[view.collection]


def nothing_to_evaluate() -> None:
    """No corpus of this home came with judgments."""
    st.html(
        '<div class="sl-empty">No corpus here came with judgments. Import a test collection '
        "(CSFCube, BEIR, ImpliRet, or a folder with topics.jsonl and qrels.txt) on the Library "
        "page, or upload judgments for a corpus below.</div>"
    )


def collection_label(info: CollectionInfo) -> str:
    """``csfcube``, or ``mine.qrels on demo`` for uploaded judgments."""
    return f"{info.source} on {info.corpus}" if info.uploaded else info.key


def controls(
    explorer: Explorer,
    view: EvaluateView,
    info: CollectionInfo,
    collections: Sequence[CollectionInfo],
) -> None:
    """What to evaluate, and the button that does it."""
    labels = {c.key: collection_label(c) for c in collections}
    state = st.session_state
    state["evaluate_collection"] = view.collection
    state["evaluate_systems"] = list(view.systems)
    state["evaluate_steer"] = round(view.steer * 100)
    state["evaluate_human"] = view.human and bool(info.annotators)
    state["evaluate_ignore"] = view.ignore_labels
    change = partial(_change, view)
    first, second, third = st.columns([3, 6, 3])
    first.selectbox(
        "Test collection", list(labels), format_func=labels.__getitem__,
        key="evaluate_collection", on_change=change,
    )  # fmt: skip
    second.multiselect(
        "Systems", explorer.systems, key="evaluate_systems", on_change=change,
        help="Ways to rank; each is measured on the same queries. Runs that you upload below "
        "stand beside them.",
    )  # fmt: skip
    third.slider(
        "Steer", 0, 100, step=5, format="%d %%", key="evaluate_steer", on_change=change,
        help="How far the aspect outweighs the whole document, for systems that take it.",
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        _seeds(view, info, change)
        _switches(info, change)
        _run_button(explorer, view, info)


def _change(view: EvaluateView) -> None:
    state = st.session_state
    asked = state.get("evaluate_seeds")
    new = EvaluateView(
        collection=view.collection,
        systems=tuple(state["evaluate_systems"]),
        steer=state["evaluate_steer"] / 100,
        sample=view.sample if asked is None else asked,
        human=bool(state["evaluate_human"]),
        ignore_labels=bool(state["evaluate_ignore"]),
        measure=view.measure,
    )
    if state["evaluate_collection"] != view.collection:
        new = with_collection(new, state["evaluate_collection"])
    write_view(new)


def _seeds(view: EvaluateView, info: CollectionInfo, change: Callable[[], None]) -> None:
    asked = seeds_asked(view, info) or 0
    choices = sorted({n for n in (*SAMPLES, asked) if 0 < n < info.seeds})
    if not choices:
        return
    st.session_state["evaluate_seeds"] = asked if asked in choices else 0
    st.selectbox(
        "Seeds", [*choices, 0], key="evaluate_seeds", on_change=change, width=150,
        format_func=lambda n: f"{n} of {info.seeds:,}" if n else f"all {info.seeds:,}",
        help="A sample is quicker. It is the same every time, and a larger one holds the smaller.",
    )  # fmt: skip


def _switches(info: CollectionInfo, change: Callable[[], None]) -> None:
    with st.container(horizontal=True, width="content", gap="medium"):
        st.toggle(
            "People", key="evaluate_human", on_change=change, disabled=not info.annotators,
            help="The annotators themselves as a row: each one's own grades rank the pool, dense "
            "breaks ties, measured against the adjudicated grades."
            if info.annotators
            else "This collection does not keep single annotators' grades.",
        )  # fmt: skip
        st.toggle(
            "Estimate roles", key="evaluate_ignore", on_change=change,
            help="Leave the sentence labels of the data aside and estimate all roles, as for "
            "documents that come without labels. A copy of the corpus is derived once.",
        )  # fmt: skip


def _run_button(explorer: Explorer, view: EvaluateView, info: CollectionInfo) -> None:
    job = explorer.laboratory.job()
    busy = job is not None and job.state == "running"

    def run() -> None:
        explorer.laboratory.start(view.request(info))

    st.button(
        "Run", key="evaluate_run", type="primary", on_click=attempt, args=(run,),
        disabled=busy or bool(info.problem) or not view.systems,
    )  # fmt: skip


def about(info: CollectionInfo) -> None:
    """What the collection is, in one line, and what is odd in it."""
    if info.problem:
        return
    parts = [
        f"{_count(info.queries, 'query', 'queries')} over {_count(info.seeds, 'seed', 'seeds')}",
        ", ".join(info.aspects) or "no aspects",
        _count(info.judgments, "grade", "grades") + (", all else is 0" if info.complete else ""),
        "ranks each query's judged pool" if info.pooled else f"ranks the corpus {info.corpus}",
    ]
    if info.annotators:
        parts.append(f"graded by {len(info.annotators)} people")
    tag = ' <span class="sl-tag">synthetic</span>' if info.synthetic else ""
    st.html(f'<div class="sl-facts">{html.escape(" · ".join(parts))}{tag}</div>')
    for warning in info.warnings:
        note(warning)


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def broken(info: CollectionInfo) -> None:
    """A collection whose files cannot be read."""
    note(info.problem, "Mend the file; it is read again as soon as it changes.", kind="error")


def answered(explorer: Explorer, view: EvaluateView, info: CollectionInfo) -> Evaluation | None:
    """The stored answer, or how far it is, or what to do to get it."""
    if not view.systems:
        st.html('<div class="sl-empty">Choose at least one system.</div>')
        return None
    laboratory = explorer.laboratory
    request = laboratory.checked(view.request(info))
    job = laboratory.job()
    found = laboratory.evaluation(request)
    if found is None and not (job and job.state == "running") and not laboratory.missing(request):
        failed = job is not None and job.state != "done" and job.request == request
        if not failed:  # all is ranked already: only to be measured
            job = laboratory.start(request)
    if job is not None and job.state == "running":
        st.fragment(_progress, run_every=0.5)()
    elif job is not None and found is None and job.request.collection == view.collection:
        _ended(job)
    if found is None and (job is None or job.state != "running"):
        names = ", ".join(laboratory.missing(request)) or "these systems"
        st.html(
            f'<div class="sl-empty">{html.escape(names)} not ranked yet with these settings. '
            "Press Run; it goes on when you leave the page, and its result stays.</div>"
        )
    return found


def _progress() -> None:
    laboratory = engine().laboratory
    job = laboratory.job()
    if job is None or job.state != "running":
        st.rerun()
    share = job.done / job.total if job.total else 0.0
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(1.0, share), text=escape_label(progress_line(job)))
        st.button(
            "Cancel", key="evaluate_cancel", on_click=laboratory.cancel, args=(job.id,),
            help="Systems that are done stay ranked; Run goes on with the rest.",
        )  # fmt: skip


def progress_line(job: EvaluationJob) -> str:
    """What, how far, how long, in one line."""
    parts = [job.step]
    if job.total > 1:
        parts.append(f"{job.done:,} of {job.total:,}")
    left = time_left(job.seconds_left) if job.seconds > 1 else ""
    return " · ".join([*parts, *([left] if left else []), job.request.collection])


def _ended(job: EvaluationJob) -> None:
    if job.state == "failed":
        note(job.error, job.remedy, kind="error")
    elif job.state == "cancelled":
        note("The evaluation was cancelled.", "What was ranked is kept; Run goes on from there.")


def history(explorer: Explorer, view: EvaluateView, info: CollectionInfo) -> None:
    """Former evaluations of the collection, each a click away."""
    former = explorer.laboratory.history(info.key)
    if not former:
        return
    with st.expander(f"Former evaluations ({len(former)})", type="compact"), error_boundary():
        for number, record in enumerate(former[:FORMER]):
            st.button(
                escape_label(record_line(record)), key=f"evaluate_former_{number}", type="tertiary",
                on_click=write_view, args=(of_request(record.request, view.measure),),
            )  # fmt: skip


def record_line(record: EvaluationRecord) -> str:
    """When, how it was asked, and who did best."""
    asked = record.request
    when = datetime.fromisoformat(record.time).astimezone()
    parts = [f"{when:%Y-%m-%d %H:%M}", ", ".join(asked.systems), f"steer {asked.steer:.0%}"]
    parts.append(f"{asked.sample} seeds" if asked.sample else "all seeds")
    parts += ["roles estimated"] if asked.ignore_labels else []
    scored = {n: v for n, v in record.headline.items() if v is not None and n != "human"}
    if scored:
        best = max(scored, key=scored.__getitem__)
        parts.append(f"best {best} {scored[best]:.3f}")
    return " · ".join(parts)


def set_measure(view: EvaluateView) -> None:
    """Show another measure in charts and tables."""
    write_view(replace(view, measure=st.session_state["evaluate_measure"] or view.measure))
