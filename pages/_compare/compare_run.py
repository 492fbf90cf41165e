"""What a model made of the variants' rankings, and which order the page shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from engine.errors import UnknownNameError
from engine.explorer import Explorer
from engine.types.comparisons import Comparison, VariantsJob, VariantsRequest
from engine.types.reranking import EndpointInfo
from engine.types.searches import PAGE_SIZE
from pages._common.job_card import Started
from pages._compare.compare_session import Asked, Stamp, compared_by_model
from pages._compare.compare_verdicts import KINDS
from pages._compare.compare_view import CompareView
from pages._model.model_form import endpoint, is_panel_busy
from pages._model.model_settings import chosen

OWN, BEFORE = "by the model", "without it"
ORDER = "compare_order"
_JOBS, _RECALLED = "compare_model_jobs", "compare_model_recalled"
_Key = tuple[VariantsRequest, Stamp, str, str]


@dataclass(frozen=True, slots=True)
class ModelRun:
    """What a model has to do with this view.

    Attributes:
        request: what it is to rerank; None when it is not wanted, or nothing can be compared.
        job: how far that is; None before it was asked for.
    """

    info: EndpointInfo
    request: VariantsRequest | None
    stamp: Stamp
    job: VariantsJob | None


def no_run(explorer: Explorer) -> ModelRun:
    """Where there is nothing that could be reranked."""
    return ModelRun(endpoint(explorer), None, (), None)


def open_run(explorer: Explorer, view: CompareView, asked: Asked, stamp: Stamp) -> ModelRun:
    """The model's part in a view. Asks nothing; what the ledger knows is there at once."""
    info = endpoint(explorer)
    request = wanted(view, asked)
    if request is None or not info.set_up:
        return ModelRun(info, request, stamp, None)
    key = request, stamp, info.address, info.model
    job = _find(explorer, key)
    # While the endpoint is tried out, what it can do is not known: nothing would be found.
    if job is None and info.tried and not is_panel_busy() and key not in _tried():
        model = explorer.verifier.model(explorer.verifier.connection(chosen(explorer)))
        _keep(key, explorer.comparing.by_model.recall(request, model))
        _tried().add(key)  # not before: a click meanwhile ends this run of the page
        job = _find(explorer, key)
    return ModelRun(info, request, stamp, job)


def wanted(view: CompareView, asked: Asked) -> VariantsRequest | None:
    """What the model is to rerank in a view; None when it is not to."""
    if not view.rerank:
        return None
    return VariantsRequest(*asked, view.variants, view.rerank, view.rerank_depth)


def start(explorer: Explorer, run: ModelRun) -> None:
    """Ask the model, in the background."""
    if run.request is None:
        return
    model = explorer.verifier.model(explorer.verifier.connection(chosen(explorer)))
    job_id = explorer.comparing.by_model.start(run.request, model)
    _keep((run.request, run.stamp, run.info.address, run.info.model), job_id)
    st.session_state[ORDER] = OWN


def others_running(explorer: Explorer, shown: VariantsJob | None) -> list[VariantsJob]:
    """What this visit asked for, is under way, and is not shown."""
    found = []
    for key in list(_jobs()):
        job = _find(explorer, key)
        if job is not None and job.state == "running" and (shown is None or job.id != shown.id):
            found.append(job)
    return found


def has_orders(job: VariantsJob | None) -> bool:
    """Whether the model has ranked anything yet."""
    return job is not None and bool(job.orders.variants)


def is_whole(job: VariantsJob) -> bool:
    """Every question was asked: to ask again would bring the same."""
    report = job.report
    return job.state == "done" and not (report.stopped or report.failed or report.unread)


def shows_model(run: ModelRun) -> bool:
    """Whether the page shows the model's order, as far as there is one."""
    return has_orders(run.job) and st.session_state.get(ORDER, OWN) == OWN


def shown(
    explorer: Explorer, view: CompareView, run: ModelRun, comparison: Comparison | None
) -> Comparison | None:
    """The comparison in the model's order where there is one and it is looked at."""
    job = run.job
    if comparison is None or run.request is None or job is None or not shows_model(run):
        return comparison
    asked = run.request.corpus, run.request.seed, run.request.text, run.request.aspect
    which = job.id, job.state, len(job.whole)
    return compared_by_model(explorer, asked, view.variants, run.stamp, which, job.orders)


def changes(before: Comparison, after: Comparison | None, run: ModelRun) -> Mapping[str, str]:
    """For each variant that a model reranked, what that changed: plain text."""
    kinds = {v.variant: KINDS[v.kind][0] for v in before.verdicts}
    found: dict[str, str] = {}
    if after is None or run.job is None:
        return found
    for old, new in zip(before.variants, after.variants, strict=True):
        name = new.variant.name
        if name in after.by_model:
            whole = name in run.job.whole
            moved = moved_sentence(old.ranking.doc_ids, new.ranking.doc_ids, whole=whole)
            found[name] = f"{moved} Without it: {kinds[name]}."
    return found


def moved_sentence(before: tuple[str, ...], after: tuple[str, ...], *, whole: bool = True) -> str:
    """What a model changed in the first 20; ``whole``: it has no more to say.

    >>> moved_sentence(("a", "b", "c"), ("b", "a", "c"))
    'The model moved 2 of the top 3; none came in from below.'
    """
    first, top = before[:PAGE_SIZE], after[:PAGE_SIZE]
    moved = sum(a != b for a, b in zip(first, top, strict=True))
    came = len(set(top) - set(first))
    who = "The model" if whole else "So far the model has"
    if not moved:
        return f"{who} left the top {len(top)} as they were."
    within = "none came in from below" if not came else f"{came} came in from below"
    return f"{who} moved {moved} of the top {len(top)}; {within}."


# -- what this visit asked for ---------------------------------------------------------------


def _find(explorer: Explorer, key: _Key) -> VariantsJob | None:
    started = _jobs().get(key)
    if started is None:
        return None
    try:
        return explorer.comparing.by_model.state(started.job_id)
    except UnknownNameError:  # the server keeps the latest only; answers are in the ledger
        del _jobs()[key]
        _tried().discard(key)
        return None


def _keep(key: _Key, job_id: str | None) -> None:
    if job_id is not None:
        _jobs()[key] = Started.now(job_id)


def seconds(job_id: str) -> float:
    """Since this visit asked for it; 0.0 when it did not."""
    return next((s.seconds for s in _jobs().values() if s.job_id == job_id), 0.0)


def _jobs() -> dict[_Key, Started]:
    found: dict[_Key, Started] = st.session_state.setdefault(_JOBS, {})
    return found


def _tried() -> set[_Key]:
    found: set[_Key] = st.session_state.setdefault(_RECALLED, set())
    return found
