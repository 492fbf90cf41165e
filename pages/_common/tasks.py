"""One panel for each task that a model does: what it takes, a button, progress and outcome."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import streamlit as st

from engine.text import counted
from engine.types.jobs import Job
from engine.types.models import Estimate, ModelReport, TaskProgress, TaskReport
from engine.types.reranking import Reranking, RerankJob
from engine.types.searches import PAGE_SIZE
from pages._common.kit import Html, button, dim, el, html
from pages._common.shared import as_drawn, engine, note, remembered
from pages._common.waiting import renew_when
from pages._login import login
from pages._model.model_settings import chosen, endpoint, usable

Request = TypeVar("Request", contravariant=True)
R = TypeVar("R")
TaskJob = Job[TaskProgress, TaskReport[R]]
_ENDS = {
    "": "Done",
    "cancelled": "Cancelled",
    "budget": "Budget reached",
    "endpoint": "Endpoint stopped responding",
}


class Tasks(Protocol[Request]):
    """What runs the tasks of a part of the facade."""

    jobs: Any

    def estimate(self, request: Request, endpoint: Any = None) -> Estimate: ...
    def start(self, request: Request, endpoint: Any, most_calls: int | None, owner: str) -> str: ...


@dataclass(frozen=True)
class TaskPanel(Generic[Request, R]):
    """A task on a page, by the key of its job."""

    tasks: Tasks[Request]
    key: Hashable
    name: str  # widgets are ``NAME_start``, ``NAME_cancel``, with ``_WHICH`` for several of a kind
    _: KW_ONLY
    doing: Callable[[TaskJob[R]], tuple[str, str]]  # ("Grading", "candidate"), "" for no unit
    outcome: Callable[[TaskJob[R], R], Iterable[str]]  # what a run made, a few plain words each
    remarks: Callable[[TaskReport[R]], Iterable[str]] = lambda report: report.notes
    which: str = ""
    place: str = ""  # where what goes wrong in a click is shown; see ``show_problem``

    def job(self) -> TaskJob[R] | None:
        """The task that runs, or the last one that ran."""
        job: TaskJob[R] | None = self.tasks.jobs.latest(self.key)
        return job

    def estimate(self, request: Request, *basis: object) -> Estimate:
        """What a request takes at most, kept until it, the model or ``basis`` changes."""
        explorer = engine()
        return remembered(
            f"{self.name}_estimate_{self.which}",
            (request, *basis, endpoint(explorer)),
            lambda: self.tasks.estimate(request, usable(explorer)),
        )

    def label(self, estimate: Estimate, start: str, nothing: str, *, busy: bool) -> str:
        """What the button says: that it runs, that nothing is left, or what it does."""
        if busy:
            return "Running"
        if not estimate.items:
            return nothing
        return "Resume" if estimate.counts["done"] else start

    def start(
        self, request: Request, owner: str = "", most_calls: Callable[[], int | None] = lambda: None
    ) -> None:
        """Run it in the background, unless it runs already."""
        owner = owner or login.owner()
        self.tasks.start(request, chosen(engine()), most_calls(), owner)

    def button(
        self,
        label: str,
        start: Callable[[], object],
        words: str,
        *,
        widgets: tuple[str, ...] = (),
        **look: Any,
    ) -> None:
        """The button that starts it, and beside it what it takes; widgets: see ``as_drawn``."""
        key, look = _key(self.name, "start", self.which), {"type": "primary", **look}
        button(label, key, as_drawn(widgets, start), place=self.place, **look)
        dim(words)

    def card(
        self,
        job: TaskJob[R] | None = None,
        *,
        resume: bool = True,
        more: Callable[[TaskJob[R]], object] = lambda _: None,
    ) -> None:
        """How far the task is, or how it ended; nothing where none ran. ``more`` draws buttons.

        ``job`` is the task as the rest of the page was drawn with: the page runs again where it
        ended meanwhile.
        """
        job = job or self.job()
        goes_on = job is not None and resume and not is_finished(job.report)
        JobCard(
            self.job,
            key=self.name,
            which=self.which,
            label=self.doing(job)[0] if job else "",
            line=self._line,
            cancel=self.tasks.jobs.cancel,
            ended=self._ended,
            remarks=lambda job: (
                (job.report.problem, *self.remarks(job.report)) if job.report else ()
            ),
            resume=partial(self.start, job.request) if job and goes_on else None,
            dismiss=self.tasks.jobs.dismiss,
            more=more,
            place=self.place,
        ).show(job)

    def _line(self, job: TaskJob[R]) -> str:
        """How far it is, in one line of HTML; nothing is counted before the first batch."""
        progress, (doing, unit) = job.progress, self.doing(job)
        if not progress.total:
            return joined([doing, "preparing", duration(job.seconds)])
        total = counted(progress.total, unit) if unit else f"{progress.total:,}"
        parts = [f"{doing}: {progress.done:,} of {total}"]
        if unit and progress.done and progress.seconds:
            rate = progress.done / progress.seconds
            parts.append(f"{rate:.0f} {unit}s/s" if rate >= 10 else f"{rate:.1f} {unit}s/s")
        if progress.failed:
            parts.append(counted(progress.failed, "invalid response"))
        if progress.calls:
            parts += [counted(progress.calls, "request"), tokens(progress.tokens)]
        parts.append(duration(job.seconds))
        if progress.done < progress.total and progress.seconds > 1:
            parts.append(time_left(progress.seconds_left))
        return joined(parts)

    def _ended(self, job: TaskJob[R]) -> str:
        """How it ended, what it made, what is left and what it took, in one line of HTML."""
        report = job.report
        if report is None:
            return ""
        incomplete = report.failed and not report.stopped
        parts = ["Incomplete" if incomplete else _ENDS[report.stopped]]
        parts += self.outcome(job, report.result)
        parts.append(f"{report.left:,} not reached" if report.left else "")
        if report.failed:
            parts.append(f"{_some(report.failed, 'invalid response')}; retried on the next run")
        if report.calls or report.cached:
            parts += [counted(report.calls, "request"), tokens(report.tokens)]
            parts.append("" if report.cost is None else money(report.cost))
        parts.append(f"{counted(report.cached, 'answer')} cached" if report.cached else "")
        return joined([*parts, duration(report.seconds)])


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
    place: str = ""  # where what goes wrong in a click is shown; see ``show_problem``
    poll: float = 1.0  # seconds between two looks at a running job

    def show(self, job: AnyJob | None) -> None:
        """The card; while the job runs, one line changes in place. Nothing without a job."""
        if job is None:
            return
        with st.container(border=self.border, key=_key(self.key, "job", self.which)):
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

    def _button(self, part: str, label: str, do: Do, words: str, *, disabled: bool = False) -> None:
        key = _key(self.key, part, self.which)
        button(label, key, do, place=self.place, help=words, disabled=disabled)


def _key(name: str, part: str, which: str) -> str:
    return f"{name}_{part}_{which}" if which else f"{name}_{part}"


def _halves() -> tuple[Any, Any]:
    """A column for words, and one for buttons in a row."""
    left, right = st.columns([8, 3], vertical_alignment="center")
    return left, right.container(horizontal=True, horizontal_alignment="right", gap="small")


def progress(line: str, share: float, label: str) -> None:
    """A bar of a share of the work, 0 to 1, with a line of HTML under it."""
    percent = round(100 * share)
    values = {"aria_valuemin": 0, "aria_valuemax": 100, "aria_valuenow": percent}
    done = el("span", style=f"width:{percent}%")
    bar = el("div.md-bar", done, role="progressbar", aria_label=label, **values)
    st.html(bar + el("div.md-line", Html(line)))


def what_was_asked(report: ModelReport) -> None:
    """What a model was asked, and what went wrong or is odd about it."""
    st.html(el("div.md-line.sl-dim", Html(report_line(report))))
    if report.problem and (report.stopped or report.failed):
        note(report.problem)
    for text in report.notes:
        note(text)


UNRELIABLE = 0.2  # share of questions without a usable answer that makes a ranking unreliable
_STOPPED = {
    "cancelled": "cancelled; showing the partial ranking",
    "budget": "budget reached; showing the partial ranking",
    "endpoint": "endpoint stopped responding; showing the partial ranking",
}


def tokens(number: int) -> str:
    """``840 tokens``, ``42 k tokens``, ``0.30 M tokens``.

    >>> tokens(840), tokens(42_300), tokens(301_000)
    ('840 tokens', '42 k tokens', '0.30 M tokens')
    """
    if number < 1_000:
        return counted(number, "token")
    return f"{number / 1e6:.2f} M tokens" if number >= 95_000 else f"{number / 1e3:.0f} k tokens"


def money(cost: float) -> str:
    """A cost in whatever currency the price was set in."""
    return f"cost {cost:.2f}" if cost >= 1 or cost == 0 else f"cost {cost:.3f}"


def at_most(estimate: Estimate) -> str:
    """``360 requests, up to 730 including retries, about 0.42 M tokens, cost about 1.20``."""
    parts = [counted(estimate.calls, "request"), f"up to {estimate.most_calls:,} including retries"]
    if estimate.input_tokens is not None:
        parts.append(f"about {tokens(estimate.input_tokens + (estimate.output_tokens or 0))}")
    if estimate.cost is not None:
        parts.append(f"cost about {money(estimate.cost).removeprefix('cost ')}")
    return ", ".join(parts)


def is_finished(report: TaskReport[Any] | None) -> bool:
    """Whether a run did all that it was asked for: to ask again would bring the same."""
    return report is not None and not (report.stopped or report.left or report.failed)


def duration(seconds: float) -> str:
    """``7.4 s``, ``48 s``, ``3 min 20 s``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def time_left(seconds: float | None) -> str:
    """``about 40 s left``: rounded, as an estimate should be; empty when there is none."""
    if seconds is None:
        return ""
    if seconds < 55:
        return f"about {max(5, round(seconds / 5) * 5)} s left"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"about {minutes} min left"
    return f"about {minutes // 60} h {minutes % 60} min left"


