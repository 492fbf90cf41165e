"""The rankings that this visit asked a model for: a page that is opened again finds them.

They run in the server, whether or not a page shows them. Which one belongs to which search is
kept for the visit; answers are in the ledger for good.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from engine.errors import UnknownNameError
from engine.explorer import Explorer
from engine.types.reranking import CostEstimate, EndpointInfo, RerankJob
from engine.types.searches import PAGE_SIZE, Query
from pages._common.job_card import Started
from pages._model.model_settings import chosen

_JOBS, _RECALLED = "model_jobs", "model_recalled"
_Key = tuple["Asked", str, str]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model is asked to rank.

    Attributes:
        mode, depth: how it reranks; "" and 0 for a system that asks a model by itself.
    """

    query: Query
    mode: str = ""
    depth: int = 0

    def __post_init__(self) -> None:
        # One reranking serves all pages of results.
        object.__setattr__(self, "query", replace(self.query, k=PAGE_SIZE, offset=0))


def estimate(explorer: Explorer, asked: Asked) -> CostEstimate:
    """What asking will cost; raises as ``Verifier.estimate``."""
    return explorer.verifier.estimate(
        asked.query, asked.mode, asked.depth, endpoint=chosen(explorer)
    )


def start(explorer: Explorer, asked: Asked, info: EndpointInfo) -> None:
    """Ask the model, in the background; raises as ``Verifier.start``."""
    job_id = explorer.verifier.start(
        asked.query, asked.mode, asked.depth, endpoint=chosen(explorer)
    )
    _jobs()[_key(asked, info)] = Started.now(job_id)


def find(explorer: Explorer, asked: Asked, info: EndpointInfo) -> RerankJob | None:
    """What this visit asked for, or what is under way for the same; None when nothing is.

    A page that was reloaded is another visit, and what it had asked for may still cost.
    Raises as ``Verifier.start``.
    """
    key = _key(asked, info)
    if key not in _jobs():
        running = explorer.verifier.running(
            asked.query, asked.mode, asked.depth, endpoint=chosen(explorer)
        )
        if running is None:
            return None
        _jobs()[key] = Started.now(running)
    job_id = _jobs()[key].job_id
    try:
        return explorer.verifier.state(job_id)
    except UnknownNameError:  # the server keeps the latest only, and those of corpora as they are
        explorer.verifier.cancel(job_id)  # nobody can look at it any more; its answers are kept
        del _jobs()[key]
        _tried().discard(key)
        return None


def recall(explorer: Explorer, asked: Asked, info: EndpointInfo) -> RerankJob | None:
    """The ranking from answers that were given before, without asking; None where one is missing.

    Looked for once per visit: an address that is opened again shows what it showed.
    """
    key = _key(asked, info)
    if not info.tried or key in _tried():
        return None
    job_id = explorer.verifier.recall(
        asked.query, asked.mode, asked.depth, endpoint=chosen(explorer)
    )
    _tried().add(key)  # only now: the page may be drawn anew while this is looked for
    if job_id is None:
        return None
    _jobs()[key] = Started.now(job_id)
    return explorer.verifier.state(job_id)


def seconds(job_id: str) -> float:
    """Since this visit asked for it, or found it; 0.0 when it did not."""
    return next((s.seconds for s in _jobs().values() if s.job_id == job_id), 0.0)


def others_running(explorer: Explorer, shown: RerankJob | None) -> list[RerankJob]:
    """What this visit asked for, is under way, and is not shown."""
    found = []
    for started in list(_jobs().values()):
        if shown is not None and started.job_id == shown.id:
            continue
        try:
            job = explorer.verifier.state(started.job_id)
        except UnknownNameError:
            continue
        if job.state == "running":
            found.append(job)
    return found


def _key(asked: Asked, info: EndpointInfo) -> _Key:
    return asked, info.address, info.model


def _jobs() -> dict[_Key, Started]:
    found: dict[_Key, Started] = st.session_state.setdefault(_JOBS, {})
    return found


def _tried() -> set[_Key]:
    found: set[_Key] = st.session_state.setdefault(_RECALLED, set())
    return found
