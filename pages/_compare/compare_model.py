"""The model on the Compare page: how to rerank, how far it is, what it took and changed.

Calls cost money: nothing is asked unless the button was pressed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.comparisons import (
    Comparison,
    ComparisonRequest,
    ModelOrders,
    VariantsJob,
    VariantsRequest,
    VariantsSoFar,
)
from engine.types.models import Estimate, ModelReport
from engine.types.reranking import EndpointInfo
from engine.types.searches import PAGE_SIZE
from pages._common.kit import button, dim, el, line
from pages._common.shared import note, show_error
from pages._common.tasks import (
    JobCard,
    asked_so_far,
    duration,
    estimate_line,
    joined,
    top_sentence,
    what_was_asked,
)
from pages._compare.compare_state import (
    RERANK_DEPTH,
    ComparePage,
    CompareView,
    Stamp,
    kept,
    request_of,
)
from pages._compare.sections import KINDS
from pages._explore.explore_state import DEEPEST
from pages._login import login
from pages._model.model_settings import chosen, endpoint, folded_panel, is_panel_busy
from pages._model.reranking_controls import (
    NOT_CONNECTED,
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

DEPTHS = (20, RERANK_DEPTH, 100, DEEPEST)
ORDER = "compare_order"
BESIDE = (
    "Each system is also reranked once without an instruction: the difference shows whether the "
    "model follows instructions."
)
_Key = tuple[VariantsRequest | None, Stamp, str, str]
_NOTHING = VariantsSoFar(Estimate(), ModelOrders(), (), ModelReport(mode="", depth=0, endpoint=""))


@dataclass(frozen=True, slots=True)
class ModelRun:
    """What a model has to do with this view.

    Attributes:
        request: what it is to rerank; None when it is not wanted, or nothing can be compared.
        job: how far that is; None before it was asked for.
    """

    info: EndpointInfo
    request: VariantsRequest | None = None
    stamp: Stamp = ()
    job: VariantsJob | None = None

    @property
    def key(self) -> _Key:
        """By which the visit keeps its jobs."""
        return self.request, self.stamp, self.info.address, self.info.model

    @property
    def so_far(self) -> VariantsSoFar:
        """What the model made of the rankings so far; nothing before its first report."""
        return so_far(self.job) if self.job else _NOTHING

    @property
    def has_orders(self) -> bool:
        """Whether the model has ranked anything yet."""
        return bool(self.so_far.orders.variants)


def so_far(job: VariantsJob) -> VariantsSoFar:
    """What a job made so far."""
    found: VariantsSoFar = job.progress.partial or _NOTHING
    return found


def open_run(page: ComparePage) -> ModelRun:
    """The model's part in a view. Asks nothing; what the ledger knows is there at once."""
    explorer, info = page.explorer, endpoint(page.explorer)
    request = _wanted(page.view, page.request)
    run = ModelRun(info, request, page.stamp)
    if request is None or not info.set_up:
        return run
    known, by_model = _jobs(explorer), explorer.comparing.by_model
    job = known.find(run.key)
    # While the endpoint is tried out, what it can do is not known: no answer would match.
    if job is None and info.tried and not is_panel_busy():
        job = known.recall(run.key, lambda: by_model.recall(request, chosen(explorer)))
    return ModelRun(info, request, page.stamp, job)


def _wanted(view: CompareView, request: ComparisonRequest) -> VariantsRequest | None:
    """What the model is to rerank in a view; None when it is not to."""
    if not view.rerank:
        return None
    same = {field.name: getattr(request, field.name) for field in fields(request)}
    return VariantsRequest(**same, mode=view.rerank, depth=view.rerank_depth)


def _jobs(explorer: Explorer) -> VisitJobs[_Key]:
    jobs = explorer.comparing.by_model.jobs
    return VisitJobs("compare_model", jobs.job, jobs.cancel)


# -- the controls ----------------------------------------------------------------------------


def model_controls(page: ComparePage, run: ModelRun) -> None:
    """The switch under the variants, how to rerank, and the panel to connect a model."""
    explorer, view = page.explorer, page.view
    words = "A language model reorders the top documents of each variant by its instruction."
    rerank_controls(explorer, "compare", view, DEPTHS, depth_field="rerank_depth", words=words)
    if view.rerank and not run.info.set_up:
        dim(NOT_CONNECTED, " Showing the original rankings.")
    one, many = "other comparison", "other comparisons"
    other_jobs(_jobs(explorer), run.job, "compare_cancel_others", one, many)
    folded_panel(explorer, "compare", needed=bool(view.rerank))