def estimate_line(estimate: Estimate) -> str:
    """``300 requests in 6 rounds, up to 610 including retries, about 0.30 M tokens``; no most where
    the answers decide what is asked next."""
    if not estimate.calls:
        return "Too few documents to rerank."
    calls, *others = at_most(estimate).split(", ")
    asked = f"{calls} in {counted(estimate.rounds, 'round')}"
    return ", ".join([asked, *others] if estimate.exact else [f"about {asked}", *others[1:]])


def change(reranking: Reranking) -> float:
    """Share of the top 20 that was not among the top 20 before the model, 0 to 1."""
    top, came, _ = _top(reranking)
    return came / top if top else 0.0


def change_sentence(reranking: Reranking) -> str:
    """``The model moved 14 of the top 20, 5 of them new.``: plain text."""
    report = reranking.report
    if 0 < report.questions <= report.unanswered:
        return "The model returned no valid response. Showing the original ranking."
    top, came, moved = _top(reranking)
    said = top_sentence(moved, came, top, whole=not reranking.partial)
    if report.unanswered < UNRELIABLE * (report.questions or math.inf):
        return said
    of_all = f"{report.unanswered:,} of {counted(report.questions, 'answer')}"
    return f"{said} Unreliable: {of_all} were invalid."


def _top(reranking: Reranking) -> tuple[int, int, int]:
    """How many lead, how many of them came from below, and how many moved."""
    top = min(PAGE_SIZE, reranking.results.total)
    moves = [move for move in reranking.moves.values() if move.rank <= top]
    stayed = sum(move.first_rank <= top for move in moves)
    return top, top - stayed, top - sum(move.moved == 0 for move in moves)


