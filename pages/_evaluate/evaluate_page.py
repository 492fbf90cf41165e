"""The Evaluate page: its state, what the collection is, and the evaluation that runs."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.evaluations import CollectionInfo, Evaluation, EvaluationJob, EvaluationRecord
from pages._common.shared import engine, error_boundary, escape_label, note, show_error
from pages._evaluate.evaluate_model import request_of
from pages._evaluate.evaluate_view import EvaluateView, of_request, read_view, write_view
from pages._library.import_jobs import time_left
from pages._model.model_form import report_line

DRAWN_BUSY = "evaluate_drawn_busy"
"""Whether the button was drawn while something ran."""
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
        view = replace(view, collection=first)
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
    """The stored answer, or how far it is, or what to do to get it.

    What a run left that ended early counts as an answer, and is marked as what it is.
    """
    if not view.systems:
        st.html('<div class="sl-empty">Choose at least one system.</div>')
        return None
    laboratory = explorer.laboratory
    request = request_of(explorer, view, info)
    job = laboratory.job()
    found = laboratory.evaluation(request)
    if found is None and not (job and job.state == "running") and not laboratory.missing(request):
        failed = job is not None and job.state != "done" and job.request == request
        if not failed:  # all is ranked already: only to be measured
            job = laboratory.start(request)
    if job is not None and job.state == "running":
        st.fragment(_progress, run_every=0.5)()
        return found
    if st.session_state.get(DRAWN_BUSY):
        st.rerun()  # it ended while the page was drawn: the button above is out of date
    if job is not None and job.request == request and (found is None or job.error):
        _ended(job)
        found = found or job.partial
    if found is None:
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
            help="What is done stays: rankings, and every answer of a model. Run goes on with "
            "the rest.",
        )  # fmt: skip
    if job.report is not None:
        st.html(f'<div class="md-line md-quiet">{report_line(job.report)}</div>')


def progress_line(job: EvaluationJob) -> str:
    """What, how far, how long, in one line."""
    parts = [job.step]
    if job.total > 1:
        parts.append(f"{job.done:,} of {job.total:,} {job.unit}")
    left = time_left(job.seconds_left) if job.seconds > 1 else ""
    return " · ".join([*parts, *([left] if left else []), job.request.collection])


def _ended(job: EvaluationJob) -> None:
    if job.state == "failed":
        kept = "What was ranked and answered is kept; Run goes on from there."
        note(job.error, f"{job.remedy} {kept}" if job.partial else job.remedy, kind="error")
    elif job.state == "cancelled":
        note(
            "The evaluation was cancelled.",
            "What was ranked and answered is kept; Run goes on from there.",
        )


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
    parts += [f"reranked {asked.rerank}, depth {asked.depth:,}"] if asked.rerank else []
    parts += [asked.model.partition(" at ")[0]] if asked.model else []
    scored = {n: v for n, v in record.headline.items() if v is not None and n != "human"}
    if scored:
        best = max(scored, key=scored.__getitem__)
        parts.append(f"best {best} {scored[best]:.3f}")
    return " · ".join(parts)


def set_measure(view: EvaluateView) -> None:
    """Show another measure in charts and tables."""
    write_view(replace(view, measure=st.session_state["evaluate_measure"] or view.measure))
