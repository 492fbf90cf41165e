"""What a model costs, how far it is, and what it did: a line each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from engine.text import counted
from engine.types.models import Estimate, ModelReport, ModelUsage, TaskProgress, TaskReport
from engine.types.reranking import Move, Reranking, RerankJob
from engine.types.searches import PAGE_SIZE
from pages._common.kit import Html, el, html

_ENDS = {
    "": "Done",
    "cancelled": "Cancelled",
    "budget": "Budget reached",
    "endpoint": "Endpoint stopped responding",
}
UNRELIABLE = 0.2
"""Share of questions without a usable answer from which on a ranking is called unreliable."""
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
    """``360 requests, up to 730 including retries, about 0.42 M tokens, cost about 1.20``; no
    tokens or cost that nobody knows."""
    parts = [counted(estimate.calls, "request"), f"up to {estimate.most_calls:,} including retries"]
    if estimate.input_tokens is not None:
        parts.append(f"about {tokens(estimate.input_tokens + (estimate.output_tokens or 0))}")
    if estimate.cost is not None:
        parts.append(f"cost about {money(estimate.cost).removeprefix('cost ')}")
    return ", ".join(parts)


def spent(report: ModelUsage) -> list[str]:
    """What a model was asked in a run, and what that took; [] where none was."""
    if not report.calls and not report.cached:
        return []
    parts = [counted(report.calls, "request"), tokens(report.tokens)]
    if report.cost is not None:
        parts.append(money(report.cost))
    if report.cached:
        parts.append(f"{counted(report.cached, 'answer')} cached")
    return parts


def end(report: TaskReport[Any]) -> str:
    """How a run over many items ended."""
    return "Incomplete" if report.failed and not report.stopped else _ENDS[report.stopped]


def run_progress(parts: Iterable[str], progress: TaskProgress, seconds: float) -> str:
    """How far a run over many items is, what it took, and how long it will, in one line of HTML.

    Args:
        parts: what is done.
        seconds: since it was asked for.
    """
    failed = counted(progress.failed, "invalid response") if progress.failed else ""
    asked = [counted(progress.calls, "request"), tokens(progress.tokens)] if progress.calls else []
    told = progress.done < progress.total and progress.seconds > 1
    left = time_left(progress.seconds_left) if told else ""
    return joined([*parts, failed, *asked, duration(seconds), left])


def run_outcome(parts: Iterable[str], report: TaskReport[Any]) -> str:
    """What a run over many items made, what is left and what it took, in one line of HTML."""
    left = f"{report.left:,} not reached" if report.left else ""
    failed = f"{counted(report.failed, 'invalid response')}; retried on the next run"
    took = [*spent(report), duration(report.seconds)]
    return joined([*parts, left, failed if report.failed else "", *took])


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
    """``300 requests in 6 rounds, up to 610 including retries, about 0.30 M tokens``: plain text.

    Where the answers decide what is asked next, nobody knows the most; tokens and cost are from
    mean lengths, always.
    """
    if not estimate.calls:
        return "Too few documents to rerank."
    calls, *others = at_most(estimate).split(", ")
    asked = f"{calls} in {counted(estimate.rounds, 'round')}"
    return ", ".join([asked, *others] if estimate.exact else [f"about {asked}", *others[1:]])


def change(reranking: Reranking) -> float:
    """Share of the top 20 that was not among the top 20 before the model, 0 to 1."""
    top, moves = _top(reranking)
    stayed = sum(move.first_rank <= top for move in moves)
    return (top - stayed) / top if top else 0.0


def change_sentence(reranking: Reranking) -> str:
    """``The model moved 14 of the top 20, 5 of them new.``: plain text."""
    report = reranking.report
    if 0 < report.questions <= report.unanswered:
        return "The model returned no valid response. Showing the original ranking."
    top, moves = _top(reranking)
    came = top - sum(move.first_rank <= top for move in moves)
    moved = top - sum(move.moved == 0 for move in moves)
    said = top_sentence(moved, came, top, whole=not reranking.partial)
    if report.unanswered < UNRELIABLE * (report.questions or math.inf):
        return said
    of_all = f"{report.unanswered:,} of {counted(report.questions, 'answer')}"
    return f"{said} Unreliable: {of_all} were invalid."


def _top(reranking: Reranking) -> tuple[int, list[Move]]:
    """How many lead, and the moves of those that the first stage ranked too."""
    top = min(PAGE_SIZE, reranking.results.total)
    return top, [move for move in reranking.moves.values() if move.rank <= top]


def top_sentence(moved: int, came: int, top: int, *, whole: bool) -> str:
    """What a model changed in the first results.

    Args:
        moved: documents that stand elsewhere.  came: those that stood below.
        whole: the model has no more to say.

    >>> top_sentence(2, 0, 3, whole=True)
    'The model moved 2 of the top 3, none of them new.'
    """
    who = "The model" if whole else "So far, the model"
    if not moved:
        return f"{who} did not change the top {top}."
    within = f"{came or 'none'} of them new"
    return f"{who} moved {moved} of the top {top}, {within}."


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
    about = "" if estimate.exact else "about "
    parts = [
        f"round {report.rounds:,} of {about}{max(report.rounds, estimate.rounds):,}",
        counted(report.calls, "request"),
        tokens(report.tokens),
    ]
    if report.cost is not None:
        parts.append(money(report.cost))
    if report.cached:
        parts.append(f"{report.cached:,} cached")
    if report.failed or report.unread:
        parts.append(f"{report.failed + report.unread:,} unanswered")
    return parts


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
        (
            report.cut and counted(report.cut, "document truncated", "documents truncated"),
            "Truncated to fit the context window",
        ),
        (
            report.shortened
            and counted(report.shortened, "question shortened", "questions shortened"),
            "Texts shortened to fit the context window",
        ),
    ]
    return html(el("span", text, title=title) for text, title in parts if text)


def _spent(report: ModelReport) -> list[tuple[object, str]]:
    """What was sent and what it cost, with definitions."""
    kept = counted(report.cached, "answer")
    if not report.calls and report.cached:
        return [(f"no requests: {kept} cached", "From cache, free")]
    used = f"{report.input_tokens:,} input and {report.output_tokens:,} output"
    if report.guessed:
        used += f"; estimated for {counted(report.guessed, 'request')}"
    return [
        (
            f"{counted(report.calls, 'request')} in {counted(report.rounds, 'round')}",
            "Requests sent, including retries and the test; each round is sent at once",
        ),
        (tokens(report.tokens), f"{used}, as the endpoint reported"),
        (
            report.cost is not None and money(report.cost),
            "Computed from token usage and the configured prices",
        ),
        (report.cached and f"{kept} cached", "From cache, free"),
        (
            report.repeats and counted(report.repeats, "retry", "retries"),
            "Requests sent again after an error",
        ),
    ]


def joined(parts: Iterable[str]) -> Html:
    """What fits into one line of HTML, escaped; nothing for the empty ones."""
    return html(el("span", part) for part in parts if part)