def top_sentence(moved: int, came: int, top: int, *, whole: bool) -> str:
    """What a model changed in the first results; ``whole``: it has no more to say.

    >>> top_sentence(2, 0, 3, whole=True)
    'The model moved 2 of the top 3, none of them new.'
    """
    who = "The model" if whole else "So far, the model"
    if not moved:
        return f"{who} did not change the top {top}."
    return f"{who} moved {moved} of the top {top}, {came or 'none'} of them new."


def progress_line(job: RerankJob) -> str:
    """Round, questions, calls, tokens, cost and time so far, in one line of HTML."""
    now, report = job.progress, job.progress.report
    if not report.rounds:
        return joined([f"Asking {report.model}", duration(job.seconds)])
    questions = f"{now.done:,} of {counted(now.total, 'question')}"
    rounds, *others = asked_so_far(now.estimate, report)
    return joined([rounds.capitalize(), questions, *others, duration(job.seconds)])


def asked_so_far(estimate: Estimate, report: ModelReport) -> list[str]:
    """Rounds, calls, tokens and cost of a run that is under way, a few plain words each."""
    about, unanswered = "" if estimate.exact else "about ", report.failed + report.unread
    parts = [
        f"round {report.rounds:,} of {about}{max(report.rounds, estimate.rounds):,}",
        counted(report.calls, "request"),
        tokens(report.tokens),
        "" if report.cost is None else money(report.cost),
        f"{report.cached:,} cached" if report.cached else "",
        f"{unanswered:,} unanswered" if unanswered else "",
    ]
    return [part for part in parts if part]


