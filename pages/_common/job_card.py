"""A job in the background, as pages show it: how far it is, and how it ended.

Jobs go on in the server, whether or not a page shows them. What they stored stays when the
server ends: the next one goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import streamlit as st

from engine.types.jobs import Job
from engine.types.models import ModelReport
from pages._common.job_words import joined, report_line
from pages._common.outside_text import escape
from pages._common.shared import attempt, note
from pages._common.waiting import renew_when
from pages._login import login

POLL_SECONDS = 1.0
"""Seconds between two looks at a job that takes minutes."""
AnyJob = Job[Any, Any]
Do = Callable[[], object]


@dataclass(frozen=True)
class JobCard:
    """How far a job is, with a button that ends it; or how it ended.

    Attributes:
        find: the job as it is now; asked again and again while it runs.
        key, which: the keys of card and buttons are ``KEY_job``, ``KEY_cancel`` ...; with
            ``which``, for several cards of a kind on a page, ``KEY_job_WHICH``.
        label: what is done, for who cannot see the bar.
        line: how far it is, in HTML.
        cancel, dismiss: do so by the job's id; without ``dismiss`` there is no such button.
        ended: what the job did, in HTML; "" for nothing to say.
        remarks: plain sentences about how it ended, each in a box of its own.
        resume: goes on with what is left; the button stands below a job that has ended.
        more: draws further buttons beside these.
        is_news: asked while the job runs: whether the rest of the page is out of date.
        what_stays: for the buttons' tooltips.
        attempt: does what a click asks for and keeps what goes wrong for its place.
        poll: seconds between two looks at a running job.
    """

    find: Callable[[], AnyJob | None]
    _: KW_ONLY
    key: str
    label: str
    line: Callable[[Any], str]
    cancel: Callable[[str], object]
    ended: Callable[[Any], str] = lambda _: ""
    remarks: Callable[[Any], Iterable[str]] = lambda _: ()
    resume: Do | None = None
    dismiss: Callable[[str], object] | None = None
    more: Callable[[Any], object] = lambda _: None
    is_news: Callable[[Any], bool] = lambda _: False
    what_stays: str = "Completed work is kept."
    which: str = ""
    border: bool = True
    attempt: Callable[[Do], None] = attempt
    poll: float = POLL_SECONDS

    def show(self, job: AnyJob | None) -> None:
        """The card; nothing without a job.

        While the job runs, one line changes in place; the page runs again when it has ended.
        """
        if job is None:
            return
        with st.container(border=self.border, key=self._name("job")):
            if job.running:
                renew_when(self._has_news, self._running, every=self.poll)
            else:
                self._at_its_end(job)

    def _has_news(self) -> bool:
        now = self.find()
        return now is None or not now.running or self.is_news(now)

    def _running(self) -> None:
        now = self.find()
        if now is None:
            return
        left, right = _halves()
        with left:
            progress(self.line(now) + _asides(now), now.progress.share, self.label)
        with right:
            cancel, mine = partial(self.cancel, now.id), login.acting().may_end(now.owner)
            words = self.what_stays if mine else "Only its owner or a lead can cancel this."
            self._button("cancel", "Cancel", cancel, words, disabled=now.stopping or not mine)
            self.more(now)

    def _at_its_end(self, job: AnyJob) -> None:
        left, right = _halves()
        with left:
            _how_it_ended(job, self.ended(job), self.remarks(job))
        with right:
            if self.resume is not None:
                verb = "Try again" if job.state == "failed" else "Resume"
                self._button("resume", verb, self.resume, "Continues with the remaining items.")
            self.more(job)
            if self.dismiss is not None and login.acting().may_end(job.owner):
                dismiss = partial(self.dismiss, job.id)
                self._button("dismiss", "Dismiss", dismiss, self.what_stays)

    def _name(self, part: str) -> str:
        return f"{self.key}_{part}_{self.which}" if self.which else f"{self.key}_{part}"

    def _button(self, part: str, label: str, do: Do, words: str, *, disabled: bool = False) -> None:
        key, act = self._name(part), self.attempt
        st.button(label, key, words, on_click=act, args=(do,), disabled=disabled)


def _asides(job: AnyJob) -> str:
    """That a job is about to stop, and who started it, in HTML."""
    stopping = joined(["stopping after the current step"]) if job.stopping else ""
    return stopping + (joined([f"started by {job.owner}"]) if job.owner else "")


def _how_it_ended(job: AnyJob, words: str, remarks: Iterable[str]) -> None:
    """Why a job ended early, or what it did (``words``, HTML); then the remarks."""
    if job.state in ("failed", "interrupted"):
        note(job.error, job.remedy, kind="error")
    elif words:
        st.html(f'<div class="md-line" role="status">{words}</div>')
    for remark in filter(None, remarks):
        note(remark)


def _halves() -> tuple[Any, Any]:
    """A column for words, and one for buttons in a row."""
    left, right = st.columns([8, 3], vertical_alignment="center")
    return left, right.container(horizontal=True, horizontal_alignment="right", gap="small")


def progress(line: str, share: float, label: str) -> None:
    """A bar with a line under it, in the container at hand.

    Args:
        line: HTML.
        share: of the work that is done, 0 to 1.
        label: what it is that is done, for who cannot see the bar.
    """
    percent = round(100 * share)
    st.html(
        f'<div class="md-bar" role="progressbar" aria-label="{escape(label)}" '
        f'aria-valuemin="0" aria-valuemax="100" aria-valuenow="{percent}">'
        f'<span style="width:{percent}%"></span></div><div class="md-line">{line}</div>'
    )


def what_was_asked(report: ModelReport) -> None:
    """What a model was asked, and what went wrong or is odd about it."""
    st.html(f'<div class="md-line md-quiet">{report_line(report)}</div>')
    if report.problem and (report.stopped or report.failed):
        note(report.problem)
    for text in report.notes:
        note(text)
