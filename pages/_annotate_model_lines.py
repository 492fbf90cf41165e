"""A model that grades, in words: what it takes, how far it is, where people differ from it."""

from __future__ import annotations

import html

from engine.types import (
    Document,
    GradingDifference,
    GradingEstimate,
    GradingJob,
    GradingReport,
    Lens,
    Scale,
)
from pages._annotate_decide import card_html
from pages._documents import shortened
from pages._library import time_left
from pages._model_lines import counted, duration, is_finished, money, tokens

_ENDS = {
    "cancelled": "Cancelled",
    "budget": "Stopped by the budget",
    "endpoint": "The endpoint gave up",
}


def estimate_line(estimate: GradingEstimate) -> str:
    """``360 candidates of 12 queries: at most 360 calls, 0.42 M tokens.``"""
    sentences = []
    if estimate.candidates:
        queries = counted(estimate.queries, "query", "queries")
        parts = [counted(estimate.calls, "call")]
        if estimate.input_tokens is not None:
            parts.append(tokens(estimate.input_tokens + (estimate.output_tokens or 0)))
        if estimate.cost is not None:
            parts.append(money(estimate.cost))
        sentences.append(
            f"{counted(estimate.candidates, 'candidate')} of {queries}: at most {', '.join(parts)}."
        )
    else:
        sentences.append("Nothing is left to grade.")
    if estimate.done:
        have = "has" if estimate.done == 1 else "have"
        sentences.append(f"{estimate.done:,} {have} its grade already.")
    if estimate.judged:
        are = "is left to the people who graded it" if estimate.judged == 1 else (
            "are left to the people who graded them"
        )  # fmt: skip
        sentences.append(f"{estimate.judged:,} {are}.")
    if estimate.without_anchors and estimate.request.anchors:
        which = "1 query has" if estimate.without_anchors == 1 else (
            f"{estimate.without_anchors:,} queries have"
        )  # fmt: skip
        sentences.append(
            f"{which} no document known to be relevant: there it goes by query and guidelines."
        )
    return " ".join(sentences)


def unconnected_line(estimate: GradingEstimate) -> str:
    """What could be graded, while nobody knows by which model."""
    queries = counted(estimate.queries, "query", "queries")
    have = "has" if estimate.candidates == 1 else "have"
    return (
        f"{counted(estimate.candidates, 'candidate')} of {queries} {have} no grade by people. "
        "Connect a language model first."
    )


def share(job: GradingJob) -> float:
    """How far a run is, 0 to 1."""
    progress = job.progress
    return min(1.0, progress.done / progress.total) if progress.total else 0.0


def progress_line(job: GradingJob) -> str:
    """Candidates done of total, calls, tokens, time, in one line of HTML."""
    progress = job.progress
    if not progress.total:
        return _line([f"{job.annotator}: preparing", duration(job.elapsed)])
    parts = [
        f"{job.annotator}: {progress.done:,} of {counted(progress.total, 'candidate')} graded",
        counted(progress.calls, "call"),
        tokens(progress.tokens),
    ]
    if progress.failed:
        parts.append(f"{progress.failed:,} without a usable answer")
    parts.append(duration(job.elapsed))
    if job.stopping:
        return _line([*parts, "stopping"])
    if 0 < progress.done < progress.total:
        parts.append(time_left(progress.seconds_left))
    return _line(parts)


def outcome_line(report: GradingReport) -> str:
    """How a run ended and what it did, in one line of HTML."""
    each = ", ".join(f"{number:,} × {value}" for value, number in report.grades.items() if number)
    parts = [
        f"{report.annotator}: {_ENDS.get(report.stopped, 'done').lower()}"
        if report.stopped
        else f"{report.annotator}: done",
        f"{counted(report.graded, 'candidate')} graded{f' ({each})' if each else ''}",
    ]
    if report.changed:
        parts.append(f"{report.changed:,} otherwise than before")
    if report.left:
        parts.append(f"{report.left:,} not reached")
    if report.failed:
        parts.append(f"{report.failed:,} without a usable answer: asked again next time")
    parts += [counted(report.calls, "call"), tokens(report.input_tokens + report.output_tokens)]
    if report.cost is not None:
        parts.append(money(report.cost))
    if report.cached:
        parts.append(f"{counted(report.cached, 'answer')} from the ledger")
    return _line([*parts, duration(report.seconds)])


def is_whole(report: GradingReport | None) -> bool:
    """Whether a run did all that it was asked for."""
    return is_finished(report)


def difference_html(
    found: GradingDifference,
    scale: Scale,
    asked: str,
    document: Document | None,
    lens: Lens,
    model: str,
) -> str:
    """What people and the model said of one item, side by side; all of it is escaped.

    Args:
        asked: what the query is, in a few words.
        document: None when the corpus does not hold it any more.
    """
    names = {grade.value: grade.name for grade in scale.grades}
    notes = "".join(
        f'<p class="note">{html.escape(who)}: {html.escape(note)}</p>'
        for who, note in found.notes.items()
    )
    title = found.doc_id if document is None else document.title or shortened(document.text)
    whole = (
        ""
        if document is None
        else f"<details><summary>Read it</summary>"
        f"{card_html('Candidate', document, lens, set())}</details>"
    )
    boxes = "".join(
        f'<div><div class="who">{html.escape(who)}</div><div class="grade">{grade} · '
        f"{html.escape(names.get(grade, ''))}</div>{more}</div>"
        for who, grade, more in (
            (", ".join(found.annotators), found.people, notes),
            (f"{model} (a model)", found.model, f'<p class="note">{html.escape(found.reason)}</p>'),
        )
    )
    return (
        f'<section class="sl-differ"><div class="title">{html.escape(title)}</div>'
        f'<div class="sl-facts">{html.escape(asked)}</div>'
        f'<div class="sl-said">{boxes}</div>{whole}</section>'
    )


def _line(parts: list[str]) -> str:
    return "".join(f"<span>{html.escape(part)}</span>" for part in parts if part)