def report_line(report: ModelReport) -> str:
    """What a model was asked and how it went, in one line of HTML; definitions in tooltips."""
    parts: list[tuple[object, str]] = [
        (_STOPPED.get(report.stopped, report.stopped), report.problem),
        (report.model, f"Model at {report.endpoint}"),
        *_spent(report),
        (duration(report.seconds), "Elapsed time"),
        (
            report.unanswered
            and f"{report.unanswered:,} unanswered ({report.failed:,} failed, {report.unread:,} "
            "unreadable)",
            "Questions without a valid response; not counted. "
            + (report.problem or "Unreadable: invalid format twice."),
        ),
        (
            report.position_bias is not None and f"position bias {report.position_bias:.0%}",
            "Position bias: how often the first of two equal documents wins. 50 % means none. "
            "Corrected in the ranking.",
        ),
        *(
            (number and f"{counted(number, what)} shortened to fit the model’s context", "")
            for number, what in ((report.cut, "document"), (report.shortened, "question"))
        ),
    ]
    return html(el("span", text, title=title) for text, title in parts if text)


def _some(number: int, *names: str) -> str:
    return counted(number, *names) if number else ""


def _spent(report: ModelReport) -> list[tuple[object, str]]:
    """What was sent and what it cost, with definitions."""
    kept = (report.cached and f"{counted(report.cached, 'answer')} cached", "From cache, free")
    if not report.calls and report.cached:
        return [(f"no requests: {kept[0]}", kept[1])]
    sent = f"{counted(report.calls, 'request')} in {counted(report.rounds, 'round')}"
    used = f"{report.input_tokens:,} input and {report.output_tokens:,} output"
    if report.guessed:
        used += f"; estimated for {counted(report.guessed, 'request')}"
    cost = report.cost is not None and money(report.cost)
    repeats = _some(report.repeats, "retry", "retries")
    return [
        (sent, "Requests sent, including retries and the test; each round is sent at once"),
        (tokens(report.tokens), f"{used}, as the endpoint reported"),
        (cost, "Computed from token usage and the configured prices"),
        kept,
        (repeats, "Requests sent again after an error"),
    ]


def joined(parts: Iterable[str]) -> Html:
    """What fits into one line of HTML, escaped; nothing for the empty ones."""
    return html(el("span", part) for part in parts if part)
