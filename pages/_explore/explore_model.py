"""A language model on the Explore page: how to rerank, what it costs, how far it is.

Calls cost money: nothing is asked unless the button was pressed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.reranking import (
    EndpointInfo,
    GeneratedExplanation,
    Reranking,
    RerankJob,
    RerankRequest,
)
from engine.types.searches import PAGE_SIZE, Query, SearchResults
from pages._common.kit import button, dim, el, line
from pages._common.shared import as_ours, note, remembered
from pages._common.tasks import JobCard, estimate_line, progress_line, what_was_asked
from pages._common.waiting import answers, once, renew_when
from pages._explore.explore_state import DEEPEST, ExplorePage, View
from pages._login import login
from pages._model.model_settings import chosen, endpoint, folded_panel
from pages._model.reranking_controls import (
    OWN,
    POLL_SECONDS,
    VisitJobs,
    ask_label,
    is_whole,
    order_switch,
    other_jobs,
    rerank_controls,
    shows_model,
)

DEPTHS = (20, 50, 100, DEEPEST)
KEPT = "Cached: running this again is free."
ORDER = "explore_order"
SEARCHED = "explore_searched"
_RENEW_SECONDS = 2.0
"""Between two renewals of the list while a model ranks: faster, nobody could read it."""


@dataclass(frozen=True, slots=True)
class ModelRun:
    """What a model has to do with this view."""

    info: EndpointInfo
    request: RerankRequest | None  # what the model is to rank; None when it is not wanted
    job: RerankJob | None  # how far that is; None before it was asked for


@dataclass(frozen=True, slots=True)
class Found:
    """The page of results, and the model's part in it."""

    results: SearchResults
    reranking: Reranking | None  # None where the order is not the model's
    reads_aspect: bool


def open_run(page: ExplorePage) -> ModelRun:
    """The model's part in a view, as this or another visit asked for it. Asks nothing."""
    explorer, info = page.explorer, endpoint(page.explorer)
    request = job = None
    try:
        request = _wanted(explorer, page.view, page.query)
        if request is not None and info.set_up:
            key, known = (request, info.address, info.model), _jobs(explorer)
            verifier = explorer.verifier
            job = known.find(key) or known.keep(key, verifier.running(request, chosen(explorer)))
            if job is None and info.tried:
                job = known.recall(key, lambda: verifier.recall(request, chosen(explorer)))
    except SeedLensError:
        pass  # shown where the results would be
    return ModelRun(info, request, job)


def _jobs(explorer: Explorer) -> VisitJobs[tuple[RerankRequest, str, str]]:
    """What this visit asked for, by what was asked and of which model."""
    verifier = explorer.verifier
    return VisitJobs("model", verifier.job, verifier.jobs.cancel)


def _wanted(explorer: Explorer, view: View, query: Query) -> RerankRequest | None:
    """What the model is to rank in a view, None for nothing; a system that asks a model by itself
    has the mode ""."""
    query = replace(query, k=PAGE_SIZE, offset=0)  # one reranking serves all pages of results
    if query.system in explorer.model_systems:
        return RerankRequest(query, "", 0)
    return RerankRequest(query, view.rerank, view.depth) if view.rerank else None


def search(page: ExplorePage, run: ModelRun) -> Found:
    """The page of results: the model's order where there is one, else the one without it."""
    explorer, query, job = page.explorer, page.query, run.job
    if job is not None and _has_order(job) and shows_model(ORDER):
        reranking = explorer.verifier.result(job.id, query.k, query.offset)
        return Found(reranking.results, reranking, True)
    by_model = query.system in explorer.model_systems
    query = replace(query, system="dense") if by_model else query
    # A click that grades, keeps or unfolds a document asks for the same results again.
    basis = (query, explorer.library.state(query.corpus))
    results = remembered(SEARCHED, basis, lambda: explorer.search(query))
    if by_model:
        return Found(replace(results, instruction_following=None), None, False)
    return Found(results, None, explorer.reads_aspect(query.system))


def _has_order(job: RerankJob) -> bool:
    """Whether the model has ranked anything yet."""
    return job.state == "done" or (job.state != "failed" and job.progress.rounds > 0)


def run_area(page: ExplorePage, run: ModelRun) -> None:
    """How far the model is, or what it took: above the results, of the same height throughout."""
    job, request, known = run.job, run.request, _jobs(page.explorer)
    other_jobs(known, job, "explore_cancel_others", "other search", "other searches")
    if request is None:
        return
    if not run.info.set_up:
        dim("Requires a language model: connect one under Advanced. Showing the original ranking.")
    elif job is None:
        press = el("b", "Search with the model")
        by_model = ("Showing the ranking of dense. Press ", press, f" to use {run.info.model}.")
        dim("Not reranked yet." if request.mode else by_model)
    elif job.running:
        _running(page.explorer, job)
    elif job.state == "failed":
        note(job.error, f"{job.remedy} Showing the original ranking.", kind="error")
    else:
        what_was_asked(job.progress.report)
    if job is not None and _has_order(job):
        order_switch(ORDER, "Order of the results")


