"""The Evaluate page: its state, what the collection is, and the evaluation that runs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.evaluations import (
    CollectionInfo,
    Evaluation,
    EvaluationJob,
    EvaluationRecord,
    EvaluationRequest,
)
from pages._common.outside_text import escape
from pages._common.shared import error_boundary, escape_label, note, show_error
from pages._evaluate.evaluate_url import EvaluateView, of_request
from pages._login import login
from pages._model.model_form import apply_model_style
from pages._model.model_settings import chosen, endpoint
from pages._model.task_panel import TaskPanel, Tasks

DRAWN_BUSY = "evaluate_drawn_busy"
"""Whether the button was drawn while something ran."""
PREVIOUS_RUNS = 8
"""Listed at most."""


def connected(explorer: Explorer) -> str:
    """Which model would be asked, as evaluations are told apart by it; "" where none is."""
    return explorer.evaluations.model(chosen(explorer)) if endpoint(explorer).set_up else ""


def request_of(explorer: Explorer, view: EvaluateView, info: CollectionInfo) -> EvaluationRequest:
    """What the view asks for; without a model, as whichever one answered it last."""
    request = view.request(info, connected(explorer))
    if view.needs_model and not request.model and view.systems:
        return explorer.evaluations.answered_by(request)
    return explorer.evaluations.checked(request) if view.systems else request


def open_view(
    explorer: Explorer, collections: Sequence[CollectionInfo]
) -> tuple[EvaluateView, CollectionInfo]:
    """The view of the address, with a collection that is there."""
    known = {info.key: info for info in collections}
    view = EvaluateView.opened()
    try:
        if st.query_params and view.collection and view.collection not in known:
            explorer.collections.info(view.collection)  # says why not
    except SeedLensError as error:
        show_error(error)
    if view.collection not in known:
        first = explorer.demo_corpus if explorer.demo_corpus in known else collections[0].key
        view = replace(view, collection=first)
    view.write()
    return view, known[view.collection]


def nothing_to_evaluate() -> None:
    """No corpus of this home came with judgments."""
    st.html(
        '<div class="sl-empty">No collection with judgments. Import one on the Library page '
        "(CSFCube, BEIR, ImpliRet, or a folder with topics.jsonl and qrels.txt), or upload "
        "judgments below.</div>"
    )


def collection_label(info: CollectionInfo) -> str:
    """``csfcube``, or ``mine.qrels on demo`` for judgments that the corpus did not come with."""
    by_itself = info.uploaded or info.key.startswith(f"{info.corpus}@")
    return f"{Path(info.source).name} on {info.corpus}" if by_itself else info.key


def about(info: CollectionInfo) -> None:
    """What the collection is, in one line, and what is odd in it."""
    if info.problem:
        return
    parts = [
        f"{counted(info.queries, 'query', 'queries')} over {counted(info.seeds, 'seed')}",
        ", ".join(info.aspects) or "no aspects",
        counted(info.judgments, "grade")
        + (", unjudged documents count as 0" if info.complete else ""),
        "ranks each query's judged pool" if info.pooled else f"ranks the corpus {info.corpus}",
    ]
    if info.annotators:
        parts.append(f"graded by {len(info.annotators)} people")
    tag = ' <span class="sl-tag">synthetic</span>' if info.synthetic else ""
    st.html(f'<div class="sl-facts">{escape(" · ".join(parts))}{tag}</div>')
    for warning in info.warnings:
        note(warning)


def broken(info: CollectionInfo) -> None:
    """A collection whose files cannot be read."""
    note(info.problem, "Correct the file; it is read again when it changes.", kind="error")


def answered(explorer: Explorer, view: EvaluateView, info: CollectionInfo) -> Evaluation | None:
    """The stored answer, or how far it is, or what to do to get it.

    What a run left that ended early counts as an answer, and is marked as what it is.
    """
    if not view.systems:
        st.html('<div class="sl-empty">Choose at least one system.</div>')
        return None
    evaluations, request = explorer.evaluations, request_of(explorer, view, info)
    panel, job = measuring(evaluations, "evaluation", "evaluate"), evaluations.job()
    evaluation = evaluations.find(request)
    failed = job is not None and job.request == request and bool(_problem(job))
    running = job is not None and job.running
    if evaluation is None and not failed and not running and not evaluations.missing(request):
        evaluations.measure(request, login.owner())
        job = evaluations.job()
    if job is not None and job.running:
        apply_model_style()
        panel.card(resume=False)
        return evaluation
    if st.session_state.get(DRAWN_BUSY):
        st.rerun()  # it ended while the page was drawn: the button above is out of date
    if job is not None and job.request == request and (evaluation is None or _problem(job)):
        if job.state != "done" or _problem(job):
            panel.card(resume=False)
        if evaluation is None and job.report is not None:
            evaluation = job.report.result.evaluation
    if evaluation is None:
        names = ", ".join(evaluations.missing(request)) or "these systems"
        lacks_model = view.needs_model and not connected(explorer)
        to_do = "Connect a language model" if lacks_model else "Press Run"
        st.html(
            f'<div class="sl-empty">Not ranked yet with these settings: {escape(names)}. '
            f"{to_do}.</div>"
        )
    return evaluation


def _problem(job: EvaluationJob) -> str:
    """Why an evaluation ended early; "" where it did not."""
    return job.error or (job.report.problem or job.report.stopped if job.report else "")


def measuring(tasks: Tasks[Any], key: Hashable, name: str) -> TaskPanel[Any, Any]:
    """A measurement as a task."""
    return TaskPanel(
        *(tasks, key, name),
        doing=lambda job: (job.progress.phase or "Reading the collection", ""),
        outcome=lambda *_: (),
    )


def history(explorer: Explorer, view: EvaluateView, info: CollectionInfo) -> None:
    """Previous runs on the collection, each a click away."""
    records = explorer.evaluations.history(info.key)
    previous_runs(
        "evaluate_previous",
        [(record_line(r), of_request(r.request, view.measure)) for r in records],
    )


def previous_runs(key: str, runs: Sequence[tuple[str, EvaluateView]]) -> None:
    """A line for each, which opens its view.

    Args:
        key: begins the keys of the buttons.
    """
    if not runs:
        return
    with st.expander(f"Previous runs ({len(runs)})", type="compact"), error_boundary():
        for number, (line, view) in enumerate(runs[:PREVIOUS_RUNS]):
            st.button(
                escape_label(line), key=f"{key}_{number}", type="tertiary", on_click=view.write
            )


def record_line(record: EvaluationRecord) -> str:
    """When, how it was asked, and who did best."""
    asked = record.request
    parts = [moment(record.time), ", ".join(asked.systems), f"aspect weight {asked.steer:.0%}"]
    parts.append(seeds_of(asked.sample))
    parts += [f"reranked {asked.rerank}, depth {asked.depth:,}"] if asked.rerank else []
    parts += [asked.model.partition(" at ")[0]] if asked.model else []
    scored = {n: v for n, v in record.headline.items() if v is not None and n != "human"}
    if scored:
        best = max(scored, key=scored.__getitem__)
        parts.append(f"best {best} {scored[best]:.3f}")
    return " · ".join(parts)


def moment(time: str) -> str:
    """A time of the ledger on the clock of this machine: ``2026-11-22 14:05``."""
    return f"{datetime.fromisoformat(time).astimezone():%Y-%m-%d %H:%M}"


def seeds_of(sample: int | None) -> str:
    """Of how many seeds a measurement is."""
    return counted(sample, "seed") if sample else "all seeds"


def set_measure(view: EvaluateView) -> None:
    """Show another measure in charts and tables."""
    replace(view, measure=st.session_state["evaluate_measure"] or view.measure).write()
