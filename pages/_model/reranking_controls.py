"""What Explore and Compare have in common where a model reranks.

Calls cost money: nothing is asked unless a button was pressed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

import streamlit as st

from engine.errors import NotAllowedError, UnknownNameError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.jobs import Job
from engine.types.models import ModelUsage
from pages._common.kit import dim, line
from pages._common.state import PageView
from pages._common.visit_memory import memory
from pages._login import login

OWN, BEFORE = "With the model", "Original"
POLL_SECONDS = 0.5
NOT_CONNECTED = "Requires a language model. Connect one below."


def rerank_controls(
    explorer: Explorer,
    key: str,
    view: PageView,
    depths: Sequence[int],
    *,
    depth_field: str,
    words: str,
    **also: Any,
) -> None:
    """The switch that lets a model rerank; with it on, how, and how many documents.

    Args:
        view: its field ``rerank`` is the mode, "" for none, ``depth_field`` the number.
        words: what the model is to do.
        also: fields of the view that a change sets along.
    """
    modes = explorer.rerank_modes
    first, mode = next(iter(modes)), getattr(view, "rerank", "")
    words = f"{words} No request is sent until you click."
    bound = view.bound("rerank", f"{key}_rerank", bool(mode), lambda on: first * on, **also)
    st.toggle("Rerank with a model", help=words, **bound)
    if not mode:
        return
    left, right = st.columns([3, 2])
    left.selectbox("Mode", list(modes), **view.bound("rerank", f"{key}_mode", **also))
    right.selectbox(
        "Documents",
        sorted({*depths, getattr(view, depth_field)}),
        **view.bound(depth_field, f"{key}_{depth_field}", **also),
        format_func=lambda depth: f"top {depth}",
        help="Number of top documents to rerank.",
    )
    dim(modes[mode])


def ask_label(verb: str, job: Job[Any, Any] | None) -> str:
    """What the button says that has a model asked, or asked for what is missing."""
    if job is None:
        return verb
    return "Try again" if job.state == "failed" else "Resume"


def other_jobs(
    jobs: VisitJobs[Any], shown: Job[Any, Any] | None, key: str, one: str, many: str
) -> None:
    """Say what still runs for something else that this visit asked for, as it may cost."""
    running = jobs.others_running(shown)
    if not running:
        return

    def cancel() -> None:
        for job in running:
            jobs.cancel(job.id)

    with line():
        dim(f"You have {counted(len(running), one, many)} running.")
        label = "Cancel" if len(running) == 1 else "Cancel all"
        st.button(label, key=key, type="tertiary", on_click=cancel)


def order_switch(key: str, label: str) -> None:
    """Whether the model's order is shown, or the one without it."""
    st.session_state[key] = st.session_state.get(key, OWN)
    st.segmented_control(label, [OWN, BEFORE], key=key, required=True, label_visibility="collapsed")


def shows_model(key: str) -> bool:
    """Whether :func:`order_switch` says so; it does at first."""
    return bool(st.session_state.get(key, OWN) == OWN)


def is_whole(job: Job[Any, Any], report: ModelUsage | None) -> bool:
    """Every question has an answer: to ask again would bring the same."""
    lacks = report is None or report.stopped or report.failed or report.unread
    return job.state == "done" and not lacks


Key = TypeVar("Key", bound=Hashable)


class VisitJobs(Generic[Key]):
    """The last job of each request of this visit, also after a reload.

    Args:
        job_of: the job with an id; UnknownNameError where it cannot be shown any more.
    """

    def __init__(
        self, name: str, job_of: Callable[[str], Job[Any, Any]], cancel: Callable[[str], object]
    ) -> None:
        self._job_of, self.cancel = job_of, cancel
        self._ids: dict[Key, str] = memory().setdefault(f"{name}_jobs", {})
        self._recalled: set[Key] = st.session_state.setdefault(f"{name}_recalled", set())

    def find(self, key: Key) -> Job[Any, Any] | None:
        """The job as it is now, None where there is none."""
        job_id = self._ids.get(key)
        if job_id is None:
            return None
        try:
            return self._job_of(job_id)
        except UnknownNameError:  # the server keeps the latest only, and those of corpora as now
            with suppress(NotAllowedError):  # of somebody else, who may look at it
                self.cancel(job_id)  # nobody can look at it any more; its answers are kept
            self._ids.pop(key, None)
            self._recalled.discard(key)
            return None

    def keep(self, key: Key, job_id: str | None) -> Job[Any, Any] | None:
        """Keep the id of a request's job; returns the job, None for None."""
        if job_id is None:
            return None
        self._ids[key] = job_id
        return self.find(key)

    def recall(self, key: Key, ask: Callable[[], str | None]) -> Job[Any, Any] | None:
        """What comes of cached answers alone; looked for once per tab. ``ask``: the id of the job,
        None where an answer is missing."""
        if key in self._recalled:
            return None
        job_id = ask()
        self._recalled.add(key)  # only now: a click meanwhile ends this run of the page
        return self.keep(key, job_id)

    def others_running(self, shown: Job[Any, Any] | None) -> list[Job[Any, Any]]:
        """What this visit asked for and may end, is under way, and is not shown."""
        jobs = [self.find(key) for key in list(self._ids)]
        who = login.acting()
        return [
            j
            for j in jobs
            if j and j.running and who.may_end(j.owner) and (shown is None or j.id != shown.id)
        ]
