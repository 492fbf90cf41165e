"""What a model made of the ranking on the Explore page: how far it is, and what it changed."""

from __future__ import annotations

import html
import time
from dataclasses import dataclass, replace

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.reranking import EndpointInfo, Reranking, RerankJob
from engine.types.searches import Query, SearchResults
from pages._common.job_card import progress, what_was_asked
from pages._common.shared import engine, note
from pages._explore.explore_view import View
from pages._model import model_jobs
from pages._model.model_form import endpoint
from pages._model.model_jobs import Asked
from pages._model.model_lines import progress_line, progress_share

OWN, BEFORE = "by the model", "without it"
ORDER = "explore_order"
_POLL_SECONDS = 0.5
_RENEW_SECONDS = 2.0
"""Between two renewals of the list while a model ranks: faster, nobody could read it."""


@dataclass(frozen=True, slots=True)
class ModelRun:
    """What a model has to do with this view.

    Attributes:
        query: the search, all its pages; None when it cannot be read.
        asked: what the model is to rank; None when it is not wanted.
        job: how far that is; None before it was asked for.
    """

    info: EndpointInfo
    query: Query | None
    asked: Asked | None
    job: RerankJob | None


@dataclass(frozen=True, slots=True)
class Shown:
    """The page of results, and the model's part in it.

    Attributes:
        reranking: None where the order is not the model's.
    """

    found: SearchResults
    reranking: Reranking | None
    reads_aspect: bool


def open_run(explorer: Explorer, view: View) -> ModelRun:
    """The model's part in a view. Asks nothing; what the ledger knows is there at once."""
    info = endpoint(explorer)
    try:
        query = view.to_query(explorer)
    except SeedLensError:  # shown where the results would be
        return ModelRun(info, None, None, None)
    asked = wanted(explorer, view, query)
    if asked is None or not info.set_up:
        return ModelRun(info, query, asked, None)
    try:
        job = model_jobs.find(explorer, asked, info) or model_jobs.recall(explorer, asked, info)
    except SeedLensError:  # shown where the results would be
        job = None
    return ModelRun(info, query, asked, job)


def wanted(explorer: Explorer, view: View, query: Query) -> Asked | None:
    """What the model is to rank in a view; None when it is not to."""
    if query.system in explorer.verifier.systems:
        return Asked(query)
    return Asked(query, view.rerank, view.depth) if view.rerank else None


def shown(explorer: Explorer, view: View, query: Query, run: ModelRun) -> Shown:
    """The page of results: the model's order where there is one, else the one without it."""
    job = run.job
    if job is not None and _has_order(job) and st.session_state.get(ORDER, OWN) == OWN:
        reranking = explorer.verifier.result(job.id, query.k, query.offset)
        return Shown(reranking.results, reranking, True)
    if query.system in explorer.verifier.systems:
        found = explorer.search(replace(query, system="dense"))
        return Shown(replace(found, obedience=None), None, False)
    return Shown(explorer.search(query), None, explorer.reads_aspect(view.system))


def _has_order(job: RerankJob) -> bool:
    """Whether the model has ranked anything yet."""
    return job.state == "done" or (job.state != "failed" and job.rounds > 0)


def run_area(run: ModelRun) -> None:
    """How far the model is, or what it took: above the results, of the same height throughout."""
    if run.asked is None or not run.info.set_up:
        return
    job = run.job
    if job is None:
        st.html(f'<div class="md-dim">{_unasked(run.info, run.asked)}</div>')
    elif job.state == "running":
        st.session_state["explore_shown"] = (job.rounds, time.monotonic())
        follows = st.session_state.get(ORDER, OWN) == OWN
        st.fragment(_progress, run_every=_POLL_SECONDS)(job.id, follows)
    elif job.state == "failed":
        note(job.error, f"{job.remedy} The ranking below is the one without the model.",
             kind="error")  # fmt: skip
    elif job.report is not None:
        what_was_asked(job.report)
    if job is not None and _has_order(job):
        _order_switch()


def _unasked(info: EndpointInfo, asked: Asked) -> str:
    model = html.escape(info.model)
    if asked.mode:
        return f"Not reranked yet. Press <b>Rerank</b>, and {model} reads what is ranked here."
    return (
        f"This is the ranking of dense. Press <b>Search with the model</b>, and {model} helps "
        "to search."
    )


def _order_switch() -> None:
    st.session_state[ORDER] = st.session_state.get(ORDER, OWN)
    st.segmented_control(
        "Order of the results", [OWN, BEFORE], key=ORDER, required=True,
        label_visibility="collapsed",
    )  # fmt: skip


def _progress(job_id: str, follows: bool) -> None:
    """One line that changes in place; the page is renewed when there is more to show."""
    verifier = engine().verifier
    try:
        job = verifier.state(job_id)
    except SeedLensError:
        st.rerun()
    rounds, at = st.session_state.get("explore_shown", (0, 0.0))
    renew = follows and job.rounds > rounds and time.monotonic() - at >= _RENEW_SECONDS
    if job.state != "running" or renew:
        st.rerun()
    line = progress_line(job, model_jobs.seconds(job_id))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        progress(line, progress_share(job), "Reranking")
        st.button(
            "Cancel", key="explore_cancel", on_click=verifier.cancel, args=(job_id,),
            help="What was answered is kept, and so is the best order so far.",
        )  # fmt: skip