def run_area(page: ComparePage, run: ModelRun) -> None:
    """What the model is to do, how far it is, or what it took; of the same height throughout."""
    job = run.job
    if run.request is None:
        return
    if not run.info.set_up:
        dim("Not reranked: no language model is connected. Connect one under “Language model”.")
        return
    if job is not None and job.running:
        _running(page.explorer, run, job)
    elif job is not None and job.state == "failed":
        note(job.error, f"{job.remedy} Showing the original rankings.", kind="error")
    elif job is not None:
        what_was_asked(run.so_far.report)
    with line():
        if run.has_orders:
            order_switch(ORDER, "Order of the rankings")
        if job is None or not (job.running or is_whole(job, run.so_far.report)):
            _button(page.explorer, run)
    if job is None:
        words = f"{run.info.model} will reorder the top documents of each variant."
        dim("Not reranked yet. ", words)


def _running(explorer: Explorer, run: ModelRun, job: VariantsJob) -> None:
    whole, jobs = len(run.so_far.whole), explorer.comparing.by_model.jobs

    def is_news(now: VariantsJob) -> bool:
        """Another variant is ranked, and its ranking is looked at, or the first that can be."""
        follows = not whole or (run.has_orders and shows_model(ORDER))
        return len(so_far(now).whole) > whole and follows

    JobCard(
        lambda: jobs.job(job.id),
        key="compare",
        label="Reranking",
        line=progress_line,
        cancel=jobs.cancel,
        is_news=is_news,
        border=False,
        poll=POLL_SECONDS,
        what_stays="Cached answers and partial rankings are kept.",
    ).show(job)


def _button(explorer: Explorer, run: ModelRun) -> None:
    """The button that asks for what is missing, with its estimate."""
    request = run.request
    if request is None:
        return
    try:
        do = partial(explorer.comparing.by_model.estimate, request, chosen(explorer))
        estimate = kept(do, "estimate", request, run.stamp, run.info)
    except SeedLensError as error:
        show_error(error)
        return

    def start() -> None:
        # A click may come before the page has caught up: other variants are not what was agreed to.
        now = CompareView.read()
        if _wanted(now, request_of(explorer, now)) == request:
            ask = explorer.comparing.by_model.start
            _jobs(explorer).keep(run.key, ask(request, chosen(explorer), owner=login.owner()))
            st.session_state[ORDER] = OWN

    label = ask_label("Rerank", run.job)
    button(label, "compare_ask", start, type="primary")
    words, count = estimate_line(estimate), len(request.variants)
    if run.so_far.report.questions:
        words += "; cached answers are free"
    elif count > 1:
        words = f"All {count} variants: {words}"
    st.html(el("div.md-line", el("span", words, title=BESIDE)))


def progress_line(job: VariantsJob) -> str:
    """Variants, rounds, calls, tokens, cost and time so far, in one line of HTML."""
    now = so_far(job)
    parts = [f"{len(now.whole)} of {counted(len(job.request.variants), 'variant')} done"]
    if now.report.rounds:
        parts += asked_so_far(now.estimate, now.report)
    return joined([*parts, duration(job.seconds)])


# -- the rankings ----------------------------------------------------------------------------


def in_order(page: ComparePage, run: ModelRun, comparison: Comparison) -> Comparison:
    """The comparison in the model's order where there is one and it is looked at."""
    job = run.job
    if job is None or not (run.has_orders and shows_model(ORDER)):
        return comparison
    return page.compared((job.id, job.state, len(run.so_far.whole)), run.so_far.orders)


def changes(before: Comparison, after: Comparison, run: ModelRun) -> Mapping[str, str]:
    """For each variant that a model reranked, what that changed: plain text."""
    kinds = {v.variant: KINDS[v.kind][0] for v in before.verdicts}
    sentences: dict[str, str] = {}
    for old, new in zip(before.variants, after.variants, strict=True):
        name = new.variant.name
        if name in after.by_model:
            whole = name in run.so_far.whole
            moved = moved_sentence(old.ranking.doc_ids, new.ranking.doc_ids, whole=whole)
            sentences[name] = f"{moved} Original: {kinds[name]}."
    return sentences


def moved_sentence(before: tuple[str, ...], after: tuple[str, ...], *, whole: bool = True) -> str:
    """What a model changed in the first 20; ``whole``: it has no more to say.

    >>> moved_sentence(("a", "b", "c"), ("b", "a", "c"))
    'The model moved 2 of the top 3, none of them new.'
    """
    first, top = before[:PAGE_SIZE], after[:PAGE_SIZE]
    moved = sum(a != b for a, b in zip(first, top, strict=True))
    return top_sentence(moved, len(set(top) - set(first)), len(top), whole=whole)
