"""A language model on the Explore page: how to rerank, what it costs, how far it is.

Calls cost money: nothing is asked unless the button was pressed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.reranking import EndpointInfo, Reranking, RerankJob, RerankRequest
from engine.types.searches import PAGE_SIZE, Query, SearchResults
from pages._common.job_card import JobCard, what_was_asked
from pages._common.job_words import estimate_line, progress_line
from pages._common.outside_text import escape
from pages._common.shared import attempt, engine, note, remembered
from pages._explore.explore_url import DEEPEST, View
from pages._login import login
from pages._model.model_form import folded_panel
from pages._model.model_settings import chosen, endpoint
from pages._model.reranking_controls import (
    NOT_CONNECTED,
    OWN,
    POLL_SECONDS,
    ask_label,
    is_whole,
    order_switch,
    other_jobs,
    rerank_controls,
    shows_model,
)
from pages._model.visit_jobs import VisitJobs

DEPTHS = (20, 50, 100, DEEPEST)
KEPT = "Cached: running this again is free."
ORDER = "explore_order"
SEARCHED = "explore_searched"
_RENEW_SECONDS = 2.0
"""Between two renewals of the list while a model ranks: faster, nobody could read it."""


@dataclass(frozen=True, slots=True)
class ModelRun:
    """What a model has to do with this view.

    Attributes:
        asked: what the model is to rank; None when it is not wanted.
        job: how far that is; None before it was asked for.
    """

    info: EndpointInfo
    asked: RerankRequest | None
    job: RerankJob | None


@dataclass(frozen=True, slots=True)
class Shown:
    """The page of results, and the model's part in it.

    Attributes:
        reranking: None where the order is not the model's.
    """

    results: SearchResults
    reranking: Reranking | None
    reads_aspect: bool


def open_run(explorer: Explorer, view: View) -> ModelRun:
    """The model's part in a view. Asks nothing; what the ledger knows is there at once."""
    info = endpoint(explorer)
    asked = job = None
    try:
        asked = _wanted(explorer, view, view.to_query(explorer))
        if asked is not None and info.set_up:
            job = _find(explorer, asked, info)
    except SeedLensError:
        pass  # shown where the results would be
    return ModelRun(info, asked, job)


def _jobs(explorer: Explorer) -> VisitJobs[tuple[RerankRequest, str, str]]:
    """What this visit asked for, by what was asked and of whom."""
    verifier = explorer.verifier
    return VisitJobs("model", verifier.job, verifier.jobs.cancel)


def _find(explorer: Explorer, asked: RerankRequest, info: EndpointInfo) -> RerankJob | None:
    """What this visit asked for, or what is under way for the same, or known from before.

    Another visit may have asked for the same, and that may still cost. Raises as
    ``Assistant.start``.
    """
    key, known = (asked, info.address, info.model), _jobs(explorer)
    job = known.find(key)
    if job is None:
        verifier = explorer.verifier
        job = known.keep(key, verifier.running(asked, chosen(explorer)))
        if job is None and info.tried:
            job = known.recall(key, lambda: verifier.recall(asked, chosen(explorer)))
    return job


def _wanted(explorer: Explorer, view: View, query: Query) -> RerankRequest | None:
    """What the model is to rank in a view; None when it is not to.

    The mode is "" for a system that asks a model by itself.
    """
    query = replace(query, k=PAGE_SIZE, offset=0)  # one reranking serves all pages of results
    if query.system in explorer.model_systems:
        return RerankRequest(query, "", 0)
    return RerankRequest(query, view.rerank, view.depth) if view.rerank else None


def shown(explorer: Explorer, view: View, query: Query, run: ModelRun) -> Shown:
    """The page of results: the model's order where there is one, else the one without it."""
    job = run.job
    if job is not None and _has_order(job) and shows_model(ORDER):
        reranking = explorer.verifier.result(job.id, query.k, query.offset)
        return Shown(reranking.results, reranking, True)
    if query.system in explorer.model_systems:
        results = _searched(explorer, replace(query, system="dense"))
        return Shown(replace(results, instruction_following=None), None, False)
    return Shown(_searched(explorer, query), None, explorer.reads_aspect(view.system))