def _running(explorer: Explorer, job: RerankJob) -> None:
    rounds, at, verifier = job.progress.rounds, time.monotonic(), explorer.verifier

    def is_news(now: RerankJob) -> bool:
        more = now.progress.rounds > rounds and time.monotonic() - at >= _RENEW_SECONDS
        return more and shows_model(ORDER)

    JobCard(
        lambda: verifier.job(job.id),
        key="explore",
        label="Reranking",
        line=progress_line,
        cancel=verifier.jobs.cancel,
        is_news=is_news,
        border=False,
        poll=POLL_SECONDS,
        what_stays="Cached answers and the partial ranking are kept.",
    ).show(job)


def model_controls(page: ExplorePage, run: ModelRun) -> None:
    """The switch under the system; with it on, how to rerank, what it costs, and the button."""
    explorer, view = page.explorer, page.view
    by_itself = view.system in explorer.model_systems
    wanted = by_itself or bool(view.rerank)
    if not by_itself:
        words = "A language model reorders the top documents."
        rerank_controls(explorer, "explore", view, DEPTHS, depth_field="depth", words=words)
    if run.request is not None and run.info.set_up:
        _estimate_and_button(explorer, run, run.request)
    folded_panel(explorer, "explore", needed=wanted)


def _estimate_and_button(explorer: Explorer, run: ModelRun, request: RerankRequest) -> None:
    """What it costs, and the button that starts it."""
    job = run.job
    try:
        estimate = explorer.verifier.estimate(request, chosen(explorer))
    except SeedLensError:  # shown where the results would be
        return

    def start() -> None:
        # A click may come before the page has caught up: another search is not what was agreed to.
        now = View.read()
        if _wanted(explorer, now, now.to_query(explorer)) == request:
            job_id = explorer.verifier.start(request, chosen(explorer), owner=login.owner())
            _jobs(explorer).keep((request, run.info.address, run.info.model), job_id)
            st.session_state[ORDER] = OWN

    running, whole = job is not None and job.running, job is not None and is_whole(job, job.report)
    label = ask_label("Rerank" if request.mode else "Search with the model", job)
    if running or whole:
        label = "Running" if running else "Reranked" if request.mode else "Searched"
    with line():
        button(label, "explore_ask", start, type="primary", disabled=running or whole)
        dim(KEPT if whole else estimate_line(estimate))


# -- explanations ---------------------------------------------------------------------------

_POLL_SECONDS = 0.4
_EXPLANATIONS = "explore_explanations"


def _key(query: Query, doc_id: str, info: EndpointInfo) -> tuple[Query, str, str, str]:
    """How results are ranked and paged does not matter to why one of them is similar."""
    names = ("corpus", "seed", "text", "aspect", "instruction", "focus", "reading", "steer")
    asked = Query(**{name: getattr(query, name) for name in names})
    return asked, doc_id, info.address, info.model


def ask(explorer: Explorer, query: Query, event: Mapping[str, Any]) -> None:
    """What the click on a result's "explain" does: one question, asked beside the page."""
    key, known = _key(query, str(event["doc_id"]), endpoint(explorer)), answers(_EXPLANATIONS)
    if key in known and known[key].done() and known[key].exception():
        del known[key]  # asked again
    given, explain = chosen(explorer), explorer.verifier.explain_with_model
    once(_EXPLANATIONS, [key], lambda _: explain(*key[:2], endpoint=given))


def explanations(explorer: Explorer, query: Query, doc_ids: list[str]) -> list[list[Any]]:
    """Pairs of doc_id and what its card shows of its explanation; ``state`` is ``asking``, ``done``
    or ``error``. The page is drawn again when a model has answered."""
    known = answers(_EXPLANATIONS)
    if not known:
        return []
    info = endpoint(explorer)
    keys = {doc_id: _key(query, doc_id, info) for doc_id in doc_ids}
    found = {doc_id: known[key] for doc_id, key in keys.items() if key in known}
    waiting = [answer for answer in found.values() if not answer.done()]
    if waiting:
        renew_when(lambda: any(answer.done() for answer in waiting), every=_POLL_SECONDS)
    return [[doc_id, _card(answer, info)] for doc_id, answer in found.items()]


def _card(answer: Future[GeneratedExplanation], info: EndpointInfo) -> dict[str, Any]:
    if not answer.done():
        return {"state": "asking", "title": f"Asking {info.model}…", "lines": []}
    if error := answer.exception():
        ours = as_ours(error, "Explanation failed.")
        lines, title = [ours.message, ours.remedy], "The model could not explain this"
        return {"state": "error", "title": title, "lines": list(filter(None, lines))}
    found = answer.result()
    removed = {0: "", 1: " One unverifiable quote was removed."}.get(
        found.unfounded, f" {found.unfounded} unverifiable quotes were removed."
    )
    return {
        "state": "done",
        "title": f"Generated by {found.model}",
        "similar": found.similar,
        "text": found.text,
        "seed_quotes": [quote.text for quote in found.seed_quotes],
        "document_quotes": [quote.text for quote in found.document_quotes],
        "checked": "Quotes are verified against the documents. The explanation itself may be "
        f"wrong.{removed}{' Cached.' if found.cached else ''}",
    }
