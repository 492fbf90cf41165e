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
from pages._common.kit import Html, el
from pages._common.shared import attempt, note
from pages._common.waiting import renew_when
from pages._login import login

AnyJob = Job[Any, Any]
Do = Callable[[], object]


@dataclass(frozen=True)
class JobCard:
    """How far a job is, with a button that ends it; or how it ended."""

    find: Callable[[], AnyJob | None]  # the job as it is now
    _: KW_ONLY
    key: str  # of card and buttons: ``KEY_job``, ``KEY_cancel`` ..., with ``which`` at the end
    label: str  # what is done, for who cannot see the bar
    line: Callable[[Any], str]  # how far it is, in HTML
    cancel: Callable[[str], object]  # by the job's id, as ``dismiss``
    ended: Callable[[Any], str] = lambda _: ""  # what it did, in HTML
    remarks: Callable[[Any], Iterable[str]] = lambda _: ()  # on how it ended, a box for each
    resume: Do | None = None  # goes on with what is left
    dismiss: Callable[[str], object] | None = None
    more: Callable[[Any], object] = lambda _: None  # draws further buttons
    is_news: Callable[[Any], bool] = lambda _: False  # the rest of the page is out of date
    what_stays: str = "Completed work is kept."
    which: str = ""
    border: bool = True
    attempt: Callable[[Do], None] = attempt
    poll: float = 1.0  # seconds between two looks at a running job

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
            stopping = "stopping after the current step" if now.stopping else ""
            owner = f"started by {now.owner}" if now.owner else ""
            progress(self.line(now) + joined([stopping, owner]), now.progress.share, self.label)
        with right:
            mine = login.acting().may_end(now.owner)
            words = self.what_stays if mine else "Only its owner or a lead can cancel this."
            stopped = now.stopping or not mine
            self._button("cancel", "Cancel", partial(self.cancel, now.id), words, disabled=stopped)
            self.more(now)

    def _at_its_end(self, job: AnyJob) -> None:
        left, right = _halves()
        with left:
            if job.state in ("failed", "interrupted"):
                note(job.error, job.remedy, kind="error")
            elif words := self.ended(job):
                st.html(el("div.md-line", Html(words), role="status"))
            for remark in filter(None, self.remarks(job)):
                note(remark)
        with right:
            if self.resume is not None:
                verb = "Try again" if job.state == "failed" else "Resume"
                self._button("resume", verb, self.resume, "Continues with the remaining items.")
            self.more(job)
            if self.dismiss is not None and login.acting().may_end(job.owner):
                self._button("dismiss", "Dismiss", partial(self.dismiss, job.id), self.what_stays)

    def _name(self, part: str) -> str:
        return f"{self.key}_{part}_{self.which}" if self.which else f"{self.key}_{part}"

    def _button(self, part: str, label: str, do: Do, words: str, *, disabled: bool = False) -> None:
        key = self._name(part)
        st.button(label, key, words, on_click=self.attempt, args=(do,), disabled=disabled)


def _halves() -> tuple[Any, Any]:
    """A column for words, and one for buttons in a row."""
    left, right = st.columns([8, 3], vertical_alignment="center")
    return left, right.container(horizontal=True, horizontal_alignment="right", gap="small")


def progress(line: str, share: float, label: str) -> None:
    """A bar with a line of HTML under it.

    Args:
        share: of the work that is done, 0 to 1.
        label: what it is that is done, for who cannot see the bar.
    """
    percent = round(100 * share)
    bar = el(
        "div.md-bar",
        el("span", style=f"width:{percent}%"),
        role="progressbar",
        aria_label=label,
        aria_valuemin=0,
        aria_valuemax=100,
        aria_valuenow=percent,
    )
    st.html(bar + el("div.md-line", Html(line)))


def what_was_asked(report: ModelReport) -> None:
    """What a model was asked, and what went wrong or is odd about it."""
    st.html(el("div.md-line.md-quiet", Html(report_line(report))))
    if report.problem and (report.stopped or report.failed):
        note(report.problem)
    for text in report.notes:
        note(text)