def _searched(explorer: Explorer, query: Query) -> SearchResults:
    """The results of a search; those of this visit's latest while nothing of it has changed.

    A click that grades, keeps or unfolds a document asks for them again.
    """
    state = (query, explorer.library.state(query.corpus))
    return remembered(SEARCHED, state, lambda: explorer.search(query))


def _has_order(job: RerankJob) -> bool:
    """Whether the model has ranked anything yet."""
    return job.state == "done" or (job.state != "failed" and job.progress.rounds > 0)


def run_area(run: ModelRun) -> None:
    """How far the model is, or what it took: above the results, of the same height throughout."""
    if run.asked is None or not run.info.set_up:
        return
    job = run.job
    if job is None:
        st.html(f'<div class="md-dim">{_unasked(run.info, run.asked)}</div>')
    elif job.running:
        _running(job)
    elif job.state == "failed":
        note(job.error, f"{job.remedy} Showing the original ranking.",
             kind="error")  # fmt: skip
    else:
        what_was_asked(job.progress.report)
    if job is not None and _has_order(job):
        order_switch(ORDER, "Order of the results")


def _running(job: RerankJob) -> None:
    rounds, at = job.progress.rounds, time.monotonic()

    def is_news(now: RerankJob) -> bool:
        if not shows_model(ORDER):
            return False
        return now.progress.rounds > rounds and time.monotonic() - at >= _RENEW_SECONDS

    verifier = engine().verifier
    JobCard(
        lambda: verifier.job(job.id), key="explore", label="Reranking", line=progress_line,
        cancel=verifier.jobs.cancel, is_news=is_news, border=False, poll=POLL_SECONDS,
        what_stays="Cached answers and the partial ranking are kept.",
    ).show(job)  # fmt: skip


def _unasked(info: EndpointInfo, asked: RerankRequest) -> str:
    model = escape(info.model)
    if asked.mode:
        return "Not reranked yet."
    return f"Showing the ranking of dense. Press <b>Search with the model</b> to use {model}."


# -- the controls ----------------------------------------------------------------------------


def model_controls(explorer: Explorer, view: View, run: ModelRun) -> None:
    """The switch under the system; with it on, how to rerank, what it costs, and the button."""
    by_itself = view.system in explorer.model_systems
    if not by_itself:
        rerank_controls(
            explorer, "explore", view, DEPTHS, depth_field="depth",
            words="A language model reorders the top documents.",
            page=1,
        )  # fmt: skip
    if by_itself or view.rerank:
        if run.info.set_up:
            _estimate_and_button(explorer, run)
        else:
            st.html(f'<div class="md-dim">{NOT_CONNECTED} Showing the original ranking.</div>')
    other_jobs(_jobs(explorer), run.job, "explore_cancel_others", "other search", "other searches")
    folded_panel(explorer, "explore", needed=by_itself or bool(view.rerank))


def _estimate_and_button(explorer: Explorer, run: ModelRun) -> None:
    """What it costs, and the button that starts it."""
    asked, job = run.asked, run.job
    if asked is None:
        return
    try:
        estimate = explorer.verifier.estimate(asked, chosen(explorer))
    except SeedLensError:  # shown where the results would be
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            _label(asked, job), key="explore_ask", type="primary",
            disabled=job is not None and (job.state == "running" or is_whole(job, job.report)),
            on_click=attempt, args=(lambda: _start(explorer, asked, run.info),),
        )  # fmt: skip
        line = KEPT if job is not None and is_whole(job, job.report) else estimate_line(estimate)
        st.html(f'<div class="md-dim">{escape(line)}</div>')


def _label(asked: RerankRequest, job: RerankJob | None) -> str:
    if job is not None and job.running:
        return "Running"
    if job is not None and is_whole(job, job.report):
        return "Reranked" if asked.mode else "Searched"
    return ask_label("Rerank" if asked.mode else "Search with the model", job)


def _start(explorer: Explorer, asked: RerankRequest, info: EndpointInfo) -> None:
    # A click may come before the page has caught up: another search is not what was agreed to.
    now = View.read()
    if _wanted(explorer, now, now.to_query(explorer)) != asked:
        return
    job_id = explorer.verifier.start(asked, chosen(explorer), owner=login.owner())
    _jobs(explorer).keep((asked, info.address, info.model), job_id)
    st.session_state[ORDER] = OWN
